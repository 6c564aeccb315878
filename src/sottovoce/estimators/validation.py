"""Cross-validation of whole studies: every fold is a study, judged on what it left out."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from sottovoce.errors import InputError
from sottovoce.estimators.federation import LocalFederation
from sottovoce.text.documents import Document
from sottovoce.text.splits import position


def cross_validate(
    model: Any, federation: LocalFederation, *, folds: int = 5
) -> dict[str, NDArray[np.float64]]:
    """Fit `model` on all folds but one, and ask for the labels of that one; for every fold.

    Folds go by what a document says, or by its group, so that copies and patients are never on
    both sides. Every peer asks for its own documents. For plans to be compared, set `held_out=0`.
    """
    if not 2 <= folds <= 100:
        raise InputError(f"cross_validate: expected 2 to 100 folds, found {folds}")
    scores, seconds = [], []
    for fold in range(folds):
        kept, left = _sides(federation, fold, folds)
        began = time.perf_counter()
        fitted = clone(model).fit(kept)
        seconds.append(time.perf_counter() - began)
        right = [
            said == document.label
            for peer, documents in left.items()
            if documents
            for said, document in zip(fitted.predict(documents, peer=peer), documents, strict=True)
        ]
        if not right:
            raise InputError(
                f"cross_validate: fold {fold + 1} of {folds} has no documents",
                hints=("fewer folds",),
            )
        scores.append(float(np.mean(right)))
    return {"test_score": np.array(scores), "fit_time": np.array(seconds)}


@dataclass(frozen=True)
class PlanSearch:
    """Every plan that was tried with its score, the best first."""

    tried: tuple[tuple[dict[str, Any], float], ...] = field(repr=False)

    def __repr__(self) -> str:
        return "\n".join(f"{score:.1%}: {plan}" for plan, score in self.tried)

    @property
    def best_params_(self) -> dict[str, Any]:
        """The settings of the best plan; `model.set_params(**search.best_params_)` takes them."""
        return self.tried[0][0]

    @property
    def best_score_(self) -> float:
        """The mean share of labels that the best plan's studies found."""
        return self.tried[0][1]


def search_plans(
    model: Any,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
    federation: LocalFederation,
    *,
    folds: int = 5,
) -> PlanSearch:
    """Cross-validate whole studies for every combination of settings in `grid`.

    `grid` is as scikit-learn's `ParameterGrid` takes it. Between machines every trial would be a
    study that opens its sums and spends queries: this is for rehearsal on text of one's own.
    """
    known = model.get_params()
    plans = list(ParameterGrid(grid))
    unknown = next((name for plan in plans for name in plan if name not in known), None)
    if unknown is not None:
        raise InputError(
            f"search_plans: expected settings of {type(model).__name__}, found {unknown!r}",
            hints=tuple(get_close_matches(unknown, known, n=1)),
        )
    tried = []
    for plan in plans:
        scores = cross_validate(clone(model).set_params(**plan), federation, folds=folds)
        tried.append((plan, float(scores["test_score"].mean())))
    return PlanSearch(tuple(sorted(tried, key=lambda item: -item[1])))


def _sides(
    federation: LocalFederation, fold: int, folds: int
) -> tuple[LocalFederation, dict[str, list[Document]]]:
    """The federation without a fold, and what was left out, by peer."""
    kept: dict[str, list[Document]] = {}
    left: dict[str, list[Document]] = {}
    for peer, documents in federation.documents.items():
        kept[peer], left[peer] = [], []
        for document in documents:
            here = int(folds * position(document, purpose="folds/v1")) == fold
            (left if here else kept)[peer].append(document)
    return replace(federation, parts=kept), left
