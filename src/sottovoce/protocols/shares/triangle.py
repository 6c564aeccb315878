"""Symmetric matrices in the form in which they are sent: the upper triangle, row by row."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import MismatchError
from sottovoce.numbers.ring import Words

# The number of words in a message of 16 MB.
MESSAGE_WORDS = 2**21
_MIRROR = 64
N = TypeVar("N", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Triangle:
    """The upper triangle of matrices of this side, diagonal included."""

    side: int

    @property
    def size(self) -> int:
        """The number of words of a triangle."""
        return self.side * (self.side + 1) // 2

    def start(self, row: int) -> int:
        """The position at which a row begins: row i holds the entries (i, i) … (i, side − 1)."""
        return row * self.side - row * (row - 1) // 2

    def diagonal(self) -> NDArray[np.int64]:
        """The positions of the diagonal."""
        rows = np.arange(self.side, dtype=np.int64)
        return rows * self.side - rows * (rows - 1) // 2

    def last_column(self) -> NDArray[np.int64]:
        """The positions of the last column."""
        return np.append(self.diagonal()[1:], self.size) - 1

    def pack(self, matrix: NDArray[N]) -> NDArray[N]:
        """Return the upper triangle of a matrix, row by row."""
        if matrix.shape != (self.side, self.side):
            raise MismatchError(
                f"triangle: expected a matrix of {self.side} × {self.side}, found {matrix.shape}"
            )
        packed = np.empty(self.size, matrix.dtype)
        for row in range(self.side):
            packed[self.start(row) : self.start(row + 1)] = matrix[row, row:]
        return packed

    def unpack(self, packed: Words, out: Words | None = None) -> Words:
        """Return the whole symmetric matrix of a triangle; write it to `out` if that is given."""
        self.check(packed)
        matrix = np.empty((self.side, self.side), np.uint64) if out is None else out
        # Panel by panel: copying a whole column at a time would miss the cache at every entry.
        for first in range(0, self.side, _MIRROR):
            last = min(first + _MIRROR, self.side)
            for row in range(first, last):
                matrix[row, row:] = packed[self.start(row) : self.start(row + 1)]
            corner, below = matrix[first:last, first:last], np.tril_indices(last - first, -1)
            corner[below] = corner.T[below]
            matrix[last:, first:last] = matrix[first:last, last:].T
        return matrix

    def panels(self, words: int) -> Iterator[range]:
        """Yield rows in groups of about this number of words, at least one row each."""
        first = 0
        for row in range(1, self.side + 1):
            if row == self.side or self.start(row + 1) - self.start(first) > words:
                yield range(first, row)
                first = row

    def check(self, packed: Words) -> None:
        """Raise unless `packed` is as long as a triangle of this side."""
        if packed.shape != (self.size,):
            raise MismatchError(
                f"triangle: expected {self.size} words for a side of {self.side}, "
                f"found shape {packed.shape}"
            )

    @staticmethod
    def messages(size: int) -> Iterator[slice]:
        """Yield the words of a triangle in parts that fit into a message."""
        for start in range(0, size, MESSAGE_WORDS):
            yield slice(start, min(start + MESSAGE_WORDS, size))
