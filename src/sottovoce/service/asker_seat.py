"""A peer's seat after the training: one query or evaluation at a time, each on disk first."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce import wire
from sottovoce.entropy import Entropy
from sottovoce.errors import AbsenceError, InputError, MisuseError, ViolationError
from sottovoce.numbers.ring import from_ring, to_ring
from sottovoce.protocols.messages import Message
from sottovoce.roles.classification import Answer, ask
from sottovoce.roles.evaluation import check_opening, evaluate_peer
from sottovoce.roles.figures import Evaluation, HeldOut, Tested, own_view
from sottovoce.roles.model import SealedModel
from sottovoce.roles.score_shares import decided
from sottovoce.roles.thresholds import unit_scores
from sottovoce.roles.training import held_out_side
from sottovoce.service.agent import Agent
from sottovoce.service.chairs import Effect, Running
from sottovoce.service.control import (
    COORDINATOR,
    AskedEvaluation,
    AskedQuery,
    Closed,
    OpenedEvaluation,
    RefusedQuery,
    Rejoining,
)
from sottovoce.service.events import StudyClosed
from sottovoce.service.seat_book import SeatBook
from sottovoce.service.standing import Standing
from sottovoce.service.witness import LedgerWitness
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureReader
from sottovoce.wire import Codec, Value

_NEXT, _TESTED, _OPENED = "query/next", "evaluation/tested", "evaluation/opened"


class KeptTest(Value, frozen=True):
    """What a site's own held-out documents gave, until the others are ready."""

    documents: int
    table: wire.Words
    counted: tuple[wire.Words, ...]


class AskerSeat:
    """The chair of a peer that asks."""

    def __init__(
        self, agent: Agent, standing: Standing, model: SealedModel, witness: LedgerWitness
    ) -> None:
        """Ask with this model."""
        self.witness = witness
        self.agent = agent
        self.standing = standing
        self.model = model
        self._plan = standing.study.plan
        self._changed = asyncio.Event()
        self._ended: Running | None = None
        self._late = ""
        self._refusals: list[RefusedQuery] = []
        self._closed = False

    # What the agent tells.

    async def heard(self, sender: str, message: Message) -> Effect:
        """The coordinator refuses, opens an evaluation, or has closed the study."""
        if sender != COORDINATOR:
            raise ViolationError("expected control letters of the coordinator alone", party=sender)
        match message:
            case RefusedQuery():
                self._refusals.append(message)
            case OpenedEvaluation():
                return Effect({_OPENED: Codec().encode(message)})
            case Rejoining():
                book = await self.agent.do(SeatBook.read, self.agent.journal)
                return Effect(book.with_rejoining(message).notes())
            case Closed():
                self._closed = True
                self.agent.tell_watcher(StudyClosed(self.agent.study, self.agent.name))
        return Effect()

    def settled(self) -> None:
        """What came of a letter is on disk: go on."""
        self._changed.set()

    def ended(self, running: Running) -> None:
        """The program is at its end."""
        self._ended = running
        self._changed.set()

    def overdue(self, running: Running, party: str) -> None:
        """Somebody does not answer."""
        self._late = f"waited {self.agent.waits.receive:.0f} s: {running.seat.describe()}"
        self._late_party = party
        self._changed.set()

    async def rejoining(self, seat: str, *, seconds: float) -> Rejoining:
        """What we heard of a peer that enrolled again, or will hear soon."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while True:
                    self._changed.clear()
                    book = await self.agent.do(SeatBook.read, self.agent.journal)
                    for one in book.rejoining:
                        if one.consent.name == seat:
                            return one
                    await self._changed.wait()
        raise AbsenceError(
            f"has not enrolled again, as far as we heard in {seconds:.0f} s", party=seat
        )

    # Queries.

    async def classify(self, documents: Sequence[Document]) -> Answer:
        """The classes of every row of the documents."""
        rows = FeatureReader(self.model.space, self.model.key).read(documents).integers()
        return await self._classified(rows, evaluation=False, truth=None)

    async def _classified(
        self, rows: sparse.csr_array, *, evaluation: bool, truth: NDArray[np.bool_] | None
    ) -> Answer:
        model = self.model
        if model.released is not None:
            scores = unit_scores(rows, rows @ model.released)
            classes = decided(self._plan.labels, scores, model.operating_point)
            return Answer(classes, self._plan.budget, scores)
        number = await self._number(_NEXT)
        while True:
            await self.agent.commit(
                Effect({_NEXT: (number + 1).to_bytes(8)}, [(COORDINATOR, AskedQuery(number))])
            )
            me = self.agent.name
            parties = self.standing.query_parties(me)
            sitting = self.standing.sitting(("query", me, str(number)), parties)
            program = partial(self._asking, rows, number=number, evaluation=evaluation, truth=truth)
            running = await self.agent.begin(sitting, program, label=("query", number))
            until = time.time() + self.agent.waits.receive
            self.agent.announce("an answer to our query", sitting.partners, until)
            refusal = await self._outcome(running, number)
            if refusal is None:
                result = running.seat.result
                assert isinstance(result, Answer)
                return result
            if refusal.expected <= number:
                raise MisuseError(f"{me}: the query was refused: {refusal.reason}")
            number = refusal.expected

    def _asking(
        self,
        rows: sparse.csr_array,
        entropy: Entropy,
        *,
        number: int,
        evaluation: bool,
        truth: NDArray[np.bool_] | None,
    ) -> Any:
        desk = self.standing.desk(entropy)
        return ask(desk, self.model, rows, number=number, evaluation=evaluation, truth=truth)

    async def _outcome(self, running: Running, number: int) -> RefusedQuery | None:
        """Wait for the program's end, a refusal, or the end of our patience."""
        session = running.sitting.session
        try:
            while not running.seat.finished:
                self._changed.clear()
                if self._closed:
                    raise MisuseError(
                        "the study is closed: its coordinator deleted the key, and answers nothing"
                    )
                if self._late:
                    raise AbsenceError(f"does not answer: {self._late}", party=self._late_party)
                here = [one for one in self._refusals if one.number == number]
                self._refusals.clear()
                if here:
                    return here[0]
                await self._changed.wait()
            if running.seat.failure is not None:
                raise running.seat.failure
            return None
        finally:
            await self.agent.drop(session)
            await self.agent.do(self.agent.journal.forget, session)

    # Evaluations.

    async def evaluate(
        self, documents: Sequence[Document], *, until: float
    ) -> tuple[Evaluation, Evaluation]:
        """This site's own table, and the joint one."""
        tested = await self._tested(documents)
        own = own_view(self._plan, tested, self.agent.name)
        await self.agent.commit(Effect({}, [(COORDINATOR, AskedEvaluation())]))
        self.agent.announce("the other peers to be ready", self.standing.study.roster.peers, until)
        while True:
            opened = await self._opened()
            me, peers = self.agent.name, opened.peers
            parties = (COORDINATOR, self.standing.study.roster.evaluator, *peers)
            name = ("evaluation", str(opened.number), str(opened.attempt))
            sitting = self.standing.sitting(name, parties)
            if sitting.session not in self.agent.journal.sessions():
                break
            await self.agent.do(lambda: self.agent.journal.commit(notes={_OPENED: b""}))
        await self._check(opened)
        program = partial(self._evaluating, tested, opened)
        running = await self.agent.begin(sitting, program, label=("evaluation", opened.number))
        refusal = await self._outcome(running, 0)
        if refusal is not None:
            raise MisuseError(f"{me}: {refusal.reason}", hints=("run it again with the others",))
        result = running.seat.result
        if result is None:
            raise AbsenceError("this site came too late for the joint evaluation", party=me)
        await self.agent.do(lambda: self.agent.journal.commit(notes={_TESTED: b"", _OPENED: b""}))
        assert isinstance(result, Evaluation)
        return own, result

    async def _check(self, opened: OpenedEvaluation) -> None:
        """Refuse what was held already, or is over others than before; it is not asked again."""
        try:
            desk = self.standing.desk(self.standing.drawn)
            check_opening(desk, opened.peers, number=opened.number)
        except ViolationError:
            await self.agent.do(lambda: self.agent.journal.commit(notes={_OPENED: b""}))
            raise

    async def _opened(self) -> OpenedEvaluation:
        while True:
            self._changed.clear()
            data = await self.agent.do(self.agent.journal.note, _OPENED)
            if data:
                return Codec().decode(data, OpenedEvaluation)
            for refusal in self._refusals:
                if refusal.number == 0:
                    raise MisuseError(f"{self.agent.name}: {refusal.reason}")
            await self._changed.wait()

    def _evaluating(self, tested: Tested, opened: OpenedEvaluation, entropy: Entropy) -> Any:
        desk = self.standing.desk(entropy, attempt=opened.attempt, peers=opened.peers)
        return evaluate_peer(desk, tested, opened.peers, number=opened.number)

    async def _tested(self, documents: Sequence[Document]) -> Tested:
        """What our held-out documents give; asked for once, also over restarts."""
        data = await self.agent.do(self.agent.journal.note, _TESTED)
        if data:
            kept = Codec().decode(data, KeptTest)
            above = kept.counted[0].array() if kept.counted else None
            return Tested(kept.documents, from_ring(kept.table.array()), above)
        tested = await self._test(documents)
        words = () if tested.counted is None else (wire.Words.of(tested.counted),)
        kept = KeptTest(tested.documents, wire.Words.of(to_ring(tested.table)), words)
        note = {_TESTED: Codec().encode(kept)}
        await self.agent.do(lambda: self.agent.journal.commit(notes=note))
        return tested

    async def _test(self, documents: Sequence[Document]) -> Tested:
        plan, model = self._plan, self.model
        mine = held_out_side(self.standing.desk(self.standing.drawn), documents)
        if not mine:
            raise InputError(f"{self.agent.name}: expected held-out documents, found none")
        read = FeatureReader(model.space, model.key).read(mine)
        test = HeldOut.of(plan, mine, read.places)
        found = await self._classified(read.integers(), evaluation=True, truth=test.truth)
        return test.tested(found)

    async def _number(self, key: str) -> int:
        data = await self.agent.do(self.agent.journal.note, key)
        return int.from_bytes(data or b"")

    _late_party = ""
