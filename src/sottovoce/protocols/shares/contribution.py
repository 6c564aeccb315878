"""The encoding of a peer's moments in words of 64 bits, before they are masked and shared.

The scales follow from public totals, so every peer uses the same ones and the blind sum of
all contributions fits the solve, however the documents are spread over the peers.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import InputError, MismatchError
from sottovoce.numbers import ring
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.ring import Words
from sottovoce.protocols.shares.plan import matrix_word_bits
from sottovoce.protocols.shares.triangle import Triangle

# The additional fraction bits of b, compared with A; the solve refines it further.
_FINER = 8
# The number of words written at a time: they fit into the cache.
_BLOCK = 2**15


@dataclass(frozen=True)
class MomentScales:
    """The scales of Σ w x xᵀ and Σ w x y in the ring, summed over all peers."""

    matrix: Scale
    vectors: Scale

    @classmethod
    def fit(
        cls, *, weight: float, row_norm: float = 1.0, penalty: float, ceiling: float | None = None
    ) -> Self:
        """Scales for documents of total `weight` whose rows are at most `row_norm` long.

        `penalty` is the smallest that will be tried. If the upper end of the spectrum is agreed
        already, pass it as `ceiling`, including the largest penalty; scales are finer then.
        """
        if not (math.isfinite(weight) and weight > 0 and math.isfinite(row_norm) and row_norm > 0):
            raise InputError(
                f"moments: expected a weight and a length of rows above 0, "
                f"found {weight:g} and {row_norm:g}"
            )
        if not (math.isfinite(penalty) and penalty > 0):
            raise InputError(f"moments: expected a penalty above 0, found {penalty:g}")
        trace = weight * row_norm**2
        top = trace + penalty if ceiling is None else max(ceiling, penalty)
        bits = _fraction_bits(top, penalty)
        if bits < 1:
            enough = next(
                (penalty * 2**n for n in range(1, 64) if _fraction_bits(top, penalty * 2**n) > 0),
                top,
            )
            raise InputError(
                f"moments: a spectrum from {penalty:g} to {top:g} leaves no fraction bits",
                hints=(f"agree on alpha = {enough:g} or more in a new study",),
                setting="alpha",
            )
        return cls(
            Scale.covering(trace, fraction_bits=bits),
            Scale.covering(weight * row_norm, fraction_bits=bits + _FINER),
        )

    def encode(
        self, second: NDArray[np.float64], products: NDArray[np.float64]
    ) -> tuple[Words, Words]:
        """A peer's own moments as words: the upper triangle of A, and b with a column per class."""
        side = len(products)
        if second.shape != (side, side) or products.ndim != 2:
            raise MismatchError(
                f"moments: a second moment of shape {second.shape} and products of shape "
                f"{products.shape} do not belong together"
            )
        words = self.written(second, products)
        size = Triangle(side).size
        return words[:size], words[size:].reshape(products.shape)

    def written(self, second: NDArray[np.float64], products: NDArray[np.float64]) -> Words:
        """Return the words of `encode` in one array: the triangle, then b row by row.

        Computed block by block, because a copy of a triangle of thousands of features is large.
        """
        triangle = Triangle(len(products))
        words = np.empty(triangle.size + products.size, np.uint64)
        for rows in triangle.panels(_BLOCK):
            part = np.concatenate([second[row, row:] for row in rows])
            place = slice(triangle.start(rows.start), triangle.start(rows.stop))
            words[place] = ring.encode(part, self.matrix)
        words[triangle.size :] = ring.encode(products, self.vectors).ravel()
        return words


def _fraction_bits(top: float, penalty: float) -> int:
    """The number of fraction bits of a matrix whose spectrum has these ends."""
    return matrix_word_bits(top / penalty) - math.frexp(top)[1]
