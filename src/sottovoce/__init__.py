"""Several owners of confidential text train one classifier together, and nobody sees the text."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
"""The one place of the version: pyproject.toml reads it from here."""

__all__ = [
    "LocalFederation",
    "MeanVarianceRadoClassifier",
    "RadoBoostClassifier",
    "RadoLearnClassifier",
    "ReleasedClassifier",
    "SealedClassifier",
    "TextClassifier",
    "__version__",
    "cross_validate",
    "search_plans",
]


def __getattr__(name: str) -> Any:
    """The estimators, loaded when they are asked for: the command must answer at once."""
    if name in __all__:
        return getattr(import_module("sottovoce.estimators"), name)
    raise AttributeError(f"module 'sottovoce' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
