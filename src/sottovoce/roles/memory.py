"""A whole study in memory: every party at one table, the same programs as over a network.

    roster, identities = draw_roster(("alice", "bob", "carol"), entropy=entropy)
    outcome = run_study(Study(plan, roster), documents, identities=identities, entropy=entropy)
    outcome.classify("alice", documents).classes

The outcome holds all parties' things side by side, as no single party ever does: their
results, their views (everything that each received) and the traffic.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scipy import sparse

from sottovoce.entropy import Entropy
from sottovoce.errors import InputError
from sottovoce.paillier import SecretKey
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.identities import Identity
from sottovoce.protocols.runner import Meddler, Outcome, Table
from sottovoce.protocols.view import Traffic, View
from sottovoce.roles.agreement import Agreement, collected, consented
from sottovoce.roles.classification import Answer, QueryBook, answer, ask, deal, query_trio
from sottovoce.roles.desk import Desk
from sottovoce.roles.evaluation import (
    Evaluation,
    confusion,
    evaluate_coordinator,
    evaluate_evaluator,
    evaluate_peer,
)
from sottovoce.roles.model import SealedModel, Trained
from sottovoce.roles.policy import Policy
from sottovoce.roles.study import Study
from sottovoce.roles.training import (
    Told,
    held_out_side,
    train_coordinator,
    train_dealer,
    train_evaluator,
    train_peer,
)
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureReader


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
        model = self._model(peer)
        rows = FeatureReader(model.space, model.key).read(documents)
        if model.released is not None:
            scores = rows.integers() @ model.released
            return Answer(self.study.plan.labels.decide(scores), self.queries.left(peer), scores)
        return self._ask(peer, model, rows.integers(), evaluation=evaluation)

    def evaluate(self, documents: Mapping[str, Sequence[Document]]) -> Evaluation:
        """The joint confusion table over the documents that every peer has held out."""
        roster, labelling = self.study.roster, self.study.plan.labelled
        held_out = {name: held_out_side(self.desks[name], documents[name]) for name in self.models}
        tables = {}
        for name, mine in held_out.items():
            if not mine:
                raise InputError(f"{name}: expected held-out documents, found none")
            found = self.classify(name, mine, evaluation=True)
            rows = FeatureReader(self.models[name].space, self.models[name].key).read(mine)
            true = [
                one
                for document, places in zip(mine, rows.places, strict=True)
                for one in labelling.classes(document, places)
            ]
            tables[name] = confusion(labelling.labels, true, found.classes)
        number = self.numbers["evaluations"]
        self.numbers["evaluations"] += 1
        peers = tuple(tables)
        programs: dict[str, Party[Any]] = {
            name: evaluate_peer(self.desks[name], table, peers, number=number)
            for name, table in tables.items()
        }
        for name, program in (
            (roster.coordinator, evaluate_coordinator),
            (roster.evaluator, evaluate_evaluator),
        ):
            programs[name] = program(self.desks[name], peers, number=number)
        outcome = self.converse(programs, "evaluation", str(number))
        result = outcome.results[roster.coordinator]
        assert isinstance(result, Evaluation)
        return result

    def _ask(
        self, peer: str, model: SealedModel, rows: sparse.csr_array, *, evaluation: bool
    ) -> Answer:
        study, desks = self.study, self.desks
        number = self.numbers[peer]
        self.numbers[peer] += 1
        coordinator = study.roster.coordinator
        programs: dict[str, Party[Any]] = {
            peer: ask(desks[peer], model, rows, number=number, evaluation=evaluation),
            coordinator: answer(desks[coordinator], self.trained, self.queries, asker=peer),
        }
        if study.plan.deals_verdicts:
            dealer = query_trio(study, peer).dealer
            programs[dealer] = deal(desks[dealer])
        outcome = self.converse(programs, "query", peer, str(number))
        result = outcome.results[peer]
        assert isinstance(result, Answer)
        return result

    def converse(self, programs: Mapping[str, Party[Any]], *session: str) -> Outcome:
        """Run one more conversation of this study, and keep what everybody saw."""
        study, key = self.study, self.trained.key.public
        return _converse(programs, study, session, self.record, key=key, meddler=self.meddler)

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
    _check_documents(study, documents)
    for name, policy in (setting.policies or {}).items():
        try:
            policy.check(study)
        except InputError as error:
            raise InputError(f"{name}: {error.message}", hints=error.hints) from error
    desks = {
        name: Desk.open(study, identities[name], entropy=entropy) for name in study.roster.names
    }
    setting.told("keys")
    key = setting.key or study.plan.generate(entropy=entropy)
    record = Record()
    agreements = _agree(desks, key, record, setting)
    programs = _training(desks, key, agreements, documents, setting)
    outcome = _converse(
        programs, study, ("training",), record, key=key.public, meddler=setting.meddler
    )
    training = {name: View(name, list(view.received)) for name, view in record.views.items()}
    trained = outcome.results[study.roster.coordinator]
    models = {
        name: outcome.results[name]
        for name in study.roster.peers
        if outcome.results.get(name) is not None
    }
    book = QueryBook(study.plan.budget, study.plan.evaluations)
    return StudyOutcome(study, models, trained, desks, book, training, record)


@dataclass(frozen=True)
class Setting:
    """What a study in memory may be given besides: a key made before, policies, a meddler."""

    key: SecretKey | None = None
    policies: Mapping[str, Policy] | None = None
    meddler: Meddler | None = None
    told: Told = lambda _: None


def _agree(
    desks: Mapping[str, Desk], key: SecretKey, record: Record, setting: Setting
) -> Mapping[str, Agreement]:
    study = next(iter(desks.values())).study
    coordinator = study.roster.coordinator
    programs: dict[str, Party[Any]] = {
        name: collected(desk, key) if name == coordinator else consented(desk)
        for name, desk in desks.items()
    }
    setting.told("agreement")
    return _converse(programs, study, ("agreement",), record).results


def _training(
    desks: Mapping[str, Desk],
    key: SecretKey,
    agreements: Mapping[str, Agreement],
    documents: Mapping[str, Sequence[Document]],
    setting: Setting,
) -> dict[str, Party[Any]]:
    """Everybody's program, in the order in which the table asks them."""
    roster = next(iter(desks.values())).study.roster
    programs: dict[str, Party[Any]] = {
        roster.coordinator: train_coordinator(desks[roster.coordinator], key, told=setting.told),
        roster.evaluator: train_evaluator(desks[roster.evaluator], agreements[roster.evaluator]),
    }
    if roster.dealer is not None:
        programs[roster.dealer] = train_dealer(desks[roster.dealer], agreements[roster.dealer])
    for name in roster.peers:
        programs[name] = train_peer(desks[name], agreements[name], documents[name])
    return programs


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


def _check_documents(study: Study, documents: Mapping[str, Sequence[Document]]) -> None:
    expected, found = set(study.roster.peers), set(documents)
    if expected != found:
        raise InputError(
            f"study {study.plan.name!r}: expected documents of {', '.join(sorted(expected))}, "
            f"found those of {', '.join(sorted(found)) or 'nobody'}"
        )
