"""Products of powers with few multiplications: fixed bases, many rows, one long row, sparse rows.

Everything here multiplies gmpy2 integers modulo one number; a multiplication
with its reduction costs ten microseconds at the sizes in use, so Python's own
loops are free and only the number of multiplications counts.

Signs cost one inversion per row, not one per term: with x = −2^b·s + u (s the
sign bit, u the b low bits), Horner starts from the inverse of the product of
the negative terms' bases.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import gmpy2
import numpy as np
from numpy.typing import NDArray

# Which bases, and to which (signed) exponents.
SparseRow: TypeAlias = tuple[Sequence[int], Sequence[int]]
Rows: TypeAlias = Sequence[Sequence[int]]

# A table of 2^15 entries of 6144 bits is 28 MB; a window table stays below half of it.
_TABLE_ENTRIES = 1 << 15
_WINDOW_ENTRIES = 1 << 14


class FixedBase:
    """Powers of one base from a table of base^(digit · 2^(window · place)): no squarings left."""

    def __init__(self, base: int, modulus: int, *, exponent_bits: int) -> None:
        """Make the table for exponents of up to `exponent_bits` bits."""
        self.window = next(w for w in (8, 7, 6, 5, 4) if _fits(exponent_bits, w) or w == 4)
        self.exponent_bits = exponent_bits
        self._modulus = modulus
        self._places: list[list[int]] = []
        for _ in range(0, exponent_bits, self.window):
            place = [gmpy2.mpz(1), base]
            for _ in range((1 << self.window) - 2):
                place.append(place[-1] * base % modulus)
            self._places.append(place)
            base = place[-1] * base % modulus

    def __call__(self, exponents: Sequence[int]) -> list[int]:
        """The base to each exponent."""
        return [self._power(exponent) for exponent in exponents]

    def _power(self, exponent: int) -> int:
        if exponent < 0 or exponent.bit_length() > self.exponent_bits:
            raise ValueError(f"fixed base: expected up to {self.exponent_bits} bits")
        window, modulus = self.window, self._modulus
        mask = (1 << window) - 1
        total: int = gmpy2.mpz(1)
        for position, place in enumerate(self._places):
            digit = exponent >> window * position & mask
            if digit:
                total = total * place[digit] % modulus
        return total


def _fits(exponent_bits: int, window: int) -> bool:
    return -(-exponent_bits // window) << window <= _WINDOW_ENTRIES


def combine(bases: Sequence[int], rows: Rows, modulus: int) -> list[int]:
    """For every row of signed exponents, the product of all bases to their exponents."""
    if not bases:
        return [gmpy2.mpz(1) for _ in rows]
    bits = max((int(e).bit_length() for row in rows for e in row), default=0)
    count = len(bases)
    if count == 1 or bits == 0:
        return [gmpy2.powmod(bases[0], int(row[0]), modulus) for row in rows]
    group = _best_group(count, len(rows), bits)
    window = _best_window(count, bits)
    if _plane_cost(count, len(rows), bits, group) < len(rows) * _window_cost(count, bits, window):
        return _by_planes(bases, rows, modulus, bits=bits, group=group)
    return [_by_buckets(bases, row, modulus, bits=bits, window=window) for row in rows]


def combine_sparse(bases: Sequence[int], rows: Sequence[SparseRow], modulus: int) -> list[int]:
    """The same for rows that name only the bases with an exponent that is not 0."""
    return [_small_powers(bases, indices, exponents, modulus) for indices, exponents in rows]


def _small_powers(
    bases: Sequence[int], indices: Sequence[int], exponents: Sequence[int], modulus: int
) -> int:
    """Bit by bit from the top, all bases of a row together: for exponents 1, products only."""
    terms = [(bases[i], int(e)) for i, e in zip(indices, exponents, strict=True)]
    above = _nonnegative([(b, e) for b, e in terms if e > 0], modulus)
    below = [(b, -e) for b, e in terms if e < 0]
    if not below:
        return above
    inverse: int = gmpy2.invert(_nonnegative(below, modulus), modulus)
    return above * inverse % modulus


def _nonnegative(terms: Sequence[tuple[int, int]], modulus: int) -> int:
    total: int = gmpy2.mpz(1)
    for bit in range(max((e.bit_length() for _, e in terms), default=0) - 1, -1, -1):
        if total != 1:
            total = total * total % modulus
        for base, exponent in terms:
            if exponent >> bit & 1:
                total = total * base % modulus
    return total


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
    bases: Sequence[int], rows: Rows, modulus: int, *, bits: int, group: int
) -> list[int]:
    tables = [
        _subset_products(bases[start : start + group], modulus)
        for start in range(0, len(bases), group)
    ]
    return [
        _horner(tables, planes, modulus) for planes in _plane_indices(rows, bits=bits, group=group)
    ]


def _subset_products(bases: Sequence[int], modulus: int) -> list[int]:
    """table[s] is the product of the bases whose bit is set in s."""
    table = [gmpy2.mpz(1)]
    for base in bases:
        table += [base, *(entry * base % modulus for entry in table[1:])]
    return table


def _horner(tables: Sequence[Sequence[int]], planes: NDArray[np.int64], modulus: int) -> int:
    total: int = gmpy2.mpz(1)
    for level, plane in enumerate(planes.tolist()):
        if total != 1:
            total = total * total % modulus
        for table, subset in zip(tables, plane, strict=True):
            if subset:
                total = total * table[subset] % modulus
        if level == 0 and total != 1:  # the plane of the signs weighs −2^bits
            total = gmpy2.invert(total, modulus)
    return total


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
    bases: Sequence[int], row: Sequence[int], modulus: int, *, bits: int, window: int
) -> int:
    negative: int = gmpy2.mpz(1)
    for base, exponent in zip(bases, row, strict=True):
        if exponent < 0:
            negative = negative * base % modulus
    places = -(-bits // window)
    full = (1 << places * window) - 1
    low = [int(exponent) & full for exponent in row]
    total: int = negative if negative == 1 else gmpy2.invert(negative, modulus)
    for place in range(places - 1, -1, -1):
        if total != 1:
            total = gmpy2.powmod(total, 1 << window, modulus)
        digits = [e >> place * window & ((1 << window) - 1) for e in low]
        total = total * _bucket_sum(bases, digits, window, modulus) % modulus
    return total


def _bucket_sum(bases: Sequence[int], digits: Sequence[int], window: int, modulus: int) -> int:
    buckets: list[int] = [gmpy2.mpz(1)] * (1 << window)
    for base, digit in zip(bases, digits, strict=True):
        if digit:
            held = buckets[digit]
            buckets[digit] = base if held == 1 else held * base % modulus
    running: int = gmpy2.mpz(1)
    total: int = gmpy2.mpz(1)
    for bucket in buckets[:0:-1]:  # bucket d enters the total d times
        if bucket != 1:
            running = running * bucket % modulus
        if running != 1:
            total = total * running % modulus
    return total
