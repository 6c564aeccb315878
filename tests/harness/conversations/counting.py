"""Arithmetic that counts: how many powers, randomisers and decryptions a conversation takes."""

from collections import Counter
from collections.abc import Sequence

from sottovoce.numbers.modular import GMP, Arithmetic, FixedBases, FixedPower, Modulus, Residue


class CountingModulus(Modulus):
    """GMP's arithmetic modulo one number, whose operations are counted under its bits."""

    def __init__(self, modulus: int, counts: Counter[str]) -> None:
        super().__init__(modulus)
        self._own = GMP.modulo(modulus)
        self.modulus = self._own.modulus
        self._counts = counts
        self._bits = int(modulus).bit_length()

    def _count(self, what: str, number: int) -> None:
        self._counts[f"{what} {self._bits}"] += number

    def reduced(self, values: Sequence[int]) -> list[Residue]:
        return self._own.reduced(values)

    def multiplied(self, left: Sequence[Residue], right: Sequence[Residue]) -> list[Residue]:
        self._count("products", len(left))
        return self._own.multiplied(left, right)

    def product(self, values: Sequence[Residue]) -> Residue:
        self._count("products", len(values))
        return self._own.product(values)

    def powers(self, bases: Sequence[Residue], exponents: Sequence[int]) -> list[Residue]:
        self._count("powers", len(bases))
        return self._own.powers(bases, exponents)

    def powers_of_all(self, bases: Sequence[Residue], exponent: int) -> list[Residue]:
        # Numbers mod N² to the power N are uniform randomisers.
        what = "uniform" if exponent * exponent == self.modulus else "powers"
        self._count(what, len(bases))
        return self._own.powers_of_all(bases, exponent)

    def inverses(self, values: Sequence[Residue]) -> list[Residue]:
        self._count("inverses", len(values))
        return self._own.inverses(values)

    def invertible(self, values: Sequence[Residue]) -> bool:
        return self._own.invertible(values)

    def fixed_base(self, base: Residue, *, exponent_bits: int) -> FixedPower:
        return CountingPower(self._own.fixed_base(base, exponent_bits=exponent_bits), self)

    def fixed_bases(self, bases: Sequence[Residue], *, exponent_bits: int, uses: int) -> FixedBases:
        own = self._own.fixed_bases(bases, exponent_bits=exponent_bits, uses=uses)

        def combined(rows: Sequence[Sequence[int]]) -> list[Residue]:
            self._count("powers", len(bases) * len(rows))
            return own(rows)

        return combined

    def mixed_powers(self, bases: Sequence[Residue], *, exponent_bits: int) -> FixedBases:
        own = self._own.mixed_powers(bases, exponent_bits=exponent_bits)

        def drawn(rows: Sequence[Sequence[int]]) -> list[Residue]:
            self._count("uniform", len(rows))
            return own(rows)

        return drawn

    def combined(self, bases: Sequence[Residue], rows: Sequence[Sequence[int]]) -> list[Residue]:
        self._count("powers", len(bases) * len(rows))
        return self._own.combined(bases, rows)

    def joined(self, values: Sequence[Residue], *, shift: int) -> Residue:
        self._count("shifted", len(values))
        return self._own.joined(values, shift=shift)

    def joined_with_power(
        self, values: Sequence[Residue], *, shift: int, base: Residue, exponent: int
    ) -> Residue:
        self._count("shifted", len(values))
        self._count("uniform", 1)
        return self._own.joined_with_power(values, shift=shift, base=base, exponent=exponent)

    def combined_sparse(self, bases: Sequence[Residue], rows) -> list[Residue]:
        self._count("powers", sum(len(row[0]) for row in rows))
        return self._own.combined_sparse(bases, rows)


class CountingPower:
    """Powers of one base: randomisers."""

    def __init__(self, own: FixedPower, modulus: CountingModulus) -> None:
        self._own = own
        self._modulus = modulus

    def __call__(self, exponents: Sequence[int]) -> list[Residue]:
        self._modulus._count("randomisers", len(exponents))
        return self._own(exponents)

    def prepare(self, uses: int) -> None:
        self._own.prepare(uses)


class Counting(Arithmetic):
    """GMP, counting; `counts` may be cleared in between."""

    name = "COUNTING"

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def modulo(self, modulus: int) -> Modulus:
        return CountingModulus(modulus, self.counts)

    def gcd(self, left: int, right: int) -> int:
        return GMP.gcd(left, right)

    def jacobi(self, number: int, modulus: int) -> int:
        return GMP.jacobi(number, modulus)

    def is_prime(self, number: int) -> bool:
        return GMP.is_prime(number)
