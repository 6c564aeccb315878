"""scikit-learn's own checks, every one of them."""

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from sottovoce.estimators import (
    MeanVarianceRadoClassifier,
    RadoBoostClassifier,
    RadoLearnClassifier,
)


@parametrize_with_checks(
    [
        RadoBoostClassifier(),
        RadoLearnClassifier(),
        MeanVarianceRadoClassifier(),
    ]
)
def test_scikit_learns_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)
