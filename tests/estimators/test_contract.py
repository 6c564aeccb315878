"""scikit-learn's own checks, every one of them."""

from typing import Any

import pytest
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
def test_scikit_learns_checks_pass(
    estimator: Any, check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without it scikit-learn passes over its check of array API dispatch.
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)
