"""Products of many numbers modulo N², from factors that are half as long.

    c = a·(1 + tN)                      a = c mod N,  t = ⌊c / N⌋ / a mod N
    ∏ c_i^e_i = ∏ a_i^e_i · (1 + (Σ e_i t_i)·N)

The t only add up. Two of the a are together as long as one number modulo N², so that a product of
c takes half as many divisions, which cost twice as much as multiplications. Splitting a c costs
about as much as two products, which pays where every base is in several rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate
from operator import mul
from typing import TypeAlias

import gmpy2

from sottovoce.numbers.multiexp import FixedBase, ModularRing, SparseRow

FEWEST_TERMS = 6
"""So many terms of all rows a base: fewer are multiplied as they are."""

# Exponents of more bits are powers from a table, one for each base that has such exponents.
_SHORT_BITS = 3
_SHORT = (1 << _SHORT_BITS) - 1

Term: TypeAlias = tuple[int, int]


def pays(ring: ModularRing, rows: Sequence[SparseRow]) -> bool:
    """Whether the rows name their bases often enough, and the modulus is a square."""
    named = {index for indices, _ in rows for index in indices}
    terms = sum(len(indices) for indices, _ in rows)
    return ring.root is not None and terms >= FEWEST_TERMS * len(named) > 0


def combine_short(bases: Sequence[int], rows: Sequence[SparseRow], ring: ModularRing) -> list[int]:
    """For every row the product of the bases that it names, all invertible, to their exponents."""
    assert ring.root is not None
    named = sorted({index for indices, _ in rows for index in indices})
    factors, tails = _split([bases[index] for index in named], ring.root)
    split = _Split(
        ring,
        ring.root,
        dict(zip(named, factors, strict=True)),
        dict(zip(named, tails, strict=True)),
        _long_powers(bases, rows, ring),
    )
    return [split.product(*row) for row in rows]


def _split(bases: Sequence[int], root: int) -> tuple[list[int], list[int]]:
    """The factor a and the tail t of every base, with one inversion for all (Montgomery)."""
    pairs = [divmod(base, root) for base in bases]
    factors = [low for _, low in pairs]
    before = list(accumulate(factors, lambda x, y: x * y % root, initial=gmpy2.mpz(1)))
    rest = gmpy2.invert(before.pop(), root)
    tails = []
    for (high, low), product in zip(reversed(pairs), reversed(before), strict=True):
        tails.append(rest * product % root * high % root)
        rest = rest * low % root
    return factors, tails[::-1]


def _long_powers(
    bases: Sequence[int], rows: Sequence[SparseRow], ring: ModularRing
) -> dict[Term, int]:
    """The powers of long exponents, each once: such as of the norm, which every row has."""
    wanted: dict[int, set[int]] = {}
    for indices, exponents in rows:
        for index, exponent in zip(indices, exponents, strict=True):
            if abs(exponent) > _SHORT:
                wanted.setdefault(index, set()).add(abs(int(exponent)))
    powers: dict[Term, int] = {}
    for index, distinct in wanted.items():
        wanted_here = sorted(distinct)
        table = FixedBase(bases[index], ring, exponent_bits=wanted_here[-1].bit_length())
        powers |= {(index, e): p for e, p in zip(wanted_here, table(wanted_here), strict=True)}
    return powers


@dataclass(frozen=True)
class _Split:
    """The factors and tails of all bases, and their powers of long exponents."""

    ring: ModularRing
    root: int
    factors: Mapping[int, int] = field(repr=False)
    tails: Mapping[int, int] = field(repr=False)
    powers: Mapping[Term, int] = field(repr=False)

    def product(self, indices: Sequence[int], exponents: Sequence[int]) -> int:
        """The product of one row."""
        pairs = list(zip(indices, exponents, strict=True))
        ones = [index for index, e in pairs if e == 1]
        above = [(index, int(e)) for index, e in pairs if e > 1]
        below = [(index, -int(e)) for index, e in pairs if e < 0]
        product = self._nonnegative(ones, above)
        if not below:
            return product
        return self.ring.times(product, self.ring.inverse(self._nonnegative([], below)))

    def _nonnegative(self, ones: Sequence[int], counted: Sequence[Term]) -> int:
        """The factors bit by bit from the top, all bases together; the tails are added up."""
        times, factor, tail = self.ring.times, self.factors.__getitem__, self.tails.__getitem__
        short = [term for term in counted if term[1] <= _SHORT]
        total: int = gmpy2.mpz(1)
        for bit in reversed(range(_SHORT_BITS if short else 1)):
            met = [factor(index) for index, e in short if e >> bit & 1]
            if bit == 0:
                met += map(factor, ones)
            if total != 1:
                total = times(total, total)
            if len(met) % 2:
                total = times(total, met.pop())
            total = reduce(times, map(mul, met[::2], met[1::2]), total)
        total = reduce(times, [self.powers[term] for term in counted if term[1] > _SHORT], total)
        tails = sum(map(tail, ones)) + sum(tail(index) * e for index, e in short)
        return times(total, 1 + tails % self.root * self.root)
