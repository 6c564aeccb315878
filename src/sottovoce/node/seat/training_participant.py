"""Runs a participant of a training over the network: carries `course.training_participant`."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sottovoce.course.control import COORDINATOR, Reseated
from sottovoce.course.seat_course import SeatCourse
from sottovoce.course.training.actions import (
    Action,
    AskConsent,
    CleanUp,
    ComeBack,
    DropAll,
    DropSession,
    Emit,
    EndCourse,
    KeepResult,
    LeaveOut,
    RecallAttempt,
    RunAttempt,
    Serve,
)
from sottovoce.course.training.inputs import (
    ConsentGiven,
    ConsentRefused,
    Failure,
    Overdue,
    ProgramEnded,
    ProgramWaits,
    Started,
)
from sottovoce.course.training.participant_record import SEAT, ParticipantRecord, Participation
from sottovoce.course.training.training_participant import HEARS, step
from sottovoce.entropy import Entropy
from sottovoce.errors import (
    AbsenceError,
    JournalError,
    SottovoceError,
    UnansweredError,
    ViolationError,
    WithdrawnError,
)
from sottovoce.ledger import LineKind
from sottovoce.node.api import ConsentBy
from sottovoce.node.seat.decider_carrier import Carrier, read_record, stop_programs, tell_totals
from sottovoce.node.seat.deciders import RunningProgram
from sottovoce.node.seat.departures import Departures
from sottovoce.node.seat.durable_seat import SeatSession
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.node.site.site_context import SiteContext
from sottovoce.protocols.messages import Message
from sottovoce.storage.opened_sums import OpenedSumsBook
from sottovoce.storage.seat_keys import SeatKeys
from sottovoce.study.attempts import Attempt, Stage
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.model import PeerModel
from sottovoce.study.queries.quorum_model import QuorumModel
from sottovoce.study.relay import Relay
from sottovoce.study.roster import Role
from sottovoce.study.study import Study, grouped


@dataclass(frozen=True)
class Afterwards:
    """The site's work at an end: keep the model and delete the rest, or join again."""

    clean_up: Callable[["TrainingParticipant"], Awaitable[None]]
    come_back: Callable[["TrainingParticipant", Reseated], Awaitable[None]]


class TrainingParticipant(Carrier[Participation]):
    """One participant's seat during a training."""

    def __init__(
        self,
        agent: SeatRuntime,
        context: SiteContext,
        keys: SeatKeys,
        afterwards: Afterwards,
        *,
        entropy: Entropy,
    ) -> None:
        record = read_record(agent.journal, SEAT, ParticipantRecord)
        state = Participation(context.terms, agent.name, context.publics, record)
        super().__init__(agent, step, state)
        self.course: SeatCourse | None = None
        self._sums = OpenedSumsBook.read(agent.journal)
        self._context = context
        self._keys = keys
        self._afterwards = afterwards
        self._entropy = entropy
        self._results: dict[bytes, Any] = {}
        self._error: SottovoceError | None = None
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._asking: asyncio.Task[None] | None = None

    # Called by the seat's runtime.

    async def hear(self, sender: str, message: Message, notes: Mapping[str, bytes]) -> None:
        """Follow a letter of the coordinator; nobody else may give directions."""
        if sender != COORDINATOR:
            raise ViolationError("only the coordinator may send control letters", party=sender)
        if type(message) in HEARS:
            await super().hear(sender, message, notes)
        else:
            await self.agent.commit_notes(notes)

    def ended(self, running: RunningProgram) -> None:
        """A program ended."""
        session, failure = running.sitting.session, running.seat.failure
        if failure is None:
            result = running.seat.result
            self._results[session] = result
            kept = result is not None or self._role is not Role.PEER
            self.tell(ProgramEnded(session, kept=kept))
        else:
            self._fail(session, failure)

    def _fail(self, session: bytes, error: SottovoceError) -> None:
        if not isinstance(error, AbsenceError):
            self._error = error
        self.tell(ProgramEnded(session, Failure.of(error)))

    def overdue(self, running: RunningProgram, party: str) -> None:
        """Our program waited too long for somebody."""
        self.tell(Overdue(running.sitting.session, party))

    def waiting(self, running: RunningProgram, until: float) -> None:
        """Our program has waited for somebody for some time."""
        session = running.sitting.session
        self.see(ProgramWaits(session, running.awaited, running.whom, until))

    # The way.

    async def follow(self) -> None:
        """Follow the study to its end; raise the error that stopped it."""
        await self.take(Started(frozenset(self._sums.book.spent)))
        carrying = asyncio.create_task(self.run())
        try:
            await asyncio.wait({carrying, self._over}, return_when=asyncio.FIRST_COMPLETED)
            if self._over.done():
                self._over.result()
            else:
                await carrying
        finally:
            tasks = [carrying] if self._asking is None else [carrying, self._asking]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def perform(self, action: Action) -> None:
        """Perform one action of a step."""
        match action:
            case AskConsent():
                if self._asking is not None:
                    self._asking.cancel()
                self._asking = asyncio.create_task(self._ask(action))
            case RunAttempt(attempt):
                await self._run(attempt)
            case RecallAttempt(attempt):
                await self._recall(attempt)
            case KeepResult(attempt):
                self._keep(attempt)
            case DropSession() | DropAll() | LeaveOut():
                await stop_programs(self.agent, action)
            case Emit(news):
                self.agent.tell_watcher(news)
            case _:
                await self._perform_last(action)

    async def _perform_last(self, action: Action) -> None:
        match action:
            case CleanUp():
                await self._afterwards.clean_up(self)
            case ComeBack(reseated):
                await self._afterwards.come_back(self, reseated)
            case Serve() if not self._over.done():
                self._over.set_result(None)
            case EndCourse(error) if not self._over.done():
                self._over.set_exception(self._error or error or _nothing(self.agent.name))

    def _keep(self, attempt: Attempt) -> None:
        """Keep the result for its stage, if there is one."""
        course = self.course
        assert course is not None
        session = attempt.session(course.party.study)
        if session in self._results:
            course.keep(attempt, self._results.pop(session))
            tell_totals(self.agent, course, attempt)

    # Consent.

    async def _ask(self, action: AskConsent) -> None:
        """Agree to the proposed study, if it is the one that this site joined."""
        try:
            if not action.known:
                await self._consent(action.study)
            self.course = await self._opened(action.study)
        except (JournalError, UnansweredError) as error:
            if not self._over.done():
                self._over.set_exception(error)
        except SottovoceError as error:
            self._error = error
            self.tell(ConsentRefused(action.number))
        else:
            self.tell(ConsentGiven(action.number, action.study))

    async def _consent(self, study: Study) -> None:
        answer = await self._context.consents(study, self.agent.name, self.agent.tell_watcher)
        if not answer:
            raise WithdrawnError("this site did not consent to the study")
        people = ", ".join(study.roster.names)
        by = answer.note if isinstance(answer, ConsentBy) else ""
        note = f"{by}to the study with the fingerprint {grouped(study.digest)}, among {people}"
        await self.agent.do(self.agent.audit.note, LineKind.CONSENT, note)

    async def _opened(self, study: Study) -> SeatCourse:
        role = next(
            participant.role
            for participant in study.roster.participants
            if participant.name == self.agent.name
        )
        documents = None
        if role is Role.PEER:
            documents = await self._context.documents()
            self.agent.departures = Departures()
        first = Attempt.first(study, Stage.AGREEMENT)
        party = PartyContext(
            study,
            self._keys.identity,
            self._entropy,
            self._keys.box,
            first,
            self._sums.book,
            labels=self._sums.labels,
            policy=self._context.policy,
        )
        return SeatCourse(party, documents=documents)

    # Attempts.

    async def _run(self, attempt: Attempt) -> None:
        sitting, program = self._sitting(attempt)
        try:
            await self.agent.begin(sitting, program, label=_label(attempt))
        except JournalError:
            raise
        except SottovoceError as error:
            self._fail(sitting.session, error)

    async def _recall(self, attempt: Attempt) -> None:
        """Run a finished program again for its result; the record of sums knows what it opened."""
        course = self.course
        assert course is not None
        session = attempt.session(course.party.study)
        if not self.agent.journal.has_begun(session):
            await self.agent.drop(session)
            return
        running = await self.agent.recall(*self._sitting(attempt), label=_label(attempt))
        if running.seat.finished and running.seat.failure is None:
            course.keep(attempt, running.seat.result)
            tell_totals(self.agent, course, attempt)

    def _sitting(self, attempt: Attempt) -> tuple[SeatSession, Callable[[Entropy], Any]]:
        """Our seat and program in an attempt."""
        course = self.course
        assert course is not None
        study = course.party.study
        sitting = SeatSession(
            self.agent.name,
            attempt.session(study),
            tuple(name for name in attempt.parties(study) if name != self.agent.name),
            Relay(course.party, course.agreement),
            course.codec(),
            head=_head(course, attempt),
            sums=self._sums,
        )
        return sitting, partial(_program, course, attempt)

    @property
    def _role(self) -> Role:
        assert self.course is not None
        return self.course.role

    @property
    def model(self) -> PeerModel | QuorumModel | None:
        """The sealed model, at a peer that took part to the end."""
        return None if self.course is None else self.course.model

    @property
    def study(self) -> Study | None:
        """The study, once it is agreed who takes part."""
        return None if self.course is None else self.course.party.study


def _label(attempt: Attempt) -> tuple[str, int]:
    return str(attempt.stage), attempt.number


def _head(course: SeatCourse, attempt: Attempt) -> bytes:
    """An attempt's head in our journal; with other documents it does not begin again."""
    peers = ",".join(attempt.peers)
    return f"{attempt.stage} {attempt.number} {peers} {course.inputs.hex()}".encode()


def _program(course: SeatCourse, attempt: Attempt, entropy: Entropy) -> Any:
    return course.program(attempt, entropy=entropy)


def _nothing(seat: str) -> SottovoceError:
    return WithdrawnError(f"{seat}: this site takes no part in the study")
