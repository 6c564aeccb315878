"""Arithmetic modulo one number, by lists: a plain reference and its fast twin.

`INT` uses Python's own integers and schoolbook methods, to be read and to test against. `GMP` uses
gmpy2 with the algorithms of `multiexp`, and is used in studies. Both implement `Arithmetic` and
`Modulus`, whose methods take and return whole lists, so that a faster core can replace them.

Neither twin is constant-time: the time of an operation can reveal something about its operands to a
party that can measure it on this machine.
"""

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate
from multiprocessing import cpu_count
from typing import Protocol, TypeAlias

import gmpy2

from sottovoce.numbers.multiexp import (
    BaseTables,
    FixedBase,
    ModularRing,
    SparseRow,
    combine,
    combine_sparse,
    join_shifted,
    join_with_power,
)
from sottovoce.numbers.short_factors import combine_short, pays

# An element of Z_m: an int in the reference twin, a gmpy2.mpz (which behaves as an int) in the
# fast one. gmpy2 ships no types, so the alias says what both have in common.
Residue: TypeAlias = int

# A composite passes a round with probability at most 1/4; gmpy2 counts BPSW as 24 of these.
_PRIME_ROUNDS = 64
# Below this much work per thread, starting threads costs more than they save.
_THREAD_WORK = 1 << 16


class Modulus(ABC):
    """The integers modulo one number greater than 1."""

    def __init__(self, modulus: int) -> None:
        if modulus < 2:
            raise ValueError(f"modulus: expected at least 2, found {modulus}")
        self.modulus = modulus

    @abstractmethod
    def reduced(self, values: Sequence[int]) -> list[Residue]:
        """Every value, of any size and sign, as an element 0 <= x < modulus."""

    @abstractmethod
    def multiplied(self, left: Sequence[Residue], right: Sequence[Residue]) -> list[Residue]:
        """The products, element by element."""

    @abstractmethod
    def product(self, values: Sequence[Residue]) -> Residue:
        """The product of all values; 1 for none."""

    @abstractmethod
    def powers(self, bases: Sequence[Residue], exponents: Sequence[int]) -> list[Residue]:
        """Each base to its own exponent; a negative exponent needs an invertible base."""

    @abstractmethod
    def powers_of_all(self, bases: Sequence[Residue], exponent: int) -> list[Residue]:
        """Every base to the same exponent, on all cores."""

    @abstractmethod
    def inverses(self, values: Sequence[Residue]) -> list[Residue]:
        """The inverses; a value without one raises ZeroDivisionError."""

    @abstractmethod
    def invertible(self, values: Sequence[Residue]) -> bool:
        """Whether every value has an inverse."""

    @abstractmethod
    def fixed_base(self, base: Residue, *, exponent_bits: int) -> "FixedPower":
        """Return a function for powers of one base, with exponents below 2**exponent_bits."""

    @abstractmethod
    def fixed_bases(
        self, bases: Sequence[Residue], *, exponent_bits: int, uses: int
    ) -> "FixedBases":
        """The same bases combined about `uses` times, each exponent below 2**exponent_bits."""

    def mixed_powers(self, bases: Sequence[Residue], *, exponent_bits: int) -> "FixedBases":
        """The same for random exponents, about twice as often as there are bases."""
        return self.fixed_bases(bases, exponent_bits=exponent_bits, uses=2 * len(bases))

    @abstractmethod
    def combined(self, bases: Sequence[Residue], rows: Sequence[Sequence[int]]) -> list[Residue]:
        """For every row of (signed) exponents, the product of all bases to their exponents."""

    @abstractmethod
    def joined(self, values: Sequence[Residue], *, shift: int) -> Residue:
        """The product of value_i^(2^(shift · i)), by Horner: the first value weighs least."""

    @abstractmethod
    def joined_with_power(
        self, values: Sequence[Residue], *, shift: int, base: Residue, exponent: int
    ) -> Residue:
        """The same times base^exponent, exponent >= 0, where the same squarings do for both."""

    @abstractmethod
    def combined_sparse(self, bases: Sequence[Residue], rows: Sequence[SparseRow]) -> list[Residue]:
        """The same for rows that name only bases with an exponent that is not 0, all invertible."""


class FixedPower(Protocol):
    """Powers of one base."""

    def __call__(self, exponents: Sequence[int]) -> list[Residue]:
        """The base to each exponent."""

    def prepare(self, uses: int) -> None:
        """Prepare tables for about this many powers."""


class FixedBases(Protocol):
    """Products of powers of the same bases."""

    def __call__(self, rows: Sequence[Sequence[int]]) -> list[Residue]:
        """For every row of exponents, none below 0, the product of all bases to them."""


class Arithmetic(ABC):
    """A twin: the source of moduli, greatest common divisors and primality tests."""

    name: str

    @abstractmethod
    def modulo(self, modulus: int) -> Modulus:
        """Arithmetic modulo `modulus`."""

    @abstractmethod
    def gcd(self, left: int, right: int) -> int:
        """The greatest common divisor."""

    @abstractmethod
    def jacobi(self, number: int, modulus: int) -> int:
        """The Jacobi symbol of a number for an odd modulus: 1, −1, or 0 if they share a factor."""

    @abstractmethod
    def is_prime(self, number: int) -> bool:
        """Whether the number is prime; wrong about a composite with probability below 2^-80."""

    def __repr__(self) -> str:
        return self.name


class _IntModulus(Modulus):
    def reduced(self, values: Sequence[int]) -> list[Residue]:
        return [int(value) % self.modulus for value in values]

    def multiplied(self, left: Sequence[Residue], right: Sequence[Residue]) -> list[Residue]:
        return [a * b % self.modulus for a, b in zip(left, right, strict=True)]

    def product(self, values: Sequence[Residue]) -> Residue:
        total = 1
        for value in values:
            total = total * value % self.modulus
        return total

    def powers(self, bases: Sequence[Residue], exponents: Sequence[int]) -> list[Residue]:
        return [self._power(b, e) for b, e in zip(bases, exponents, strict=True)]

    def powers_of_all(self, bases: Sequence[Residue], exponent: int) -> list[Residue]:
        return [self._power(base, exponent) for base in bases]

    def inverses(self, values: Sequence[Residue]) -> list[Residue]:
        return [self._power(value, -1) for value in values]

    def invertible(self, values: Sequence[Residue]) -> bool:
        return all(math.gcd(value, self.modulus) == 1 for value in values)

    def fixed_base(self, base: Residue, *, exponent_bits: int) -> FixedPower:
        return _IntPower(base, self.modulus, exponent_bits)

    def fixed_bases(self, bases: Sequence[Residue], *, exponent_bits: int, uses: int) -> FixedBases:
        del uses
        return _IntBases(self, tuple(bases), exponent_bits)

    def combined(self, bases: Sequence[Residue], rows: Sequence[Sequence[int]]) -> list[Residue]:
        return [self.product(self.powers(bases, row)) for row in rows]

    def joined(self, values: Sequence[Residue], *, shift: int) -> Residue:
        return self.product([pow(v, 1 << shift * i, self.modulus) for i, v in enumerate(values)])

    def joined_with_power(
        self, values: Sequence[Residue], *, shift: int, base: Residue, exponent: int
    ) -> Residue:
        return self.product([self.joined(values, shift=shift), self._power(base, exponent)])

    def combined_sparse(self, bases: Sequence[Residue], rows: Sequence[SparseRow]) -> list[Residue]:
        return [
            self.product([self._power(bases[i], int(e)) for i, e in zip(*row, strict=True)])
            for row in rows
        ]

    def _power(self, base: Residue, exponent: int) -> Residue:
        try:
            return pow(base, int(exponent), self.modulus)
        except ValueError:
            raise ZeroDivisionError("inverse: a value shares a factor with the modulus") from None


@dataclass(frozen=True)
class _IntBases:
    ring: "_IntModulus" = field(repr=False)
    bases: tuple[Residue, ...] = field(repr=False)
    exponent_bits: int

    def __call__(self, rows: Sequence[Sequence[int]]) -> list[Residue]:
        for row in rows:
            if any(e < 0 or e.bit_length() > self.exponent_bits for e in row):
                raise ValueError(f"fixed bases: expected up to {self.exponent_bits} bits")
        return self.ring.combined(self.bases, rows)


@dataclass(frozen=True)
class _IntPower:
    base: Residue
    modulus: int
    exponent_bits: int

    def __call__(self, exponents: Sequence[int]) -> list[Residue]:
        for exponent in exponents:
            if exponent < 0 or exponent.bit_length() > self.exponent_bits:
                raise ValueError(f"fixed base: expected up to {self.exponent_bits} bits")
        return [pow(self.base, exponent, self.modulus) for exponent in exponents]

    def prepare(self, uses: int) -> None:
        """Do nothing: the reference has no tables."""


class _GmpModulus(Modulus):
    def __init__(self, modulus: int) -> None:
        super().__init__(modulus)
        self._ring = ModularRing.modulo(modulus)
        self.modulus = self._ring.modulus
        self._threads = cpu_count()

    def reduced(self, values: Sequence[int]) -> list[Residue]:
        modulus, mpz = self.modulus, gmpy2.mpz
        return [mpz(value) % modulus for value in values]

    def multiplied(self, left: Sequence[Residue], right: Sequence[Residue]) -> list[Residue]:
        if len(left) != len(right):
            raise ValueError(f"multiplied: {len(left)} values beside {len(right)}")
        return list(map(self._ring.times, left, right))

    def product(self, values: Sequence[Residue]) -> Residue:
        total: Residue = reduce(self._ring.times, values, gmpy2.mpz(1))
        return total

    def powers(self, bases: Sequence[Residue], exponents: Sequence[int]) -> list[Residue]:
        power, modulus = gmpy2.powmod, self.modulus
        return [power(b, e, modulus) for b, e in zip(bases, exponents, strict=True)]

    def powers_of_all(self, bases: Sequence[Residue], exponent: int) -> list[Residue]:
        exponent = gmpy2.mpz(exponent)
        work = len(bases) * int(exponent).bit_length() * int(self.modulus).bit_length() // 64
        threads = min(self._threads, len(bases), max(1, work // _THREAD_WORK))
        if threads < 2:
            return list(gmpy2.powmod_base_list(list(bases), exponent, self.modulus))
        step = -(-len(bases) // threads)
        parts = [list(bases[start : start + step]) for start in range(0, len(bases), step)]
        with ThreadPoolExecutor(threads) as pool:  # powmod_base_list releases the lock
            done = pool.map(
                lambda part: gmpy2.powmod_base_list(part, exponent, self.modulus), parts
            )
            return [power for part in done for power in part]

    def inverses(self, values: Sequence[Residue]) -> list[Residue]:
        """One inversion for all of them, and three multiplications for each (Montgomery)."""
        times = self._ring.times
        before = list(accumulate(values, times, initial=gmpy2.mpz(1)))
        rest = self._ring.inverse(before.pop())
        results: list[Residue] = []
        for value, product in zip(reversed(values), reversed(before), strict=True):
            results.append(times(rest, product))
            rest = times(rest, value)
        return results[::-1]

    def invertible(self, values: Sequence[Residue]) -> bool:
        # A product shares a factor with the modulus exactly if one of its factors does.
        return bool(gmpy2.gcd(self.product(values), self.modulus) == 1)

    def fixed_base(self, base: Residue, *, exponent_bits: int) -> FixedPower:
        return FixedBase(base, self._ring, exponent_bits=exponent_bits)

    def fixed_bases(self, bases: Sequence[Residue], *, exponent_bits: int, uses: int) -> FixedBases:
        return BaseTables(bases, self._ring, exponent_bits=exponent_bits, uses=uses)

    def combined(self, bases: Sequence[Residue], rows: Sequence[Sequence[int]]) -> list[Residue]:
        return combine(bases, rows, self._ring)

    def joined(self, values: Sequence[Residue], *, shift: int) -> Residue:
        return join_shifted(values, self._ring, shift=shift)

    def joined_with_power(
        self, values: Sequence[Residue], *, shift: int, base: Residue, exponent: int
    ) -> Residue:
        return join_with_power(values, self._ring, shift=shift, base=base, exponent=exponent)

    def combined_sparse(self, bases: Sequence[Residue], rows: Sequence[SparseRow]) -> list[Residue]:
        if pays(self._ring, rows):
            return combine_short(bases, rows, self._ring)
        return combine_sparse(bases, rows, self._ring)


class _Int(Arithmetic):
    name = "INT"

    def modulo(self, modulus: int) -> Modulus:
        return _IntModulus(modulus)

    def gcd(self, left: int, right: int) -> int:
        return math.gcd(left, right)

    def jacobi(self, number: int, modulus: int) -> int:
        """Twos by the rule for 2, the rest by reciprocity, as Euclid would."""
        number, modulus, sign = int(number) % int(modulus), int(modulus), 1
        while number:
            while number % 2 == 0:
                number //= 2
                sign = -sign if modulus % 8 in {3, 5} else sign
            sign = -sign if number % 4 == modulus % 4 == 3 else sign
            number, modulus = modulus % number, number
        return sign if modulus == 1 else 0

    def is_prime(self, number: int) -> bool:
        """Miller and Rabin, with bases that follow from the number: none is built for them."""
        number = int(number)
        if number < 4:
            return number in {2, 3}
        if number % 2 == 0:
            return False
        odd, twos = number - 1, 0
        while odd % 2 == 0:
            odd, twos = odd // 2, twos + 1
        width = (number.bit_length() + 7) // 8
        stream = hashlib.shake_256(b"sottovoce/miller-rabin/v1" + number.to_bytes(width))
        draws = stream.digest((width + 8) * _PRIME_ROUNDS)
        for start in range(0, len(draws), width + 8):
            base = 2 + int.from_bytes(draws[start : start + width + 8]) % (number - 3)
            if not _passes(pow(base, odd, number), number, twos):
                return False
        return True


def _passes(value: int, number: int, twos: int) -> bool:
    if value in {1, number - 1}:
        return True
    for _ in range(twos - 1):
        value = value * value % number
        if value == number - 1:
            return True
    return False


class _Gmp(Arithmetic):
    name = "GMP"

    def modulo(self, modulus: int) -> Modulus:
        return _GmpModulus(modulus)

    def gcd(self, left: int, right: int) -> int:
        return int(gmpy2.gcd(left, right))

    def jacobi(self, number: int, modulus: int) -> int:
        return int(gmpy2.jacobi(number, modulus))

    def is_prime(self, number: int) -> bool:
        return bool(gmpy2.is_prime(gmpy2.mpz(number), _PRIME_ROUNDS))


INT: Arithmetic = _Int()
GMP: Arithmetic = _Gmp()
