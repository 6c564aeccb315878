"""The common part of the three classifiers: labels become ±1 per class, θ coefficients."""

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from sottovoce.errors import InputError
from sottovoce.rados import RadoFamily, RandomSignatures
from sottovoce.rados.rows import Floats, Rows, as_rows, with_bias


@dataclass(frozen=True, repr=False)
class LinearProblem:
    """Rows with their bias column, a column of ±1 per class, and weights where there are any."""

    rows: Rows
    targets: Floats
    weights: Floats | None


class RadoClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc] # scikit-learn has no types
    """A linear classifier, one column of θ per class (one for two classes)."""

    classes_: NDArray[Any]
    coef_: Floats
    intercept_: Floats

    fit_intercept: bool
    intercept_scaling: float
    class_weight: Any
    random_state: Any

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the rows `X` and their labels `y`."""

    def decision_function(self, X: Any) -> Floats:
        """θᵀx: one score a row for two classes, one a row and class for more."""
        check_is_fitted(self)
        rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        scores = np.asarray(safe_sparse_dot(rows, self.coef_.T, dense_output=True))
        scores = scores + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of the highest score; for two classes, of the score's sign."""
        scores = self.decision_function(X)
        winners = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[winners])

    def __sklearn_tags__(self) -> Any:
        """Sparse rows are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _problem(self, X: Any, y: Any, sample_weight: Any = None) -> LinearProblem:
        """Check the input and write it as a problem; sets `classes_` and the features' names."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(
                f"{type(self).__name__}: expected at least 2 classes, "
                f"found 1 class: {self.classes_.tolist()[0]!r}"
            )
        if not self.intercept_scaling > 0:
            raise InputError(
                f"intercept_scaling: expected a number above 0, found {self.intercept_scaling:g}"
            )
        columns = numbers[:, np.newaxis] == np.arange(len(self.classes_))
        targets = np.where(columns if len(self.classes_) > 2 else columns[:, 1:], 1.0, -1.0)
        rows = as_rows(X)
        if self.fit_intercept:
            rows = with_bias(rows, self.intercept_scaling)
        return LinearProblem(rows, targets, self._weights(X, y, sample_weight))

    def _weights(self, X: Any, y: Any, sample_weight: Any) -> Floats | None:
        """Each document counts once: its own weight times its class's, as RidgeClassifier does."""
        if sample_weight is None and self.class_weight is None:
            return None
        heavy = np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64))
        if self.class_weight is not None:
            heavy = heavy * compute_sample_weight(self.class_weight, y)
        return heavy

    def _family(self, problem: LinearProblem, *, count: Any) -> RadoFamily:
        """At most `count` random rados of every class: all of them where there are fewer."""
        if not isinstance(count, Integral):
            raise InputError(f"n_rados: expected a whole number, found {count!r}")
        documents = problem.rows.shape[0]
        seeds = check_random_state(self.random_state).randint(2**31, size=4)
        signatures = RandomSignatures.draw(
            min(count, 2 ** min(documents, 60)), documents, rng=np.random.default_rng(seeds)
        )
        return RadoFamily.of(problem.rows, problem.targets, signatures, weights=problem.weights)

    def _adopt(self, theta: Floats) -> Self:
        """Split θ (a column per class) into coefficients and intercepts."""
        if self.fit_intercept:
            self.coef_ = theta[:-1].T.copy()
            self.intercept_ = theta[-1] * self.intercept_scaling
        else:
            self.coef_, self.intercept_ = theta.T.copy(), np.zeros(theta.shape[1])
        return self
