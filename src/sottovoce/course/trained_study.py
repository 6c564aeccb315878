"""A trained study in memory, with every party in one process: ask it, and evaluate it.

The outcome holds the results of all parties, their views (everything that each received) and the
traffic. No single party of a real study has all of this.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.course.control import COORDINATOR
from sottovoce.course.queries.actions import RunEvaluation, RunQuery
from sottovoce.course.queries.conversations import ConversationId
from sottovoce.course.queries.memory import QueriesInMemory, Run
from sottovoce.errors import InputError, MisuseError
from sottovoce.numbers.ring import Words
from sottovoce.pictures.html import table
from sottovoce.pictures.shown import notebook_html
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.runner import Conversation, Meddler, Outcome
from sottovoce.protocols.seat import Packet
from sottovoce.protocols.view import Traffic, View
from sottovoce.study.attempts import Attempt, Stage
from sottovoce.study.evaluations.evaluation import (
    evaluate_coordinator,
    evaluate_evaluator,
    evaluate_member,
    evaluate_peer,
)
from sottovoce.study.evaluations.figures import Evaluation, HeldOut, Tested
from sottovoce.study.evaluations.quorum_roc import HeldOutRows
from sottovoce.study.in_memory import AFTER_TRAINING, Record
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.budget import QueryBook
from sottovoce.study.queries.classification import (
    Answer,
    answer,
    ask,
    deal,
)
from sottovoce.study.queries.entities import HeldEntities, answer_entities, remote_part
from sottovoce.study.queries.model import HeldShare, PeerModel, Trained
from sottovoce.study.queries.quorum_model import MemberShare, QuorumModel, QuorumTrained
from sottovoce.study.queries.quorum_queries import answer_query, ask_members, help_asker
from sottovoce.study.queries.score_shares import decided
from sottovoce.study.queries.shared_queries import share_scores
from sottovoce.study.queries.thresholds import Floats, unit_scores
from sottovoce.study.stages.holdings import integer_rows, labelled, read_rows
from sottovoce.study.stages.training import held_out_side
from sottovoce.study.study import Study
from sottovoce.text.documents import Document


@dataclass(frozen=True)
class _Away(Meddler):
    """A fault schedule in which some seats are away."""

    seats: Collection[str]
    other: Meddler

    def carry(self, packet: Packet) -> Iterable[Packet]:
        return self.other.carry(packet)

    def silent(self) -> Iterable[Packet]:
        return self.other.silent()

    def crashes(self, party: str, step: int) -> bool:
        return party in self.seats or self.other.crashes(party, step)


@dataclass(repr=False)
class StudyOutcome:
    """A trained study: each peer's sealed model, and everybody ready for queries."""

    study: Study
    models: Mapping[str, PeerModel | QuorumModel]
    trained: Trained | QuorumTrained
    parties: Mapping[str, PartyContext]
    training_views: Mapping[str, View]
    record: Record = field(default_factory=Record)
    # The deciders of all seats; None if an owner has its model in the clear and asks nobody.
    carrier: QueriesInMemory | None = field(default=None, repr=False)
    numbers: Counter[str] = field(default_factory=Counter)
    meddler: Meddler | None = None
    # Each peer's own figures.
    own: dict[tuple[int, str], Tested] = field(default_factory=dict, repr=False)
    # The rows that peers look up for others' queries, if the plan says so.
    entities: Mapping[str, HeldEntities] = field(default_factory=dict, repr=False)
    away: set[str] = field(default_factory=set)
    held: HeldShare | None = field(default=None, repr=False)
    # The members' shares of the model, in engine quorum.
    shared: Mapping[str, MemberShare] = field(default_factory=dict, repr=False)

    @property
    def columns(self) -> int:
        """How many columns the model has; a dictionary may have fewer words than it could."""
        return self.study.plan.settled(self.trained.candidate).width - self.trained.totals.absent

    def __repr__(self) -> str:
        """One line: who has which model."""
        plan, labels = self.study.plan, ", ".join(self.study.plan.labels.names)
        return (
            f"StudyOutcome({plan.name!r}: {', '.join(self.models)} hold a {plan.release} model of "
            f"{self.columns:,} columns for {labels}; engine {self.study.engine}, "
            f"{self.traffic.total_bytes / 1e6:.1f} MB)"
        )

    def _repr_html_(self) -> str:
        plan = self.study.plan
        rows: list[tuple[object, ...]] = [
            ("study", plan.name),
            ("peers with a model", ", ".join(self.models)),
            ("labels", ", ".join(plan.labels.names)),
            ("released", str(plan.release)),
            ("engine", str(self.study.engine)),
            ("columns", self.columns),
            ("penalty", str(self.trained.candidate)),
            ("bytes sent", self.traffic.total_bytes),
        ]
        return notebook_html(table(("what", "value"), rows))

    @property
    def views(self) -> Mapping[str, View]:
        """Everything that each seat received, over all conversations so far."""
        if not self.record.keeps_views:
            raise MisuseError("this study kept no views", hints=("`run_study` keeps them",))
        return self.record.views

    @property
    def traffic(self) -> Traffic:
        """Messages and bytes of all conversations so far."""
        return self.record.traffic

    def seen_by(self, organisation: str) -> list[View]:
        """The views of all seats of one organisation."""
        roster = self.study.roster
        return [
            view for name, view in self.views.items() if roster.organisation(name) == organisation
        ]

    @property
    def queries(self) -> QueryBook:
        """The number of labels told to every peer so far."""
        if self.carrier is None:
            return QueryBook(self.study.plan.budget, self.study.plan.evaluations)
        return self.carrier.book

    @property
    def counted(self) -> Mapping[str, Words]:
        """The coordinator's shares of the counts of a ROC, until an evaluation adds them up."""
        return {} if self.carrier is None else self.carrier.counted

    def classify(
        self,
        peer: str,
        documents: Sequence[Document],
        *,
        evaluation: bool = False,
        own: Floats | None = None,
    ) -> Answer:
        """Classify every row of a peer's documents; only that peer learns the labels.

        `own` (rows × scores) are thresholds of the peer's own, beside the operating point.
        """
        return self._classify(peer, documents, evaluation=evaluation, own=own)

    def _classify(
        self,
        peer: str,
        documents: Sequence[Document],
        *,
        evaluation: bool,
        truth: NDArray[np.bool_] | None = None,
        own: Floats | None = None,
    ) -> Answer:
        model = self._model(peer)
        rows = integer_rows(self.study, model.space, peer, documents, key=model.key)
        if model.released is None:
            entities = [document.group or "" for document in documents]
            query = _Query(self, model, rows, entities, evaluation, truth, own)
            return self._deciders.ask(peer, len(documents), query, self._here)
        scores = unit_scores(rows, rows @ model.released)
        classes = decided(self.study.plan.labels, scores, model.operating_point, own)
        return Answer(classes, self.queries.left(peer), scores)

    def tested(self, peer: str, documents: Sequence[Document]) -> Tested:
        """A peer's result on its held-out documents for the next evaluation; asked for once."""
        number = self._evaluations
        if (number, peer) not in self.own:
            self.own[number, peer] = self._tested(peer, documents)
        return self.own[number, peer]

    def last_tested(self, peer: str, documents: Sequence[Document]) -> Tested:
        """A peer's result on its held-out documents in the last evaluation, or in the next."""
        held = self.own.get((self._evaluations - 1, peer))
        return held if held is not None else self.tested(peer, documents)

    def held_out(self, peer: str, documents: Sequence[Document]) -> Sequence[Document]:
        """A peer's documents that nobody learnt from, and that have a label of the study."""
        return held_out_side(self.parties[peer], labelled(self.study, documents))

    def _tested(self, peer: str, documents: Sequence[Document]) -> Tested:
        plan, model = self.study.plan, self._model(peer)
        mine = self.held_out(peer, documents)
        if not mine:
            raise InputError(f"{peer}: it has no held-out documents")
        places = read_rows(self.study, model.space, peer, mine, key=model.key).places
        test = HeldOut.of(plan, mine, places)
        tested = test.tested(self._classify(peer, mine, evaluation=True, truth=test.truth))
        if not self.study.members_count:
            return tested
        rows = integer_rows(self.study, model.space, peer, mine, key=model.key)
        return replace(tested, held_out=HeldOutRows(model.scores, rows, test.truth))

    def evaluate(self, documents: Mapping[str, Sequence[Document]]) -> Evaluation:
        """The joint confusion table and ROC on all held-out documents."""
        tested = {name: self.tested(name, documents[name]) for name in self.models}
        joint = _JointEvaluation(self, tested)
        return self._deciders.evaluate(tuple(tested), joint, self._here)

    @property
    def _deciders(self) -> QueriesInMemory:
        assert self.carrier is not None
        return self.carrier

    @property
    def _evaluations(self) -> int:
        """The number of evaluations so far."""
        return 0 if self.carrier is None else self.carrier.number

    @property
    def _here(self) -> set[str]:
        """The seats that finished the training and did not leave since."""
        members = set(self.study.roster.members) - set(self.shared)
        return set(self.study.roster.names) - self.away - members

    def leave(self, seat: str) -> None:
        """Make a seat absent: it answers nobody until `come_back`."""
        if seat not in self.study.roster.names:
            known = ", ".join(self.study.roster.names)
            raise InputError(f"study: expected one of its seats ({known}), found {seat!r}")
        self.away.add(seat)

    def come_back(self, seat: str) -> None:
        """End a seat's absence."""
        self.away.discard(seat)

    def table(self, programs: Mapping[str, Party[Any]], *session: str) -> Conversation:
        """The runner of one more conversation of this study."""
        key = self.trained.key.public if isinstance(self.trained, Trained) else None
        return Conversation(
            programs,
            session=self.study.session(*session),
            codec=self.study.codec(key),
            meddler=_Away(self.away, self.meddler or Meddler()),
            recorded=self.record.keeps_views,
        )

    def converse(self, programs: Mapping[str, Party[Any]], *session: str) -> Outcome:
        """Run one more conversation of this study, and keep everybody's view."""
        table = self.table(programs, *session)
        try:
            return table.run()
        finally:
            self.record.add(table.views, table.traffic, stage=AFTER_TRAINING)

    def _model(self, peer: str) -> PeerModel | QuorumModel:
        if peer not in self.models:
            known = ", ".join(self.models) or "nobody"
            raise InputError(f"query: expected a peer with a model ({known}), found {peer!r}")
        return self.models[peer]


@dataclass(frozen=True)
class _Conversing:
    """Makes the programs of a conversation among the parties of a trained study."""

    outcome: StudyOutcome = field(repr=False)

    def table(self, programs: Mapping[str, Party[Any]], which: ConversationId) -> Conversation:
        """The runner that connects them."""
        return self.outcome.table(programs, *which.parts)

    def keep(self, table: Conversation) -> None:
        """Keep everybody's view of a conversation."""
        self.outcome.record.add(table.views, table.traffic, stage=AFTER_TRAINING)


@dataclass(frozen=True)
class _Query(_Conversing):
    """One query."""

    model: PeerModel | QuorumModel = field(repr=False)
    rows: sparse.csr_array = field(repr=False)
    entities: Sequence[str] = field(repr=False)
    evaluation: bool
    truth: NDArray[np.bool_] | None = field(repr=False)
    own: Floats | None = field(default=None, repr=False)

    def programs(self, runs: Mapping[str, Run], book: QueryBook) -> dict[str, Party[Any]]:
        """The programs of all seats; the coordinator's first, so that it hears first who left."""
        made: dict[str, Party[Any]] = {}
        for name in sorted(runs, key=lambda name: name != COORDINATOR):
            run = runs[name]
            assert isinstance(run, RunQuery)
            if name == COORDINATOR:
                made[name] = self._answering(run, book)
            elif name == run.query.asker:
                made[name] = self._asking(run)
            else:
                made[name] = self._helping(name, run.query.asker)
        return made

    def _answering(self, run: RunQuery, book: QueryBook) -> Party[Any]:
        party, trained = self.outcome.parties[COORDINATOR], self.outcome.trained
        asker = run.query.asker
        if isinstance(trained, QuorumTrained):
            members = [name for name in trained.members if name in run.helpers]
            return answer_query(party, trained, book, asker=asker, members=members)
        return answer(party, trained, book, asker=asker, verdict=run.verdict)

    def _asking(self, run: RunQuery) -> Party[Any]:
        asker, number = run.query.asker, run.query.number
        party, model = self.outcome.parties[asker], self.model
        if isinstance(model, QuorumModel):
            evaluation, own = self.evaluation, self.own
            return ask_members(
                party, model, self.rows, number=number, evaluation=evaluation, own=own
            )
        seats = party.study.answering_seats(asker)
        remote = remote_part(party, model, self.entities, number=number, answering=seats)
        return ask(
            party,
            model,
            self.rows,
            number=number,
            evaluation=self.evaluation,
            truth=self.truth,
            own=self.own,
            remote=remote,
            verdict=run.verdict,
        )

    def _helping(self, name: str, asker: str) -> Party[Any]:
        party, outcome = self.outcome.parties[name], self.outcome
        if name in outcome.entities:
            seats = outcome.study.answering_seats(asker)
            return answer_entities(party, outcome.entities[name], asker=asker, answering=seats)
        if name in outcome.shared:
            return help_asker(party, outcome.shared[name])
        if outcome.held is not None and name == outcome.study.roster.evaluator:
            return share_scores(party, (outcome.held,))
        return deal(party)


@dataclass(frozen=True)
class _JointEvaluation(_Conversing):
    """One evaluation, with every peer's own result."""

    tested: Mapping[str, Tested] = field(repr=False)

    def programs(self, runs: Mapping[str, Run], book: QueryBook) -> dict[str, Party[Any]]:
        """The programs of all seats; no labels are told."""
        del book
        return {name: self._program(name, run) for name, run in runs.items()}

    def _program(self, name: str, run: Run) -> Party[Any]:
        assert isinstance(run, RunEvaluation)
        outcome, peers, number = self.outcome, run.peers, run.evaluation.number
        attempt = Attempt(Stage.TRAINING, run.evaluation.attempt, peers)
        party = replace(outcome.parties[name], attempt=attempt)
        if name == COORDINATOR:
            scores, counted = outcome.trained.scores, outcome.counted
            return evaluate_coordinator(party, peers, number=number, scores=scores, counted=counted)
        if name in self.tested:
            return evaluate_peer(party, self.tested[name], peers, number=number)
        if name in outcome.shared:
            return evaluate_member(party, outcome.shared[name], peers, number=number)
        return evaluate_evaluator(party, peers, number=number)
