"""Plaintext operands: integers with their scale, dense or as sparse rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sottovoce.errors import BoundError, InputError, MismatchError
from sottovoce.numbers.fixed import Integers, Scale, check_integers, decode, encode
from sottovoce.numbers.multiexp import SparseRow

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

MAX_DIMENSIONS = 2


@dataclass(frozen=True, eq=False)
class Plain:
    """A scalar, vector or matrix of exact integers, each within the bound of its scale.

    The scale is declared, never derived from the values: slot widths and message sizes, which
    follow from it, must depend on public numbers only.
    """

    # Kept out of repr, because these are masks and values that nobody else may see.
    integers: Integers = field(repr=False)
    scale: Scale

    # numpy must not take the operands apart element by element.
    __array_ufunc__ = None

    def __post_init__(self) -> None:
        values = check_integers(self.integers, self.scale, "plain")
        if values.ndim > MAX_DIMENSIONS:
            raise InputError(f"plain: expected at most a matrix, found shape {values.shape}")
        # A copy, so that nobody can change it after the check.
        values = values.copy()
        values.flags.writeable = False
        object.__setattr__(self, "integers", values)

    @classmethod
    def of(cls, numbers: ArrayLike, scale: Scale) -> "Plain":
        """Real numbers, rounded to the grid of the scale."""
        return cls(encode(numbers, scale), scale)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the integers."""
        return self.integers.shape

    def floats(self) -> NDArray[np.float64]:
        """The real numbers that the integers stand for."""
        return decode(self.integers, self.scale)

    def flat(self) -> list[int]:
        """The integers in order, as Python's own."""
        return [int(value) for value in self.integers.ravel().tolist()]

    def rows(self) -> list[list[int]]:
        """The integers of a vector (one row) or matrix, row by row."""
        return [[int(v) for v in row] for row in np.atleast_2d(self.integers).tolist()]

    def __neg__(self) -> "Plain":
        return Plain(-self.integers, self.scale.negated())

    def __add__(self, other: "Plain") -> "Plain":
        if not isinstance(other, Plain):
            return NotImplemented
        return Plain(_wide(self) + _wide(other), self.scale.plus(other.scale))

    def __sub__(self, other: "Plain") -> "Plain":
        if not isinstance(other, Plain):
            return NotImplemented
        return Plain(_wide(self) - _wide(other), self.scale.minus(other.scale))

    def __matmul__(self, other: "Plain") -> "Plain":
        if not isinstance(other, Plain):
            return NotImplemented
        if not self.shape or not other.shape or self.shape[-1] != other.shape[0]:
            raise MismatchError(f"product: shapes differ, {self.shape} beside {other.shape}")
        scale = self.scale.dot(other.scale, other.shape[0])
        return Plain(np.asarray(_wide(self) @ _wide(other), dtype=object), scale)

    def dot(self, other: "Plain") -> "Plain":
        """The inner product of two vectors."""
        return self @ other


def _wide(plain: Plain) -> NDArray[Any]:
    """Python integers: they do not wrap around."""
    return plain.integers.astype(object)


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Rows of small signed integers over `width` columns, such as word counts of documents.

    `reach` bounds the sum of magnitudes of every possible row, so a score stays within reach ·
    bound. It is declared, like every scale.
    """

    rows: Sequence[SparseRow] = field(repr=False)
    width: int
    reach: int
    fraction_bits: int = 0

    __array_ufunc__ = None

    def __post_init__(self) -> None:
        frozen = tuple((tuple(columns), tuple(factors)) for columns, factors in self.rows)
        object.__setattr__(self, "rows", frozen)
        for number, (columns, factors) in enumerate(self.rows):
            if len(columns) != len(factors):
                raise InputError(f"sparse rows: row {number} has unequal columns and factors")
            if sum(map(abs, map(int, factors))) > self.reach:
                raise BoundError(f"sparse rows: row {number} reaches further than {self.reach}")
            if columns and not 0 <= min(columns) <= max(columns) < self.width:
                raise InputError(
                    f"sparse rows: row {number} names a column outside 0 … {self.width - 1}"
                )

    @classmethod
    def of(cls, matrix: "csr_array[Any] | csr_matrix[Any]", *, reach: int) -> "SparseRows":
        """The rows of a scipy CSR matrix of integers."""
        if matrix.dtype.kind not in "biu":
            raise InputError(f"sparse rows: expected integers, found dtype {matrix.dtype}")
        columns, factors = matrix.indices.tolist(), matrix.data.tolist()
        ends = matrix.indptr.tolist()
        rows = [
            (columns[start:end], list(map(int, factors[start:end])))
            for start, end in pairwise(ends)
        ]
        return cls(rows, int(matrix.shape[1]), index(reach))

    @classmethod
    def of_words(cls, rows: Sequence[Sequence[int]], *, width: int, reach: int) -> "SparseRows":
        """Rows of ones: each names its columns; a column named twice counts twice."""
        return cls([(list(row), [1] * len(row)) for row in rows], width, index(reach))

    def times(self, scale: Scale) -> Scale:
        """The scale of the product with a vector of this scale."""
        return Scale(scale.fraction_bits + self.fraction_bits, scale.bound * self.reach)
