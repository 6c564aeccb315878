"""The learners behind scikit-learn's contract."""

from sottovoce.estimators.classifiers import (
    MeanVarianceRadoClassifier,
    RadoBoostClassifier,
    RadoLearnClassifier,
)
from sottovoce.estimators.federation import LocalFederation
from sottovoce.estimators.released_classifier import ReleasedClassifier
from sottovoce.estimators.sealed_classifier import SealedClassifier
from sottovoce.estimators.text_classifier import TextClassifier
from sottovoce.estimators.validation import cross_validate, search_plans

__all__ = [
    "LocalFederation",
    "MeanVarianceRadoClassifier",
    "RadoBoostClassifier",
    "RadoLearnClassifier",
    "ReleasedClassifier",
    "SealedClassifier",
    "TextClassifier",
    "cross_validate",
    "search_plans",
]
