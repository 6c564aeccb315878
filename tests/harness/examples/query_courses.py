"""The services after a training, to which a test tells what happens, with a clock of their own."""

from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from sottovoce.course.phases import Phase
from sottovoce.course.queries import seat as seat_service
from sottovoce.course.queries.conversations import QueryId
from sottovoce.course.queries.coordinator import CoordinatorService
from sottovoce.course.queries.seat import SeatService
from sottovoce.course.training.actions import Action, Tell
from sottovoce.course.training.inputs import Heard, Started
from sottovoce.course.training.participant_record import ParticipantRecord
from sottovoce.protocols.messages import Message
from sottovoce.study.study import Study
from sottovoce.wire import Codec

PEERS = ("north", "harbour", "valley", "lakeside")
FIRST = QueryId("north", 0)


@dataclass
class Told:
    """A service to which a test tells what happens, with a clock of its own."""

    decider: ModuleType
    state: Any
    now: float = 1000.0
    actions: list[Action] = field(default_factory=list)

    def __call__(self, happened: object, *, after: float = 0.0) -> tuple[Action, ...]:
        self.now += after
        before = self.state
        self.state, actions = self.decider.step(before, happened, now=self.now)
        again = self.decider.step(before, happened, now=self.now)
        # Errors are equal by what they say.
        assert (again[0], repr(again[1])) == (self.state, repr(actions))
        for record in self.state.records.values():
            # What is written can be read again, and is one encoding.
            assert Codec().decode(Codec().encode(record), type(record)) == record
        self.actions += actions
        return actions

    def hears(self, sender: str, message: Message) -> tuple[Action, ...]:
        return self(Heard(sender, message))

    def restarted(self) -> tuple[Action, ...]:
        """Another process, which knows what the records say."""
        old = self.state
        if isinstance(old, CoordinatorService):
            askers = {name: replace(asker, given_up=None) for name, asker in old.askers.items()}
            self.state = replace(old, askers=askers)
        else:
            asked, evaluated = old.asking.record, old.evaluating.record
            here = (old.asking.study_name, old.asking.study, old.asking.name)
            record = old.helping.record
            self.state = SeatService.of(*here, record, asked=asked, evaluated=evaluated)
        return self(Started())


def told_by(actions: tuple[Action, ...], kind: type[Message]) -> list[Tell]:
    return [
        action
        for action in actions
        if isinstance(action, Tell) and isinstance(action.message, kind)
    ]


def seat_of(study: Study, name: str) -> Told:
    record = ParticipantRecord().but(phase=Phase.FINISHED)
    seat = Told(seat_service, SeatService.of("s-1", study, name, record))
    seat(Started())
    return seat
