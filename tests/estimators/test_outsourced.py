"""A lone owner lends its work: an evaluator learns on ciphertexts, and the owner gets its model."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from harness.entities import ToySealedClassifier, toy
from harness.noise import FEWEST, assert_looks_uniform
from harness.studies import notes
from sottovoce.attacks.everything import attack_everything
from sottovoce.attacks.recovered import score
from sottovoce.datasets import load_ionosphere
from sottovoce.entropy import SystemEntropy
from sottovoce.errors import InputError, ViolationError
from sottovoce.estimators import LocalFederation, TextClassifier
from sottovoce.paillier import Ciphertext
from sottovoce.protocols.view import leaves
from sottovoce.study import InsecureToyPlan, Participant, Role, Roster
from sottovoce.study.card.card import StudyCard
from sottovoce.study.roster import draw_outsourced
from sottovoce.study.stages.agreement import Agreement
from sottovoce.study.stages.encrypted.intermediary import TableNumbers
from sottovoce.study.stages.encrypted.outsourced import train_for_owner
from sottovoce.study.stages.encrypted.uploads import SealedRows
from sottovoce.study.stages.training import held_back_side, training_side
from sottovoce.wire import Words

COLUMNS = (2, 4, 6)


def rows(count: int = 50) -> tuple[np.ndarray, np.ndarray]:
    data = load_ionosphere()
    return data.train.X[:count][:, COLUMNS], data.train.y[:count]


def alone(X: Any, y: Any) -> LocalFederation:
    return LocalFederation({"alice": (X, y)}, outsourced_to="cloud")


@cache
def fitted(rados: int = 0, **settings: Any) -> ToySealedClassifier:
    kind = "rados" if rados else "exact"
    chosen = {"alpha": 10.0, "held_out": 0.0, "contribution": kind, "rados": rados} | settings
    return toy(**chosen).fit(alone(*rows()))


def test_the_model_is_ridge_on_the_owners_rows() -> None:
    X, y = rows()
    ridge = Ridge(alpha=10.0, fit_intercept=False).fit(on_grid(X), y)
    model = fitted()
    scores = ridge.predict(on_grid(X))
    assert model.decision_function(X) == pytest.approx(scores, abs=1e-3)
    assert model.predict(X).tolist() == np.where(scores > 0, 1, -1).tolist()
    assert model.score(X, y.tolist()) > 0.75
    assert model.engine_ == "paillier"


@pytest.mark.soak
def test_rados_of_forgotten_signatures_come_near_and_balanced_classes_work() -> None:
    X, _ = rows()
    exact = fitted().decision_function(X)
    sampled = fitted(64).decision_function(X)
    assert np.corrcoef(exact, sampled)[0, 1] > 0.9
    # Another model than the exact one, by more than fixed-point digits.
    assert np.abs(exact - sampled).max() > 1e-3
    assert fitted(class_weight="balanced").predict(X).shape == (50,)


def test_evaluate_is_the_owners_own() -> None:
    data = load_ionosphere()
    federation = alone(data.train.X[:, COLUMNS], data.train.y)
    model = toy(alpha=20.0, held_out=0.3).fit(federation)
    figures = model.evaluate()
    assert figures.peers == ("alice",)
    assert figures.counts.sum() > 30
    assert figures.accuracy > 0.6


def test_texts_too() -> None:
    class ToyTextClassifier(TextClassifier):
        _plan_type = InsecureToyPlan

    (documents,) = notes(80, sites=1).values()
    federation = LocalFederation({"north": documents}, outsourced_to="cloud")
    settings = {"key_bits": 768, "min_documents": 1, "alpha": 2.0}
    model = ToyTextClassifier(features=4, **settings).fit(federation)
    assert len(model.predict([document.text for document in documents[:5]])) == 5


# What the evaluator saw


@pytest.mark.parametrize("rados", [0, 64])
def test_the_evaluator_sees_ciphertexts_and_rounded_numbers(rados: int) -> None:
    outcome = fitted(rados).study_
    view, modulus = outcome.views["evaluator"], outcome.trained.key.public.modulus
    residues = [
        int(residue)
        for item in view.received
        for leaf in leaves(item.message)
        if isinstance(leaf, Ciphertext)
        for residue in leaf.residues
    ]
    assert len(residues) > FEWEST
    assert_looks_uniform(residues, modulus**2, what="ciphertexts at the evaluator")
    assert sum(len(message.rows) for message in view.of(SealedRows)) == 50
    seen = [
        [int(residue) for residue in leaf.residues] if isinstance(leaf, Ciphertext) else leaf
        for leaf in view.leaves()
    ]
    X, y = rows()
    recovered = attack_everything(seen, modulus=modulus).documents
    assert score(recovered, np.rint(64 * X), y).matched == 0


def test_every_message_stands_on_the_card() -> None:
    outcome = fitted().study_
    card = StudyCard(outcome.study)
    assert set(outcome.traffic.kinds) <= {line.name for line in card.lines}
    page = card.markdown()
    assert "alice holds the data and the key. cloud works on ciphertexts" in page
    assert "At least 3 peers" not in page


def on_grid(X: np.ndarray) -> np.ndarray:
    return np.hstack([np.ones((len(X), 1)), np.rint(64 * X) / 64])


def test_one_of_several_penalties_is_chosen_at_home() -> None:
    """The evaluator solves for all of them, and hears of no choice."""
    alphas = (300.0, 3.0)
    model = fitted(alpha=alphas)
    outcome, party = model.study_, model.study_.parties["alice"]
    documents = alone(*rows()).documents["alice"]
    sides = [
        (
            on_grid(
                np.array([[document.columns[f"x{k}"] for k in (1, 2, 3)] for document in side])
            ),
            np.array([float(document.label) for document in side]),
        )
        for side in (training_side(party, documents), held_back_side(party, documents))
    ]
    ridges = [Ridge(alpha=alpha, fit_intercept=False).fit(*sides[0]) for alpha in alphas]
    right = [np.sum((ridge.predict(sides[1][0]) > 0) == (sides[1][1] > 0)) for ridge in ridges]
    assert right[0] != right[1]
    best = int(np.argmax(right))
    assert (
        outcome.trained.candidate.alpha == outcome.models["alice"].candidate.alpha == alphas[best]
    )
    asked, _ = rows()
    expected = ridges[best].predict(on_grid(asked))
    assert model.decision_function(asked) == pytest.approx(expected, abs=1e-3)
    kinds = {type(message.message).__name__ for message in outcome.views["evaluator"].received}
    assert "ChosenPenalty" not in kinds


# Bad input by name


def test_mistakes_are_named() -> None:
    X, y = rows()
    with pytest.raises(InputError, match="one owner whose work 'cloud' does, found alice, bob"):
        LocalFederation({"alice": (X, y), "bob": (X, y)}, outsourced_to="cloud")
    with pytest.raises(InputError, match="evaluator is never the coordinator, found 'alice'"):
        toy().fit(LocalFederation({"alice": (X, y)}, outsourced_to="alice"))
    with pytest.raises(InputError, match="needs engine paillier, found shares"):
        toy(engine="shares").fit(alone(X, y))
    with pytest.raises(InputError, match="a power of 4 of rados, found 70"):
        toy(contribution="rados", rados=70).fit(alone(X, y))
    with pytest.raises(InputError, match="at least 2 different labels, found 1"):
        toy(held_out=0.0).fit(alone(X, [1] * len(X)))
    broken = X.copy()
    broken[7, 1] = np.nan
    with pytest.raises(InputError, match="alice row 8: expected a number in column x2"):
        toy(held_out=0.0).fit(alone(broken, y))


@pytest.mark.parametrize(
    ("totals", "rows"), [((50, 50), 50), ((50, 50, 50), 51), ((50, 50, 50), 0)]
)
def test_numbers_that_do_not_belong_together_name_the_owner(
    totals: tuple[int, ...], rows: int
) -> None:
    outcome = fitted().study_
    agreement = Agreement(outcome.trained.key.public, {})
    program = train_for_owner(outcome.parties["evaluator"], agreement)
    next(program)
    table_numbers = TableNumbers(Words.of(np.array(totals, np.uint64)), 4096, rows)
    with pytest.raises(ViolationError, match="alice: expected totals of 2 classes"):
        program.send(table_numbers)


def test_an_owner_and_an_evaluator_are_everybody() -> None:
    roster, identities = draw_outsourced("alice", evaluator_at="cloud", entropy=SystemEntropy())
    assert roster.organisation(roster.coordinator) == "alice"
    assert roster.peers == ("alice",)
    assert set(identities) == {"alice", "coordinator", "evaluator"}
    third = Participant("bob", "bob", Role.PEER, bytes(range(32)))
    with pytest.raises(InputError, match="the peer is never the coordinator, found 'alice'"):
        Roster((*roster.participants, third))
    with pytest.raises(InputError, match="expected an owner with a name of its own"):
        draw_outsourced("evaluator", evaluator_at="cloud", entropy=SystemEntropy())
