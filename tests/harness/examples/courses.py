"""A coordinator's course to which a test tells what happens, with a clock of its own."""

from dataclasses import dataclass, field
from typing import Any, TypeVar

from sottovoce.course.control import COORDINATOR, Done, Failed
from sottovoce.course.terms import Terms
from sottovoce.course.training.actions import Action, RunAttempt, Tell
from sottovoce.course.training.inputs import Heard, ProgramEnded, SeatTaken, Started
from sottovoce.course.training.training_coordinator import step
from sottovoce.course.training.training_record import TrainingRecord
from sottovoce.course.training.training_state import Training
from sottovoce.protocols.messages import Message
from sottovoce.study.study import Study

T = TypeVar("T")


@dataclass
class Told:
    """The decider of a training's coordinator, step by step."""

    study: Study
    terms: Terms
    now: float = 1000.0
    actions: list[Action] = field(default_factory=list)

    def __post_init__(self) -> None:
        mine = {COORDINATOR: self.study.roster.participants[0].public}
        self.state = Training(self.terms, TrainingRecord(), mine)

    def __call__(self, happened: object, *, after: float = 0.0) -> tuple[Action, ...]:
        self.now += after
        self.state, actions = step(self.state, happened, now=self.now)
        self.actions += actions
        return actions

    def everybody(self) -> "Told":
        """Everybody enrolled: the agreement is under way."""
        self(Started())
        for seat in self.study.roster.participants[1:]:
            self(SeatTaken(seat.name, seat.public))
        return self

    def hears(self, sender: str, message: Message) -> tuple[Action, ...]:
        return self(Heard(sender, message))

    def reports(self, *senders: str) -> None:
        session = self.state.session
        for sender in senders:
            self.hears(sender, Done(session, kept=True))

    def fails(self, sender: str, kind: str, party: str = "") -> tuple[Action, ...]:
        return self.hears(sender, Failed(self.state.session, kind, party))

    def stage(self, *, peers: tuple[str, ...] = ()) -> None:
        """The stage under way comes to its end at everybody."""
        attempt, session = self.state.attempt, self.state.session
        for name in attempt.parties(self.study):
            if name != COORDINATOR and name not in self.state.record.gone:
                self.hears(name, Done(session, kept=True))
        self(ProgramEnded(session, None, peers or attempt.peers))

    def did(self, kind: type[T]) -> list[T]:
        return [action for action in self.actions if isinstance(action, kind)]

    def tells(self, kind: type[Any]) -> list[Tell]:
        return [tell for tell in self.did(Tell) if isinstance(tell.message, kind)]

    @property
    def ran(self) -> list[str]:
        return [
            f"{action.attempt.stage} {action.attempt.number}" for action in self.did(RunAttempt)
        ]
