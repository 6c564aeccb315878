"""Planes of residues as they travel: three residues of 21 bits in a word of 64."""

from math import prod
from typing import Self

import numpy as np

from sottovoce.errors import MalformedError
from sottovoce.numbers.residues import BLOCK, PRIME_BITS, PRIMES, Planes, slices
from sottovoce.wire.values import MAX_DIMENSIONS, MAX_SIDES, Blob, Value

_EACH = 3
_MASK = np.uint64(2**PRIME_BITS - 1)


class Residues(Value, frozen=True):
    """A tensor of integers modulo the first primes: its shape, planes first, and the residues."""

    shape: tuple[int, ...]
    data: Blob

    def __post_init__(self) -> None:
        planes = self.shape[0] if self.shape else 0
        sides = all(side >= 0 for side in self.shape)
        if len(self.shape) > MAX_DIMENSIONS or not sides or not 1 <= planes <= len(PRIMES):
            raise ValueError(
                f"residues: expected 1 to {len(PRIMES)} planes and at most {MAX_DIMENSIONS} sides"
            )
        if 8 * _words(self.shape) != len(self.data):
            raise ValueError(
                f"residues: expected {8 * _words(self.shape)} bytes for the shape {self.shape}, "
                f"found {len(self.data)}"
            )
        if prod(max(side, 1) for side in self.shape) > MAX_SIDES:
            raise ValueError("residues: expected sides that an array can have, found larger ones")

    @classmethod
    def of(cls, planes: Planes) -> Self:
        """The residues of some planes."""
        flat = np.zeros(_EACH * _words(planes.shape), np.uint32)
        flat[: planes.size] = planes.reshape(-1)
        words = np.empty(len(flat) // _EACH, "<u8")
        for part in slices(len(words), BLOCK):
            columns = flat[_EACH * part.start : _EACH * part.stop].reshape(-1, _EACH)
            packed = columns[:, 2].astype(np.uint64)
            for column in (1, 0):
                packed <<= np.uint64(PRIME_BITS)
                packed |= columns[:, column]
            words[part] = packed
        return cls(planes.shape, words.tobytes())

    def planes(self) -> Planes:
        """The planes, or `MalformedError` for a residue that is not below its prime."""
        words = np.frombuffer(self.data, "<u8")
        flat = np.empty((len(words), _EACH), np.uint32)
        for part in slices(len(words), BLOCK):
            packed = words[part]
            for column in range(_EACH):
                flat[part, column] = (packed >> np.uint64(PRIME_BITS * column)) & _MASK
        if words.size and int(words.max()) >> PRIME_BITS * _EACH:
            raise MalformedError("residues: expected the top bit of every word empty")
        spread = flat.reshape(-1)
        if spread[prod(self.shape) :].any():
            raise MalformedError("residues: expected nothing after the last one, found more")
        planes = spread[: prod(self.shape)].reshape(self.shape)
        for index, plane in enumerate(planes):
            if plane.size and int(plane.max()) >= PRIMES[index]:
                raise MalformedError(
                    f"residues: expected residues below {PRIMES[index]}, found {int(plane.max())}"
                )
        return planes

    def __repr__(self) -> str:
        return f"Residues(shape={self.shape})"


def _words(shape: tuple[int, ...]) -> int:
    return -(-prod(shape) // _EACH)
