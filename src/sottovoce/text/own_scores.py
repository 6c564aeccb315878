"""The scores of a site's own model, which are columns of the site's rows.

The model is linear in the words of the dictionary and a wide tail, where words of few documents
are, too. It was learnt once for each fold of the site's documents, from the other folds. A
document's fold follows from its words or its group, so no model scores what it has seen, nor a copy
of it: what a site learns from and what it asks about have scores of the same kind. Scores of
classes that exclude each other are measured from their mean, and 0 says nothing.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.text.documents import Document
from sottovoce.text.splits import position

Numbers = NDArray[np.int64]
Weights = NDArray[np.float32]

FOLDS = 5
TAIL = 1 << 15
"""The number of columns for the words that are not in the dictionary."""


@dataclass(frozen=True, eq=False)
class OwnScores:
    """The weights of every fold's model, folds × columns × scores.

    They are exact as numbers of 16 bits, so what is kept in a file gives the same scores.
    """

    weights: Weights = field(repr=False)

    @classmethod
    def of(cls, weights: NDArray[np.float64]) -> "OwnScores":
        """Return the scores by these weights, rounded to 16 bits."""
        return cls(weights.astype(np.float16).astype(np.float32))

    @cached_property
    def digest(self) -> str:
        """64 hexadecimal digits that name these weights."""
        return hashlib.sha256(np.ascontiguousarray(self.weights).tobytes()).hexdigest()

    def units(self, rows: Any, documents: Sequence[Document], *, bits: int) -> Numbers:
        """Return each document's scores in units of 2^-bits, cut to a length of 1 at most.

        They are rounded towards zero, so that rounding makes none of them longer.
        """
        folds = folds_of(documents)
        scores = np.zeros((len(documents), self.weights.shape[2]))
        for fold in range(FOLDS):
            scores[folds == fold] = rows[folds == fold] @ self.weights[fold]
        lengths = np.linalg.norm(scores, axis=1, keepdims=True)
        cut = np.ldexp(scores / np.maximum(lengths, 1.0), bits)
        units: Numbers = np.trunc(cut).astype(np.int64)
        return units


def folds_of(documents: Iterable[Document]) -> Numbers:
    """Return the number of each document's fold; copies, and documents of a group, are in one."""
    places = (position(document, purpose="own model/v1") for document in documents)
    return np.array([int(FOLDS * place) for place in places], np.int64)
