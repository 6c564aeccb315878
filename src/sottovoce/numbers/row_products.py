"""Products of many rows with a few columns, mod 2^32 or mod 2^64, depending on their words.

For a few columns numpy's contiguous sums are the fastest; for many, words are split into two
limbs of 16 bits, whose products a floating-point BLAS adds up exactly: sums of 2^16 products of
limbs stay below 2^48, and of the three that count none is rounded. `reference` is numpy's own
integer product, which wraps around; both are under the same tests.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import MismatchError
from sottovoce.numbers.ring import matmul

AnyWords: TypeAlias = NDArray[np.uint32] | NDArray[np.uint64]

# The fewest columns for which splitting rows was measured to be faster.
_FEW = 6
_HALF = 16
_LOW = np.uint32(2**_HALF - 1)
# Products of limbs whose sum is exact, with room to spare.
_DEPTH = 2**16


def row_products(rows: Any, columns: Any) -> AnyWords:
    """Rows · columns, in the ring of their words: (documents, features) · (features, classes)."""
    if rows.dtype != columns.dtype or rows.shape[1:] != columns.shape[:1]:
        raise MismatchError(
            f"products: {rows.dtype} {rows.shape} and {columns.dtype} {columns.shape} do not "
            "multiply"
        )
    if rows.dtype == np.uint64:
        return matmul(rows, columns)
    if columns.shape[1] <= _FEW:
        turned = np.ascontiguousarray(columns.T)
        return np.asarray(np.einsum("ij,kj->ik", rows, turned))
    return _split_products(rows, columns)


def reference(rows: AnyWords, columns: AnyWords) -> AnyWords:
    """The same, by numpy's own integer product."""
    return np.asarray(rows @ columns)


def _split_products(rows: AnyWords, columns: AnyWords) -> NDArray[np.uint32]:
    total = np.zeros((len(rows), columns.shape[1]), np.uint32)
    for start in range(0, rows.shape[1], _DEPTH):
        inner = slice(start, start + _DEPTH)
        low, high = _limbs(rows[:, inner])
        low_column, high_column = _limbs(columns[inner])
        crossed = low @ high_column + high @ low_column
        total += _wrapped(low @ low_column) + (_wrapped(crossed) << np.uint32(_HALF))
    return total


def _limbs(words: AnyWords) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return (words & _LOW).astype(np.float64), (words >> np.uint32(_HALF)).astype(np.float64)


def _wrapped(sums: NDArray[np.float64]) -> NDArray[np.uint32]:
    """Exact whole numbers mod 2^32."""
    return sums.astype(np.uint64).astype(np.uint32)
