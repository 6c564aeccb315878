"""The ring of 64-bit words: shares, and fast exact products mod 2^64.

A secret tensor is shared as two arrays of `uint64` whose sum mod 2^64 is the tensor; each alone is
uniform noise. Products have two twins under the same tests: `NUMPY`, the integer product that numpy
has (the reference), and `LIMBS` (used), which takes numpy's contiguous sums for a few columns, and
for many columns splits words into three limbs whose products a floating-point BLAS adds up exactly.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sottovoce.entropy import Entropy
from sottovoce.errors import BoundError, InputError, MismatchError
from sottovoce.numbers import fixed
from sottovoce.numbers.fixed import Scale

Words = NDArray[np.uint64]

# Signed values are within −2^62 ≤ x < 2^62, because exact truncation of shares needs one more bit.
RING_BOUND = 2**62 - 1

# Words are split into limbs of 22, 22 and 20 bits, centred: magnitudes up to 2^21, 2^21, 2^19.
_LIMB = 22
_CENTRES = (2**21, 2**21, 2**19)
_CENTRE = sum(centre << _LIMB * i for i, centre in enumerate(_CENTRES))
# Sums of 1,024 products of limbs, two or three limb pairs deep, stay within 2^53:
# 2 · 2^10 · 2^42 = 2^53 and 2^10 · (2^42 + 2 · 2^40) < 2^53, so float64 adds them exactly
# in whatever order, and with or without fused multiply-add.
_DEPTH = 1024


@dataclass(frozen=True, slots=True)
class _Blocks:
    """The part that is split at a time: buffers of 6 and 24 MB whatever the size."""

    rows: int = 256
    columns: int = 1024
    depth: int = _DEPTH


_BLOCKS = _Blocks()
# Splitting a word costs as much as this many integer multiplications; see `_worth_splitting`.
_SPLIT_COST = 250
_SMALL = 2**20


@dataclass(frozen=True, slots=True)
class NumpyProducts:
    """The reference: numpy's own integer product, which wraps around."""

    def matvec(self, matrix: Words, vector: Words) -> Words:
        """A·x for x of shape (n,), or (n, K) for K right-hand sides."""
        _check_operands(matrix, vector, "matvec")
        return matrix @ vector

    def matmul(self, left: Words, right: Words) -> Words:
        """A·B."""
        _check_operands(left, right, "matmul")
        return left @ right


@dataclass(frozen=True, slots=True)
class LimbProducts:
    """The fast twin: contiguous sums for few columns, three limbs in BLAS for many.

    BLAS has threads of its own; `threads` is how many share the contiguous sums.
    """

    threads: int = 1

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise InputError(f"products: expected at least 1 thread, found {self.threads}")

    def matvec(self, matrix: Words, vector: Words) -> Words:
        """A·x for x of shape (n,), or (n, K) for K right-hand sides."""
        _check_operands(matrix, vector, "matvec")
        if vector.ndim == 1:
            return self._sums(matrix, vector[:, None])[:, 0]
        if _worth_splitting(matrix, vector):
            return _limb_product(matrix, vector)
        return self._sums(matrix, vector)

    def matmul(self, left: Words, right: Words) -> Words:
        """A·B."""
        _check_operands(left, right, "matmul")
        return self.matvec(left, right)

    def _sums(self, matrix: Words, vectors: Words) -> Words:
        columns = np.ascontiguousarray(vectors.T)
        if self.threads == 1 or matrix.size < _SMALL:
            return _contiguous_sums(matrix, columns)
        row_parts = _slices(len(matrix), -(-len(matrix) // self.threads))
        with ThreadPoolExecutor(self.threads) as pool:
            parts = pool.map(lambda rows: _contiguous_sums(matrix[rows], columns), row_parts)
            return np.concatenate(list(parts))


NUMPY = NumpyProducts()
LIMBS = LimbProducts()


def matvec(matrix: Words, vector: Words, *, threads: int = 1) -> Words:
    """A·x mod 2^64 for x of shape (n,), or (n, K) for K right-hand sides."""
    return LimbProducts(threads).matvec(matrix, vector)


def matmul(left: Words, right: Words, *, threads: int = 1) -> Words:
    """A·B mod 2^64."""
    return LimbProducts(threads).matmul(left, right)


def to_ring(integers: ArrayLike) -> Words:
    """Signed integers of at most 64 bits as words: x mod 2^64."""
    values = np.asarray(integers)
    if values.dtype.kind == "u" or (values.size and values.dtype.kind not in "iO"):
        raise InputError(f"to_ring: expected signed integers, found dtype {values.dtype}")
    if values.dtype.kind == "O":
        values = fixed.check_integers(values, Scale(0, 2**63), "to_ring")
        if (values == 2**63).any():
            raise BoundError(f"to_ring: expected magnitudes below 2^63, found {2**63}")
    return values.astype(np.int64).view(np.uint64)


def from_ring(words: Words) -> NDArray[np.int64]:
    """The words read as signed integers: −2^63 ≤ x < 2^63."""
    return _words(words, "from_ring").view(np.int64).copy()


def encode(array: ArrayLike, scale: Scale) -> Words:
    """Real numbers as fixed point in the ring; the scale must keep to −2^62 … 2^62."""
    scale.check_fits(RING_BOUND, "ring encode")
    return to_ring(fixed.encode(array, scale))


def decode(words: Words, scale: Scale) -> NDArray[np.float64]:
    """The real numbers that fixed-point words stand for; one over the bound raises."""
    scale.check_fits(RING_BOUND, "ring decode")
    return fixed.decode(from_ring(words), scale)


def share(values: Words, entropy: Entropy) -> tuple[Words, Words]:
    """Return two arrays whose sum mod 2^64 is `values`; each alone is uniform."""
    mask = entropy.words(*_words(values, "share").shape)
    return mask, np.asarray(values - mask)


def reveal(a: Words, b: Words) -> Words:
    """Return the values whose shares are `a` and `b`."""
    if _words(a, "reveal").shape != _words(b, "reveal").shape:
        raise MismatchError(f"reveal: shares of shape {a.shape} and {b.shape}")
    return np.asarray(a + b)


def _contiguous_sums(matrix: Words, columns: Words) -> Words:
    """Return A·Xᵀ with every sum along memory; numpy releases the interpreter lock meanwhile."""
    return np.asarray(np.einsum("ij,kj->ik", matrix, columns))


def _worth_splitting(left: Words, right: Words) -> bool:
    """Whether three limbs in BLAS beat one integer multiplication a word, as measured."""
    rows, inner, columns = *left.shape, right.shape[1]
    large: bool = rows * inner * columns >= _SMALL
    return large and rows * columns >= _SPLIT_COST * (rows + columns)


def _limb_product(left: Words, right: Words, blocks: _Blocks = _BLOCKS) -> Words:
    """A·B from the products of centred limbs.

    With c the word whose limbs are the centres, A = A' + c and B = B' + c entry
    by entry, so AB = A'B' + c·(row sums of A) + c·(column sums of B) − c²·depth.
    Limb products whose place is 2^66 or above vanish mod 2^64.
    """
    depth = left.shape[1]
    centre = np.uint64(_CENTRE)
    corner = np.uint64(_CENTRE * _CENTRE * depth % 2**64)
    total: Words = left.sum(axis=1)[:, None] * centre + (right.sum(axis=0) * centre - corner)
    deep = min(depth, blocks.depth)
    lefts = np.empty((min(len(left), blocks.rows), 3 * deep))
    rights = np.empty((3 * deep, min(right.shape[1], blocks.columns)))
    for columns in _slices(right.shape[1], blocks.columns):
        for inner in _slices(depth, blocks.depth):
            low_right = _limbs(right[inner, columns], rights, axis=0)
            for rows in _slices(len(left), blocks.rows):
                low_left = _limbs(left[rows, inner], lefts, axis=1)
                total[rows, columns] += _lowest_three(low_left, low_right)
    return total


def _lowest_three(left: NDArray[np.float64], right: NDArray[np.float64]) -> Words:
    """Σ of limb products by place: 2^0 from one pair, 2^22 from two, 2^44 from three.

    The limbs of the left stand side by side (0, 1, 2), those of the right on
    top of each other (2, 1, 0), so that each place is one product of a part.
    """
    depth = len(right) // 3
    total = np.zeros((len(left), right.shape[1]), dtype=np.uint64)
    for place in range(3):
        width = (place + 1) * depth
        sums = left[:, :width] @ right[-width:]
        total += sums.astype(np.int64).view(np.uint64) << np.uint64(_LIMB * place)
    return total


def _limbs(words: Words, buffer: NDArray[np.float64], *, axis: int) -> NDArray[np.float64]:
    """The three centred limbs of every word, joined along `axis`, in a part of the buffer."""
    height, width = words.shape
    bits = np.empty(words.shape, dtype=np.uint64)
    for limb, centre in enumerate(_CENTRES):
        np.right_shift(words, np.uint64(_LIMB * limb), out=bits)
        bits &= np.uint64(2**_LIMB - 1)
        if axis == 1:
            part = buffer[:height, limb * width : (limb + 1) * width]
        else:
            part = buffer[(2 - limb) * height : (3 - limb) * height, :width]
        np.subtract(bits.view(np.int64), centre, out=part)
    return buffer[:height, : 3 * width] if axis == 1 else buffer[: 3 * height, :width]


def _slices(length: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


def _words(words: object, what: str) -> Words:
    if isinstance(words, np.ndarray) and words.dtype == np.uint64:
        return words
    kind = words.dtype if isinstance(words, np.ndarray) else type(words).__name__
    raise InputError(f"{what}: expected an array of uint64 words, found {kind}")


def _check_operands(left: Words, right: Words, what: str) -> None:
    _words(left, what)
    _words(right, what)
    if left.ndim != 2 or right.ndim not in {1, 2} or left.shape[1] != right.shape[0]:
        raise MismatchError(f"{what}: shapes {left.shape} and {right.shape} do not multiply")
