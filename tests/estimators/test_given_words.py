"""A given dictionary, one-hot rows and distrusted columns: ridge with Γ, as the paper has them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.consent import ANYTHING
from harness.entities import toy
from sottovoce.errors import InputError
from sottovoce.estimators import LocalFederation, TextClassifier
from sottovoce.study import InsecureToyPlan
from sottovoce.study.card.card import StudyCard
from sottovoce.text.features import Weighting

WORDS = ("chest", "pain", "cast", "wrist", "today")
TEXTS = [
    *("chest pain today", "pain in the chest", "chest pain pain", "today chest"),
    *("wrist in a cast", "cast today", "wrist pain", "a cast for the wrist"),
] * 3
LABELS = (["heart"] * 4 + ["bone"] * 4) * 3
BIAS = 0.3


class ToyTextClassifier(TextClassifier):
    _plan_type = InsecureToyPlan


def fitted(**settings: Any) -> ToyTextClassifier:
    chosen = {"alpha": 2.0, "key_bits": 768, "held_out": 0.0, "release": "peers"} | settings
    parts = dict.fromkeys(("alice", "bob", "carol"), (TEXTS, LABELS))
    model = ToyTextClassifier(dictionary="given", words=WORDS, query_budget=4000, **chosen)
    return model.fit(LocalFederation(parts, policy=ANYTHING))


def one_hot() -> np.ndarray:
    """Every peer's rows, and the column of the bias."""
    rows = [[float(word in text.split()) for word in WORDS] + [BIAS] for text in TEXTS]
    return np.array(rows * 3)


def ridge(rows: np.ndarray, signs: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    return np.linalg.solve(rows.T @ rows + np.diag(penalties), rows.T @ signs)


def released(model: Any) -> np.ndarray:
    """θ itself: what integers are scored with has the columns' units in it."""
    part = model.study_.models["alice"]
    return part.released[:, 0] / np.where(part.space.factors > 0, part.space.factors, 1.0)


def test_one_hot_rows_of_given_words_give_ridge_with_gamma() -> None:
    model = fitted(weighting="one-hot", distrusted=("pain", "today"), epsilon=0.25)
    signs = np.where(np.array(LABELS * 3) == "heart", 1.0, -1.0)
    penalties = np.array([2.0, 0.5, 2.0, 2.0, 0.5, 2.0])
    assert released(model) == pytest.approx(ridge(one_hot(), signs, penalties), abs=2e-3)
    assert model.predict(["chest", "cast"], peer="bob").tolist() == ["heart", "bone"]
    page = StudyCard(model.study_.study).markdown()
    assert "Distrusted, with 0.25 times the penalty: pain, today." in page
    assert "nothing is scaled" in page


def test_one_hot_rows_are_scaled_where_that_is_asked_for() -> None:
    model = fitted(weighting=Weighting(tf_cap=1, idf=False))
    rows = one_hot()
    rows[:, :-1] /= np.linalg.norm(rows[:, :-1], axis=1, keepdims=True)
    signs = np.where(np.array(LABELS * 3) == "heart", 1.0, -1.0)
    assert released(model) == pytest.approx(ridge(rows, signs, np.full(6, 2.0)), abs=2e-3)
    assert "nothing is scaled" not in StudyCard(model.study_.study).markdown()


def test_distrusted_columns_of_a_table_are_blocks_of_gamma() -> None:
    rng = np.random.default_rng(5)
    wards = rng.choice(["eye", "heart"], 60)
    pulse = np.rint(64 * rng.uniform(-1, 1, 60)) / 64
    signs = np.where(pulse + (wards == "heart") > 0.3, 1.0, -1.0)
    frame = pd.DataFrame({"ward": wards, "pulse": pulse})
    parts = {
        name: (frame[start::3], np.where(signs > 0, "sick", "well")[start::3])
        for start, name in enumerate(("alice", "bob", "carol"))
    }
    settings = {"categories": {"ward": ("eye", "heart")}, "held_out": 0.0, "release": "peers"}
    model = toy(distrusted=("ward",), epsilon=0.5, alpha=4.0, **settings).fit(
        LocalFederation(parts, policy=ANYTHING)
    )
    rows = np.column_stack([np.ones(60), wards == "eye", wards == "heart", pulse])
    expected = ridge(rows, -signs, np.array([4.0, 2.0, 2.0, 4.0]))
    assert released(model)[:4] == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"distrusted": ("lumen",)}, "distrusted: expected words of a given .* found 'lumen'"),
        ({"epsilon": 2.0}, "expected 0 < epsilon <= 1, found 2"),
        ({"weighting": "hot"}, "weighting: expected 'tf-idf' or 'one-hot' or a Weighting"),
        ({"features": 4}, "expected as many features as words, found 4 and 5"),
        ({"kernel": 64, "weighting": "one-hot"}, "need rows of unit length"),
    ],
)
def test_what_does_not_fit_is_named(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        fitted(**settings)
