"""Integers as residues modulo several 21-bit primes: sums, draws, and exact products by BLAS.

A tensor of integers is written as planes, one for each prime, of 32-bit words below that prime. An
operation on the planes is the operation on the integers modulo the product of the primes, about
2^147 for all seven. Two centred residues are at most 2^20 each, so sums of 8,192 products stay
below 2^53 and a floating-point BLAS adds them exactly in whatever order. `PLAIN` does the same with
Python integers, under the same tests as `FAST`, which is used.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from sottovoce.entropy import Entropy
from sottovoce.errors import InputError, MismatchError

PRIMES = (2097143, 2097133, 2097131, 2097097, 2097091, 2097083, 2097047)
PRIME_BITS = 21
# ((2^21 − 10) / 2)² · 8,192 < 2^53: what float64 adds up without rounding.
DEPTH = 8192
assert ((PRIMES[0] - 1) // 2) ** 2 * DEPTH < 2**53
# The number of entries processed at a time: they fit into the cache.
BLOCK = 2**14
_ROWS = 128

Planes = NDArray[np.uint32]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Base:
    """The first `count` of the primes, and the arithmetic of planes modulo them."""

    count: int = len(PRIMES)

    def __post_init__(self) -> None:
        if not 1 <= self.count <= len(PRIMES):
            raise InputError(
                f"residues: expected from 1 to {len(PRIMES)} primes, found {self.count}"
            )

    @property
    def primes(self) -> tuple[int, ...]:
        """The primes of this base."""
        return PRIMES[: self.count]

    @cached_property
    def modulus(self) -> int:
        """The product of the primes."""
        return math.prod(self.primes)

    def of(self, integers: ArrayLike) -> Planes:
        """The residues of integers: 64-bit ones, or python's of any size."""
        values = np.asarray(integers)
        if values.dtype.kind not in "iO":
            raise InputError(f"residues: expected integers, found dtype {values.dtype}")
        planes = np.empty((self.count, *values.shape), np.uint32)
        for index, prime in enumerate(self.primes):
            planes[index] = reduced(values, prime) if values.dtype.kind == "i" else values % prime
        return planes

    def integers(self, planes: Planes) -> NDArray[np.object_]:
        """The integers 0 ≤ z < modulus of which these are the residues."""
        self.check(planes)
        total = np.zeros(planes.shape[1:], object)
        for plane, prime in zip(planes, self.primes, strict=True):
            others = self.modulus // prime
            total = total + plane.astype(object) * (others * pow(others, -1, prime))
        return np.asarray(total % self.modulus, object)

    def signed(self, planes: Planes) -> NDArray[np.object_]:
        """The same integers, centred: |z| < modulus / 2."""
        values = self.integers(planes)
        return np.asarray(np.where(values > self.modulus // 2, values - self.modulus, values))

    def draw(self, entropy: Entropy, *shape: int) -> Planes:
        """Uniform residues, by rejection from 21-bit words."""
        planes = np.empty((self.count, *shape), np.uint32)
        for index, prime in enumerate(self.primes):
            planes[index] = drawn(entropy, math.prod(shape), prime).reshape(shape)
        return planes

    def add(self, left: Planes, right: Planes) -> Planes:
        """The residues of the sums."""
        total = left + right
        # If the sum is below the prime, subtracting it wraps around to a larger number.
        return np.asarray(np.minimum(total, total - self._column(total)))

    def subtract(self, left: Planes, right: Planes) -> Planes:
        """The residues of the differences."""
        difference = left - right
        return np.asarray(np.minimum(difference, difference + self._column(difference)))

    def scale(self, planes: Planes, factor: int) -> Planes:
        """The residues of the products with one public integer."""
        return self.combine([planes], [factor])

    def combine(self, terms: Sequence[Planes], factors: Sequence[int]) -> Planes:
        """The residues of Σ factor · term: public integers times planes."""
        result = np.empty(np.broadcast_shapes(*(term.shape for term in terms)), np.uint32)
        for index, prime in enumerate(self.primes):
            weights = [factor % prime for factor in factors]
            result[index] = combined([term[index] for term in terms], weights, prime)
        return result

    def times(self, left: Planes, right: Planes) -> Planes:
        """The residues of the products, entry by entry."""
        result = np.empty(np.broadcast_shapes(left.shape, right.shape), np.uint32)
        for index, prime in enumerate(self.primes):
            result[index] = reduced(left[index].astype(np.int64) * right[index], prime)
        return result

    def total(self, planes: Planes, *, axis: int) -> Planes:
        """The residues of the sums along one axis of the tensor."""
        sums = planes.sum(axis=axis + 1, dtype=np.int64)
        column = self._column(sums).astype(np.int64)
        return np.asarray(sums - sums // column * column).astype(np.uint32)

    def check(self, planes: Planes) -> None:
        """Raise unless these are planes of this base with every residue below its prime."""
        if planes.dtype != np.uint32 or planes.ndim < 1 or len(planes) != self.count:
            raise MismatchError(
                f"residues: expected {self.count} planes of 32-bit words, "
                f"found {planes.dtype} of shape {planes.shape}"
            )
        for plane, prime in zip(planes, self.primes, strict=True):
            if plane.size and int(plane.max()) >= prime:
                raise MismatchError(
                    f"residues: expected residues below {prime}, found {int(plane.max())}"
                )

    def _column(self, planes: NDArray[Any]) -> Planes:
        return np.array(self.primes, np.uint32).reshape(-1, *(1,) * (planes.ndim - 1))


def reduced(values: Integers, prime: int) -> Planes:
    """Signed 64-bit integers modulo a prime."""
    return np.asarray(values - values // prime * prime).astype(np.uint32)


def combined(terms: Sequence[Planes], weights: Sequence[int], prime: int) -> Planes:
    """Σ weight · term modulo a prime: at most 2^20 terms keep the sum in 64 bits."""
    total = np.zeros(np.broadcast_shapes(*(term.shape for term in terms)), np.int64)
    for term, weight in zip(terms, weights, strict=True):
        total += term.astype(np.int64) * weight
    return reduced(total, prime)


def drawn(entropy: Entropy, count: int, prime: int) -> Planes:
    """Uniform residues of one prime; two holders of one stream draw the same ones."""
    words = _words(entropy, count)
    rejected = np.flatnonzero(words >= prime)
    while rejected.size:
        words[rejected] = _words(entropy, len(rejected))
        rejected = rejected[words[rejected] >= prime]
    return words


def _words(entropy: Entropy, count: int) -> Planes:
    words = np.frombuffer(entropy.read(4 * count), "<u4") & np.uint32(2**PRIME_BITS - 1)
    return words.astype(np.uint32, copy=False)


@dataclass(frozen=True, slots=True)
class PlainProducts:
    """The reference: python integers."""

    def matvec(self, matrix: Planes, vectors: Planes) -> Planes:
        """A·X for A of shape (planes, rows, depth) and X of shape (planes, depth, columns)."""
        _check_operands(matrix, vectors)
        products = [
            (left.astype(object) @ right.astype(object)) % prime
            for left, right, prime in zip(matrix, vectors, PRIMES, strict=False)
        ]
        return np.array(products, object).astype(np.uint32)


@dataclass(frozen=True, slots=True)
class FastProducts:
    """The fast twin: centred residues in float64, a few rows at a time."""

    def matvec(self, matrix: Planes, vectors: Planes) -> Planes:
        """A·X for A of shape (planes, rows, depth) and X of shape (planes, depth, columns)."""
        _check_operands(matrix, vectors)
        rows, columns = matrix.shape[1], vectors.shape[2]
        result = np.empty((len(matrix), rows, columns), np.uint32)
        for index, prime in enumerate(PRIMES[: len(matrix)]):
            right = centred(vectors[index], prime).astype(np.float64)
            for part in slices(rows, _ROWS):
                left = centred(matrix[index, part], prime).astype(np.float64)
                total = np.zeros((len(left), columns), np.int64)
                for inner in slices(right.shape[0], DEPTH):
                    sums = left[:, inner] @ right[inner]
                    total += reduced(sums.astype(np.int64), prime)
                result[index, part] = reduced(total, prime)
        return result


PLAIN = PlainProducts()
FAST = FastProducts()


@dataclass(frozen=True, repr=False)
class Centred:
    """A matrix that is multiplied often: centred residues in 32-bit floats, which hold them."""

    planes: NDArray[np.float32]

    @classmethod
    def of(cls, matrix: Planes) -> "Centred":
        """The centred residues of a matrix."""
        planes = np.empty(matrix.shape, np.float32)
        for plane, residues, prime in zip(planes, matrix, PRIMES, strict=False):
            plane[...] = centred(residues, prime)
        return cls(planes)

    def matvec(self, vectors: Planes) -> Planes:
        """A·X."""
        rows, depth = self.planes.shape[1:]
        result = np.empty((len(self.planes), rows, vectors.shape[2]), np.uint32)
        buffer = np.empty((min(rows, _ROWS), min(depth, DEPTH)))
        for index, prime in enumerate(PRIMES[: len(self.planes)]):
            right = np.ascontiguousarray(centred(vectors[index], prime), np.float64)
            for part in slices(rows, _ROWS):
                sums = _exact_sums(self.planes[index, part], right, buffer, prime)
                result[index, part] = reduced(sums, prime)
        return result


@dataclass(frozen=True, repr=False)
class PackedSymmetric:
    """A symmetric matrix for products with few vectors: centred residues of its upper triangle.

    Row by row, which is what BLAS calls a packed lower triangle. A triangle in 64-bit floats takes
    as much memory as the whole matrix in 32-bit ones, and is read as it is.
    """

    planes: Floats
    side: int

    def __post_init__(self) -> None:
        if self.planes.shape[1:] != (self.side * (self.side + 1) // 2,) or self.side > DEPTH:
            raise MismatchError(
                f"residues: expected triangles of a side of at most {DEPTH}, "
                f"found {self.planes.shape} for {self.side}"
            )

    def matvec(self, vectors: Planes) -> Planes:
        """A·X."""
        result = np.empty((len(self.planes), self.side, vectors.shape[2]), np.uint32)
        # Loaded when it is first used: it takes a tenth of a second, and labels need none of it.
        dspmv = scipy.linalg.blas.dspmv
        for index, prime in enumerate(PRIMES[: len(self.planes)]):
            right = np.ascontiguousarray(centred(vectors[index], prime).T, np.float64)
            for column, vector in enumerate(right):
                sums = dspmv(self.side, 1.0, self.planes[index], vector, lower=1)
                result[index, :, column] = reduced(sums.astype(np.int64), prime)
        return result


def _exact_sums(
    left: NDArray[np.float32], right: NDArray[np.float64], buffer: NDArray[np.float64], prime: int
) -> Integers:
    """A few rows of a product, modulo the prime after every 8,192 terms."""
    total = np.zeros((len(left), right.shape[1]), np.int64)
    for inner in slices(right.shape[0], DEPTH):
        part = buffer[: len(left), : inner.stop - inner.start]
        part[...] = left[:, inner]
        total += reduced((part @ right[inner]).astype(np.int64), prime)
    return total


def centred(residues: Planes, prime: int) -> NDArray[np.int32]:
    """Residues as the integers of least magnitude."""
    values = residues.astype(np.int32)
    return np.asarray(values - np.int32(prime) * (values > prime // 2))


def slices(length: int, size: int) -> Iterator[slice]:
    """The places in parts of at most `size`."""
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


def _check_operands(matrix: Planes, vectors: Planes) -> None:
    matched = matrix.ndim == vectors.ndim == 3 and len(matrix) == len(vectors)
    if not matched or matrix.shape[2] != vectors.shape[1]:
        raise MismatchError(
            f"matvec: shapes {matrix.shape} and {vectors.shape} do not multiply plane by plane"
        )
    Base(len(matrix)).check(matrix)
    Base(len(matrix)).check(vectors)
