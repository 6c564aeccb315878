"""A trained study in memory, with every party at one table: ask it, and evaluate it.

The outcome holds all parties' things side by side, as no single party ever does: their
results, their views (everything that each received) and the traffic.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.errors import AbsenceError, InputError
from sottovoce.numbers.ring import Words
from sottovoce.paillier import SecretKey
from sottovoce.pictures.html import table
from sottovoce.pictures.shown import notebook_html
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.runner import Conversation, Meddler, Outcome
from sottovoce.protocols.seat import Packet
from sottovoce.protocols.view import Traffic, View
from sottovoce.study.party_context import PartyContext
from sottovoce.study.plan import Verdict
from sottovoce.study.policy import Policy
from sottovoce.study.queries.budget import QueryBook
from sottovoce.study.queries.classification import (
    Answer,
    answer,
    ask,
    deal,
    goes_on_without,
    warn_without,
)
from sottovoce.study.queries.evaluation import (
    evaluate_coordinator,
    evaluate_evaluator,
    evaluate_member,
    evaluate_peer,
)
from sottovoce.study.queries.figures import Evaluation, HeldOut, Tested
from sottovoce.study.queries.model import HeldShare, PeerModel, Trained
from sottovoce.study.queries.query_seats import query_trio
from sottovoce.study.queries.quorum_model import MemberShare, QuorumModel, QuorumTrained
from sottovoce.study.queries.quorum_queries import answer_query, ask_members, help_asker
from sottovoce.study.queries.remote_answers import RemoteSide, remote_part
from sottovoce.study.queries.score_shares import decided
from sottovoce.study.queries.shared_queries import share_scores
from sottovoce.study.queries.thresholds import unit_scores
from sottovoce.study.stages.holdings import integer_rows, labelled, read_rows
from sottovoce.study.stages.training import Told, held_out_side
from sottovoce.study.study import Study
from sottovoce.text.documents import Document


@dataclass
class Record:
    """What was said so far: every party's view and the traffic, over all conversations."""

    views: dict[str, View] = field(default_factory=dict)
    traffic: Traffic = field(default_factory=Traffic)

    def add(self, views: Mapping[str, View], traffic: Traffic) -> None:
        """Add one conversation."""
        for name, view in views.items():
            self.views.setdefault(name, View(name)).received.extend(view.received)
        for mine, more in (
            (self.traffic.messages, traffic.messages),
            (self.traffic.bytes, traffic.bytes),
        ):
            mine.update(more)
        self.traffic.kinds.update(traffic.kinds)


@dataclass(frozen=True)
class _Away(Meddler):
    """Some seats are not there, whatever else happens."""

    seats: Collection[str]
    other: Meddler

    def carry(self, packet: Packet) -> Iterable[Packet]:
        return self.other.carry(packet)

    def silent(self) -> Iterable[Packet]:
        return self.other.silent()

    def crashes(self, party: str, step: int) -> bool:
        return party in self.seats or self.other.crashes(party, step)


@dataclass(frozen=True)
class _Asked:
    """One query as its asker brings it."""

    peer: str
    rows: sparse.csr_array = field(repr=False)
    entities: Sequence[str] = field(repr=False)
    evaluation: bool


@dataclass(repr=False)
class StudyOutcome:
    """A trained study: each peer's sealed model, and everybody ready for queries."""

    study: Study
    models: Mapping[str, PeerModel | QuorumModel]
    trained: Trained | QuorumTrained
    parties: Mapping[str, PartyContext]
    queries: QueryBook
    training_views: Mapping[str, View]
    record: Record = field(default_factory=Record)
    numbers: Counter[str] = field(default_factory=Counter)
    meddler: Meddler | None = None
    # Each peer's own figures, and the coordinator's shares of the counts of a ROC.
    own: dict[tuple[int, str], Tested] = field(default_factory=dict, repr=False)
    counted: dict[str, Words] = field(default_factory=dict, repr=False)
    remote: RemoteSide = field(default_factory=RemoteSide)
    away: set[str] = field(default_factory=set)
    held: HeldShare | None = field(default=None, repr=False)
    # The members' shares of the model, in engine quorum.
    shared: Mapping[str, MemberShare] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        """Who has a model of what, in a line."""
        plan, labels = self.study.plan, ", ".join(self.study.plan.labels.names)
        return (
            f"StudyOutcome({plan.name!r}: {', '.join(self.models)} hold a {plan.release} model of "
            f"{plan.features} features for {labels}; engine {self.study.engine}, "
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
            ("features", plan.features),
            ("penalty", f"{self.trained.alpha:g}"),
            ("bytes sent", self.traffic.total_bytes),
        ]
        return notebook_html(table(("what", "value"), rows))

    @property
    def views(self) -> Mapping[str, View]:
        """Everything that each seat received, over all conversations so far."""
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

    def classify(
        self, peer: str, documents: Sequence[Document], *, evaluation: bool = False
    ) -> Answer:
        """The classes of every row of a peer's documents, which nobody but that peer learns."""
        return self._classify(peer, documents, evaluation=evaluation)

    def _classify(
        self,
        peer: str,
        documents: Sequence[Document],
        *,
        evaluation: bool,
        truth: NDArray[np.bool_] | None = None,
    ) -> Answer:
        model = self._model(peer)
        rows = integer_rows(self.study, model.space, peer, documents, key=model.key)
        if model.released is None:
            asked = _Asked(peer, rows, [one.group or "" for one in documents], evaluation)
            if isinstance(model, QuorumModel):
                return self._ask_members(asked, model)
            return self._ask(asked, model, truth=truth)
        scores = unit_scores(rows, rows @ model.released)
        classes = decided(self.study.plan.labels, scores, model.operating_point)
        return Answer(classes, self.queries.left(peer), scores)

    def tested(self, peer: str, documents: Sequence[Document]) -> Tested:
        """What a peer's own held-out documents give in the next evaluation; asked for once."""
        number = self.numbers["evaluations"]
        if (number, peer) not in self.own:
            self.own[number, peer] = self._tested(peer, documents)
        return self.own[number, peer]

    def last_tested(self, peer: str, documents: Sequence[Document]) -> Tested:
        """What a peer's own held-out documents gave in the last evaluation, else in the next."""
        held = self.own.get((self.numbers["evaluations"] - 1, peer))
        return held if held is not None else self.tested(peer, documents)

    def _tested(self, peer: str, documents: Sequence[Document]) -> Tested:
        plan, model = self.study.plan, self._model(peer)
        mine = held_out_side(self.parties[peer], labelled(self.study, documents))
        if not mine:
            raise InputError(f"{peer}: expected held-out documents, found none")
        places = read_rows(self.study, model.space, peer, mine, key=model.key).places
        test = HeldOut.of(plan, mine, places)
        return test.tested(self._classify(peer, mine, evaluation=True, truth=test.truth))

    def evaluate(self, documents: Mapping[str, Sequence[Document]]) -> Evaluation:
        """The joint confusion table and ROC over the documents that every peer has held out."""
        roster = self.study.roster
        tested = {name: self.tested(name, documents[name]) for name in self.models}
        number = self.numbers["evaluations"]
        self.numbers["evaluations"] += 1
        peers = tuple(tested)
        programs: dict[str, Party[Any]] = {
            name: evaluate_peer(self.parties[name], mine, peers, number=number)
            for name, mine in tested.items()
        }
        programs[roster.coordinator] = evaluate_coordinator(
            self.parties[roster.coordinator],
            peers,
            number=number,
            counted=self.counted,
            ring=self.trained.scores.ring,
        )
        if roster.helped:
            programs[roster.evaluator] = evaluate_evaluator(
                self.parties[roster.evaluator], peers, number=number
            )
        elif roster.members:
            programs |= {
                name: evaluate_member(self.parties[name], peers, number=number)
                for name in self.study.quorum_of(peers).members
            }
        outcome = self.converse(programs, "evaluation", str(number))
        result = outcome.results[roster.coordinator]
        assert isinstance(result, Evaluation)
        return result

    def _ask(self, asked: "_Asked", model: PeerModel, *, truth: NDArray[np.bool_] | None) -> Answer:
        """Ask as the plan says first; without the dealer, if it is away and the plan allows it."""
        verdict = self.study.verdict_for(asked.peer)
        try:
            return self._query(asked, model, truth=truth, verdict=verdict)
        except AbsenceError as error:
            if not goes_on_without(self.study, asked.peer, error.party):
                raise
            warn_without(asked.peer, error.party)
        return self._query(asked, model, truth=truth, verdict=Verdict.DGK)

    def _ask_members(self, asked: "_Asked", model: QuorumModel) -> Answer:
        """Ask the members that are there; 2t + 1 of them are enough."""
        assert isinstance(self.trained, QuorumTrained)
        parties, peer, coordinator = self.parties, asked.peer, self.study.roster.coordinator
        held = self.study.quorum.among(self.trained.members)
        there = held.among([name for name in held.members if name not in self.away]).members
        number = self.numbers[peer]
        self.numbers[peer] += 1
        programs: dict[str, Party[Any]] = {
            coordinator: answer_query(
                parties[coordinator], self.trained, self.queries, asker=peer, members=there
            ),
            peer: ask_members(
                parties[peer], model, asked.rows, number=number, evaluation=asked.evaluation
            ),
        }
        programs |= {name: help_asker(parties[name], self.shared[name]) for name in there}
        result = self.converse(programs, "query", peer, str(number)).results[peer]
        assert isinstance(result, Answer)
        return result

    def _query(
        self,
        asked: "_Asked",
        model: PeerModel,
        *,
        truth: NDArray[np.bool_] | None,
        verdict: Verdict | None,
    ) -> Answer:
        study, parties, peer = self.study, self.parties, asked.peer
        assert isinstance(self.trained, Trained)
        remote, answering = remote_part(self, peer, asked.entities)
        number = self.numbers[peer]
        self.numbers[peer] += 1
        coordinator = study.roster.coordinator
        # The coordinator first: it is the first to hear that somebody left, and counts.
        programs: dict[str, Party[Any]] = {
            coordinator: answer(
                parties[coordinator], self.trained, self.queries, asker=peer, verdict=verdict
            ),
            peer: ask(
                parties[peer],
                model,
                asked.rows,
                number=number,
                evaluation=asked.evaluation,
                truth=truth,
                remote=remote,
                verdict=verdict,
            ),
        }
        if self.held is not None:
            evaluator = study.roster.evaluator
            programs[evaluator] = share_scores(parties[evaluator], (self.held,))
        if verdict is Verdict.FSS:
            dealer = query_trio(study, peer).dealer
            programs[dealer] = deal(parties[dealer])
        outcome = self.converse(programs | answering, "query", peer, str(number))
        if asked.evaluation:
            self.counted[peer] = outcome.results[coordinator]
        result = outcome.results[peer]
        assert isinstance(result, Answer)
        return result

    def leave(self, seat: str) -> None:
        """A seat is away from now on: it answers nobody; `come_back` ends that."""
        if seat not in self.study.roster.names:
            known = ", ".join(self.study.roster.names)
            raise InputError(f"study: expected one of its seats ({known}), found {seat!r}")
        self.away.add(seat)

    def come_back(self, seat: str) -> None:
        """A seat that was away is there again."""
        self.away.discard(seat)

    def converse(self, programs: Mapping[str, Party[Any]], *session: str) -> Outcome:
        """Run one more conversation of this study, and keep what everybody saw."""
        study = self.study
        key = self.trained.key.public if isinstance(self.trained, Trained) else None
        meddler = _Away(self.away, self.meddler or Meddler())
        return _converse(programs, study, session, self.record, key=key, meddler=meddler)

    def _model(self, peer: str) -> PeerModel | QuorumModel:
        if peer not in self.models:
            known = ", ".join(self.models) or "nobody"
            raise InputError(f"query: expected a peer with a model ({known}), found {peer!r}")
        return self.models[peer]


@dataclass(frozen=True)
class Setting:
    """What a study in memory may be given besides: a key made before, policies, a meddler."""

    key: SecretKey | None = None
    policies: Mapping[str, Policy] | None = None
    meddler: Meddler | None = None
    told: Told = lambda _: None
    views: bool = True


def _converse(
    programs: Mapping[str, Party[Any]],
    study: Study,
    session: Iterable[str],
    record: Record,
    *,
    key: Any = None,
    meddler: Meddler | None = None,
) -> Outcome:
    table = Conversation(
        programs, session=study.session(*session), codec=study.codec(key), meddler=meddler
    )
    try:
        return table.run()
    finally:
        record.add(table.views, table.traffic)
