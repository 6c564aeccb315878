"""Products of powers with few multiplications: fixed bases, many rows, one long row, sparse rows.

Everything here multiplies gmpy2 integers modulo one number. A multiplication
costs ten microseconds at the sizes in use, so Python's own loops are free and
only the number of multiplications counts.

Signs cost one inversion per row, not one per term: with x = −2^b·s + u (s the
sign bit, u the b low bits), Horner starts from the inverse of the product of
the negative terms' bases.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeAlias

import gmpy2
import numpy as np
from numpy.typing import NDArray

from sottovoce.numbers.halves import FEWEST_BITS, Chain, Element, halves, whole

# Which bases, and to which (signed) exponents.
SparseRow: TypeAlias = tuple[Sequence[int], Sequence[int]]
Rows: TypeAlias = Sequence[Sequence[int]]
Times: TypeAlias = Callable[[int, int], int]

# A table of 2^15 entries of 6144 bits takes 26 MB; a window table for a key may take twice that.
_TABLE_ENTRIES = 1 << 15
_WINDOW_ENTRIES = 1 << 16


@dataclass(frozen=True)
class ModularRing:
    """A modulus, and how to multiply by it; its `root` where it is the square of a large one."""

    modulus: int
    times: Times
    root: int | None = None

    @classmethod
    def modulo(cls, modulus: int) -> "ModularRing":
        """Multiplication of elements of 0 … modulus − 1."""
        modulus = gmpy2.mpz(modulus)
        is_long = modulus.bit_length() > 2 * FEWEST_BITS - 2
        times = _folded(modulus) if is_long else lambda left, right: left * right % modulus
        square = is_long and gmpy2.is_square(modulus)
        return cls(modulus, times, gmpy2.isqrt(modulus) if square else None)

    def chain(self) -> Chain:
        """The form in which elements stay over many products."""
        return whole(self.times) if self.root is None else halves(self.root)

    def inverse(self, value: int) -> int:
        """The inverse; a value without one raises ZeroDivisionError."""
        inverse: int = gmpy2.invert(value, self.modulus)
        return inverse


def _folded(modulus: int) -> Times:
    """Multiplication modulo a long number.

    The top quarter of a product is folded down by a multiplication before
    the division, which is the slower of the two: 7 % at 6144 bits.
    """
    shift = modulus.bit_length() * 3 // 2
    top, mask = (gmpy2.mpz(1) << shift) % modulus, (gmpy2.mpz(1) << shift) - 1

    def times(left: int, right: int) -> int:
        product = left * right
        reduced: int = ((product >> shift) * top + (product & mask)) % modulus
        return reduced

    return times


class FixedBase:
    """Powers of one base from a table of base^(digit · 2^(window · place)), without squarings.

    The table grows with its use, because a large one is not worth it for few powers.
    """

    def __init__(self, base: int, ring: ModularRing, *, exponent_bits: int) -> None:
        """Powers with exponents of up to `exponent_bits` bits."""
        self.exponent_bits = exponent_bits
        self._chain = ring.chain()
        self._base = self._chain.enter(base)
        self._uses = 0
        self._table: tuple[int, list[list[Element]]] = (0, [])

    @property
    def window(self) -> int:
        """The bits of an exponent that one multiplication handles; 0 before the first use."""
        return self._table[0]

    def prepare(self, uses: int) -> None:
        """Make the table that is best for this many powers, unless a larger one is there."""
        window = self._best_window(uses)
        if window > self.window:
            self._table = (window, self._made(window))

    def __call__(self, exponents: Sequence[int]) -> list[int]:
        """The base to each exponent."""
        for exponent in exponents:
            if exponent < 0 or exponent.bit_length() > self.exponent_bits:
                raise ValueError(f"fixed base: expected up to {self.exponent_bits} bits")
        self._uses += len(exponents)
        if exponents:
            self.prepare(2 * self._uses)  # as many again may come
        return [self._power(exponent) for exponent in exponents]

    def _best_window(self, uses: int) -> int:
        def cost(window: int) -> int:
            places = -(-self.exponent_bits // window)
            return (places << window) + uses * places

        fitting = [w for w in range(2, 17) if self._entries(w) <= _WINDOW_ENTRIES]
        return min(fitting, key=cost, default=1)

    def _entries(self, window: int) -> int:
        return -(-self.exponent_bits // window) << window

    def _made(self, window: int) -> list[list[Element]]:
        times, base = self._chain.times, self._base
        places = []
        for _ in range(0, self.exponent_bits, window):
            place = [None, base]
            for _ in range((1 << window) - 2):
                place.append(times(place[-1], base))
            places.append(place)
            base = times(place[-1], base)
        return places

    def _power(self, exponent: int) -> int:
        (window, places), times = self._table, self._chain.times
        mask = (1 << window) - 1
        total: Element = None
        for place in places:
            digit = exponent & mask
            if digit:
                total = place[digit] if total is None else times(total, place[digit])
            exponent >>= window
        return gmpy2.mpz(1) if total is None else self._chain.leave(total)


def combine(bases: Sequence[int], rows: Rows, ring: ModularRing) -> list[int]:
    """For every row of signed exponents, the product of all bases to their exponents."""
    if not bases:
        return [gmpy2.mpz(1) for _ in rows]
    bits = max((int(e).bit_length() for row in rows for e in row), default=0)
    count = len(bases)
    if count == 1:
        return _of_one(bases[0], [int(row[0]) for row in rows], ring, bits=bits)
    if bits == 0:
        return [gmpy2.mpz(1) for _ in rows]
    group = _best_group(count, len(rows), bits)
    window = _best_window(count, bits)
    if _plane_cost(count, len(rows), bits, group) < len(rows) * _window_cost(count, bits, window):
        return _by_planes(bases, rows, ring, bits=bits, group=group)
    return [_by_buckets(bases, row, ring, bits=bits, window=window) for row in rows]


class BaseTables:
    """Products of powers of the same bases, whose tables are made once."""

    def __init__(
        self, bases: Sequence[int], ring: ModularRing, *, exponent_bits: int, uses: int
    ) -> None:
        """The best tables for this number of rows of exponents and this number of bits."""
        self.exponent_bits = exponent_bits
        self._ring = ring
        self._group = _best_group(len(bases), uses, exponent_bits)
        self._tables = [
            _subset_products(bases[start : start + self._group], ring)
            for start in range(0, len(bases), self._group)
        ]

    def __call__(self, rows: Rows) -> list[int]:
        """For every row of exponents, none below 0, the product of all bases to them."""
        for row in rows:
            if any(e < 0 or int(e).bit_length() > self.exponent_bits for e in row):
                raise ValueError(f"fixed bases: expected up to {self.exponent_bits} bits")
        planes = _plane_indices(rows, bits=self.exponent_bits, group=self._group)
        return [_horner(self._tables, plane, self._ring) for plane in planes]


def _of_one(base: int, exponents: Sequence[int], ring: ModularRing, *, bits: int) -> list[int]:
    """Many powers of one base: from a table where that is less work."""
    if len(exponents) < 4:
        return [gmpy2.powmod(base, exponent, ring.modulus) for exponent in exponents]
    table = FixedBase(base, ring, exponent_bits=bits)
    table.prepare(len(exponents))
    powers = table([abs(exponent) for exponent in exponents])
    return [
        ring.inverse(power) if exponent < 0 else power
        for power, exponent in zip(powers, exponents, strict=True)
    ]


def combine_sparse(bases: Sequence[int], rows: Sequence[SparseRow], ring: ModularRing) -> list[int]:
    """The same for rows that name only the bases with an exponent that is not 0."""
    chain = ring.chain()
    named = {index for indices, _ in rows for index in indices}
    entered = {index: chain.enter(bases[index]) for index in named}
    products = []
    for indices, exponents in rows:
        terms = [(entered[i], int(e)) for i, e in zip(indices, exponents, strict=True)]
        above = _nonnegative([(b, e) for b, e in terms if e > 0], chain)
        below = [(b, -e) for b, e in terms if e < 0]
        if below:
            above = ring.times(above, ring.inverse(_nonnegative(below, chain)))
        products.append(above)
    return products


def _nonnegative(terms: Sequence[tuple[Element, int]], chain: Chain) -> int:
    """Bit by bit from the top, all bases of a row together: for exponents 1, products only."""
    times, square = chain.times, chain.square
    total: Element = None
    larger = [(base, exponent) for base, exponent in terms if exponent > 1]
    for bit in range(max((e.bit_length() for _, e in larger), default=0) - 1, -1, -1):
        if total is not None:
            total = square(total)
        for base, exponent in larger:
            if exponent >> bit & 1:
                total = base if total is None else times(total, base)
    for base, exponent in terms:
        if exponent == 1:
            total = base if total is None else times(total, base)
    return gmpy2.mpz(1) if total is None else chain.leave(total)


def join_shifted(values: Sequence[int], ring: ModularRing, *, shift: int) -> int:
    """The product of the values, each to 2^shift times the power of the one before it."""
    chain = ring.chain()
    return _by_place(_shifted(values, chain, shift), chain)


def join_with_power(
    values: Sequence[int], ring: ModularRing, *, shift: int, base: int, exponent: int
) -> int:
    """The same times base^exponent, in the same chain of squarings."""
    chain = ring.chain()
    bits = exponent.bit_length()
    window = min(range(1, 13), key=lambda w: (1 << w - 1) + bits // (w + 1))
    table = [chain.enter(base)]
    square = chain.square(table[0])
    for _ in range((1 << window - 1) - 1):
        table.append(chain.times(table[-1], square))
    digits = [(place, table[digit // 2]) for place, digit in _odd_digits(exponent, window)]
    return _by_place(_shifted(values, chain, shift) + digits, chain)


Placed: TypeAlias = tuple[int, Element]


def _shifted(values: Sequence[int], chain: Chain, shift: int) -> list[Placed]:
    return [(shift * place, chain.enter(value)) for place, value in enumerate(values)]


def _odd_digits(exponent: int, window: int) -> Iterator[tuple[int, int]]:
    """Odd numbers of up to `window` bits at places of which the exponent is the sum."""
    place, mask = 0, (1 << window) - 1
    while exponent:
        zeros = gmpy2.bit_scan1(exponent)
        exponent >>= zeros
        yield place + zeros, int(exponent & mask)
        exponent >>= window
        place += zeros + window


def _by_place(factors: Sequence[Placed], chain: Chain) -> int:
    """The product of all factors, each to 2^place: one squaring a place, from the highest."""
    total: Element = None
    here = 0
    for place, factor in sorted(factors, key=itemgetter(0), reverse=True):
        for _ in range(here - place):
            total = chain.square(total)
        total = factor if total is None else chain.times(total, factor)
        here = place
    for _ in range(here):
        total = chain.square(total)
    return gmpy2.mpz(1) if total is None else chain.leave(total)


# Many rows over the same bases: products of every subset of a group of bases are made once, and
# each row looks up one entry per group and bit (the method of the four Russians, Straus's tables
# with a window of one bit over several bases).


def _plane_cost(count: int, rows: int, bits: int, group: int) -> int:
    groups = -(-count // group)
    return (groups << group) + rows * (bits + 1) * (groups + 1)


def _best_group(count: int, rows: int, bits: int) -> int:
    sizes = [g for g in range(1, 13) if -(-count // g) << g <= _TABLE_ENTRIES or g == 1]
    return min(sizes, key=lambda group: _plane_cost(count, rows, bits, group))


def _by_planes(
    bases: Sequence[int], rows: Rows, ring: ModularRing, *, bits: int, group: int
) -> list[int]:
    tables = [
        _subset_products(bases[start : start + group], ring)
        for start in range(0, len(bases), group)
    ]
    return [
        _horner(tables, planes, ring) for planes in _plane_indices(rows, bits=bits, group=group)
    ]


def _subset_products(bases: Sequence[int], ring: ModularRing) -> list[Element]:
    """table[s] is the product of the bases whose bit is set in s; nothing for no base."""
    chain = ring.chain()
    table: list[Element] = [None]
    for base in map(chain.enter, bases):
        table += [base, *(chain.times(entry, base) for entry in table[1:])]
    return table


def _horner(
    tables: Sequence[Sequence[Element]], planes: NDArray[np.int64], ring: ModularRing
) -> int:
    chain = ring.chain()
    times, square = chain.times, chain.square
    total: Element = None
    for level, plane in enumerate(planes.tolist()):
        if total is not None:
            total = square(total)
        for table, subset in zip(tables, plane, strict=True):
            if subset:
                total = table[subset] if total is None else times(total, table[subset])
        if level == 0 and total is not None:  # the plane of the signs weighs −2^bits
            total = chain.enter(ring.inverse(chain.leave(total)))
    return gmpy2.mpz(1) if total is None else chain.leave(total)


def _plane_indices(rows: Rows, *, bits: int, group: int) -> Iterator[NDArray[np.int64]]:
    """For each row, the table entries by bit (signs first, then from the top) and group."""
    for row in rows:
        planes = _bit_matrix(row, bits)
        spare = -planes.shape[1] % group
        padded = np.pad(planes, ((0, 0), (0, spare))).reshape(bits + 1, -1, group)
        yield padded @ (1 << np.arange(group, dtype=np.int64))


def _bit_matrix(row: Sequence[int], bits: int) -> NDArray[Any]:
    """Two's complement, one line per bit: the signs, then bit `bits` − 1 down to bit 0."""
    width = bits // 8 + 1
    data = b"".join(int(e).to_bytes(width, "little", signed=True) for e in row)
    table = np.frombuffer(data, dtype=np.uint8).reshape(len(row), width)
    return np.unpackbits(table, axis=1, bitorder="little")[:, bits::-1].T.astype(np.int64)


# One long row: bases with the same digit are multiplied first (Pippenger's buckets).


def _window_cost(count: int, bits: int, window: int) -> int:
    return -(-bits // window) * (count + (2 << window) + window) + count // 2


def _best_window(count: int, bits: int) -> int:
    return min(range(1, 13), key=lambda window: _window_cost(count, bits, window))


def _by_buckets(
    bases: Sequence[int], row: Sequence[int], ring: ModularRing, *, bits: int, window: int
) -> int:
    negative: int = gmpy2.mpz(1)
    for base, exponent in zip(bases, row, strict=True):
        if exponent < 0:
            negative = ring.times(negative, base)
    places = -(-bits // window)
    full = (1 << places * window) - 1
    low = [int(exponent) & full for exponent in row]
    total: int = negative if negative == 1 else ring.inverse(negative)
    for place in range(places - 1, -1, -1):
        if total != 1:
            total = gmpy2.powmod(total, 1 << window, ring.modulus)
        digits = [e >> place * window & ((1 << window) - 1) for e in low]
        total = ring.times(total, _bucket_sum(bases, digits, window, ring))
    return total


def _bucket_sum(bases: Sequence[int], digits: Sequence[int], window: int, ring: ModularRing) -> int:
    buckets: list[int] = [gmpy2.mpz(1)] * (1 << window)
    for base, digit in zip(bases, digits, strict=True):
        if digit:
            held = buckets[digit]
            buckets[digit] = base if held == 1 else ring.times(held, base)
    running: int = gmpy2.mpz(1)
    total: int = gmpy2.mpz(1)
    for bucket in buckets[:0:-1]:  # bucket d enters the total d times
        if bucket != 1:
            running = ring.times(running, bucket)
        if running != 1:
            total = ring.times(total, running)
    return total
