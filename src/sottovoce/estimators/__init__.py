"""The learners behind scikit-learn's contract."""

from sottovoce.estimators.classifiers import (
    MeanVarianceRadoClassifier,
    RadoBoostClassifier,
    RadoLearnClassifier,
)

__all__ = ["MeanVarianceRadoClassifier", "RadoBoostClassifier", "RadoLearnClassifier"]
