"""What a member gave to be opened, and what it was told of it, kept until members compare.

The check itself is told_check.py. Openings are kept by kind: how many residue fields they have, and
by which power of two the opener divides what it tells.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import Expansion
from sottovoce.numbers.residues import Base, Planes

SUMS = 48
"""The number of random halves: what is told wrong is in none of their differences with 2^-48."""


@dataclass(frozen=True)
class ToldSums:
    """Random halves of one kind of openings: of a member's own shares, and of what it was told."""

    fields: int
    shift: int
    count: int
    shares: Planes = field(repr=False)
    answers: Planes = field(repr=False)

    def fits(self, opened: Planes) -> bool:
        """Whether what these shares open is what was told, but for the remainders of divisions."""
        base = Base(self.fields)
        rest = base.subtract(opened, base.scale(self.answers, 1 << self.shift))
        if not self.shift:
            return not rest.any()
        most = self.count << self.shift
        return all(0 <= number < most for number in base.signed(rest).tolist())


class ToldRecord:
    """At a member: its shares of what was opened, and what it was told of it."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, int], list[tuple[Planes, Planes]]] = {}

    def add(self, share: Planes, answer: Planes, *, shift: int) -> None:
        """Keep one opening until all of them are checked."""
        fields = len(share)
        flat = (share.reshape(fields, -1), answer.reshape(fields, -1))
        self._kept.setdefault((fields, shift), []).append(flat)

    def clear(self) -> None:
        """Forget what was checked."""
        self._kept.clear()

    def sums(self, seed: bytes, context: bytes) -> Iterator[ToldSums]:
        """Yield the random halves of every kind of openings."""
        for (fields, shift), openings in sorted(self._kept.items(), key=lambda item: item[0]):
            stream, base = (
                Expansion(seed, f"quorum/told/{fields}/{shift}/v1", context),
                Base(fields),
            )
            shares, answers = (np.zeros((fields, SUMS), np.uint32) for _ in range(2))
            for share, answer in openings:
                size = share.shape[1]
                drawn = np.frombuffer(stream.read(SUMS * -(-size // 8)), np.uint8)
                bits = np.unpackbits(drawn.reshape(SUMS, -1), axis=1, count=size)
                shares = base.add(shares, _halves(base, bits, share))
                answers = base.add(answers, _halves(base, bits, answer))
            count = sum(share.shape[1] for share, _ in openings)
            yield ToldSums(fields, shift, count, shares, answers)


def _halves(base: Base, bits: NDArray[np.uint8], planes: Planes) -> Planes:
    """Sums of the values that the bits choose: exact, as they stay far below 2^53."""
    sums = planes.astype(np.float64) @ bits.T.astype(np.float64)
    primes = np.array(base.primes, np.int64)[:, np.newaxis]
    return np.asarray(sums.astype(np.int64) % primes, np.uint32)
