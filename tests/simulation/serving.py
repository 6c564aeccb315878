"""One seat after the training, as a process that can be killed: it carries the same deciders.

What people want (labels, an evaluation) is asked from outside; what they were told is kept
outside, too, as a file that a command wrote would be.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol

from harness.letters import Salted
from simulation.journals import CrashingJournal
from simulation.parts import Noting
from simulation.site import COORDINATOR, Site
from sottovoce.course.phases import Phase
from sottovoce.course.queries import coordinator, seat
from sottovoce.course.queries.actions import (
    Deliver,
    EndAsking,
    EndEvaluating,
    EraseCounts,
    Forget,
    ForgetOthers,
    KeepCounts,
    RunEvaluation,
    RunQuery,
    StopConversation,
)
from sottovoce.course.queries.conversations import ConversationId, EvaluationId, QueryId
from sottovoce.course.queries.coordinator import EVALUATIONS, CoordinatorService, asker_note
from sottovoce.course.queries.inputs import (
    AnswerDelivered,
    ConversationEnded,
    ConversationGoesOn,
    ConversationOverdue,
    EvaluationDelivered,
    EvaluationWanted,
    NotReplayed,
    QuestionAsked,
    SumsKnown,
)
from sottovoce.course.queries.records import (
    AskerRecord,
    AskingRecord,
    EvaluatingRecord,
    EvaluationBook,
)
from sottovoce.course.queries.seat import ASKING, EVALUATING, SeatService
from sottovoce.course.queries.seats_seen import SeatsSeen
from sottovoce.course.terms import Terms
from sottovoce.course.training.actions import Action, WakeAt
from sottovoce.course.training.inputs import Failure, Seen, Tick
from sottovoce.course.training.participant_record import SEAT, ParticipantRecord
from sottovoce.entropy import Entropy
from sottovoce.errors import JournalError, ReplayError, SottovoceError
from sottovoce.node.seat.decider_carrier import read_record
from sottovoce.node.seat.durable_seat import DurableSeat, Packer, SeatSession
from sottovoce.protocols.conversation import Gather, Party, Receive
from sottovoce.storage.opened_sums import OpenedSumsBook
from sottovoce.study.choices import Verdict
from sottovoce.study.evaluations.evaluation import HeldEvaluations
from sottovoce.study.queries.budget import QueryBook
from sottovoce.study.relay import Letter
from sottovoce.study.study import Study
from sottovoce.wire import Codec

DIGEST_BYTES = 32
LONG_ENOUGH = 2000.0
"""So many seconds a simulated site waits for the others to be ready to evaluate."""


@dataclass(frozen=True)
class Question:
    """What people of a site want: labels of something, or (without a value) an evaluation."""

    value: Any

    @property
    def evaluates(self) -> bool:
        return self.value is None

    @property
    def digest(self) -> bytes:
        return sha256(repr(self.value).encode()).digest()


class Programs(Protocol):
    """What a seat runs after the training."""

    def ask(self, value: Any, number: int, verdict: Verdict | None, entropy: Entropy) -> Party[Any]:
        """At an asker."""

    def answer(
        self, book: QueryBook, asker: str, verdict: Verdict | None, entropy: Entropy
    ) -> Party[Any]:
        """At the coordinator."""

    def help(self, query: QueryId, entropy: Entropy) -> Party[Any]:
        """At a helper."""

    def evaluate(self, action: RunEvaluation, entropy: Entropy) -> Party[Any]:
        """At whoever takes part in an evaluation."""


@dataclass(frozen=True)
class ServingParts:
    """What a simulation of queries is made of: the study, its terms, and the programs of a seat."""

    study: Study
    terms: Terms
    programs: Callable[[str, OpenedSumsBook], Programs]
    codec: Codec = field(default_factory=Codec)
    relay: Callable[[], Packer] = Salted
    journal: type[CrashingJournal] = CrashingJournal


@dataclass
class Running:
    """A program under way, and since when it waits as it does."""

    seat: DurableSeat[Any]
    session: bytes
    since: float
    waited: Any = None


class ServingSite(Site):
    """A seat after the training, alive or down."""

    parts: ServingParts  # type: ignore[assignment]

    def __init__(self, *what: Any, **settings: Any) -> None:
        self.served: list[tuple[QueryId, Question, Any]] = []
        self.ended_with: list[SottovoceError | None] = []
        self.asked: dict[bytes, Question] = {}
        super().__init__(*what, **settings)

    def boot(self) -> None:
        self.running: dict[ConversationId, Running] = {}
        self.question: Question | None = None
        self.outcomes: dict[ConversationId, Any] = {}
        self.books: dict[ConversationId, QueryBook] = {}
        self._held = HeldEvaluations()
        super().boot()
        self.programs = self.parts.programs(self.name, self.sums)

    def _state(self) -> Any:
        study, terms, journal = self.parts.study, self.parts.terms, self.journal
        if self.name == COORDINATOR:
            records = {
                name: read_record(journal, asker_note(name), AskerRecord)
                for name in study.roster.names
            }
            return CoordinatorService.of(
                terms.study,
                study,
                study.roster.peers,
                records=records,
                book=read_record(journal, EVALUATIONS, EvaluationBook),
                gather=terms.limits.gather,
                presence=SeatsSeen(terms.limits.unseen),
            )
        record = read_record(journal, SEAT, ParticipantRecord).but(phase=Phase.FINISHED)
        return SeatService.of(
            terms.study,
            study,
            self.name,
            record,
            asked=read_record(journal, ASKING, AskingRecord),
            evaluated=read_record(journal, EVALUATING, EvaluatingRecord),
        )

    # How it stands.

    @property
    def phase(self) -> Phase:
        return Phase.FINISHED

    @property
    def ended(self) -> bool:
        return False

    @property
    def stop(self) -> None:
        """No end of a query stops its seat."""
        return

    @property
    def is_asking(self) -> bool:
        return self.question is not None

    @property
    def due(self) -> float | None:
        times = [] if self.wake_at is None else [self.wake_at]
        times += [self._due_of(wait) for wait in self.awaiting.values()]
        return min(times, default=None)

    @property
    def awaiting(self) -> dict[ConversationId, Running]:
        """The programs for which somebody waits: a command that ended waits for nothing."""
        mine: set[ConversationId] = set()
        if self.name != COORDINATOR and not self.is_asking:
            state = self.state
            mine = {*state.asking.conversations, *state.evaluating.conversations}
        return {
            which: conversation
            for which, conversation in self.running.items()
            if conversation.seat.waiting and which not in mine
        }

    def _due_of(self, running: Running) -> float:
        limits = self.parts.terms.limits
        gathers = isinstance(running.seat.waiting, Gather)
        # The asker gives up before the coordinator does.
        alone = limits.receive if self.name == COORDINATOR else limits.receive * 2 / 3
        return running.since + (limits.gather if gathers else alone)

    @property
    def awaited(self) -> tuple[str, ...]:
        return tuple(
            name
            for program in self.running.values()
            for name in (
                (program.seat.waiting.sender,)
                if isinstance(program.seat.waiting, Receive)
                else program.seat.waiting.senders
                if isinstance(program.seat.waiting, Gather)
                else ()
            )
        )

    # What people want.

    def want(self, question: Question) -> None:
        self.question = question
        if question.evaluates:
            self.happened.append(EvaluationWanted(self.now() + LONG_ENOUGH))
        else:
            self.happened.append(QuestionAsked(question.digest, 1))

    # What it does when it is let.

    def _decide(self, happened: object) -> tuple[Action, ...]:
        decider: Any = coordinator if self.name == COORDINATOR else seat
        self.state, actions = decider.step(self.state, happened, now=self.now())
        return actions

    def _look(self) -> None:
        held = HeldEvaluations.of(self.parts.study, self.sums.book)
        if held != self._held:
            self._held = held
            self._decide(SumsKnown(held))

    def seen(self, name: str) -> None:
        self.step(Seen(name))

    def kept(self, action: Action) -> dict[str, bytes]:
        assert not isinstance(action, KeepCounts | EraseCounts) or self.name == COORDINATOR
        return {}

    def pass_time(self) -> None:
        if self.wake_at is not None and self.wake_at <= self.now():
            self.wake_at = None
            self.happened.append(Tick())
            return
        which, late = min(self.awaiting.items(), key=lambda pair: self._due_of(pair[1]))
        if isinstance(late.seat.waiting, Gather):
            late.seat.expire()
            self._settle_one(which)
        else:
            late.since = self.now()
            party = late.seat.waiting.sender
            self.happened.append(ConversationOverdue(which, party, "waited long"))

    def take(self, letter: Letter, position: int) -> None:
        running = {conversation.session: which for which, conversation in self.running.items()}
        if letter.session in running:
            which = running[letter.session]
            with self.journal.handling(position):
                self.running[which].seat.deliver(letter)
            self._settle_one(which)
        else:
            super().take(letter, position)

    # What a step asks for.

    def _perform(self, action: Action) -> None:
        match action:
            case RunQuery(query, verdict, helpers):
                self._begin(query, (COORDINATOR, query.asker, *helpers), self._querying(action))
                del verdict
            case RunEvaluation(evaluation, peers):
                helpers = self.parts.study.evaluation_helpers(peers)
                program = self.programs.evaluate
                parties = (COORDINATOR, *helpers, *peers)
                self._begin(evaluation, parties, lambda entropy: program(action, entropy))
            case Deliver(which):
                self._deliver(which)
            case EndAsking(error) | EndEvaluating(error):
                self.ended_with.append(error)
                self.question = None
            case WakeAt(when):
                self.wake_at = when
            case _:
                self._stop_programs(action)

    def _stop_programs(self, action: Action) -> None:
        match action:
            case StopConversation(which):
                self._stop(which)
            case Forget(which):
                self._forget(which)
            case ForgetOthers(besides):
                kept = {self._session(which) for which in besides}
                for session in self.journal.remembered():
                    if session not in kept:
                        self._forget_session(session)
                self.over |= set(self.journal.sessions()) - kept

    def _querying(self, action: RunQuery) -> Callable[[Entropy], Party[Any]]:
        query = action.query
        if self.name == COORDINATOR:
            return lambda entropy: self._answering(action, entropy)
        if query.asker != self.name:
            return lambda entropy: self.programs.help(query, entropy)
        question = self.question
        assert question is not None
        self.asked[question.digest] = question
        value, number = question.value, query.number
        return lambda entropy: self.programs.ask(value, number, action.verdict, entropy)

    def _answering(self, action: RunQuery, entropy: Entropy) -> Party[Any]:
        asker, plan = action.query.asker, self.parts.study.plan
        record = self.state.askers[asker].record
        spent, evaluated = Counter({asker: record.spent}), Counter({asker: record.evaluated})
        book = QueryBook(plan.budget, plan.evaluations, spent, evaluated)
        self.books[action.query] = book
        return self.programs.answer(book, asker, action.verdict, entropy)

    def _session(self, which: ConversationId) -> bytes:
        return self.parts.study.session(*which.parts)

    def _begin(
        self,
        which: ConversationId,
        parties: tuple[str, ...],
        program: Callable[[Entropy], Party[Any]],
    ) -> None:
        if which in self.running:
            return
        session = self._session(which)
        packer = Noting(self.parts.relay(), self.made)
        partners = tuple(name for name in parties if name != self.name)
        head = " ".join(which.parts).encode()
        where = (self.name, session, partners, packer, self.parts.codec)
        sitting = SeatSession(*where, head=head, sums=self.sums)
        try:
            opened = self.journal.open_session(session, head)
            self.seeds.append((session, opened.seed))
            packer.material = opened.seed + self._bound_to(which)
            seat = DurableSeat.begin(self.journal, sitting, program)
        except ReplayError:
            assert self.name != COORDINATOR
            self.happened.append(NotReplayed(which))
            return
        except JournalError:
            raise
        except SottovoceError as error:
            self.happened.append(ConversationEnded(which, Failure.of(error)))
            return
        self.over.discard(session)
        self.running[which] = Running(seat, session, self.now(), seat.waiting)
        self._settle_one(which)
        if opened.begun and which in self.running:
            self.happened.append(ConversationGoesOn(which))
        for early in [held for held in self.held if held[0].session == session]:
            if early in self.held:
                self.held.remove(early)
                self.take(*early)

    def _bound_to(self, which: ConversationId) -> bytes:
        """What one-time material depends on besides its seed: what an asker hides with it."""
        mine = isinstance(which, QueryId) and which.asker == self.name
        return self.question.digest if mine and self.question is not None else b""

    def _settle_one(self, which: ConversationId) -> None:
        running = self.running.get(which)
        if running is None:
            return
        if running.seat.waiting is not running.waited:
            running.since, running.waited = self.now(), running.seat.waiting
        if running.seat.finished:
            del self.running[which]
            self.over.add(running.session)
            self.happened.append(self._outcome(which, running.seat))

    def _outcome(self, which: ConversationId, seat: DurableSeat[Any]) -> ConversationEnded:
        failure = None if seat.failure is None else Failure.of(seat.failure)
        result = None if seat.failure is not None or seat.stopped else seat.result
        self.outcomes[which] = result
        charged = evaluated = 0
        if self.name == COORDINATOR and isinstance(which, QueryId):
            book, record = self.books[which], self.state.askers[which.asker].record
            book.give_back(which.asker)
            charged = book.spent[which.asker] - record.spent
            evaluated = book.evaluated[which.asker] - record.evaluated
        late = isinstance(which, EvaluationId) and self.name in self.parts.study.roster.peers
        return ConversationEnded(
            which,
            failure,
            stopped=seat.stopped,
            charged=charged,
            evaluated=evaluated,
            late=late and failure is None and result is None,
        )

    def _stop(self, which: ConversationId) -> None:
        running = self.running.pop(which, None)
        if running is not None:
            self.over.add(running.session)
            running.seat.close()
            self.happened.append(self._outcome(which, running.seat))

    def _forget(self, which: ConversationId) -> None:
        session = self._session(which)
        running = self.running.pop(which, None)
        if running is not None:
            running.seat.close()
        self._drop(session)
        self._forget_session(session)

    def _forget_session(self, session: bytes) -> None:
        if session in self.journal.remembered():
            # A disk in memory has no free pages to be tidied.
            self.journal.forget(session)

    def _deliver(self, which: ConversationId) -> None:
        """The answer is in a file; then the seat hears so, unless the process falls in between."""
        assert self.question is not None
        answer = self.outcomes[which]
        self.served.append((which, self.question, answer))
        if isinstance(which, QueryId):
            self.step(AnswerDelivered(0))
        else:
            self.step(EvaluationDelivered())
        self.question = None


Sites = dict[str, ServingSite]
