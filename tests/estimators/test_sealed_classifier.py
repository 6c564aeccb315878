"""`SealedClassifier`: a sealed study of tables equals ridge regression on all rows together."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from harness.consent import ANYTHING
from sottovoce.datasets import load_ionosphere
from sottovoce.errors import InputError, MismatchError, MisuseError
from sottovoce.estimators import LocalFederation, SealedClassifier
from sottovoce.study import InsecureToyPlan


class ToySealedClassifier(SealedClassifier):
    """With keys that anybody can break, for tests."""

    _plan_type = InsecureToyPlan


def toy(**settings):
    return ToySealedClassifier(**({"key_bits": 768, "query_budget": 5000} | settings))


def federation(train, peers=4):
    parts = {f"site {k}": (train.X[k::peers], train.y[k::peers]) for k in range(peers)}
    return LocalFederation(parts, policy=ANYTHING)


@cache
def ionosphere(**settings):
    return toy(held_out=0.0, **settings).fit(federation(load_ionosphere().train))


def on_grid(X):
    """As the study sees numbers in [-1, 1]: in units of 1/64, and a column of ones."""
    return np.hstack([np.ones((len(X), 1)), np.rint(64 * X) / 64])


# A larger penalty needs fewer steps, each of which takes the paper's engine a second.
@pytest.mark.parametrize(
    ("engine", "alpha"), [("shares", 1.0), pytest.param("paillier", 20.0, marks=pytest.mark.soak)]
)
def test_ionosphere_at_four_peers_equals_plaintext_ridge(engine, alpha) -> None:
    data = load_ionosphere()
    model = ionosphere(engine=engine, alpha=alpha)
    ridge = Ridge(alpha=alpha, fit_intercept=False).fit(on_grid(data.train.X), data.train.y)
    plain = np.where(ridge.predict(on_grid(data.test.X)) > 0, 1, -1)
    predicted = model.predict(data.test.X)
    assert model.engine_ == engine
    assert predicted.dtype.kind == "i"
    assert predicted.tolist() == plain.tolist()
    assert model.score(data.test.X, data.test.y, peer="site 2") > 0.8
    assert model.n_features_in_ == 34


def test_scores_are_ridge_s_own() -> None:
    data = load_ionosphere()
    ridge = Ridge(alpha=1.0, fit_intercept=False).fit(on_grid(data.train.X), data.train.y)
    scores = ionosphere(release="margin").decision_function(data.test.X)
    assert scores == pytest.approx(ridge.predict(on_grid(data.test.X)), abs=2e-4)


def frame(start, count=24):
    ages = [20 + (start + 7 * k) % 60 for k in range(count)]
    wards = [("eye", "heart", None)[k % 3] for k in range(count)]
    table = pd.DataFrame({"age": ages, "ward": wards})
    return table, ["old" if age > 50 else "young" for age in ages]


@cache
def wards():
    parts = {name: frame(start) for start, name in enumerate(("a", "b", "c"))}
    settings = {"bounds": {"age": (0, 100)}, "categories": {"ward": ("eye", "heart")}}
    return toy(alpha=0.1, **settings).fit(LocalFederation(parts))


def test_frames_have_names_and_categories() -> None:
    model = wards()
    assert model.feature_names_in_.tolist() == ["age", "ward"]
    table = {"age": [90, 10], "ward": ["heart", "unheard of"]}
    assert model.predict(pd.DataFrame(table)).tolist() == ["old", "young"]
    # Columns are found by name, in whatever order they stand.
    turned = pl.DataFrame({"ward": table["ward"], "age": table["age"]})
    assert model.predict(turned, peer="c").tolist() == ["old", "young"]
    assert model.predict([[90, "eye"], [10, None]]).tolist() == ["old", "young"]
    assert model.predict(pd.DataFrame({"age": [], "ward": []})).tolist() == []


def test_held_out_rows_are_evaluated_jointly() -> None:
    parts = {name: frame(start, 150) for start, name in enumerate(("a", "b", "c"))}
    settings = {"bounds": {"age": (0, 100)}, "categories": {"ward": ("eye", "heart")}}
    evaluation = toy(held_out=0.5, **settings).fit(LocalFederation(parts)).evaluate()
    assert evaluation.accuracy > 0.8


def test_a_stored_part_of_a_table_answers_as_it_did(tmp_path) -> None:
    model, path = wards(), tmp_path / "b.model"
    model.save(path, peer="b")
    loaded = ToySealedClassifier.load(path, study=model)
    assert loaded.predict([[90, "eye"], [10, None]]).tolist() == ["old", "young"]


@pytest.mark.parametrize(
    ("settings", "parts", "words"),
    [
        ({}, dict.fromkeys("abc", (["text"], ["x"])), "expected a table of columns, found texts"),
        ({"bounds": {"size": (0, 1)}}, "ok", "expected one of age, ward, found 'size'"),
        ({"bounds": {"age": (0, 1)}}, "ok", "column ward: expected public bounds or categories"),
        ({"bounds": (1, 1)}, "ok", "expected finite bounds low < high"),
        ({"bounds": "x"}, "ok", r"bounds: expected \(low, high\), found 'x'"),
        ({"bounds": (1,)}, "ok", r"bounds: expected \(low, high\), found \(1,\)"),
        ({"bounds": ("a", "b")}, "ok", "bounds: expected a number, found 'a'"),
        ({"categories": ["ward"]}, "ok", "categories: expected the values of columns by their"),
        ({"categories": {"ward": 5}}, "ok", "categories: expected the values of column ward"),
        ({"missing": "x"}, "ok", "missing: expected a number, found 'x'"),
        ({"categories": {"ward": ("eye",)}, "alpha": 0.0}, "ok", "alpha above 0"),
        ({"bounds": (0, 100)}, "ok", "expected a number in column ward, found"),
    ],
)
def test_tables_that_cannot_be_learnt_from_are_refused(settings, parts, words) -> None:
    if parts == "ok":
        parts = {name: frame(start) for start, name in enumerate(("a", "b", "c"))}
    with pytest.raises(InputError, match=words):
        toy(**settings).fit(LocalFederation(parts))


def test_peers_with_other_columns_are_named() -> None:
    parts = {name: frame(start) for start, name in enumerate(("a", "b", "c"))}
    parts["b"] = (parts["b"][0].rename(columns={"age": "years"}), parts["b"][1])
    with pytest.raises(MismatchError, match="b: expected the columns of 'a'"):
        toy().fit(LocalFederation(parts))


def test_rows_of_another_shape_are_named() -> None:
    with pytest.raises(MismatchError, match="expected 2 columns, found 3"):
        wards().predict([[1, 2, 3]])
    with pytest.raises(MismatchError, match="expected the columns age, ward, found age, word"):
        wards().predict(pd.DataFrame({"age": [1], "word": ["eye"]}))
    with pytest.raises(InputError, match="expected rows of 2 columns each"):
        LocalFederation({"a": ([[1, 2], [1]], ["x", "y"])})
    with pytest.raises(InputError, match="expected 2 labels"):
        LocalFederation({"a": (np.zeros((2, 2)), ["x"])})


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (np.zeros(2), "expected a table of rows and columns, found 1 dimension"),
        ([90, 1], "expected a table of rows and columns, found 1 dimension"),
        (["eye", [90, "eye"]], "expected a table of rows and columns, found 1 dimension"),
        (np.zeros((1, 2, 2)), "expected a table of rows and columns, found 3 dimensions"),
        (None, "expected a table of rows and columns, found nothing"),
        (3, "expected a table of rows and columns, found an int"),
        ("eye", "expected a table of rows and columns, found a text"),
        (sparse.csr_array(np.zeros((1, 2))), "expected a dense table, found a sparse one"),
        ([[np.nan, "eye"]], "row 1: expected a number in column age, found nothing"),
    ],
)
def test_what_is_no_table_is_named(table, words) -> None:
    with pytest.raises(InputError, match=words):
        wards().predict(table)


def test_labels_are_looked_at_before_a_query_is_spent() -> None:
    for labels in (None, "eye", 3):
        with pytest.raises(InputError, match="score: expected a list of labels, found"):
            wards().score([[90, "eye"]], labels)


def test_the_contract() -> None:
    model = SealedClassifier(alpha=2.0)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError, match="SealedClassifier: expected fit"):
        model.predict([[1.0]])
    with pytest.raises(MisuseError, match="scores are sealed"):
        wards().decision_function([[90, "eye"]])
