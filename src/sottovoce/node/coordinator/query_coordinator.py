"""Runs the coordinator after the training over the network (`course.queries.coordinator`)."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sottovoce import wire
from sottovoce.course.control import (
    COORDINATOR,
    LedgerHead,
    Rejoined,
    Rejoining,
    Reseated,
    Seating,
    SeatRecord,
)
from sottovoce.course.queries.actions import (
    EraseCounts,
    KeepCounts,
    RunEvaluation,
    RunQuery,
    ShowEvaluation,
)
from sottovoce.course.queries.conversations import ConversationId, QueryId
from sottovoce.course.queries.coordinator import (
    EVALUATIONS,
    CoordinatorService,
    asker_note,
    step,
)
from sottovoce.course.queries.inputs import (
    ConversationEnded,
    SeatGaveUp,
    SeatRejoined,
    SeatReseated,
)
from sottovoce.course.queries.records import AskerRecord, EvaluationBook
from sottovoce.course.queries.seats_seen import SeatsSeen
from sottovoce.course.terms import WaitingLimits
from sottovoce.course.training.actions import Action
from sottovoce.course.training.inputs import Heard, Started
from sottovoce.entropy import Entropy
from sottovoce.errors import ReplayError
from sottovoce.ledger import LedgerSeat
from sottovoce.node.coordinator.receipts import take_head
from sottovoce.node.events import EvaluationHeld
from sottovoce.node.seat.after_training import AfterTraining
from sottovoce.node.seat.decider_carrier import read_record
from sottovoce.node.seat.deciders import RunningProgram
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.node.seat.service_carrier import ServiceCarrier
from sottovoce.protocols.messages import Message
from sottovoce.storage.journal import Journal
from sottovoce.study.evaluations.evaluation import evaluate_coordinator
from sottovoce.study.evaluations.evaluation_record import KeptEvaluation
from sottovoce.study.queries.budget import QueryBook
from sottovoce.study.queries.classification import answer
from sottovoce.study.queries.model import Trained
from sottovoce.study.queries.quorum_model import QuorumTrained
from sottovoce.study.queries.quorum_queries import answer_query
from sottovoce.wire import Codec


@dataclass(frozen=True)
class QueryConditions:
    """The roster of the training, the current keys, when seats were seen, and waits."""

    seating: Seating
    publics: Callable[[], Mapping[str, bytes]] = field(repr=False)
    seen: Mapping[str, float]
    limits: WaitingLimits


class QueryCoordinator(ServiceCarrier[CoordinatorService]):
    """The coordinator's seat, once there is a model."""

    def __init__(
        self,
        agent: SeatRuntime,
        standing: AfterTraining,
        trained: Trained | QuorumTrained,
        around: QueryConditions,
    ) -> None:
        journal, peers, roster = agent.journal, trained.peers, standing.study.roster
        self._rejoined = dict(_read_rejoined(journal, standing))
        # Who came back with new keys lost the share of the model that its member held.
        lost = (member for peer in self._rejoined if (member := roster.member(peer)))
        state = CoordinatorService.of(
            agent.study,
            standing.study,
            peers,
            records={name: read_asker(journal, name) for name in roster.names},
            book=read_record(journal, EVALUATIONS, EvaluationBook),
            gather=around.limits.gather,
            presence=SeatsSeen(around.limits.unseen, seen=around.seen).without(*lost),
            rejoined=frozenset(self._rejoined),
        )
        super().__init__(agent, step, state, standing)
        self.trained = trained
        self._around = around
        self._books: dict[ConversationId, QueryBook] = {}
        self._counted: dict[str, Any] = {}

    # Called by the seat's runtime.

    async def hear(self, sender: str, message: Message, notes: Mapping[str, bytes]) -> None:
        """Handle receipts here; check a seat's new keys before others hear of them."""
        match message:
            case LedgerHead():
                seat, study = LedgerSeat(sender, self._around.publics()[sender]), self.agent.study
                identity, journal = self.standing.keys.identity, self.agent.journal
                take = partial(take_head, journal, identity, message, seat=seat, study=study)
                effect = await self.agent.do(take)
                await self.agent.commit(effect.with_notes(notes))
            case Rejoined(consent):
                rejoining = Rejoining(self._now(sender, self._around.publics()[sender]), consent)
                self._rejoined[sender] = self.standing.with_new_keys(rejoining.now, consent)
                kept = {_rejoining(sender): Codec().encode(rejoining)}
                await self.take(SeatRejoined(sender, rejoining), {**notes, **kept})
            case _:
                await self.take(Heard(sender, message), notes)

    def outcome(self, which: ConversationId, running: RunningProgram) -> ConversationEnded:
        """The result of a program, and the labels that it told."""
        ended = super().outcome(which, running)
        if not isinstance(which, QueryId):
            return ended
        book, record = self._books[which], self.state.askers[which.asker].record
        # Also if it failed in a way that the program does not expect.
        book.give_back(which.asker)
        return ConversationEnded(
            which,
            ended.failure,
            stopped=ended.stopped,
            charged=book.spent[which.asker] - record.spent,
            evaluated=book.evaluated[which.asker] - record.evaluated,
            counted=self.results.get(which) is not None,
        )

    def not_replayed(self, which: ConversationId, error: ReplayError) -> None:
        """Only the journal knows what a query told, so nobody is answered until it can be read."""
        del which
        raise error

    # Seats that cannot go on, and seats that enrolled again.

    async def lose(self, seat: str) -> None:
        """A seat says that it cannot go on, or enrolled with new keys without what it held."""
        await self.take(SeatGaveUp(seat))

    async def reseat(self, seat: str, public: bytes) -> None:
        """Tell a seat with a new key who the others are, once for every key."""
        key = f"reseated/{public.hex()}"
        seating, proof = self._around.seating, self.standing.agreement.proof
        known = any((member.name, member.public) == (seat, public) for member in seating.seats)
        if known or proof is None or await self.agent.do(self.agent.journal.note, key) is not None:
            return
        reseated = Reseated(seating, self._now(seat, public), proof, self.trained.peers)
        await self.take(SeatReseated(seat, reseated), {key: b""})

    def _now(self, seat: str, public: bytes) -> Seating:
        seating = self._around.seating
        seats = tuple(
            SeatRecord(member.name, member.organisation, member.role, public)
            if member.name == seat
            else member
            for member in seating.seats
        )
        return Seating(seating.number, seats)

    def asker_standing(self, query: QueryId) -> AfterTraining:
        """The study with the current keys of an asker."""
        return self._rejoined.get(query.asker, self.standing)

    # Actions.

    async def serve(self) -> None:
        """Answer until cancelled."""
        await self.take(Started())
        await self.run()

    async def perform(self, action: Action) -> None:
        """Perform one action of a step."""
        if isinstance(action, ShowEvaluation):
            joint = self.results[action.evaluation]
            figures = KeptEvaluation(time.time(), joint=joint).encode().decode()
            held = (joint.peers, joint.accuracy, figures)
            self.agent.tell_watcher(EvaluationHeld(self.agent.study, COORDINATOR, *held))
        else:
            await super().perform(action)

    def kept(self, action: Action) -> Mapping[str, bytes]:
        """Keep our shares of a query's counts until an evaluation adds them up."""
        if isinstance(action, KeepCounts):
            counts = wire.Words.of(self.results[action.query])
            return {_counted(action.query.asker): Codec().encode(counts)}
        assert isinstance(action, EraseCounts)
        return {_counted(peer): b"" for peer in action.peers}

    async def prepare(self, action: RunEvaluation) -> None:
        """Read our shares of the counts of the peers' queries."""
        self._counted = {}
        for peer in action.peers:
            data = await self.agent.do(self.agent.journal.note, _counted(peer))
            if data:
                self._counted[peer] = Codec().decode(data, wire.Words).array()

    def query_program(self, action: RunQuery, entropy: Entropy) -> Any:
        """The program that answers a query and counts what it told."""
        query, plan = action.query, self.standing.study.plan
        asker, record = query.asker, self.state.askers[query.asker].record
        spent, evaluated = Counter({asker: record.spent}), Counter({asker: record.evaluated})
        book = self._books[query] = QueryBook(plan.budget, plan.evaluations, spent, evaluated)
        party = self.asker_standing(query).party(entropy)
        if isinstance(self.trained, QuorumTrained):
            members = [name for name in self.trained.members if name in action.helpers]
            return answer_query(party, self.trained, book, asker=asker, members=members)
        return answer(party, self.trained, book, asker=asker, verdict=action.verdict)

    def evaluation_program(self, action: RunEvaluation, entropy: Entropy) -> Any:
        """The program that opens the sums of an evaluation."""
        number, peers = action.evaluation.number, action.peers
        party = self.standing.party(entropy, attempt=action.evaluation.attempt, peers=peers)
        scores, counted = self.trained.scores, self._counted
        return evaluate_coordinator(party, peers, number=number, scores=scores, counted=counted)


def read_asker(journal: Journal, asker: str) -> AskerRecord:
    """A peer's queries, from the coordinator's journal."""
    return read_record(journal, asker_note(asker), AskerRecord)


def _read_rejoined(
    journal: Journal, standing: AfterTraining
) -> Iterator[tuple[str, AfterTraining]]:
    """Seats that enrolled again before this process started, with their new keys."""
    roster = standing.study.roster
    for seat in (*roster.peers, *roster.members):
        data = journal.note(_rejoining(seat))
        if data is not None:
            rejoining = Codec().decode(data, Rejoining)
            yield seat, standing.with_new_keys(rejoining.now, rejoining.consent)


def _counted(peer: str) -> str:
    return f"counted/{peer}"


def _rejoining(seat: str) -> str:
    return f"rejoining/{seat}"
