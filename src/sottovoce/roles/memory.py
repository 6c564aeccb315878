"""A whole study in memory: every party at one table, the same programs as over a network.

    roster, identities = draw_roster(("alice", "bob", "carol"), entropy=entropy)
    outcome = run_study(Study(plan, roster), documents, identities=identities, entropy=entropy)
    outcome.classify("alice", documents).classes

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

from sottovoce.entropy import Entropy
from sottovoce.errors import AbsenceError, InputError, SottovoceError, StoppedError
from sottovoce.numbers.ring import Words
from sottovoce.paillier import SecretKey
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.identities import Identity
from sottovoce.protocols.runner import Meddler, Outcome, Table
from sottovoce.protocols.seat import Packet
from sottovoce.protocols.view import Traffic, View
from sottovoce.roles.answering import RemoteSide, remote_part
from sottovoce.roles.attempts import Attempt, Stage, Stop, check_roles
from sottovoce.roles.budget import QueryBook
from sottovoce.roles.classification import (
    Answer,
    answer,
    ask,
    deal,
    goes_on_without,
    query_trio,
    warn_without,
)
from sottovoce.roles.course import Course
from sottovoce.roles.desk import Desk
from sottovoce.roles.evaluation import (
    evaluate_coordinator,
    evaluate_evaluator,
    evaluate_peer,
)
from sottovoce.roles.figures import Evaluation, HeldOut, Tested
from sottovoce.roles.holdings import integer_rows, labelled, read_rows
from sottovoce.roles.model import SealedModel, Trained
from sottovoce.roles.plan import Verdict
from sottovoce.roles.policy import Policy
from sottovoce.roles.score_shares import decided
from sottovoce.roles.study import Study
from sottovoce.roles.thresholds import unit_scores
from sottovoce.roles.training import Told, held_out_side
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


@dataclass
class StudyOutcome:
    """A trained study: each peer's sealed model, and everybody ready for queries."""

    study: Study
    models: Mapping[str, SealedModel]
    trained: Trained
    desks: Mapping[str, Desk]
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
        return [view for name, view in self.views.items() if roster.house(name) == organisation]

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

    def _tested(self, peer: str, documents: Sequence[Document]) -> Tested:
        plan, model = self.study.plan, self._model(peer)
        mine = held_out_side(self.desks[peer], labelled(self.study, documents))
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
            name: evaluate_peer(self.desks[name], mine, peers, number=number)
            for name, mine in tested.items()
        }
        programs[roster.coordinator] = evaluate_coordinator(
            self.desks[roster.coordinator],
            peers,
            number=number,
            counted=self.counted,
            ring=self.trained.scores.ring,
        )
        programs[roster.evaluator] = evaluate_evaluator(
            self.desks[roster.evaluator], peers, number=number
        )
        outcome = self.converse(programs, "evaluation", str(number))
        result = outcome.results[roster.coordinator]
        assert isinstance(result, Evaluation)
        return result

    def _ask(
        self, asked: "_Asked", model: SealedModel, *, truth: NDArray[np.bool_] | None
    ) -> Answer:
        """Ask as the plan says first; without the dealer, if it is away and the plan allows it."""
        verdict = self.study.verdict_for(asked.peer)
        try:
            return self._query(asked, model, truth=truth, verdict=verdict)
        except AbsenceError as error:
            if not goes_on_without(self.study, asked.peer, error.party):
                raise
            warn_without(asked.peer, error.party)
        return self._query(asked, model, truth=truth, verdict=Verdict.DGK)

    def _query(
        self,
        asked: "_Asked",
        model: SealedModel,
        *,
        truth: NDArray[np.bool_] | None,
        verdict: Verdict | None,
    ) -> Answer:
        study, desks, peer = self.study, self.desks, asked.peer
        remote, answering = remote_part(self, peer, asked.entities)
        number = self.numbers[peer]
        self.numbers[peer] += 1
        coordinator = study.roster.coordinator
        # The coordinator first: it is the first to hear that somebody left, and counts.
        programs: dict[str, Party[Any]] = {
            coordinator: answer(
                desks[coordinator], self.trained, self.queries, asker=peer, verdict=verdict
            ),
            peer: ask(
                desks[peer],
                model,
                asked.rows,
                number=number,
                evaluation=asked.evaluation,
                truth=truth,
                remote=remote,
                verdict=verdict,
            ),
        }
        if verdict is Verdict.FSS:
            dealer = query_trio(study, peer).dealer
            programs[dealer] = deal(desks[dealer])
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
        study, key = self.study, self.trained.key.public
        meddler = _Away(self.away, self.meddler or Meddler())
        return _converse(programs, study, session, self.record, key=key, meddler=meddler)

    def _model(self, peer: str) -> SealedModel:
        if peer not in self.models:
            known = ", ".join(self.models) or "nobody"
            raise InputError(f"query: expected a peer with a model ({known}), found {peer!r}")
        return self.models[peer]


def run_study(
    study: Study,
    documents: Mapping[str, Sequence[Document]],
    *,
    identities: Mapping[str, Identity],
    entropy: Entropy,
    setting: "Setting | None" = None,
) -> StudyOutcome:
    """Train: every peer's documents in, one sealed model out that nobody but the data shaped."""
    setting = setting or Setting()
    desks = {
        name: Desk.open(study, identities[name], entropy=entropy) for name in study.roster.names
    }
    return StudyRun(study, documents, desks, setting).run(entropy)


@dataclass(frozen=True)
class Setting:
    """What a study in memory may be given besides: a key made before, policies, a meddler."""

    key: SecretKey | None = None
    policies: Mapping[str, Policy] | None = None
    meddler: Meddler | None = None
    told: Told = lambda _: None
    views: bool = True


class StudyRun:
    """All seats' courses side by side, attempt by attempt, until a model or a stop.

    `gone` are the parties that left; `stops` is what every other seat reports, once the
    coordinator had to stop the study and told them.
    """

    def __init__(
        self,
        study: Study,
        documents: Mapping[str, Sequence[Document]],
        desks: Mapping[str, Desk],
        setting: Setting,
    ) -> None:
        """Refuse documents of others than the peers, and plans beyond a peer's policy."""
        _check_documents(study, documents)
        for name, policy in (setting.policies or {}).items():
            try:
                policy.check(study)
            except InputError as error:
                raise InputError(f"{name}: {error.message}", hints=error.hints) from error
        self.study = study
        self.record = Record()
        self.gone: set[str] = set()
        self.attempts: list[Attempt] = []
        self.stops: dict[str, StoppedError] = {}
        self._desks, self._documents, self._setting = desks, documents, setting
        self.courses: dict[str, Course] = {}
        self._failed = ""

    def run(self, entropy: Entropy) -> StudyOutcome:
        """Every stage in turn; whoever leaves is left behind while enough stay."""
        setting, study = self._setting, self.study
        setting.told("keys")
        key = setting.key or study.plan.generate(entropy=entropy)
        coordinator = study.roster.coordinator
        self.courses = {
            name: Course(
                desk,
                documents=_learnt(study, self._documents, name),
                key=key if name == coordinator else None,
            )
            for name, desk in self._desks.items()
        }
        for stage in Stage:
            self._stage(stage, entropy)
        models = {name: one.model for name, one in self.courses.items() if one.model is not None}
        trained = self.courses[coordinator].trained
        assert trained is not None
        views = {name: View(name, list(view.received)) for name, view in self.record.views.items()}
        book = QueryBook(study.plan.budget, study.plan.evaluations)
        remote = RemoteSide(self._documents, models)
        return StudyOutcome(
            study, models, trained, self._desks, book, views, self.record, remote=remote
        )

    def _stage(self, stage: Stage, entropy: Entropy) -> None:
        deciding = self.courses[self.study.roster.coordinator]
        attempt = Attempt(stage, 1, self.study.roster.peers)
        try:
            check_roles(self.study, self.gone)
            here = [one for one in deciding.peers if one not in self.gone]
            attempt = Attempt.first(self.study, stage, peers=here)
            while (failure := self._failure(attempt, entropy)) is not None:
                attempt = self._following(attempt, failure)
        except SottovoceError as error:
            self._stop(attempt, error)
            raise

    def _failure(self, attempt: Attempt, entropy: Entropy) -> AbsenceError | None:
        """Try it; what stopped it, if somebody left without whom it could not be finished."""
        self.attempts.append(attempt)
        self._setting.told(attempt.stage)
        courses = {name: self.courses[name] for name in attempt.parties(self.study)}
        table = Table(
            {
                name: one.program(attempt, entropy=entropy, told=self._setting.told)
                for name, one in courses.items()
            },
            session=attempt.session(self.study),
            codec=self.courses[self.study.roster.coordinator].codec(),
            meddler=self._setting.meddler,
            recorded=self._setting.views,
        )
        try:
            outcome = table.run()
        except AbsenceError as error:
            missing = {*table.gone, error.party} & courses.keys()
            if not missing:
                raise
            self.gone |= missing
            return error
        finally:
            self._failed = table.failed
            self.record.add(table.views, table.traffic)
        self.gone.update(table.gone)
        for name, result in outcome.results.items():
            self.courses[name].keep(attempt, result)
        return None

    def _following(self, failed: Attempt, failure: AbsenceError) -> Attempt:
        """The next attempt; where none can follow, the failure stands as it was raised."""
        deciding = self.courses[self.study.roster.coordinator]
        try:
            return deciding.following(failed, missing=self.gone)
        except AbsenceError as last:
            raise failure from last

    def _stop(self, attempt: Attempt, error: SottovoceError) -> None:
        """The coordinator tells everybody who is still there why the study ends."""
        left = (one for one in self.study.roster.names if one in self.gone)
        seat = next(left, "") if isinstance(error, AbsenceError) else self._failed
        told = Stop.of(attempt, error, seat=seat or self.study.roster.coordinator)
        here = [one for one in self.study.roster.names if one not in self.gone]
        self.stops = {name: told.error() for name in here}


def _converse(
    programs: Mapping[str, Party[Any]],
    study: Study,
    session: Iterable[str],
    record: Record,
    *,
    key: Any = None,
    meddler: Meddler | None = None,
) -> Outcome:
    table = Table(
        programs, session=study.session(*session), codec=study.codec(key), meddler=meddler
    )
    try:
        return table.run()
    finally:
        record.add(table.views, table.traffic)


def _learnt(
    study: Study, documents: Mapping[str, Sequence[Document]], name: str
) -> list[Document] | None:
    """What a peer learns from; None at everybody else."""
    return labelled(study, documents[name]) if name in documents else None


def _check_documents(study: Study, documents: Mapping[str, Sequence[Document]]) -> None:
    expected, found = set(study.roster.peers), set(documents)
    if expected != found:
        raise InputError(
            f"study {study.plan.name!r}: expected documents of {', '.join(sorted(expected))}, "
            f"found those of {', '.join(sorted(found)) or 'nobody'}"
        )
