"""Carries a seat's deciders after the training, and runs the programs of its conversations."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol, TypeVar

from sottovoce.course.control import COORDINATOR
from sottovoce.course.queries.actions import (
    Forget,
    ForgetOthers,
    RunEvaluation,
    RunQuery,
    StopConversation,
)
from sottovoce.course.queries.conversations import ConversationId, EvaluationId, QueryId
from sottovoce.course.queries.inputs import (
    ConversationEnded,
    ConversationGoesOn,
    ConversationOverdue,
    NotReplayed,
    SumsKnown,
)
from sottovoce.course.training.actions import Action, Emit
from sottovoce.course.training.inputs import Failure
from sottovoce.entropy import Entropy
from sottovoce.errors import JournalError, ReplayError, SottovoceError
from sottovoce.node.seat.after_training import AfterTraining
from sottovoce.node.seat.decider_carrier import Carrier
from sottovoce.node.seat.deciders import RunningProgram
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.study.evaluations.evaluation import NONE_HELD, HeldEvaluations
from sottovoce.wire import Value


class Conversing(Protocol):
    """The deciders of a seat after the training."""

    @property
    def records(self) -> Mapping[str, Value]:
        """The records that outlive the process."""

    @property
    def conversations(self) -> tuple[ConversationId, ...]:
        """The conversations under way."""


C = TypeVar("C", bound=Conversing)


class ServiceCarrier(Carrier[C]):
    """Begins, stops and deletes conversations, and reports their results to the deciders."""

    def __init__(
        self,
        agent: SeatRuntime,
        step: Callable[..., tuple[C, tuple[Action, ...]]],
        state: C,
        standing: AfterTraining,
    ) -> None:
        super().__init__(agent, step, state)
        self.standing = standing
        self.results: dict[ConversationId, Any] = {}
        self.failures: dict[ConversationId, SottovoceError] = {}
        self._which: dict[bytes, ConversationId] = {}
        self._held = NONE_HELD

    # Called by the seat's runtime.

    def ended(self, running: RunningProgram) -> None:
        """A program ended."""
        self.tell(self.outcome(self._which[running.sitting.session], running))

    def overdue(self, running: RunningProgram, party: str) -> None:
        """A party did not answer in time."""
        waited = f"waited {self.agent.waits.receive:.0f} s for its {running.awaited}"
        self.tell(ConversationOverdue(self._which[running.sitting.session], party, waited))

    def waiting(self, running: RunningProgram, until: float) -> None:
        """A program has waited for some time."""

    def outcome(self, which: ConversationId, running: RunningProgram) -> ConversationEnded:
        """The result of a program; the value or error itself stays here."""
        failure, stopped = running.seat.failure, running.seat.stopped
        if failure is not None:
            self.failures[which] = failure
            return ConversationEnded(which, Failure.of(failure), stopped=stopped)
        if not stopped:
            self.results[which] = running.seat.result
        return ConversationEnded(which, stopped=stopped)

    def look(self) -> None:
        """Read the record of opened sums: a step of a program may have added to it."""
        held = HeldEvaluations.of(self.standing.study, self.standing.sums.book)
        if held != self._held:
            self._held = held
            self.see(SumsKnown(held))

    # Actions.

    async def perform(self, action: Action) -> None:
        """Perform one action of a step."""
        match action:
            case RunQuery(query, _, helpers):
                parties = (COORDINATOR, query.asker, *helpers)
                await self.begin(query, parties, partial(self.query_program, action))
            case RunEvaluation(evaluation, peers):
                await self.prepare(action)
                helpers = self.standing.study.evaluation_helpers(peers)
                program = partial(self.evaluation_program, action)
                await self.begin(evaluation, (COORDINATOR, *helpers, *peers), program)
            case StopConversation(which):
                running = await self.agent.drop(self.session(which))
                if running is not None:
                    self.tell(self.outcome(which, running))
            case Forget(which):
                await self.forget(which)
            case ForgetOthers(besides):
                await self._forget_others(besides)
            case Emit(news):
                self.agent.tell_watcher(news)

    async def begin(
        self, which: ConversationId, parties: tuple[str, ...], program: Callable[[Entropy], Any]
    ) -> None:
        """Begin a program or continue it from the journal, unless it runs."""
        sitting = self.standing_for(which).sitting(which.parts, parties)
        if sitting.session in self.agent.running:
            return
        self._which[sitting.session] = which
        begun = self.agent.journal.has_begun(sitting.session)
        label = (which.parts[0], which.number)
        try:
            running = await self.agent.begin(sitting, program, label=label)
        except ReplayError as error:
            self.not_replayed(which, error)
            return
        except JournalError:
            raise
        except SottovoceError as error:
            self.failures[which] = error
            self.tell(ConversationEnded(which, Failure.of(error)))
            return
        if begun and not running.seat.finished:
            self.tell(ConversationGoesOn(which))

    def not_replayed(self, which: ConversationId, error: ReplayError) -> None:
        """A program cannot be restored from the journal."""
        del error
        self.tell(NotReplayed(which))

    async def forget(self, which: ConversationId, notes: Mapping[str, bytes] | None = None) -> None:
        """Stop a program and delete its seeds, in one transaction with the notes."""
        session, journal = self.session(which), self.agent.journal
        await self.agent.drop(session)
        self.results.pop(which, None)
        if session in await self.agent.do(journal.remembered):
            await self.agent.do(lambda: journal.forget(session, notes=notes or {}))
        elif notes:
            await self.agent.commit_notes(notes)

    async def _forget_others(self, besides: tuple[ConversationId, ...]) -> None:
        kept, journal = {self.session(which) for which in besides}, self.agent.journal
        for session in await self.agent.do(journal.remembered):
            if session not in kept:
                await self.agent.do(journal.forget, session)
        await self.agent.settle_known(besides=kept)

    def session(self, which: ConversationId) -> bytes:
        """The session of a conversation."""
        return self.standing_for(which).study.session(*which.parts)

    def standing_for(self, which: ConversationId) -> AfterTraining:
        """The study of a conversation, with the new keys of an asker that enrolled again."""
        if isinstance(which, EvaluationId):
            return self.standing
        return self.asker_standing(which)

    async def prepare(self, action: RunEvaluation) -> None:
        """Read the inputs of an evaluation's program before it begins."""

    @abstractmethod
    def asker_standing(self, query: QueryId) -> AfterTraining:
        """The study with the current keys of an asker."""

    @abstractmethod
    def query_program(self, action: RunQuery, entropy: Entropy) -> Any:
        """Our program of a query."""

    @abstractmethod
    def evaluation_program(self, action: RunEvaluation, entropy: Entropy) -> Any:
        """Our program of an evaluation."""
