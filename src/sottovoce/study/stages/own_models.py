"""A peer's own model: ridge regression on its documents alone, once for every fold.

Its scores are columns of the peer's rows (text/own_scores.py). It is learnt after the dictionary
is known, from the documents with which the peer trains, and nothing of it is sent. It is linear,
so the same documents give the same weights wherever they are read.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.rados.blas_threads import one_blas_thread
from sottovoce.study.plan import StudyPlan
from sottovoce.study.totals import Totals
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureSpace
from sottovoce.text.occurrences import PieceMemory
from sottovoce.text.own_scores import FOLDS, OwnScores, folds_of
from sottovoce.text.passes import examples

Floats = NDArray[np.float64]

# Ridge's penalty on unit rows, and the steps towards its solution: more change no label.
_PENALTY = 1.0
_STEPS = 40


def learn_own_scores(
    plan: StudyPlan,
    space: FeatureSpace,
    training: Sequence[Document],
    *,
    key: DictionaryKey,
    memory: PieceMemory | None = None,
) -> OwnScores:
    """Return the scores of a model of these documents, by other folds for each fold."""
    with one_blas_thread():
        read = list(examples(training, space.wide, plan.labelled, key=key, memory=memory))
        rows = sparse.vstack([block.rows for block in read], format="csr")
        targets = np.vstack([block.targets for block in read]).astype(np.float64)
        folds = folds_of(training)
        others = (folds != fold for fold in range(FOLDS))
        weights = [_learnt(plan, rows[learnt], targets[learnt]) for learnt in others]
    return OwnScores.of(np.stack(weights))


def _learnt(plan: StudyPlan, rows: Any, targets: Floats) -> Floats:
    """Return the weights of one fold's model.

    Of a class that none or all of the rows have it says nothing.
    """
    known = (targets > 0).any(axis=0) & (targets < 0).any(axis=0)
    theta = np.zeros((rows.shape[1], targets.shape[1]))
    if not known.any():
        return theta
    theta[:, known] = _ridge(rows, targets[:, known], _row_weights(plan, targets))
    if plan.labels.exclusive and targets.shape[1] > 1:
        # Targets of ±1: the class that is right and the mean of all are 2 apart.
        theta[:, known] -= theta[:, known].mean(axis=1, keepdims=True)
        theta /= 2
    return theta


def _row_weights(plan: StudyPlan, targets: Floats) -> Floats:
    """Return the weight of each row, as the plan weighs classes, by these rows alone."""
    if plan.class_weight is None:
        return np.ones(len(targets))
    two = targets.shape[1] == 1
    classes = (targets[:, 0] > 0).astype(np.int64) if two else targets.argmax(axis=1)
    counts = np.bincount(classes, minlength=len(plan.labels.names))
    totals = Totals(len(targets), tuple(counts.tolist()), ())
    weights: Floats = totals.weights(plan.class_weight)[classes]
    return weights


def _ridge(rows: Any, targets: Floats, weights: Floats) -> Floats:
    """Return (XᵀWX + λ)⁻¹XᵀWY by conjugate gradients, for all columns of Y at a time."""
    theta = np.zeros((rows.shape[1], targets.shape[1]))
    left = rows.T @ (weights[:, np.newaxis] * targets)
    way, square = left.copy(), (left**2).sum(axis=0)
    for _ in range(_STEPS):
        moved = rows.T @ (weights[:, np.newaxis] * (rows @ way)) + _PENALTY * way
        step = square / np.maximum((way * moved).sum(axis=0), np.finfo(np.float64).tiny)
        theta += step * way
        left -= step * moved
        before, square = square, (left**2).sum(axis=0)
        way = left + square / np.maximum(before, np.finfo(np.float64).tiny) * way
    return theta
