"""The coordinator after the training: it answers queries, counts them, and opens evaluations.

A peer's queries are numbered, one at a time. An asker that was killed says its number again and
goes on where it stood; one that asks the next has given the last one up. Charged is what was
told (`roles.classification`): the count goes to disk with the record of the query's end, and a
query whose end a crash took is run again from the journal before anything else of its asker is
looked at. So nobody gets labels for free: not by asking the next number right after the last
message, nor with a coordinator that falls at that moment. Who never lets a query come to its
labels costs the others time, and learns nothing.

An evaluation waits until the peers of the model are ready at the same time, because its sums
are opened once.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from sottovoce import wire
from sottovoce.course.control import (
    COORDINATOR,
    AskedEvaluation,
    AskedQuery,
    Closed,
    Leaving,
    LedgerHead,
    OpenedEvaluation,
    OpenedQuery,
    RefusedEvaluation,
    RefusedQuery,
    Rejoined,
    Rejoining,
    Reseated,
    Seating,
    SeatRecord,
)
from sottovoce.course.reasons import an_error
from sottovoce.entropy import Entropy
from sottovoce.errors import AbsenceError, MisuseError
from sottovoce.ledger import LedgerSeat
from sottovoce.node.coordinator.receipts import take_head
from sottovoce.node.events import EvaluationHeld, QueryServed
from sottovoce.node.seat.after_training import AfterTraining, AskerRecord, wanted_verdict
from sottovoce.node.seat.deciders import Effect, RunningProgram
from sottovoce.node.seat.seat_runtime import EffectDecider, SeatRuntime
from sottovoce.protocols.messages import Message
from sottovoce.study.party_context import PartyContext
from sottovoce.study.plan import FEWEST_PEERS, Verdict
from sottovoce.study.queries.budget import QueryBook
from sottovoce.study.queries.classification import answer
from sottovoce.study.queries.evaluation import evaluate_coordinator, evaluated, was_held
from sottovoce.study.queries.evaluation_record import KeptEvaluation
from sottovoce.study.queries.figures import Evaluation
from sottovoce.study.queries.model import Trained
from sottovoce.study.queries.quorum_model import QuorumTrained
from sottovoce.study.queries.quorum_queries import answer_query
from sottovoce.study.stages.agreement import SignedConsent
from sottovoce.wire import Codec, Value

_BOOK = "evaluation/book"
# No budget lasts so long: a number beyond is nonsense, and would not fit its record.
_MOST_QUERIES = 2**32
_LOOK_SECONDS = 0.5


class EvaluationBook(Value, frozen=True):
    """Which evaluation comes next, who is ready for it, who is in the one under way, who left."""

    number: int = 0
    attempt: int = 1
    ready: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def notes(self) -> dict[str, bytes]:
        """As the journal keeps it."""
        return {_BOOK: Codec().encode(self)}


@dataclass(frozen=True)
class _Query:
    """A query that is being answered, and what was spent before it."""

    asker: str
    number: int
    book: QueryBook
    verdict: Verdict | None = None


@dataclass(frozen=True)
class QueryConditions:
    """Who was not seen lately, and how long the coordinator waits for the last peers."""

    publics: Callable[[], Mapping[str, bytes]]
    unseen: Callable[[Collection[str]], set[str]]
    patience: float


class QueryCoordinator(EffectDecider):
    """The decider of the coordinator's seat, once there is a model."""

    def __init__(
        self,
        agent: SeatRuntime,
        standing: AfterTraining,
        trained: Trained | QuorumTrained,
        around: QueryConditions,
    ) -> None:
        """Go on from what the coordinator's journal remembers."""
        self.agent = agent
        self.trained = trained
        self.seating: Seating = Seating.of(1, standing.study.roster)
        self._standing = standing
        self._around = around
        data = agent.journal.note(_BOOK)
        self.evaluations = (
            EvaluationBook() if data is None else Codec().decode(data, EvaluationBook)
        )
        self._queries: dict[bytes, _Query] = {}
        self._records = asyncio.Lock()
        self._ends: list[RunningProgram] = []
        self._late: dict[bytes, tuple[str, str]] = {}
        self._to_open: list[tuple[str, int]] = []
        self._changed = asyncio.Event()
        self._newest = time.monotonic()
        self._tidy = False

    # What the agent tells.

    async def heard(self, sender: str, message: Message) -> Effect:
        """A peer asks, is ready to evaluate, or leaves."""
        match message:
            case AskedQuery():
                return await self._asked(sender, message)
            case AskedEvaluation():
                return await self._ready(sender)
            case Rejoined(consent):
                return await self._rejoined(sender, consent)
            case LedgerHead():
                seat, study = LedgerSeat(sender, self._around.publics()[sender]), self.agent.study
                identity, journal = self._standing.keys.identity, self.agent.journal
                take = partial(take_head, journal, identity, message, seat=seat, study=study)
                return await self.agent.do(take)
            case Leaving():
                gone = (*self.evaluations.gone, sender)
                self.evaluations = _but(self.evaluations, gone=gone)
                return Effect(self.evaluations.notes())
        return Effect()

    def settled(self) -> None:
        """What came of a letter is on disk: go on."""
        self._changed.set()

    def ended(self, running: RunningProgram) -> None:
        """A program is at its end."""
        self._ends.append(running)
        self._changed.set()

    def overdue(self, running: RunningProgram, party: str) -> None:
        """A query or evaluation hangs: it is given up."""
        seconds = self.agent.waits.receive
        self._late[running.sitting.session] = (f"waited {seconds:.0f} s for {party}", party)
        self._ends.append(running)
        self._changed.set()

    # Seats that enrolled again.

    async def reseat(self, seat: str, public: bytes) -> None:
        """Tell a seat with a new key who the others are; once for every key."""
        key = f"reseated/{public.hex()}"
        proof = self._standing.agreement.proof
        known = any(one.name == seat and one.public == public for one in self.seating.seats)
        if known or proof is None or await self.agent.do(self.agent.journal.note, key) is not None:
            return
        told = Reseated(self.seating, self._now(seat, public), proof, self.trained.peers)
        await self.agent.commit(Effect({key: b""}, [(seat, told)]))

    def _now(self, seat: str, public: bytes) -> Seating:
        seats = tuple(
            SeatRecord(one.name, one.organisation, one.role, public) if one.name == seat else one
            for one in self.seating.seats
        )
        return Seating(self.seating.number, seats)

    async def _rejoined(self, seat: str, consent: SignedConsent) -> Effect:
        """A seat agreed again: everybody else hears its new keys."""
        public = self._around.publics()[seat]
        told = Rejoining(self._now(seat, public), consent)
        self._standing.with_new_keys(told.now, consent)
        roster = self._standing.study.roster
        others = [one for one in roster.names if one not in {COORDINATOR, seat}]
        notes = {f"rejoining/{seat}": Codec().encode(told)}
        return Effect(notes, [(one, told) for one in others])

    async def _standing_for(self, asker: str) -> AfterTraining:
        data = await self.agent.do(self.agent.journal.note, f"rejoining/{asker}")
        if data is None:
            return self._standing
        told = Codec().decode(data, Rejoining)
        return self._standing.with_new_keys(told.now, told.consent)

    async def _asked(self, asker: str, asked: AskedQuery) -> Effect:
        """A query in its turn: its record is read and written by one task at a time."""
        async with self._records:
            return await self._asked_next(asker, asked)

    async def _asked_next(self, asker: str, asked: AskedQuery) -> Effect:
        record = await self.agent.do(AskerRecord.read, self.agent.journal, asker)
        number, study = asked.number, self._standing.study
        if asker not in self.trained.peers or asker in self.evaluations.gone:
            reason = "expected a peer of the model to ask, found another"
            return _refused(asker, number, record, reason)
        if record.open == (number,):
            return Effect()
        if number < record.following:
            return _refused(asker, number, record, "this query was asked already")
        if number >= _MOST_QUERIES:
            return _refused(asker, number, record, "expected the next query, found a far one")
        try:
            verdict = study.verdict_for(asker, wanted_verdict(asked.verdict))
        except MisuseError as error:
            return _refused(asker, number, record, error.message)
        record = await self._given_up(asker, record)
        open_one = ((number,), asked.verdict)
        record = AskerRecord(number + 1, record.spent, record.evaluated, *open_one)
        self._to_open.append((asker, number))
        helpers = [
            one for one in study.query_parties(asker, verdict) if one not in {COORDINATOR, asker}
        ]
        letters = [(one, OpenedQuery(asker, number)) for one in helpers]
        return Effect(record.notes(asker), letters)

    async def _given_up(self, asker: str, record: AskerRecord) -> AskerRecord:
        """The asker asks another query: the one before ends, and what it told is charged."""
        for number in record.open:
            if not any(one.asker == asker for one in self._queries.values()):
                # What it told before a crash, only its journal knows.
                await self._begin_query(asker, number, record)
        for session, query in tuple(self._queries.items()):
            if query.asker != asker:
                continue
            ended = next((one for one in self._ends if one.sitting.session == session), None)
            del self._queries[session]
            if ended is not None:
                await self._after_query(ended, query)
            await self.agent.drop(session)
            self._tidy = False
            record = _counted(record, query)
        return record

    async def _ready(self, peer: str) -> Effect:
        book = self.evaluations
        most = self._standing.study.plan.evaluations
        if book.number >= most:
            reason = f"the study has {most} evaluations, and all were held"
            return Effect({}, [(peer, RefusedEvaluation(book.number, 0, reason))])
        if await self._standing_for(peer) is not self._standing:
            # We could pose as it: nobody but the peer that handed the model over compared its keys.
            reason = "a site that enrolled again takes no part in evaluations"
            return Effect({}, [(peer, RefusedEvaluation(book.number, 0, reason))])
        before = evaluated(self._party)
        if before is not None and {peer, *before} - (set(before) - set(book.gone)):
            who = ", ".join(before)
            reason = f"every evaluation is over the same peers: {who} took part in the first"
            return Effect({}, [(peer, RefusedEvaluation(book.number, 0, reason))])
        if peer in self.trained.peers and peer not in book.ready:
            self.evaluations = _but(book, ready=(*book.ready, peer))
            self._newest = time.monotonic()
        return Effect(self.evaluations.notes())

    # The work.

    async def serve(self) -> None:
        """Answer until cancelled."""
        for asker in self.trained.peers:
            record = await self.agent.do(AskerRecord.read, self.agent.journal, asker)
            self._to_open += [(asker, number) for number in record.open]
        if self.evaluations.open:
            await self._evaluate()
        await self._answer_all()
        await self.agent.settle_known()
        while True:
            self._changed.clear()
            await self._answer_all()
            while self._ends:
                await self._after(self._ends.pop(0))
            if not self._tidy:
                await self._forget_ended()
            waiting = self.evaluations.ready and not self.evaluations.open
            if waiting:
                await self._open_evaluation()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS if waiting else None):
                    await self._changed.wait()

    async def close(self) -> None:
        """Tell everybody that no query is answered any longer."""
        names = [one for one in self._standing.study.roster.names if one != COORDINATOR]
        await self.agent.commit(Effect({}, [(one, Closed()) for one in names]))

    async def _answer_all(self) -> None:
        """Begin to answer whatever was asked."""
        while self._to_open:
            asker, number = self._to_open.pop(0)
            async with self._records:
                record = await self.agent.do(AskerRecord.read, self.agent.journal, asker)
                begun = any(one.asker == asker for one in self._queries.values())
                if record.open == (number,) and not begun:
                    await self._begin_query(asker, number, record)

    async def _forget_ended(self) -> None:
        """Delete the seeds of queries that were given up, now or before a crash."""
        self._tidy = True
        known = {*self._queries, *self.agent.running, *(one.sitting.session for one in self._ends)}
        for session in await self.agent.do(self.agent.journal.remembered):
            if session not in known:
                await self.agent.do(self.agent.journal.forget, session)

    async def _begin_query(self, asker: str, number: int, record: AskerRecord) -> None:
        """Begin to answer, or go on where the journal left it; the record is held meanwhile."""
        plan = self._standing.study.plan
        book = QueryBook(plan.budget, plan.evaluations, *record.counters(asker))
        standing = await self._standing_for(asker)
        verdict = standing.study.verdict_for(asker, wanted_verdict(record.verdict))
        parties = standing.query_parties(asker, verdict)
        sitting = standing.sitting(("query", asker, str(number)), parties)
        self._queries[sitting.session] = query = _Query(asker, number, book, verdict)
        program = partial(self._answering, standing, query)
        await self.agent.begin(sitting, program, label=("query", number))

    def _answering(self, standing: AfterTraining, query: _Query, entropy: Entropy) -> Any:
        party, book = standing.party(entropy), query.book
        if isinstance(self.trained, QuorumTrained):
            members = self.trained.members
            return answer_query(party, self.trained, book, asker=query.asker, members=members)
        return answer(party, self.trained, book, asker=query.asker, verdict=query.verdict)

    async def _after(self, running: RunningProgram) -> None:
        session = running.sitting.session
        async with self._records:
            query = self._queries.pop(session, None)
            if query is not None:
                await self._after_query(running, query)
        if query is None and running.stage == "evaluation":
            await self._after_evaluation(running)
        await self.agent.drop(session)
        await self.agent.do(self.agent.journal.forget, session)

    async def _after_query(self, running: RunningProgram, query: _Query) -> None:
        asker = query.asker
        record = await self.agent.do(AskerRecord.read, self.agent.journal, asker)
        record = _counted(record, query)
        notes = record.notes(asker)
        letters: list[tuple[str, Message]] = []
        if not running.seat.finished or running.seat.failure is not None:
            failure = running.seat.failure
            gone = failure.party if isinstance(failure, AbsenceError) else ""
            default = (type(failure).__name__, gone)
            why, missing = self._late.pop(running.sitting.session, default)
            reason = f"the coordinator gave it up: {why}"
            refused = RefusedQuery(query.number, record.following, reason, missing)
            letters.append((asker, refused))
        elif running.seat.result is not None:
            notes[f"counted/{asker}"] = Codec().encode(wire.Words.of(running.seat.result))
        await self.agent.commit(Effect(notes, letters))
        if not letters:
            served = QueryServed(self.agent.study, COORDINATOR, asker, query.number)
            self.agent.tell_watcher(served)

    # Evaluations.

    async def _open_evaluation(self) -> None:
        """Begin when everybody is here and ready, or enough are and the rest keeps away."""
        book, before = self.evaluations, evaluated(self._party)
        expected = before or [one for one in self.trained.peers if one not in book.gone]
        here = [one for one in expected if one in book.ready and not self._around.unseen([one])]
        late = before is None and time.monotonic() - self._newest > self._around.patience
        if len(here) < FEWEST_PEERS or (here != list(expected) and not late):
            return
        self.evaluations = _but(book, open=tuple(here))
        opened = OpenedEvaluation(book.number, book.attempt, tuple(here))
        seats = (*here, *self._standing.study.evaluation_helpers(here))
        effect = Effect(self.evaluations.notes(), [(one, opened) for one in seats])
        await self.agent.commit(effect)
        await self._evaluate()

    async def _evaluate(self) -> None:
        book = self.evaluations
        counted = {}
        for peer in book.open:
            data = await self.agent.do(self.agent.journal.note, f"counted/{peer}")
            if data:
                counted[peer] = Codec().decode(data, wire.Words).array()
        parties = (COORDINATOR, *self._standing.study.evaluation_helpers(book.open), *book.open)
        name = ("evaluation", str(book.number), str(book.attempt))
        sitting = self._standing.sitting(name, parties)
        program = partial(self._evaluating, book, counted)
        await self.agent.begin(sitting, program, label=("evaluation", book.number))

    def _evaluating(
        self, book: EvaluationBook, counted: Mapping[str, Any], entropy: Entropy
    ) -> Any:
        party = self._standing.party(entropy, attempt=book.attempt, peers=book.open)
        ring = self.trained.scores.ring
        return evaluate_coordinator(
            party, book.open, number=book.number, counted=counted, ring=ring
        )

    @property
    def _party(self) -> PartyContext:
        """Our book of opened sums, with the study that it is of."""
        return self._standing.party(self._standing.drawn)

    async def _after_evaluation(self, running: RunningProgram) -> None:
        """The next one; or the same again, if nothing of it was opened."""
        book, letters = self.evaluations, list[tuple[str, Message]]()
        failure = running.seat.failure
        failed = not running.seat.finished or failure is not None
        again = failed and not was_held(self._party, book.number)
        number, attempt = (book.number, book.attempt + 1) if again else (book.number + 1, 1)
        if failed:
            kind = AbsenceError if failure is None else type(failure)
            reason = f"the evaluation ended with {an_error(kind.__name__)}"
            refused = RefusedEvaluation(book.number, book.attempt, reason)
            letters += [(one, refused) for one in book.open]
        else:
            self._say_held(running.seat.result)
        late = tuple(one for one in book.ready if one not in book.open)
        if not again:
            reason = f"the evaluation was held without it, among {', '.join(book.open)}"
            letters += [(one, RefusedEvaluation(book.number, 0, reason)) for one in late]
        ready = late if again else ()
        self.evaluations = EvaluationBook(number, attempt, ready, gone=book.gone)
        # Our shares of what was counted are of no more use, and must not stay.
        spent = {} if again else {f"counted/{one}": b"" for one in book.open}
        await self.agent.commit(Effect({**self.evaluations.notes(), **spent}, letters))

    def _say_held(self, joint: Evaluation) -> None:
        """Let whoever watches keep the figures, which every peer was sent."""
        figures = KeptEvaluation(time.time(), joint=joint).encode().decode()
        study, accuracy = self.agent.study, joint.accuracy
        self.agent.tell_watcher(EvaluationHeld(study, COORDINATOR, joint.peers, accuracy, figures))


def _but(book: EvaluationBook, **changes: Any) -> EvaluationBook:
    kept = {name: getattr(book, name) for name in book.__struct_fields__}
    return EvaluationBook(**{**kept, **changes})


def _counted(record: AskerRecord, query: _Query) -> AskerRecord:
    """What a query that is over cost: nothing, where it was broken off before it told labels."""
    asker = query.asker
    query.book.give_back(asker)
    return AskerRecord(record.following, query.book.spent[asker], query.book.evaluated[asker])


def _refused(asker: str, number: int, record: AskerRecord, reason: str) -> Effect:
    return Effect({}, [(asker, RefusedQuery(number, record.following, reason))])
