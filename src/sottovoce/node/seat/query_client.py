"""A peer's seat after the training: one query or evaluation at a time, each on disk first.

A killed process loses nothing. Asked again about the same documents, the seat repeats its query's
number and continues from there (`pending_queries.py`). If the coordinator gave the query up
meanwhile, it refuses the number and the seat asks anew. What is charged, and why nobody gains by
breaking off, stands in `study/queries/classification.py` and `query_coordinator.py`. A query's
seeds are deleted once the asker has the answer.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias, TypeVar

from sottovoce.course.control import (
    COORDINATOR,
    AskedEvaluation,
    AskedQuery,
    Closed,
    OpenedEvaluation,
    RefusedEvaluation,
    RefusedQuery,
    Rejoining,
)
from sottovoce.course.participant_record import ParticipantRecord
from sottovoce.entropy import Entropy
from sottovoce.errors import AbsenceError, InputError, MisuseError, ReplayError, ViolationError
from sottovoce.node.api import Classified, EvaluationTables
from sottovoce.node.events import (
    EvaluationHeld,
    QueryGivenUp,
    QueryGoesOn,
    QueryPriced,
    QueryWithoutDealer,
    StudyClosed,
)
from sottovoce.node.seat.after_training import AfterTraining, wanted_verdict
from sottovoce.node.seat.deciders import Effect, RunningProgram
from sottovoce.node.seat.durable_seat import SeatSession
from sottovoce.node.seat.letter_audit import LetterAudit
from sottovoce.node.seat.seat_runtime import EffectDecider, SeatRuntime
from sottovoce.node.seat.training_participant import TrainingParticipant
from sottovoce.protocols.messages import Message
from sottovoce.storage.pending_queries import (
    ATTEMPT_OVER,
    EVALUATION_OVER,
    QUERY_OVER,
    KeptTest,
    OpenQuery,
    PendingQueries,
    QuestionRows,
    answered_notes,
    asked_notes,
    opened_notes,
)
from sottovoce.study.plan import Verdict
from sottovoce.study.queries.classification import Answer, ask, goes_on_without
from sottovoce.study.queries.evaluation import check_opening, evaluate_peer
from sottovoce.study.queries.evaluation_record import KeptEvaluation
from sottovoce.study.queries.explanations import DocumentQuestion
from sottovoce.study.queries.figures import Evaluation, HeldOut, Tested, own_view
from sottovoce.study.queries.model import PeerModel
from sottovoce.study.queries.quorum_model import QuorumModel
from sottovoce.study.queries.quorum_queries import ask_members
from sottovoce.study.queries.score_shares import decided
from sottovoce.study.queries.thresholds import unit_scores
from sottovoce.study.stages.training import held_out_side
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureReader
from sottovoce.wire import Codec

T = TypeVar("T")
Deliver: TypeAlias = Callable[[T], object]
"""Takes an answer into safety; until it returned, a restart brings the same answer again."""

# A number that the coordinator knows already is followed by the one that it expects, and a dealer
# that does not answer by a query without it.
_TRIES = 3


class QueryClient(EffectDecider):
    """The decider of a peer that asks."""

    def __init__(
        self,
        agent: SeatRuntime,
        standing: AfterTraining,
        model: PeerModel | QuorumModel,
        audit: LetterAudit,
    ) -> None:
        """Ask with this model."""
        self.audit = audit
        self.agent = agent
        self.standing = standing
        self.model = model
        self._plan = standing.study.plan
        self._changed = asyncio.Event()
        self._late = ""
        self._late_party = ""
        self._refused: list[RefusedQuery] = []
        self._unheld: list[RefusedEvaluation] = []
        self._closed = False

    # What the agent tells.

    async def heard(self, sender: str, message: Message) -> Effect:
        """The coordinator refuses, opens an evaluation, or has closed the study."""
        if sender != COORDINATOR:
            raise ViolationError("expected control letters of the coordinator alone", party=sender)
        match message:
            case RefusedQuery():
                self._refused.append(message)
            case OpenedEvaluation():
                return Effect(opened_notes(message))
            case RefusedEvaluation():
                self._unheld.append(message)
            case Rejoining():
                book = TrainingParticipant.read(self.agent, ParticipantRecord)
                return Effect(
                    {TrainingParticipant.note: Codec().encode(book.with_rejoining(message))}
                )
            case Closed():
                self._closed = True
                self.agent.tell_watcher(StudyClosed(self.agent.study, self.agent.name))
        return Effect()

    def settled(self) -> None:
        """What came of a letter is on disk: go on."""
        self._changed.set()

    def ended(self, running: RunningProgram) -> None:
        """The program is at its end."""
        del running
        self._changed.set()

    def overdue(self, running: RunningProgram, party: str) -> None:
        """Somebody does not answer."""
        self._late = f"waited {self.agent.waits.receive:.0f} s for its {running.awaited}"
        self._late_party = party
        self._changed.set()

    async def rejoining(self, seat: str, *, seconds: float) -> Rejoining:
        """What we heard of a peer that enrolled again, or will hear soon."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while True:
                    self._changed.clear()
                    book = TrainingParticipant.read(self.agent, ParticipantRecord)
                    for one in book.rejoining:
                        if one.consent.name == seat:
                            return one
                    await self._changed.wait()
        raise AbsenceError(
            f"has not enrolled again, as far as we heard in {seconds:.0f} s", party=seat
        )

    # Queries.

    async def classify(
        self, documents: Sequence[Document], deliver: Deliver[Classified], *, explain: bool = False
    ) -> Classified:
        """The classes of every row of the documents, and the words that carried them, if asked."""
        question = DocumentQuestion.of(documents, self.model, explain=explain)
        count = question.count
        if not count:
            name = self.agent.name
            raise InputError(f"{name}: expected at least 1 document to classify, found none")
        asked = QuestionRows(question.rows)
        charged = await self._price(asked, told=count)
        found, session = await self._answered(asked)
        because = question.copies.because(self._plan.labels, found.classes, found.scores)
        scores = None if found.scores is None else found.scores[:count]
        parts = (found.classes[:count], found.left, scores, found.counted, found.verdict)
        answer = Classified(*parts, charged=charged, wordless=question.wordless, because=because)
        await asyncio.to_thread(deliver, answer)
        await self._forget(session, answered_notes(answer.left))
        return answer

    async def _price(self, asked: QuestionRows, *, told: int) -> int:
        """Say what a query will count as, before it is asked; whoever has the weights asks none."""
        if self.model.released is not None:
            return 0
        batch, left = self.model.batch, (await self._under_way()).left
        counted = -(-asked.count // batch) * batch
        known = self._plan.budget if left is None else left
        priced = QueryPriced(self.agent.study, self.agent.name, told, counted, known)
        self.agent.tell_watcher(priced)
        return counted

    async def _answered(self, asked: QuestionRows) -> tuple[Answer, bytes]:
        """The answer, and the session that has to be forgotten once it is in safety."""
        model, rows = self.model, asked.rows
        if model.released is not None:
            scores = unit_scores(rows, rows @ model.released)
            classes = decided(self._plan.labels, scores, model.operating_point)
            return Answer(classes, self._plan.budget, scores), b""
        query, reason = await self._taken_up(asked), ""
        for _ in range(_TRIES):
            running, query = await self._begun_query(asked, query)
            session = running.sitting.session
            refusal = await self._query_outcome(running, query)
            if refusal is None:
                result = running.seat.result
                assert isinstance(result, Answer)
                return result, session
            await self._forget(session, QUERY_OVER)
            reason = refusal.reason
            if self._without(query, refusal.missing):
                following = max(refusal.expected, query.number + 1)
                query = await self._taken(asked, following, Verdict.DGK)
                self._late = ""
                dealt = (query.number, refusal.missing)
                told = QueryWithoutDealer(self.agent.study, self.agent.name, *dealt)
                self.agent.tell_watcher(told)
                continue
            if refusal.expected <= query.number:
                break
            query = await self._taken(asked, refusal.expected, wanted_verdict(query.verdict))
        raise MisuseError(f"{self.agent.name}: the query was refused: {reason}")

    async def _query_outcome(
        self, running: RunningProgram, query: OpenQuery
    ) -> RefusedQuery | None:
        """As `_outcome`; who waits for a dealer that it can do without is refused by itself."""
        refused = partial(self._query_refused, query.number)
        try:
            return await self._outcome(running, refused, over=QUERY_OVER)
        except AbsenceError as error:
            if not self._without(query, error.party):
                raise
            return RefusedQuery(query.number, 0, error.message, error.party)

    def _without(self, query: OpenQuery, missing: str) -> bool:
        """Whether a query begins anew because of who is missing; once, and never silently."""
        study, me = self.standing.study, self.agent.name
        return not query.verdict and goes_on_without(study, me, missing)

    async def _taken_up(self, asked: QuestionRows) -> OpenQuery:
        """This query, which is on disk: the one that was broken off, or the next."""
        found = await self._under_way()
        before = found.query
        if before is None:
            return await self._taken(asked, found.following)
        if before.digest != asked.digest:
            return await self._instead_of(before, asked)
        self.agent.tell_watcher(QueryGoesOn(self.agent.study, self.agent.name, before.number))
        # Said again: the coordinator answers only if it has given the query up.
        again = AskedQuery(before.number, before.verdict)
        await self.agent.commit(Effect({}, [(COORDINATOR, again)]))
        return before

    async def _taken(
        self, asked: QuestionRows, number: int, verdict: Verdict | None = None
    ) -> OpenQuery:
        how = str(verdict or "")
        query = OpenQuery(number, asked.digest, asked.count, how)
        letter = (COORDINATOR, AskedQuery(number, how))
        await self.agent.commit(Effect(asked_notes(query), [letter]))
        return query

    async def _instead_of(self, before: OpenQuery, asked: QuestionRows) -> OpenQuery:
        """Ask another query; the one before is given up, and whoever watches is told."""
        given_up = QueryGivenUp(self.agent.study, self.agent.name, before.number, before.documents)
        self.agent.tell_watcher(given_up)
        await self._forget(self._query_sitting(before).session, QUERY_OVER)
        return await self._taken(asked, before.number + 1)

    async def _begun_query(
        self, asked: QuestionRows, query: OpenQuery
    ) -> tuple[RunningProgram, OpenQuery]:
        sitting = self._query_sitting(query)
        program = partial(self._asking, asked, query=query)
        try:
            running = await self.agent.begin(sitting, program, label=("query", query.number))
        except ReplayError:
            # Another version of the model or of this program: these bytes are not made again.
            return await self._begun_query(asked, await self._instead_of(query, asked))
        until = time.time() + self.agent.waits.receive
        self.agent.announce("an answer to our query", sitting.partners, until)
        return running, query

    def _query_sitting(self, query: OpenQuery) -> SeatSession:
        me = self.agent.name
        verdict = self.standing.study.verdict_for(me, wanted_verdict(query.verdict))
        parties = self.standing.query_parties(me, verdict)
        return self.standing.sitting(("query", me, str(query.number)), parties)

    def _asking(self, asked: QuestionRows, entropy: Entropy, *, query: OpenQuery) -> Any:
        party = self.standing.party(entropy)
        if isinstance(self.model, QuorumModel):
            return ask_members(
                party, self.model, asked.rows, number=query.number, evaluation=asked.evaluation
            )
        return ask(
            party,
            self.model,
            asked.rows,
            number=query.number,
            evaluation=asked.evaluation,
            truth=asked.truth,
            verdict=wanted_verdict(query.verdict),
        )

    def _query_refused(self, number: int) -> RefusedQuery | None:
        here = [one for one in self._refused if one.number == number]
        self._refused.clear()
        return here[0] if here else None

    async def _outcome(
        self, running: RunningProgram, refused: Callable[[], T | None], *, over: Mapping[str, bytes]
    ) -> T | None:
        """Wait for the program's end, a refusal, or the end of our patience.

        After the end of our patience, and of this process, the query can be gone on with.
        """
        while not running.seat.finished:
            self._changed.clear()
            if self._closed:
                await self._forget(running.sitting.session, over)
                raise MisuseError(
                    "the study is closed: its coordinator deleted the key, and answers nothing"
                )
            if self._late:
                raise AbsenceError(f"does not answer: {self._late}", party=self._late_party)
            if (refusal := refused()) is not None:
                return refusal
            await self._changed.wait()
        if running.seat.failure is not None:
            await self._forget(running.sitting.session, over)
            raise running.seat.failure
        return None

    async def _forget(self, session: bytes, notes: Mapping[str, bytes]) -> None:
        """A session is over: its seeds go, and what the journal says of it, in one piece."""
        journal = self.agent.journal
        if session not in journal.sessions():
            await self.agent.do(lambda: journal.commit(notes=notes))
            return
        await self.agent.drop(session)
        await self.agent.do(lambda: journal.forget(session, notes=notes))

    async def _under_way(self) -> PendingQueries:
        return await self.agent.do(PendingQueries.read, self.agent.journal)

    async def settle(self) -> None:
        """What was broken off before and cannot be gone on with is over."""
        found, open_ones = await self._under_way(), set[bytes]()
        if found.query is not None:
            open_ones.add(self._query_sitting(found.query).session)
        if found.evaluation is not None:
            open_ones.add(self._evaluation_sitting(found.evaluation).session)
        journal = self.agent.journal
        for session in await self.agent.do(journal.remembered):
            if session not in open_ones:
                await self.agent.do(journal.forget, session)
        await self.agent.settle_known(besides=open_ones)

    # Evaluations.

    async def evaluate(
        self, documents: Sequence[Document], deliver: Deliver[EvaluationTables], *, until: float
    ) -> EvaluationTables:
        """This site's own table, and the joint one."""
        if TrainingParticipant.read(self.agent, ParticipantRecord).reseated:
            raise MisuseError(
                f"{self.agent.name}: a site that enrolled again takes no part in evaluations: "
                "not everybody agreed to its new keys; nothing was asked",
                hints=("the sites that kept their keys evaluate without it",),
            )
        tested = await self._tested(documents)
        own = own_view(self._plan, tested, self.agent.name)
        self._say_held(KeptEvaluation(time.time(), own))
        joint, session = await self._joint(tested, until)
        self._say_held(KeptEvaluation(time.time(), own, joint))
        await asyncio.to_thread(deliver, EvaluationTables(own, joint))
        await self._forget(session, EVALUATION_OVER)
        return EvaluationTables(own, joint)

    def _say_held(self, kept: KeptEvaluation) -> None:
        """Let whoever watches show and keep the figures: our own at once, the joint ones later."""
        shown = kept.joint or kept.own
        assert shown is not None
        self.agent.tell_watcher(
            EvaluationHeld(
                self.agent.study,
                self.agent.name,
                shown.peers,
                shown.accuracy,
                kept.encode().decode(),
            )
        )

    async def _joint(self, tested: Tested, until: float) -> tuple[Evaluation, bytes]:
        while True:
            opened = await self._opened(until)
            sitting = self._evaluation_sitting(opened)
            before = sitting.session in await self.agent.do(self.agent.journal.remembered)
            if not before:
                await self._check(opened)
            program = partial(self._evaluating, tested, opened)
            label = ("evaluation", opened.number)
            try:
                running = await self.agent.begin(sitting, program, label=label)
            except ReplayError:
                # Other documents: what the attempt was begun with cannot be gone on with.
                await self._forget(sitting.session, ATTEMPT_OVER)
                continue
            if before and not running.seat.finished:
                # Said again: the coordinator answers only if none is held any longer.
                await self.agent.commit(Effect({}, [(COORDINATOR, AskedEvaluation())]))
            refused = partial(self._attempt_over, opened)
            reason = await self._outcome(running, refused, over=ATTEMPT_OVER)
            if reason is None:
                break
            await self._forget(sitting.session, ATTEMPT_OVER)
            if not before:
                hints = ("run it again with the others",)
                raise MisuseError(f"{self.agent.name}: {reason}", hints=hints)
        result = running.seat.result
        if result is None:
            await self._forget(sitting.session, ATTEMPT_OVER)
            late = "this site came too late for the joint evaluation"
            raise AbsenceError(late, party=self.agent.name)
        assert isinstance(result, Evaluation)
        return result, sitting.session

    async def _check(self, opened: OpenedEvaluation) -> None:
        """Refuse what was held already, or is over others than before; it is not asked again."""
        try:
            party = self.standing.party(self.standing.drawn)
            check_opening(party, opened.peers, number=opened.number)
        except ViolationError:
            await self.agent.do(lambda: self.agent.journal.commit(notes=ATTEMPT_OVER))
            raise

    def _evaluation_sitting(self, opened: OpenedEvaluation) -> SeatSession:
        helpers, peers = self.standing.study.evaluation_helpers(opened.peers), opened.peers
        name = ("evaluation", str(opened.number), str(opened.attempt))
        return self.standing.sitting(name, (COORDINATOR, *helpers, *peers))

    async def _opened(self, until: float) -> OpenedEvaluation:
        """The joint evaluation that is under way, or the next that begins with us."""
        if (found := (await self._under_way()).evaluation) is not None:
            return found
        await self.agent.commit(Effect({}, [(COORDINATOR, AskedEvaluation())]))
        self.agent.announce("the other peers to be ready", self.standing.study.roster.peers, until)
        with suppress(TimeoutError):
            async with asyncio.timeout(until - time.time()):
                return await self._next_opened()
        raise AbsenceError(
            "opened no joint evaluation: too few peers were ready at the same time",
            party=COORDINATOR,
            hints=("agree on a time with the other sites, and run it again: nothing is lost",),
        )

    async def _next_opened(self) -> OpenedEvaluation:
        known = set(self.agent.journal.sessions())
        while True:
            self._changed.clear()
            found = (await self._under_way()).evaluation
            if found is not None and self._evaluation_sitting(found).session not in known:
                return found
            for refusal in self._unheld:
                if not refusal.attempt:
                    raise MisuseError(f"{self.agent.name}: {refusal.reason}")
            if self._unheld:
                # One failed without us; we are no longer among those who are ready.
                self._unheld.clear()
                await self.agent.commit(Effect({}, [(COORDINATOR, AskedEvaluation())]))
            await self._changed.wait()

    def _attempt_over(self, opened: OpenedEvaluation) -> str | None:
        """Why there is nothing to wait for in this attempt."""
        here = [one for one in self._unheld if one.attempt in {0, opened.attempt}]
        self._unheld.clear()
        return here[0].reason if here else None

    def _evaluating(self, tested: Tested, opened: OpenedEvaluation, entropy: Entropy) -> Any:
        party = self.standing.party(entropy, attempt=opened.attempt, peers=opened.peers)
        return evaluate_peer(party, tested, opened.peers, number=opened.number)

    async def _tested(self, documents: Sequence[Document]) -> Tested:
        """What our held-out documents give; asked for once, also over restarts."""
        plan, model = self._plan, self.model
        mine = held_out_side(self.standing.party(self.standing.drawn), documents)
        if not mine:
            raise InputError(f"{self.agent.name}: expected held-out documents, found none")
        read = FeatureReader(model.space, model.key).read(mine)
        test = HeldOut.of(plan, mine, read.places)
        asked = QuestionRows(read.integers(), evaluation=True, truth=test.truth)
        kept = (await self._under_way()).test
        if kept is not None and kept.digest == asked.digest:
            return kept.tested()
        answer, session = await self._answered(asked)
        tested = test.tested(answer)
        await self._forget(session, {**QUERY_OVER, **KeptTest.of(tested, asked.digest).notes()})
        return tested
