"""The three learners as scikit-learn classifiers: boosting, descent, and the closed form."""

from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs

from sottovoce.errors import InputError
from sottovoce.estimators.linear import LinearProblem, RadoClassifier
from sottovoce.rados import Moments, RadoMoments, boost, descend, solve
from sottovoce.rados.rows import Floats


class RadoBoostClassifier(RadoClassifier):
    """RadoBoost: one feature a round, learnt from a sample of rados.

    Parameters
    ----------
    n_rados : how many rados are sampled (all of them where there are fewer).
    rounds : how many rounds at most.
    fit_intercept : append a constant column of `intercept_scaling` to every row.
    class_weight : None, "balanced" or weights by class; a document counts once.
    random_state : decides which rados are sampled.

    """

    def __init__(
        self,
        *,
        n_rados: int = 1000,
        rounds: int = 100,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        """Store the parameters; they are checked when fitting."""
        self.n_rados = n_rados
        self.rounds = rounds
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the rows `X` and their labels `y`."""
        family = self._family(self._problem(X, y), count=self.n_rados)
        learnt = [boost(family.rados(k), rounds=self.rounds) for k in range(family.classes)]
        self.rounds_ = np.array([learner.rounds for learner in learnt])
        return self._adopt(np.column_stack([learner.theta for learner in learnt]))


class RadoLearnClassifier(RadoClassifier):
    """RadoLearn: the exponential rado loss plus α‖θ‖², by accelerated gradient descent.

    Parameters
    ----------
    n_rados : how many rados are sampled (all of them where there are fewer).
    alpha : the penalty, on unscaled rados.
    gamma : None, or a factor on `alpha` for every feature: the diagonal of Γ.
    max_iter, tol : when descent ends; it never leaves the region that the sample supports.
    fit_intercept : append a constant column of `intercept_scaling` to every row.
    class_weight : None, "balanced" or weights by class; a document counts once.
    random_state : decides which rados are sampled.

    """

    def __init__(
        self,
        *,
        n_rados: int = 1000,
        alpha: float = 1.0,
        gamma: Any = None,
        max_iter: int = 200,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        """Store the parameters; they are checked when fitting."""
        self.n_rados = n_rados
        self.alpha = alpha
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the rows `X` and their labels `y`."""
        problem = self._problem(X, y)
        penalty = _penalty(self, problem)
        family = self._family(problem, count=self.n_rados)
        learnt = [
            descend(family.rados(k), penalty=penalty, steps=self.max_iter, tolerance=self.tol)
            for k in range(family.classes)
        ]
        self.n_iter_ = np.array([learner.steps for learner in learnt])
        return self._adopt(np.column_stack([learner.theta for learner in learnt]))


class MeanVarianceRadoClassifier(RadoClassifier):
    """The M-loss in closed form: over all rados at once, or over a sample of them.

    With all rados (the default) it is ridge regression on ±1 labels, from moments
    alone; every class shares one second moment.

    Parameters
    ----------
    alpha : Ridge's penalty, on XᵀX.
    gamma : None, or a factor on `alpha` for every feature: the diagonal of Γ.
    n_rados : None for the exact moments of all rados, or how many are sampled.
    fit_intercept : append a constant column of `intercept_scaling` to every row.
    class_weight : None, "balanced" or weights by class; a document counts once.
    random_state : decides which rados are sampled.
    n_jobs : threads for the second moment of sparse rows; changes no bit of the result.

    """

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        gamma: Any = None,
        n_rados: int | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        """Store the parameters; they are checked when fitting."""
        self.alpha = alpha
        self.gamma = gamma
        self.n_rados = n_rados
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from `X` and `y`; `sample_weight` weighs documents, with exact moments only."""
        if sample_weight is not None and self.n_rados is not None:
            raise InputError(
                "sample_weight: sampled rados take no weights",
                hints=("use exact moments: MeanVarianceRadoClassifier(n_rados=None)",),
            )
        problem = self._problem(X, y, sample_weight)
        penalty = _penalty(self, problem)
        moments = self._moments(problem)
        return self._adopt(solve(moments.second, moments.products, penalty=penalty))

    def _moments(self, problem: LinearProblem) -> RadoMoments:
        if self.n_rados is not None:
            return self._family(problem, count=self.n_rados).moments()
        sums = Moments.of(
            problem.rows,
            problem.targets,
            weights=problem.weights,
            workers=effective_n_jobs(self.n_jobs),
        )
        return RadoMoments.exact(sums)


def _penalty(
    estimator: RadoLearnClassifier | MeanVarianceRadoClassifier, problem: LinearProblem
) -> Floats:
    """Γ's diagonal, the bias column's factor being 1."""
    features = problem.rows.shape[1] - int(estimator.fit_intercept)
    if not (np.isfinite(estimator.alpha) and estimator.alpha > 0):
        raise InputError(f"alpha: expected a number above 0, found {estimator.alpha:g}")
    factors = np.ones(features) if estimator.gamma is None else np.asarray(estimator.gamma, float)
    if factors.shape != (features,):
        raise InputError(
            f"gamma: expected one factor for each of {features} features, "
            f"found shape {factors.shape}"
        )
    return estimator.alpha * np.append(factors, np.ones(int(estimator.fit_intercept)))
