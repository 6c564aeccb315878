"""The learners behind scikit-learn's contract."""

from typing import TYPE_CHECKING

from sottovoce.lazy_names import lazy_names

if TYPE_CHECKING:
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

# A site's own model needs no scikit-learn, whose loading takes longer than many a command.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "classifiers": "MeanVarianceRadoClassifier RadoBoostClassifier RadoLearnClassifier",
        "federation": "LocalFederation",
        "released_classifier": "ReleasedClassifier",
        "sealed_classifier": "SealedClassifier",
        "text_classifier": "TextClassifier",
        "validation": "cross_validate search_plans",
    },
)
