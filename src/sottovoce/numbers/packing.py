"""Packing: many signed values side by side in one large integer, each in its own slot.

Slot i of the packed integer is Σ vᵢ · 2^(width · i), with signs: packed integers
add, subtract and multiply by integers as ordinary integers do, and every slot
follows, as long as no slot outgrows its width. A negative slot borrows from its
neighbour; unpacking gives the borrow back.

The width of a slot depends on its use: the bound of its value, the number of values that will be
added up in it, and, if it will have a mask of its own, the mask.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import index

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import BoundError, InputError, MismatchError

# Far more bits than a plaintext has: slots from other parties must not make us shift for ever.
MAX_BITS = 2**16 - 1
# Below this many slots, splitting a packed integer further costs more than it saves.
_LEAF = 8


@dataclass(frozen=True, slots=True)
class Slots:
    """The division of a plaintext into `count` signed slots of `width` bits each."""

    width: int
    count: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", index(self.width))
        object.__setattr__(self, "count", index(self.count))
        if self.width < 2 or self.count < 1 or self.bits > MAX_BITS:
            raise InputError(
                "slots: expected a width of at least 2 bits, at least 1 slot, and at most "
                f"{MAX_BITS} bits in all, found {self.width} and {self.count}"
            )

    @classmethod
    def fit(
        cls, bound: int, *, plaintext_bits: int, additions: int = 1, mask_bits: int = 0
    ) -> "Slots":
        """As many slots as there is room for.

        A slot holds the sum of `additions` values of magnitude up to `bound`.
        With `mask_bits` = κ > 0 it also has room for a mask of its own: with ℓ
        the bits of that sum, x + 2^ℓ + r for r uniform below 2^(ℓ + κ). The
        plaintext holds every signed integer of `plaintext_bits` bits (for
        Paillier one bit less than N).
        """
        if min(bound, mask_bits) < 0 or additions < 1:
            raise InputError(
                "slots: expected a bound and mask bits of at least 0 and at least 1 addition, "
                f"found {bound}, {mask_bits} and {additions}"
            )
        bits = (index(bound) * index(additions)).bit_length()
        width = max(bits + 1 if mask_bits == 0 else bits + index(mask_bits) + 2, 2)
        if width > plaintext_bits:
            raise BoundError(
                f"slots: one slot needs {width} bits, the plaintext has {plaintext_bits}",
                hints=("use a larger key, fewer fraction bits or fewer additions",),
            )
        return cls(width, index(plaintext_bits) // width)

    @property
    def bound(self) -> int:
        """The largest magnitude that a slot can hold."""
        return (1 << (self.width - 1)) - 1

    @property
    def bits(self) -> int:
        """The number of bits of a signed plaintext that holds all slots."""
        return self.width * self.count

    def plaintexts_for(self, length: int) -> int:
        """The number of plaintexts that `length` values fill."""
        return -(-length // self.count)

    def check_holds(self, bound: int, what: str) -> None:
        """Raise if a value of magnitude `bound` would overflow its slot."""
        if bound > self.bound:
            raise BoundError(
                f"{what}: over-full slot, {bound.bit_length()} bits and a sign do not fit into "
                f"a slot of {self.width} bits",
                hints=("pack with more `additions` (Slots.fit), or decrypt and pack again",),
            )

    def pack(self, values: Sequence[int] | NDArray[np.int64] | NDArray[np.object_]) -> int:
        """One signed integer that holds the values (at most `count` of them), slot 0 lowest."""
        digits = _integers(values)
        if len(digits) > self.count:
            raise BoundError(f"pack: expected at most {self.count} values, found {len(digits)}")
        self._check_values(digits, "pack")
        return _join(digits, self.width)

    def unpack(self, plaintext: int, count: int | None = None) -> list[int]:
        """The values of the lowest `count` slots (by default all of them); the rest must be empty.

        The plaintext is a signed integer, centred already: −N/2 < plaintext < N/2.
        """
        count = self.count if count is None else index(count)
        if not 0 <= count <= self.count:
            raise InputError(f"unpack: expected up to {self.count} slots, found {count}")
        lift = _lift(self.width, count)
        lifted = index(plaintext) + lift
        if not 0 <= lifted < 1 << (self.width * count):
            raise BoundError(
                f"unpack: over-full plaintext, {index(plaintext).bit_length()} bits do not fit "
                f"into {count} slots of {self.width} bits"
            )
        half = 1 << (self.width - 1)
        values = [digit - half for digit in _split(lifted, self.width, count)]
        self._check_values(values, "unpack")
        return values

    def pack_all(
        self, values: Sequence[int] | NDArray[np.int64] | NDArray[np.object_]
    ) -> list[int]:
        """As many packed integers as the values need; the last may have empty slots on top."""
        digits = _integers(values)
        self._check_values(digits, "pack")
        return [
            _join(digits[start : start + self.count], self.width)
            for start in range(0, len(digits), self.count)
        ]

    def unpack_all(self, plaintexts: Sequence[int], length: int) -> list[int]:
        """The `length` values that `pack_all` packed."""
        if len(plaintexts) != self.plaintexts_for(length):
            raise MismatchError(
                f"unpack: {length} values fill {self.plaintexts_for(length)} plaintexts of "
                f"{self.count} slots, found {len(plaintexts)}"
            )
        values: list[int] = []
        for plaintext in plaintexts:
            values += self.unpack(plaintext, min(self.count, length - len(values)))
        return values

    def _check_values(self, values: list[int], what: str) -> None:
        limit = self.bound
        if values and (max(values) > limit or min(values) < -limit):
            position = next(i for i, value in enumerate(values) if abs(value) > limit)
            raise BoundError(
                f"{what}: over-full slot {position}, expected magnitudes below "
                f"2^{self.width - 1}, found {values[position].bit_length()} bits"
            )


def triangle(matrix: NDArray[np.generic]) -> NDArray[np.generic]:
    """The upper triangle of a symmetric matrix, row by row: d(d + 1)/2 entries."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise MismatchError(f"triangle: expected a square matrix, found shape {matrix.shape}")
    if not np.array_equal(matrix, matrix.T):
        row, column = np.argwhere(matrix != matrix.T)[0]
        raise MismatchError(
            f"triangle: expected a symmetric matrix, found ({row}, {column}) unlike "
            f"({column}, {row})"
        )
    return np.concatenate([matrix[i, i:] for i in range(len(matrix))] or [matrix.reshape(0)])


def symmetric(entries: NDArray[np.generic], size: int) -> NDArray[np.generic]:
    """The symmetric size × size matrix whose `triangle` the entries are."""
    if entries.shape != (size * (size + 1) // 2,):
        raise MismatchError(
            f"symmetric: expected {size * (size + 1) // 2} entries for size {size}, "
            f"found shape {entries.shape}"
        )
    matrix = np.empty((size, size), dtype=entries.dtype)
    start = 0
    for i in range(size):
        row = entries[start : start + size - i]
        matrix[i, i:] = row
        matrix[i:, i] = row
        start += size - i
    return matrix


def _integers(values: Sequence[int] | NDArray[np.int64] | NDArray[np.object_]) -> list[int]:
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or values.dtype.kind not in "iuO":
            raise InputError(
                "pack: expected a vector of integers, "
                f"found dtype {values.dtype} and shape {values.shape}"
            )
        values = values.tolist()
    try:
        return [index(value) for value in values]
    except TypeError as error:
        raise InputError(f"pack: expected integers ({error})") from None


@lru_cache(maxsize=256)
def _lift(width: int, count: int) -> int:
    """Half a slot in every slot: adding it makes all of them non-negative, so nothing borrows."""
    return ((1 << width * count) - 1) // ((1 << width) - 1) << (width - 1)


def _join(digits: list[int], width: int) -> int:
    """Σ digitᵢ · 2^(width · i) by halves, so that the time stays near linear."""
    if len(digits) <= _LEAF:
        total = 0
        for digit in reversed(digits):
            total = (total << width) + digit
        return total
    half = len(digits) // 2
    return _join(digits[:half], width) + (_join(digits[half:], width) << width * half)


def _split(total: int, width: int, count: int) -> list[int]:
    """The digits of a non-negative integer in base 2^width, by halves."""
    if count <= _LEAF:
        mask = (1 << width) - 1
        return [total >> width * i & mask for i in range(count)]
    half = count // 2
    low = total & ((1 << width * half) - 1)
    return _split(low, width, half) + _split(total >> width * half, width, count - half)
