"""The classifiers: ridge where it should be ridge, any labels, any rows, and mistakes by name."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge, RidgeClassifier

from sottovoce.datasets import load_ionosphere
from sottovoce.errors import InputError
from sottovoce.estimators import (
    MeanVarianceRadoClassifier,
    RadoBoostClassifier,
    RadoLearnClassifier,
)

CLASSIFIERS = [
    RadoBoostClassifier(random_state=0),
    RadoLearnClassifier(random_state=0),
    MeanVarianceRadoClassifier(),
    MeanVarianceRadoClassifier(n_rados=500, random_state=0),
]
every_classifier = pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)


def table(seed: int, rows: int = 60, features: int = 4) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    return X, X @ rng.normal(size=features) + 0.3 * rng.normal(size=rows)


def three_classes(seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    X, margins = table(seed, rows=90)
    return X, np.digitize(margins, np.quantile(margins, [0.3, 0.6]))


@given(st.integers(0, 2**32), st.floats(1e-2, 1e2), st.floats(0.1, 3))
def test_exact_moments_are_ridge_on_the_same_scaled_problem(
    seed: int, alpha: float, scaling: float
) -> None:
    X, margins = table(seed)
    y = margins > 0
    ours = MeanVarianceRadoClassifier(alpha=alpha, intercept_scaling=scaling).fit(X, y)
    widened = np.column_stack([X, np.full(len(X), scaling)])
    ridge = Ridge(alpha=alpha, fit_intercept=False, solver="cholesky").fit(widened, 2 * y - 1)
    np.testing.assert_allclose(ours.coef_[0], ridge.coef_[:-1], atol=1e-8)
    np.testing.assert_allclose(ours.intercept_[0], scaling * ridge.coef_[-1], atol=1e-8)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0, 1: 1.0, 2: 0.5}], ids=str)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_array])
def test_class_weights_and_classes_are_those_of_ridge_classifier(
    class_weight: Any, form: Any
) -> None:
    X, y = three_classes(1)
    weights = np.random.default_rng(0).random(len(y))
    settings = {"alpha": 2.0, "fit_intercept": False, "class_weight": class_weight}
    ours = MeanVarianceRadoClassifier(**settings).fit(form(X), y, sample_weight=weights)
    theirs = RidgeClassifier(**settings, solver="cholesky").fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    np.testing.assert_allclose(
        ours.decision_function(form(X)), theirs.decision_function(X), atol=1e-8
    )
    assert (ours.predict(X) == theirs.predict(X)).all()


@every_classifier
@pytest.mark.parametrize(
    "labels",
    [
        ["ham", "spam"],
        [False, True],
        [0, 1],
        [7, 3],
        [-1.0, 1.0],
        [1.0, 2.0],
        np.array(["no", "yes"], dtype=object),
    ],
    ids=str,
)
def test_labels_of_any_kind_are_mapped_to_classes(classifier: Any, labels: Any) -> None:
    X, margins = table(2)
    y = np.asarray(labels)[(margins > 0).astype(int)]
    fitted = clone(classifier).fit(X, y)
    assert list(fitted.classes_) == sorted(set(y))
    assert np.mean(fitted.predict(X) == y) > 0.8
    assert fitted.coef_.shape == (1, 4)
    assert fitted.intercept_.shape == (1,)
    assert fitted.decision_function(X).shape == (60,)


@every_classifier
def test_more_classes_get_a_column_each(classifier: Any) -> None:
    X, y = three_classes(3)
    fitted = clone(classifier).fit(X, y)
    assert fitted.coef_.shape == (3, 4)
    assert fitted.decision_function(X).shape == (90, 3)
    # The middle class is no half space, so a linear rule has little to say about it.
    outer = y != 1
    assert np.mean(fitted.predict(X)[outer] == y[outer]) > 0.6


@every_classifier
def test_sparse_rows_give_what_dense_rows_give(classifier: Any) -> None:
    X, margins = table(4)
    X[X < 0.3] = 0
    y = margins > 0
    dense, thin = clone(classifier).fit(X, y), clone(classifier).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-6)
    assert (thin.predict(sparse.csr_matrix(X)) == dense.predict(X)).all()


@every_classifier
def test_one_seed_gives_one_model(classifier: Any) -> None:
    X, margins = table(5)
    first, second = (clone(classifier).fit(X, margins > 0) for _ in range(2))
    assert (first.coef_ == second.coef_).all()
    if "random_state=0" in str(classifier):
        other = clone(classifier).set_params(random_state=1).fit(X, margins > 0)
        assert (other.coef_ != first.coef_).any()


@every_classifier
def test_feature_names_are_kept_and_compared(classifier: Any) -> None:
    X, margins = table(6)
    frame = pd.DataFrame(X, columns=["age", "weight", "dose", "days"])
    fitted = clone(classifier).fit(frame, margins > 0)
    assert list(fitted.feature_names_in_) == ["age", "weight", "dose", "days"]
    assert fitted.n_features_in_ == 4
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame.rename(columns={"dose": "rate"}))


@every_classifier
def test_ionosphere_with_its_constant_column(classifier: Any) -> None:
    table = load_ionosphere()
    fitted = clone(classifier).fit(table.train.X, table.train.y)
    assert fitted.coef_[0, 1] == 0
    assert np.mean(fitted.predict(table.test.X) != table.test.y) < 0.16


@every_classifier
def test_balanced_classes_help_the_rare_one(classifier: Any) -> None:
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.1
    X = rng.normal(size=(400, 3)) + 0.9 * y[:, np.newaxis]
    plain = clone(classifier).fit(X, y)
    balanced = clone(classifier).set_params(class_weight="balanced").fit(X, y)
    assert balanced.predict(X)[y].mean() > plain.predict(X)[y].mean()


def test_a_distrusted_feature_may_carry_more_under_a_smaller_penalty() -> None:
    X, margins = table(7)
    even = MeanVarianceRadoClassifier(alpha=50).fit(X, margins > 0)
    lenient = MeanVarianceRadoClassifier(alpha=50, gamma=[0.01, 1, 1, 1]).fit(X, margins > 0)
    assert abs(lenient.coef_[0, 0]) > abs(even.coef_[0, 0])
    widened = np.column_stack([X, np.ones(60)])
    direct = np.linalg.solve(
        widened.T @ widened + 50 * np.diag([0.01, 1, 1, 1, 1]),
        widened.T @ np.where(margins > 0, 1.0, -1.0),
    )
    np.testing.assert_allclose(lenient.coef_[0], direct[:-1], atol=1e-8)


def test_jobs_change_no_bit() -> None:
    rng = np.random.default_rng(0)
    X = sparse.random_array((500, 80), density=0.05, rng=rng, format="csr")
    y = rng.integers(0, 3, 500)
    first, two = (MeanVarianceRadoClassifier(n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert first.coef_.tobytes() == two.coef_.tobytes()


def test_a_sample_as_large_as_all_rados_gives_the_exact_moments() -> None:
    X, margins = table(8, rows=9)
    y = margins > np.median(margins)
    exact = MeanVarianceRadoClassifier().fit(X, y)
    sampled = MeanVarianceRadoClassifier(n_rados=10_000).fit(X, y)
    np.testing.assert_allclose(sampled.coef_, exact.coef_, atol=1e-10)


@every_classifier
def test_bad_input_is_named(classifier: Any) -> None:
    X, margins = table(9)
    y = margins > 0
    with pytest.raises(InputError, match="expected at least 2 classes, found 1 class: 'spam'"):
        clone(classifier).fit(X, ["spam"] * 60)
    with pytest.raises(ValueError, match="NaN"):
        clone(classifier).fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        clone(classifier).fit(X, margins)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        clone(classifier).fit(X[:0], y[:0])
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        clone(classifier).fit(X[:, :0], y)
    with pytest.raises(InputError, match="intercept_scaling: expected a number above 0, found 0"):
        clone(classifier).set_params(intercept_scaling=0).fit(X, y)
    if classifier.n_rados is not None:
        with pytest.raises(InputError, match="at least 1 rado, found 0"):
            clone(classifier).set_params(n_rados=0).fit(X, y)
        with pytest.raises(InputError, match=r"n_rados: expected a whole number, found 2\.5"):
            clone(classifier).set_params(n_rados=2.5).fit(X, y)
    if hasattr(classifier, "alpha"):
        with pytest.raises(InputError, match="alpha: expected a number above 0, found -1"):
            clone(classifier).set_params(alpha=-1).fit(X, y)
        with pytest.raises(InputError, match="one factor for each of 4 features"):
            clone(classifier).set_params(gamma=[1, 2]).fit(X, y)


def test_sample_weights_are_for_exact_moments() -> None:
    X, margins = table(9)
    with pytest.raises(InputError, match="sample_weight: sampled rados take no weights") as e:
        MeanVarianceRadoClassifier(n_rados=10).fit(X, margins > 0, sample_weight=np.ones(60))
    assert e.value.hints
