"""Labels and counts are those of the plain learner: engine `quorum` in many forms, and `shares`."""

from typing import Any

import numpy as np
import pytest

from harness.examples.quorum_studies import exact_counts, opened_totals
from harness.studies import Case
from sottovoce.paillier import SecretKey
from sottovoce.study import InsecureToyPlan
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureReader
from sottovoce.text.labels import Labels

PEERS = ("north", "harbour", "valley")
UNHELPED = {"with_evaluator": False, "with_dealer": False}


def labels_of(classes: int) -> Labels:
    """One class is one that a row has or has not; two or more exclude each other."""
    return Labels(tuple(f"class {number:02}" for number in range(classes)), exclusive=classes > 1)


def document(peer: str, turn: int, number: int, classes: int) -> Document:
    """A word of its class, but for every fifth, and words of others."""
    word = number if turn % 5 else (number + 1) % max(classes, 2)
    text = f"word{word} about{number % 5} side{turn % 3} note{turn % 4}"
    name = f"class {number:02}"
    label: Any = name if classes > 1 else (name,) * (number == 0)
    return Document(text, label=label, origin=f"{peer} row {turn}-{number}")


def documents(classes: int) -> dict[str, list[Document]]:
    turns = range(max(9, 40 // classes))
    return {
        peer: [
            document(peer, turn + place, number, classes)
            for turn in turns
            for number in range(max(classes, 2))
        ]
        for place, peer in enumerate(PEERS)
    }


def case(key: SecretKey, classes: int, **settings: Any) -> Case:
    chosen = {"features": 24 + classes, "key_bits": 768, "bucket_bits": 11, "query_budget": 4000}
    chosen |= {"min_documents": 1, "held_out": 0.3, "engine": "quorum"}
    plan = InsecureToyPlan("equal", labels_of(classes), **(chosen | settings))
    return Case(documents(classes), plan, key, {} if plan.engine == "shares" else UNHELPED)


def assert_labels_are_plain(mine: Case, asker: str) -> None:
    """Wherever the plain scores are no tie, the sealed label is theirs."""
    asked, labels = mine.held_out()[:48], mine.plan.labels
    model, alpha = mine.outcome.models[asker], mine.outcome.models[asker].candidate.alpha
    assert all(mine.outcome.trained.totals.by_class)  # no class is left out
    rows = FeatureReader(model.space, model.key).read(asked).unit()
    scores = rows @ mine.theta(alpha=alpha) - np.array(mine.plan.operating_point or 0.0)
    margins = np.abs(scores[:, 0])
    if labels.exclusive and labels.width > 1:
        best = np.sort(scores, axis=1)
        margins = best[:, -1] - best[:, -2]
    clear = margins > 2**-9
    assert clear.mean() > 0.7
    pairs = zip(mine.outcome.classify(asker, asked).classes, labels.decide(scores), strict=True)
    different = [place for place, (sealed, plain) in enumerate(pairs) if sealed != plain]
    assert not [place for place in different if clear[place]]


@pytest.mark.parametrize(
    "classes", [1, 2, *(pytest.param(classes, marks=pytest.mark.soak) for classes in (8, 20))]
)
def test_labels_and_roc_are_the_plain_learner_s(classes: int, toy_key: SecretKey) -> None:
    mine = case(toy_key, classes, thresholds=(-0.5, 0.0, 0.3))
    assert_labels_are_plain(mine, "valley")
    mine.outcome.evaluate(mine.documents)
    assert np.array_equal(opened_totals(mine.outcome), exact_counts(mine.outcome))


@pytest.mark.parametrize(
    "classes", [1, 2, *(pytest.param(classes, marks=pytest.mark.soak) for classes in (8, 20))]
)
def test_labels_on_shares_are_the_plain_learner_s(classes: int, toy_key: SecretKey) -> None:
    mine = case(toy_key, classes, engine="shares")
    assert mine.outcome.study.on_shares
    assert_labels_are_plain(mine, "valley")


@pytest.mark.parametrize(
    "settings",
    [
        # By default test_quorum.py chooses one.
        pytest.param({"alpha": (0.5, 32.0)}, marks=pytest.mark.soak),
        {"distrusted": (0, 3, 4), "epsilon": 0.25},
        {"class_weight": "balanced"},
        {"operating_point": (0.2, -0.1, 0.0)},
        {"dictionary": "hashed"},
        {"centre": "idf"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_what_a_plan_may_choose_gives_the_plain_learner_s_labels(
    settings: dict[str, Any], toy_key: SecretKey
) -> None:
    assert_labels_are_plain(case(toy_key, 3, **settings), "north")
