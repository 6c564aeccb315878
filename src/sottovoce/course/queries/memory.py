"""Runs queries and evaluations in memory, with the same deciders as over a network.

Nothing is decided here. Letters are delivered at once; once nobody has anything to do, the programs
of a conversation run together. A program that fails ends the conversation for everybody; a party
that left is overdue for everybody. There is no journal, so an earlier conversation cannot be
restored.
"""

from collections import Counter, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from sottovoce.course.control import COORDINATOR
from sottovoce.course.news import QueryWithoutDealer
from sottovoce.course.phases import Phase
from sottovoce.course.queries import coordinator, seat
from sottovoce.course.queries.actions import (
    Deliver,
    EndAsking,
    EndEvaluating,
    EraseCounts,
    Forget,
    KeepCounts,
    RunEvaluation,
    RunQuery,
    ShowEvaluation,
    StopConversation,
)
from sottovoce.course.queries.conversations import ConversationId, EvaluationId, QueryId
from sottovoce.course.queries.coordinator import CoordinatorService
from sottovoce.course.queries.inputs import (
    AnswerDelivered,
    ConversationEnded,
    ConversationOverdue,
    EvaluationDelivered,
    EvaluationWanted,
    NotReplayed,
    QuestionAsked,
    SumsKnown,
)
from sottovoce.course.queries.records import AskerRecord, EvaluationBook
from sottovoce.course.queries.seat import SeatService
from sottovoce.course.queries.seats_seen import SeatsSeen
from sottovoce.course.terms import WaitingLimits
from sottovoce.course.training.actions import Action, Emit, Tell, WakeAt
from sottovoce.course.training.inputs import Failure, Heard, Seen, Started, Tick
from sottovoce.course.training.participant_record import ParticipantRecord
from sottovoce.errors import AbsenceError, SottovoceError
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.runner import Conversation
from sottovoce.study.evaluations.evaluation import NONE_HELD, HeldEvaluations
from sottovoce.study.evaluations.figures import Evaluation
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.budget import QueryBook
from sottovoce.study.queries.classification import Answer, warn_without
from sottovoce.study.study import Study

Run: TypeAlias = RunQuery | RunEvaluation


class ConversationPrograms(Protocol):
    """Makes the programs of one query or evaluation, and the runner that connects them."""

    def programs(self, runs: Mapping[str, Run], book: QueryBook) -> Mapping[str, Party[Any]]:
        """The program of every seat that runs one; the coordinator counts labels in `book`."""

    def table(self, programs: Mapping[str, Party[Any]], which: ConversationId) -> Conversation:
        """The runner that connects them."""

    def keep(self, table: Conversation) -> None:
        """Keep everybody's view of a conversation, also after a failure."""


@dataclass(frozen=True)
class _Ended:
    """A finished conversation: every seat's result, who left, and what failed."""

    results: Mapping[str, Any] = field(repr=False)
    gone: Collection[str] = ()
    error: BaseException | None = None


class QueriesInMemory:
    """Every seat's deciders after a training, and the results of their programs."""

    def __init__(
        self,
        study: Study,
        parties: Mapping[str, PartyContext],
        peers: tuple[str, ...],
        *,
        labels_told: Mapping[str, int],
        limits: WaitingLimits,
    ) -> None:
        """Begin after a training with these `peers`; `labels_told` counts its labels for each."""
        name, names = study.plan.name, study.roster.names
        self.study, self.parties = study, parties
        self.coordinator = CoordinatorService.of(
            name,
            study,
            peers,
            records={peer: AskerRecord(spent=count) for peer, count in labels_told.items()},
            book=EvaluationBook(),
            gather=limits.gather,
            presence=SeatsSeen(limits.unseen),
        )
        record = ParticipantRecord(str(Phase.FINISHED))
        self.seats = {
            each: SeatService.of(name, study, each, record) for each in names if each != COORDINATOR
        }
        self.counted: dict[str, Any] = {}
        self._limits, self._now, self._wake_at = limits, 0.0, 0.0
        self._due: deque[tuple[str, object]] = deque()
        self._runs: dict[ConversationId, dict[str, Run]] = {}
        self._books: dict[ConversationId, QueryBook] = {}
        self._over: dict[ConversationId, _Ended] = {}
        self._begun: set[ConversationId] = set()
        self._held = dict.fromkeys(names, NONE_HELD)
        self._questions = 0
        self._results: list[Answer | Evaluation] = []
        self._here: set[str] = set()
        self._ends: list[EndAsking | EndEvaluating] = []
        self._step(COORDINATOR, Started())

    @property
    def book(self) -> QueryBook:
        """The number of labels told to every peer so far, from the coordinator's records."""
        records = {name: asker.record for name, asker in self.coordinator.askers.items()}
        spent = Counter({name: record.spent for name, record in records.items()})
        evaluated = Counter({name: record.evaluated for name, record in records.items()})
        return QueryBook(self.study.plan.budget, self.study.plan.evaluations, spent, evaluated)

    @property
    def number(self) -> int:
        """The number of the open evaluation, or of the next one."""
        return self.coordinator.evaluations.evaluation.number

    def ask(
        self, peer: str, documents: int, programs: ConversationPrograms, here: set[str]
    ) -> Answer:
        """Answer a peer's question; the seats in `here` were seen just now.

        Every call is a new question, even about the same documents.
        """
        self._results = []
        self._questions += 1
        self._here = here
        self._see(here)
        self._due.append((peer, QuestionAsked(self._questions.to_bytes(8), documents)))
        self._carry(programs)
        answer = self._result()
        assert isinstance(answer, Answer)
        return answer

    def evaluate(
        self, peers: Collection[str], programs: ConversationPrograms, here: set[str]
    ) -> Evaluation:
        """The joint figures of these peers."""
        self._results, self._here = [], here
        self._see(here)
        until = self._now + 2 * self._limits.gather
        self._due.extend((peer, EvaluationWanted(until)) for peer in peers)
        self._carry(programs)
        while not self._results and not self._ends:
            self._now = max(self._now, self._wake_at)
            self._see(here, since=0.0)
            self._due.extend((name, Tick()) for name in (COORDINATOR, *peers))
            self._carry(programs)
        joint = self._result()
        assert isinstance(joint, Evaluation)
        return joint

    def _see(self, here: set[str], since: float | None = None) -> None:
        """Let time pass in which only these seats make a request."""
        self._now += self._limits.unseen + 1 if since is None else since
        for name in self.study.roster.names:
            if name in here:
                self._step(COORDINATOR, Seen(name))

    def _result(self) -> Answer | Evaluation:
        """The result; otherwise raise the error of the failed program or of a decider."""
        ended, self._over = self._over.values(), {}
        if self._results:
            return self._results[0]
        error = next((over.error for over in reversed(ended) if over.error), self._ends[-1].error)
        assert error is not None
        raise error

    # Deciders and letters.

    def _carry(self, programs: ConversationPrograms) -> None:
        self._ends, self._over = [], {}
        while self._due or self._runs:
            if self._due:
                self._step(*self._due.popleft())
            else:
                which = next(iter(self._runs))
                self._converse(which, self._runs.pop(which), programs)

    def _step(self, name: str, happened: object) -> None:
        held = HeldEvaluations.of(self.study, self.parties[name].book)
        if held != self._held[name]:
            self._held[name] = held
            self._decide(name, SumsKnown(held))
        for action in self._decide(name, happened):
            self._perform(name, action)

    def _decide(self, name: str, happened: object) -> tuple[Action, ...]:
        if name == COORDINATOR:
            self.coordinator, actions = coordinator.step(self.coordinator, happened, now=self._now)
        else:
            self.seats[name], actions = seat.step(self.seats[name], happened, now=self._now)
        return actions

    def _perform(self, name: str, action: Action) -> None:
        match action:
            case Tell(recipients, message):
                self._due.extend((recipient, Heard(name, message)) for recipient in recipients)
            case RunQuery(which) | RunEvaluation(which):
                self._run(name, which, action)
            case Forget(which):
                self._drop(name, which)
            case StopConversation(which):
                self._drop(name, which)
                self._due.append((name, self._ended(name, which, stopped=True)))
            case EndAsking() | EndEvaluating():
                self._ends.append(action)
            case Emit(QueryWithoutDealer(_, asker, _, dealer)):
                warn_without(asker, dealer)
            case WakeAt(when):
                self._wake_at = when
            case _:
                self._keep(name, action)

    def _keep(self, name: str, action: Action) -> None:
        """Keep what a program returned."""
        match action:
            case KeepCounts(query):
                self.counted[query.asker] = self._over[query].results[name]
            case EraseCounts(peers):
                for peer in peers:
                    self.counted.pop(peer, None)
            case Deliver(QueryId() as query):
                answer = self._over[query].results[name]
                self._results.append(answer)
                self._due.append((name, AnswerDelivered(answer.left)))
            case Deliver(EvaluationId()):
                self._due.append((name, EvaluationDelivered()))
            case ShowEvaluation(evaluation):
                self._results.append(self._over[evaluation].results[name])

    # Programs.

    def _run(self, name: str, which: ConversationId, action: Run) -> None:
        if which in self._begun:
            self._due.append((name, NotReplayed(which)))
        else:
            self._runs.setdefault(which, {})[name] = action

    def _drop(self, name: str, which: ConversationId) -> None:
        """Forget a program that has not begun."""
        runs = self._runs.get(which, {})
        runs.pop(name, None)
        if not runs:
            self._runs.pop(which, None)

    def _converse(
        self, which: ConversationId, runs: Mapping[str, Run], programs: ConversationPrograms
    ) -> None:
        """Run the programs to their end, or until one of them fails."""
        self._begun.add(which)
        book = self._books[which] = self.book
        error: BaseException | None = None
        results: Mapping[str, Any] = {}
        gone: Collection[str] = ()
        try:
            table = programs.table(programs.programs(runs, book), which)
            try:
                results = table.run().results
            finally:
                gone = table.gone
                programs.keep(table)
        except BaseException as failure:  # noqa: BLE001 - raised where the question was asked
            error = failure
        self._over[which] = _Ended(results, gone, error)
        if isinstance(error, AbsenceError):
            self._see(self._here - set(gone))
        for name in runs:
            self._due.append((name, self._happened(name, which)))

    def _happened(self, name: str, which: ConversationId) -> object:
        """The input that a seat's decider gets about its program."""
        over = self._over[which]
        if isinstance(over.error, AbsenceError):
            return ConversationOverdue(which, over.error.party, over.error.message)
        if over.error is None and name in over.gone:
            return ConversationOverdue(which, name, "it left")
        return self._ended(name, which)

    def _ended(self, name: str, which: ConversationId, *, stopped: bool = False) -> object:
        over = self._over.get(which, _Ended({}))
        result = over.results.get(name)
        failure = None
        if over.error is not None and not stopped:
            failure = _failure(over.error)
        if name != COORDINATOR or isinstance(which, EvaluationId):
            late = isinstance(which, EvaluationId) and result is None
            return ConversationEnded(which, failure, stopped=stopped, late=late)
        book, record = (
            self._books.pop(which, self.book),
            self.coordinator.askers[which.asker].record,
        )
        book.give_back(which.asker)
        return ConversationEnded(
            which,
            failure,
            stopped=stopped,
            charged=book.spent[which.asker] - record.spent,
            evaluated=book.evaluated[which.asker] - record.evaluated,
            counted=result is not None,
        )


def _failure(error: BaseException) -> Failure:
    return Failure.of(error) if isinstance(error, SottovoceError) else Failure("Exception")
