"""Learner `rado-descent` in a study: a descent on the union's rados, which nobody sees."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from harness.consent import ANYTHING
from harness.entities import ToySealedClassifier, toy
from harness.noise import FEWEST, assert_looks_uniform
from harness.studies import told_apart
from harness.views import readable
from sottovoce.attacks.everything import attack_everything
from sottovoce.attacks.recovered import score
from sottovoce.errors import BoundError, InputError
from sottovoce.estimators import LocalFederation, TextClassifier
from sottovoce.paillier import Ciphertext, Plain, encrypt
from sottovoce.protocols.rado_descent.twin import plain_descent
from sottovoce.protocols.view import leaves
from sottovoce.study import InsecureToyPlan
from sottovoce.study.card.card import StudyCard
from sottovoce.study.stages.encrypted import descent_numbers
from sottovoce.study.stages.encrypted.descent_numbers import DescentNumbers

PEERS = ("alice", "bob", "carol", "dave")
DESCENT = {
    "engine": "paillier",
    "learner": "rado-descent",
    "contribution": "rados",
    "rados": 32,
    "held_out": 0.0,
    "release": "peers",
}


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    """A third of the steps of a study: every one of them takes the same course."""
    monkeypatch.setattr(descent_numbers, "STEPS", 4)


def rows(count: int = 60, *, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose first column tells the class by far, so that any sample of rados finds it."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-0.5, 0.5, (count, 3))
    y = np.arange(count) % classes
    X[:, 0] = np.linspace(-1, 1, classes)[y] * rng.uniform(0.7, 1, count)
    return X, (2 * y - 1 if classes == 2 else y)


def federation(peers: int = 4, *, classes: int = 2, **settings: Any) -> LocalFederation:
    X, y = rows(classes=classes)
    places = np.array_split(np.arange(len(y)), peers)
    parts = {name: (X[own], y[own]) for name, own in zip(PEERS, places, strict=False)}
    return LocalFederation(parts, policy=ANYTHING, **settings)


class Recorded:
    """What the peers of one training drew, which in a study nobody sees."""

    def __init__(self) -> None:
        self.numbers: DescentNumbers | None = None
        self.parts: list[list[np.ndarray]] = []

    def twin(self) -> np.ndarray:
        """θ of every class from the union's rados, in the clear, as weights of rows."""
        assert self.numbers is not None
        plan, thetas = self.numbers.descent, []
        for number in range(len(self.parts[0])):
            on_grid = [Plain.of(own[number], plan.rado_scale).integers for own in self.parts]
            union = Plain(np.sum(on_grid, axis=0), plan.rado_scale)
            thetas.append(np.ldexp(plain_descent(union, plan).floats(), -self.numbers.unit_bits))
        return np.column_stack(thetas)


@pytest.fixture
def recorded(monkeypatch):
    book, drawn = Recorded(), DescentNumbers.drawn

    def record(self, edges, *, seed):
        book.numbers = self
        book.parts.append(drawn(self, edges, seed=seed))
        return book.parts[-1]

    monkeypatch.setattr(DescentNumbers, "drawn", record)
    return book


@cache
def fitted(**settings: Any) -> ToySealedClassifier:
    return toy(**DESCENT, **settings).fit(federation())


def weights(model: ToySealedClassifier) -> np.ndarray:
    released = model.study_.models["alice"].released
    assert released is not None
    return released


@pytest.mark.parametrize(
    ("addition", "classes"), [("pairwise", 2), pytest.param("ring", 3, marks=pytest.mark.soak)]
)
def test_it_is_the_descent_on_the_rados_of_the_union(recorded, addition, classes) -> None:
    model = toy(**DESCENT, addition=addition).fit(federation(classes=classes))
    assert len(recorded.parts) == len(PEERS)
    factors = model.study_.models["alice"].space.factors[:, np.newaxis]
    twin = factors * recorded.twin()
    assert weights(model).shape == (5, 1 if classes == 2 else classes)
    assert np.abs(weights(model) - twin).max() < 1e-3 * np.abs(twin).max()


# By default test_text_classifier.py samples rados of texts.
@pytest.mark.soak
def test_texts() -> None:
    settings = {**DESCENT, "key_bits": 768, "rados": 64, "release": "sealed", "min_documents": 1}
    parts = {site: told_apart(20, seed) for seed, site in enumerate(("north", "east", "west"))}
    model = ToyText(features=6, query_budget=2000, **settings).fit(
        LocalFederation(parts, policy=ANYTHING)
    )
    asked = [document.text for document in parts["north"]]
    labels = [document.label for document in parts["north"]]
    assert model.score(asked, labels, peer="north") > 0.9


class ToyText(TextClassifier):
    """With keys that anybody can break, for tests."""

    _plan_type = InsecureToyPlan
    _keeps_views = True


def test_an_intermediary_builds_rados_without_a_question() -> None:
    model = toy(**DESCENT).fit(federation(intermediaries={"alice": "cloud", "bob": "cloud"}))
    X, y = rows()
    assert model.score(X, y.tolist()) > 0.75
    view = model.study_.views["intermediary-bob"]
    kinds = {type(item.message).__name__ for item in view.received}
    assert not kinds & {"RowProducts", "Step", "LineProducts"}
    residues = [
        int(residue) & 0xFFFFFFFF
        for item in view.received
        for leaf in leaves(item.message)
        if isinstance(leaf, Ciphertext)
        for residue in leaf.residues
    ]
    assert len(residues) >= FEWEST
    assert_looks_uniform(residues, 1 << 32)


def test_a_lone_owner_lends_the_descent() -> None:
    X, y = rows()
    chosen = {**DESCENT, "release": "sealed"}
    model = toy(**chosen).fit(LocalFederation({"alice": (X, y)}, outsourced_to="cloud"))
    assert model.score(X, y.tolist()) > 0.75


def test_attacks_find_nothing_in_any_view() -> None:
    outcome = fitted(query_budget=9000).study_
    X, y = rows()
    key = outcome.trained.key
    for name, view in outcome.views.items():
        held = key if name == "coordinator" else None
        seen = list(readable(view, key=held, modulus=key.public.modulus))
        report = attack_everything(seen, modulus=key.public.modulus)
        assert score(report.documents, np.rint(64 * X), y).matched == 0, name


def test_every_message_stands_on_the_card() -> None:
    outcome = fitted(query_budget=9000).study_
    assert set(outcome.traffic.kinds) <= {line.name for line in StudyCard(outcome.study).lines}


def test_the_card_says_what_is_learnt_and_what_is_told() -> None:
    page = StudyCard(fitted(query_budget=9000).study_.study).markdown()
    assert "gradient descent on 32 encrypted rados" in page
    assert "one bit, that its numbers are in range" in page
    assert "`masked-lines`" in page


def test_a_descent_that_leaves_its_range_stops_by_name(monkeypatch) -> None:
    """Even where one column is the label it keeps to its own, so this test takes a smaller one."""
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], 240)
    X = np.column_stack([y, rng.uniform(-1, 1, (240, 2))])
    parts = {name: (X[k::4], y[k::4]) for k, name in enumerate(PEERS)}
    model = toy(**DESCENT).fit(LocalFederation(parts, policy=ANYTHING))
    assert model.score(X, y.tolist()) == 1.0
    monkeypatch.setattr(descent_numbers, "BOUND", 2.0)
    with pytest.raises(BoundError, match="too easy to tell apart"):
        toy(**DESCENT).fit(LocalFederation(parts, policy=ANYTHING))


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"contribution": "exact", "rados": 0}, "contribution 'rados', found exact"),
        ({"rados": 100}, "32, 64, 128, 256, 512, 1024 rados, found 100"),
        ({"rados": 2048}, "rados, found 2048"),
        ({"engine": "shares"}, "engine paillier, found shares"),
        ({"alpha": (0.5, 1.0)}, "one penalty"),
    ],
)
def test_a_descent_outside_its_range_is_refused_by_name(settings, named) -> None:
    with pytest.raises(InputError, match="learner rado-descent needs") as error:
        toy(**(DESCENT | settings)).fit(federation())
    assert named in str(error.value)
    assert error.value.hints


def test_too_many_columns_for_a_descent_are_refused_by_name() -> None:
    X = np.zeros((40, 130))
    y = np.tile([-1, 1], 20)
    parts = {name: (X[10 * k :][:10], y[10 * k :][:10]) for k, name in enumerate(PEERS)}
    with pytest.raises(InputError, match="at most 128 columns, found 132"):
        toy(**DESCENT).fit(LocalFederation(parts, policy=ANYTHING))


def test_rings_need_four_peers_and_ciphertexts() -> None:
    with pytest.raises(InputError, match=r"addition ring needs at least 4 peers.*found 3"):
        toy(**DESCENT, addition="ring").fit(federation(3))
    with pytest.raises(InputError, match=r"addition ring is for ciphertexts.*found engine shares"):
        toy(engine="shares", addition="ring").fit(federation())


def made_up(monkeypatch: pytest.MonkeyPatch, share: float) -> ToySealedClassifier:
    """A model with made-up rados of the last peer, a share as long as the longest can be."""
    sealed, called = DescentNumbers.sealed, []

    def contributed(self, edges, key, **more):
        called.append(self)
        _, *forms = honest = sealed(self, edges, key, **more)
        if len(called) != len(PEERS):
            return honest
        # The first form says what is learnt; the second, of which exponents are made, stays.
        plan, (layout, scale) = self.descent, self.forms(key.plaintext_bits)[0]
        against = -np.sign(edges[0].sum(axis=0)) * plan.ranges.reach / np.sqrt(self.width)
        longest = Plain.of(np.tile(share * against, (plan.rados, 1)), scale)
        return [encrypt(key, longest, slots=layout.slots, entropy=more["entropy"]), *forms]

    monkeypatch.setattr(DescentNumbers, "sealed", contributed)
    return toy(**DESCENT).fit(federation())


def test_a_peer_that_makes_up_long_rados_leaves_the_range_and_the_study_stops(monkeypatch) -> None:
    with pytest.raises(BoundError, match="expected exponents within ±12, found larger ones"):
        made_up(monkeypatch, 1 / 2)


@pytest.mark.soak
def test_within_the_range_one_peer_of_four_turns_the_model_around(monkeypatch) -> None:
    """What it costs that rados are compared with no rows."""
    honest = weights(fitted())[:, 0]
    turned = weights(made_up(monkeypatch, 1 / 64))[:, 0]
    assert honest @ turned < -0.5 * np.linalg.norm(honest) * np.linalg.norm(turned)
