"""Moments as integers on a fixed grid, whose sums are the same bits in every order.

Floating-point sums depend on the order in which they are taken. A site whose documents are summed
in parts, by any number of workers, rounds the moments of each part to words of 64 bits, adds the
words, and reads the sum as moments again.
"""

import math
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import BoundError, MismatchError
from sottovoce.rados.moments import Moments

Whole = NDArray[np.int64]

_WORD_BITS = 62


class MomentWords:
    """The sums of `Moments` in units of 2^-bits; of Σ w x xᵀ the upper triangle, row by row."""

    def __init__(self, features: int, classes: int, *, weight: float, row_norm: float) -> None:
        """Start without rows, on the finest grid on which rows of this weight cannot overflow."""
        self.count = 0
        self._bits = _WORD_BITS - math.frexp(weight * max(1.0, row_norm) ** 2)[1]
        self._most = weight
        self._weight = 0
        self._totals = np.zeros(features, np.int64)
        self._target_totals = np.zeros(classes, np.int64)
        self._products = np.zeros((features, classes), np.int64)
        self._triangle = np.zeros(features * (features + 1) // 2, np.int64)

    def add(self, moments: Moments) -> None:
        """Round the moments of one part, and add them."""
        if moments.products.shape != self._products.shape:
            raise MismatchError(
                f"moments: expected shape {self._products.shape}, found {moments.products.shape}"
            )
        self._weigh(moments.count, int(math.ldexp(moments.weight, self._bits)))
        self._totals += self._whole(moments.totals)
        self._target_totals += self._whole(moments.target_totals)
        self._products += self._whole(moments.products)
        for row, place in enumerate(self._rows()):
            self._triangle[place] += self._whole(moments.upper[row, row:])

    def merge(self, other: Self) -> None:
        """Add the words of other parts."""
        self._weigh(other.count, other._weight)
        self._totals += other._totals
        self._target_totals += other._target_totals
        self._products += other._products
        self._triangle += other._triangle

    def moments(self) -> Moments:
        """Return the sums as moments."""
        features, classes = self._products.shape
        sums = Moments(features, classes)
        sums.count, sums.weight = self.count, math.ldexp(self._weight, -self._bits)
        sums.totals = self._real(self._totals)
        sums.target_totals = self._real(self._target_totals)
        sums.products = self._real(self._products)
        for row, place in enumerate(self._rows()):
            sums.upper[row, row:] = self._real(self._triangle[place])
        return sums

    def __repr__(self) -> str:
        features, classes = self._products.shape
        return f"MomentWords(features={features}, classes={classes}, count={self.count})"

    def _weigh(self, count: int, weight: int) -> None:
        """Refuse rows that could overflow, before they are added."""
        self.count += count
        self._weight += weight
        weight_so_far = math.ldexp(self._weight, -self._bits)
        if weight_so_far > self._most * (1 + 2**-30):
            raise BoundError(
                f"moments: expected rows that weigh at most {self._most:g}, found {weight_so_far:g}"
            )

    def _rows(self) -> list[slice]:
        side = len(self._totals)
        ends = np.cumsum(np.arange(side, 0, -1)).tolist()
        return [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]

    def _whole(self, values: NDArray[np.float64]) -> Whole:
        return np.rint(np.ldexp(values, self._bits)).astype(np.int64)

    def _real(self, words: Whole) -> NDArray[np.float64]:
        return np.ldexp(words.astype(np.float64), -self._bits)
