"""Cross-validation of whole studies: every fold is a study, judged on what it left out."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

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
                f"cross_validate: expected documents in fold {fold + 1} of {folds}, found none",
                hints=("fewer folds",),
            )
        scores.append(float(np.mean(right)))
    return {"test_score": np.array(scores), "fit_time": np.array(seconds)}


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
