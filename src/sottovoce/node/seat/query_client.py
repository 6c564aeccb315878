"""The seat of a peer that asks: one query or evaluation at a time."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

from sottovoce.course.control import COORDINATOR, Rejoining
from sottovoce.course.news import QueryPriced
from sottovoce.course.queries.actions import (
    Deliver,
    EndAsking,
    EndEvaluating,
    RunEvaluation,
    RunQuery,
)
from sottovoce.course.queries.conversations import ConversationId, EvaluationId, QueryId
from sottovoce.course.queries.inputs import (
    AnswerDelivered,
    ConversationEnded,
    EvaluationDelivered,
    EvaluationWanted,
    QuestionAsked,
)
from sottovoce.course.training.actions import Action
from sottovoce.entropy import Entropy
from sottovoce.errors import AbsenceError, InputError, MisuseError, SottovoceError
from sottovoce.node.api import Classified, EvaluationTables
from sottovoce.node.events import EvaluationHeld
from sottovoce.node.seat.after_training import AfterTraining
from sottovoce.node.seat.deciders import RunningProgram
from sottovoce.node.seat.letter_audit import LetterAudit
from sottovoce.node.seat.query_seat import QuerySeat
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.storage.pending_queries import TEST_OVER, KeptTest, QuestionRows
from sottovoce.study.evaluations.evaluation import evaluate_peer
from sottovoce.study.evaluations.evaluation_record import KeptEvaluation
from sottovoce.study.evaluations.figures import Evaluation, HeldOut, Tested, own_view
from sottovoce.study.evaluations.quorum_roc import HeldOutRows
from sottovoce.study.queries.classification import Answer, ask
from sottovoce.study.queries.entities import remote_part
from sottovoce.study.queries.explanations import DocumentQuestion
from sottovoce.study.queries.model import PeerModel
from sottovoce.study.queries.quorum_model import QuorumModel
from sottovoce.study.queries.quorum_queries import ask_members
from sottovoce.study.queries.score_shares import decided
from sottovoce.study.queries.thresholds import Floats, unit_scores
from sottovoce.study.stages.holdings import integer_rows, read_rows
from sottovoce.study.stages.training import held_out_side
from sottovoce.text.documents import Document

T = TypeVar("T")
InSafety: TypeAlias = Callable[[T], object]
"""Stores an answer; until it returns, a restart delivers the same answer again."""
_Asked: TypeAlias = asyncio.Future[ConversationId]


class QueryClient(QuerySeat):
    """The seat of a peer that asks queries."""

    def __init__(
        self,
        agent: SeatRuntime,
        standing: AfterTraining,
        model: PeerModel | QuorumModel,
        audit: LetterAudit,
    ) -> None:
        super().__init__(agent, standing)
        self.audit = audit
        self.model = model
        self._plan = standing.study.plan
        self._question: QuestionRows | None = None
        self._tested: Tested | None = None
        self._labels: _Asked | None = None
        self._figures: _Asked | None = None

    # Actions.

    async def perform(self, action: Action) -> None:
        """Perform one action of a step."""
        match action:
            case Deliver(QueryId() as query):
                _resolve(self._labels, query)
            case Deliver(EvaluationId() as evaluation):
                _resolve(self._figures, evaluation)
            case EndAsking(error, failed):
                _reject(self._labels, error or self._failure(failed))
            case EndEvaluating(error, failed):
                _reject(self._figures, error or self._failure(failed))
            case RunQuery(query, _, helpers) if query.asker == self.agent.name:
                await super().perform(action)
                until = time.time() + self.agent.waits.receive
                self.agent.announce("an answer to our query", (COORDINATOR, *helpers), until)
            case _:
                await super().perform(action)

    def _failure(self, failed: ConversationId | None) -> SottovoceError:
        assert failed is not None
        return self.failures[failed]

    def outcome(self, which: ConversationId, running: RunningProgram) -> ConversationEnded:
        """The result of a program; an evaluation without one continued without us."""
        ended = super().outcome(which, running)
        if isinstance(which, EvaluationId) and ended.failure is None:
            return ConversationEnded(which, late=self.results[which] is None)
        return ended

    def query_program(self, action: RunQuery, entropy: Entropy) -> Any:
        """The program that asks our question, or helps with another's."""
        if action.query.asker != self.agent.name:
            return super().query_program(action, entropy)
        question, number = self._question, action.query.number
        assert question is not None
        party, model, asked = self.standing.party(entropy), self.model, question.rows
        if isinstance(model, QuorumModel):
            return ask_members(
                party,
                model,
                asked,
                number=number,
                evaluation=question.evaluation,
                own=question.own,
            )
        seats = party.study.answering_seats(party.name)
        remote = remote_part(party, model, question.entities, number=number, answering=seats)
        return ask(
            party,
            model,
            asked,
            number=number,
            evaluation=question.evaluation,
            truth=question.truth,
            own=question.own,
            remote=remote,
            verdict=action.verdict,
        )

    def evaluation_program(self, action: RunEvaluation, entropy: Entropy) -> Any:
        """The program that adds our own table to the sum."""
        evaluation, peers = action.evaluation, action.peers
        assert self._tested is not None
        party = self.standing.party(entropy, attempt=evaluation.attempt, peers=peers)
        return evaluate_peer(party, self._tested, peers, number=evaluation.number)

    async def rejoining(self, seat: str, *, seconds: float) -> Rejoining:
        """Wait for the notice that a peer enrolled again."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                async for state in self.states():
                    for peer_rejoining in state.helping.record.rejoining:
                        if peer_rejoining.consent.name == seat:
                            return peer_rejoining
        raise AbsenceError(f"has not enrolled again: nothing came in {seconds:.0f} s", party=seat)

    # Queries.

    async def classify(
        self,
        documents: Sequence[Document],
        deliver: InSafety[Classified],
        *,
        explain: bool = False,
        own: Floats | None = None,
    ) -> Classified:
        """The classes of every row, and the words that decided them, if asked for.

        `own` are thresholds of this peer's own, for all rows alike or a row of them each.
        """
        # In a thread, so that long texts do not delay the seat's letters.
        question = await asyncio.to_thread(self._asked_about, documents, explain=explain)
        count, wordless = question.count, question.wordless
        if not count:
            name = self.agent.name
            raise InputError(f"{name}: there is no document to classify")
        asked = QuestionRows(question.rows, own=own, entities=self._entities(documents))
        charged = self._price(asked, labels=count)
        answer, query = await self._answered(asked)
        because = question.copies.because(self._plan.labels, answer.classes, answer.scores)
        scores = None if answer.scores is None else answer.scores[:count]
        parts = (answer.classes[:count], answer.left, scores, answer.counted, answer.verdict)
        classified = Classified(*parts, charged=charged, wordless=wordless, because=because)
        await asyncio.to_thread(deliver, classified)
        await self._close_query(query, answer.left)
        return classified

    def _price(self, question: QuestionRows, *, labels: int) -> int:
        """Announce the cost of a query; a site that has the weights asks none."""
        if self.model.released is not None:
            return 0
        batch, left = self.model.batch, self.state.asking.record.left
        counted = -(-question.count // batch) * batch
        known = left[0] if left else self._plan.budget
        priced = QueryPriced(self.agent.study, self.agent.name, labels, counted, known)
        self.agent.tell_watcher(priced)
        return counted

    async def _answered(self, question: QuestionRows) -> tuple[Answer, QueryId | None]:
        """The answer, and the query to close once the answer is stored."""
        model, rows = self.model, question.rows
        if model.released is not None:
            scores = unit_scores(rows, rows @ model.released)
            classes = decided(self._plan.labels, scores, model.operating_point, question.own)
            return Answer(classes, self._plan.budget, scores), None
        self._question = question
        self._labels = asyncio.get_running_loop().create_future()
        await self.take(QuestionAsked(question.digest, question.count))
        query = await self._labels
        assert isinstance(query, QueryId)
        answer = self.results[query]
        assert isinstance(answer, Answer)
        return answer, query

    async def _close_query(
        self, query: QueryId | None, left: int, notes: Mapping[str, bytes] | None = None
    ) -> None:
        """Delete the query's seeds once the answer is stored, in one transaction with the notes."""
        if query is None:
            await self.agent.commit_notes(notes or {})
        else:
            await self.take(AnswerDelivered(left), notes, commit=partial(self.forget, query))

    # Evaluations.

    async def evaluate(
        self, documents: Sequence[Document], deliver: InSafety[EvaluationTables], *, until: float
    ) -> EvaluationTables:
        """This site's own table, and the joint one."""
        if self.state.helping.record.reseated:
            raise MisuseError(
                f"{self.agent.name}: a site that enrolled again takes no part in evaluations: "
                "not everybody agreed to its new keys; nothing was asked",
                hints=("the sites that kept their keys evaluate without it",),
            )
        self._tested = await self._test(documents)
        own = own_view(self._plan, self._tested, self.agent.name)
        self._show_figures(KeptEvaluation(time.time(), own))
        self._figures = asyncio.get_running_loop().create_future()
        await self.take(EvaluationWanted(until))
        evaluation = await self._figures
        joint = self.results[evaluation]
        assert isinstance(joint, Evaluation)
        self._show_figures(KeptEvaluation(time.time(), own, joint))
        await asyncio.to_thread(deliver, EvaluationTables(own, joint))
        close = partial(self.forget, evaluation)
        await self.take(EvaluationDelivered(), TEST_OVER, commit=close)
        return EvaluationTables(own, joint)

    def _asked_about(self, documents: Sequence[Document], *, explain: bool) -> DocumentQuestion:
        """The rows of a question: all columns, or those that this peer holds."""
        if not self._plan.arrangement.by_features:
            return DocumentQuestion.of(documents, self.model, explain=explain)
        if explain:
            raise InputError("explain: expected rows with text, found columns of several peers")
        party = self.standing.party(self.standing.drawn)
        return DocumentQuestion.held(documents, self.model, party=party)

    def _entities(self, documents: Sequence[Document]) -> tuple[str, ...]:
        """The names of the rows' entities, if others look them up."""
        if not self._plan.arrangement.asks_holders:
            return ()
        nameless = next((document.origin for document in documents if document.group is None), None)
        if nameless is not None:
            raise InputError(
                f"{nameless}: this row does not say whom it is about",
                hints=("--group patient",),
            )
        return tuple(document.group or "" for document in documents)

    def _show_figures(self, kept: KeptEvaluation) -> None:
        """Emit the figures of an evaluation: our own at once, the joint ones later."""
        shown = kept.joint or kept.own
        assert shown is not None
        figures = (shown.peers, shown.accuracy, kept.encode().decode())
        self.agent.tell_watcher(EvaluationHeld(self.agent.study, self.agent.name, *figures))

    async def _test(self, documents: Sequence[Document]) -> Tested:
        """The result on our held-out documents; asked for once, also across restarts."""
        plan, model = self._plan, self.model
        mine = held_out_side(self.standing.party(self.standing.drawn), documents)
        if not mine:
            raise InputError(f"{self.agent.name}: this site has no held-out documents")
        party = self.standing.party(self.standing.drawn)
        places = read_rows(party.study, model.space, party.name, mine, key=model.key).places
        test = HeldOut.of(plan, mine, places)
        rows = integer_rows(party.study, model.space, party.name, mine, key=model.key)
        entities = self._entities(mine)
        question = QuestionRows(rows, evaluation=True, truth=test.truth, entities=entities)
        kept = await self.agent.do(KeptTest.read, self.agent.journal)
        if kept is not None and kept.digest == question.digest:
            tested = kept.tested()
        else:
            self._price(question, labels=question.count)
            answer, query = await self._answered(question)
            tested = test.tested(answer)
            notes = KeptTest.of(tested, question.digest).notes()
            await self._close_query(query, answer.left, notes)
        if not party.study.members_count:
            return tested
        return replace(tested, held_out=HeldOutRows(model.scores, rows, test.truth))


def _resolve(waiting: _Asked | None, which: ConversationId) -> None:
    if waiting is not None and not waiting.done():
        waiting.set_result(which)


def _reject(waiting: _Asked | None, error: SottovoceError) -> None:
    if waiting is not None and not waiting.done():
        waiting.set_exception(error)
