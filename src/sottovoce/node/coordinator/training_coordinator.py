"""Runs the coordinator of a training over the network: carries `course.training_coordinator`."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sottovoce.course.control import COORDINATOR, LedgerHead
from sottovoce.course.phases import Phase
from sottovoce.course.seat_course import SeatCourse, counted
from sottovoce.course.terms import Terms
from sottovoce.course.training.actions import (
    Action,
    CleanUp,
    DropAll,
    DropSession,
    Emit,
    Keep,
    KeepResult,
    LeaveOut,
    RecallAttempt,
    RunAttempt,
    Serve,
    TakeSeat,
)
from sottovoce.course.training.inputs import (
    CleanedUp,
    Failure,
    LettersHeld,
    Overdue,
    ProgramEnded,
    ProgramWaits,
    SumsAgreed,
)
from sottovoce.course.training.training_coordinator import HEARS, step
from sottovoce.course.training.training_record import TrainingRecord
from sottovoce.course.training.training_state import TRAINING, Training
from sottovoce.entropy import Entropy
from sottovoce.errors import JournalError
from sottovoce.ledger import LedgerSeat
from sottovoce.node.coordinator.receipts import take_head
from sottovoce.node.seat.after_training import agreement_notes, training_notes
from sottovoce.node.seat.decider_carrier import Carrier, read_record, stop_programs, tell_totals
from sottovoce.node.seat.deciders import RunningProgram
from sottovoce.node.seat.durable_seat import SeatSession
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.paillier import SecretKey
from sottovoce.protocols.messages import Message
from sottovoce.storage.opened_sums import OpenedSumsBook
from sottovoce.storage.seat_keys import SeatKeys
from sottovoce.study.attempts import Attempt, Stage
from sottovoce.study.party_context import PartyContext
from sottovoce.study.relay import Relay
from sottovoce.study.study import Study


@dataclass(frozen=True)
class TrainingConditions:
    """The coordinator's inputs: the terms, the enrolled keys, its own key, its clean-up."""

    terms: Terms
    publics: Mapping[str, bytes] = field(repr=False)
    key: SecretKey | None = field(repr=False)
    clean_up: Callable[[], Awaitable[None]]


class TrainingCoordinator(Carrier[Training]):
    """The coordinator's seat during a training."""

    def __init__(
        self,
        agent: SeatRuntime,
        keys: SeatKeys,
        conditions: TrainingConditions,
        *,
        entropy: Entropy,
    ) -> None:
        self.record = read_record(agent.journal, TRAINING, TrainingRecord)
        publics = {**conditions.publics, COORDINATOR: keys.identity.public}
        super().__init__(agent, step, Training(conditions.terms, self.record, publics))
        self.sums = OpenedSumsBook.read(agent.journal)
        self.course: SeatCourse | None = None
        self.serving = asyncio.Event()
        # Set once another decider replaced this one.
        self.followed = asyncio.Event()
        self._keys = keys
        self._given = conditions
        self._entropy = entropy
        self._results: dict[bytes, Any] = {}

    # Called by the seat's runtime.

    async def hear(self, sender: str, message: Message, notes: Mapping[str, bytes]) -> None:
        """Handle receipts here; after the training another decider answers."""
        if isinstance(message, LedgerHead):
            seat = LedgerSeat(sender, self.state.publics[sender])
            take = partial(take_head, self.agent.journal, self._keys.identity, message)
            effect = await self.agent.do(partial(take, seat=seat, study=self.agent.study))
            await self.agent.commit(effect.with_notes(notes))
        elif self.state.phase is Phase.FINISHED:
            # The decider that answers queries must hear this letter and write it down.
            await self.followed.wait()
            await self.agent.decider.hear(sender, message, notes)
        elif type(message) in HEARS:
            await super().hear(sender, message, notes)
        else:
            await self.agent.commit_notes(notes)

    def ended(self, running: RunningProgram) -> None:
        """Our own program ended."""
        session, failure = running.sitting.session, running.seat.failure
        if isinstance(failure, JournalError):
            raise failure
        if failure is not None:
            self.tell(ProgramEnded(session, Failure.of(failure)))
            return
        self._results[session] = running.seat.result
        self.tell(ProgramEnded(session, None, counted(running.seat.result)))

    def overdue(self, running: RunningProgram, party: str) -> None:
        """Our own program waited too long for somebody."""
        self.tell(Overdue(running.sitting.session, party))

    def waiting(self, running: RunningProgram, until: float) -> None:
        """Our own program has waited for somebody for some time."""
        session = running.sitting.session
        self.see(ProgramWaits(session, running.awaited, running.whom, until))

    def look(self) -> None:
        """Read the opened sums, to which a step may have added, and how long letters were held."""
        opened = frozenset(self.sums.book.spent)
        if not opened <= self.state.opened:
            self.see(SumsAgreed(opened))
        held = self.agent.held_back()
        if held != self.state.held:
            self.see(LettersHeld(held))

    # Actions.

    async def perform(self, action: Action) -> None:
        """Perform one action of a step."""
        agent = self.agent
        match action:
            case TakeSeat(study):
                self._sit(study)
            case RunAttempt(attempt):
                await self._run(attempt)
            case RecallAttempt(attempt):
                running = await agent.recall(*self._sitting(attempt), label=_label(attempt))
                self._course.keep(attempt, running.seat.result)
                tell_totals(agent, self._course, attempt)
            case KeepResult(attempt):
                self._keep(attempt)
            case DropSession() | DropAll() | LeaveOut():
                await stop_programs(agent, action)
            case CleanUp():
                await self._given.clean_up()
                self.tell(CleanedUp())
            case Serve():
                self.serving.set()
            case Emit(news):
                agent.tell_watcher(news)

    def kept(self, action: Action) -> Mapping[str, bytes]:
        """The notes of the training that we keep."""
        assert isinstance(action, Keep)
        self._keep(action.attempt)
        return {**agreement_notes(self._course), **training_notes(self._course)}

    async def _run(self, attempt: Attempt) -> None:
        """Begin or continue an attempt, unless another decision has ended it meanwhile.

        No decision comes while it begins: letters that waited for it may agree on a sum.
        """
        sitting, program = self._sitting(attempt)
        async with self._turn:
            if self.state.runs(attempt):
                await self.agent.begin(sitting, program, label=_label(attempt))
            else:
                # Letters that came for it, or will come, wait for nothing.
                await self.agent.drop(sitting.session)

    def _keep(self, attempt: Attempt) -> None:
        """Keep the result for its stage."""
        session = attempt.session(self._course.party.study)
        self._course.keep(attempt, self._results.pop(session))
        tell_totals(self.agent, self._course, attempt)

    def _sit(self, study: Study) -> None:
        first = Attempt.first(study, Stage.AGREEMENT)
        book = self.sums.book
        party = PartyContext(study, self._keys.identity, self._entropy, self._keys.box, first, book)
        self.course = SeatCourse(party, key=self._given.key)

    def _sitting(self, attempt: Attempt) -> tuple[SeatSession, Callable[[Entropy], Any]]:
        """Our seat and program in an attempt."""
        course, study = self._course, self._course.party.study
        sitting = SeatSession(
            COORDINATOR,
            attempt.session(study),
            tuple(name for name in attempt.parties(study) if name != COORDINATOR),
            Relay(course.party, course.agreement),
            course.codec(),
            head=f"{attempt.stage} {attempt.number} {','.join(attempt.peers)}".encode(),
            sums=self.sums,
        )
        return sitting, partial(_program, course, attempt)

    @property
    def _course(self) -> SeatCourse:
        assert self.course is not None
        return self.course


def _label(attempt: Attempt) -> tuple[str, int]:
    return str(attempt.stage), attempt.number


def _program(course: SeatCourse, attempt: Attempt, entropy: Entropy) -> Any:
    return course.program(attempt, entropy=entropy)
