"""Operations by kind: a twin of the arithmetic that counts what another one does.

    key = key.with_arithmetic(Counting(GMP, bits=key.bits))
    …
    key.arithmetic.tally       # {"decryptions": …, "products": …, …}

Work modulo N² is the evaluator's and the peers'; work modulo p² and q² is the key
holder's, who does everything twice, at half the size: it is counted once.
"""

from collections import Counter
from collections.abc import Sequence

from sottovoce.numbers.modular import Arithmetic, FixedBases, FixedPower, Modulus, Residue
from sottovoce.numbers.multiexp import SparseRow

# What is counted, in the order in which it is shown.
KINDS = ("encryptions", "decryptions", "products", "powers", "terms", "inverses")


class Counting(Arithmetic):
    """Another twin, and a tally of its operations for a key of `bits` bits."""

    name = "COUNTING"

    def __init__(self, inner: Arithmetic, *, bits: int) -> None:
        """Count what `inner` does."""
        self._inner = inner
        self._bits = bits
        self._halves: Counter[str] = Counter()
        self._whole: Counter[str] = Counter()

    @property
    def tally(self) -> dict[str, int]:
        """The number of operations of each kind.

        `encryptions` are randomisers, made to encrypt or to re-randomise: powers of the
        key's base, and uniform N-th powers for what goes to the key holder; `terms` are
        powers that were multiplied together in one go.
        """
        whole, halves = self._whole, self._halves
        return {
            "encryptions": whole["fixed"]
            + whole["uniform"]
            + (halves["fixed"] + halves["uniform"]) // 2,
            "decryptions": halves["same powers"] // 2,
            "products": whole["products"],
            "powers": whole["powers"] + whole["same powers"],
            "terms": whole["terms"],
            "inverses": whole["inverses"],
        }

    def modulo(self, modulus: int) -> Modulus:
        """The same modulus, counted."""
        whole = modulus.bit_length() > self._bits * 3 // 2
        return _CountedModulus(self._inner.modulo(modulus), self._whole if whole else self._halves)

    def gcd(self, left: int, right: int) -> int:
        """Not counted: keys alone need it."""
        return self._inner.gcd(left, right)

    def jacobi(self, number: int, modulus: int) -> int:
        """Not counted: keys alone need it."""
        return self._inner.jacobi(number, modulus)

    def is_prime(self, number: int) -> bool:
        """Not counted: keys alone need it."""
        return self._inner.is_prime(number)


class _CountedPower:
    def __init__(self, inner: FixedPower, tally: Counter[str]) -> None:
        self._inner = inner
        self._tally = tally

    def __call__(self, exponents: Sequence[int]) -> list[Residue]:
        self._tally["fixed"] += len(exponents)
        return self._inner(exponents)

    def prepare(self, uses: int) -> None:
        self._inner.prepare(uses)


class _CountedBases:
    def __init__(self, inner: FixedBases, tally: Counter[str], *, kind: str, each: int = 1) -> None:
        self._inner = inner
        self._tally = tally
        self._kind = kind
        self._each = each

    def __call__(self, rows: Sequence[Sequence[int]]) -> list[Residue]:
        self._tally[self._kind] += self._each * len(rows)
        return self._inner(rows)


class _CountedModulus(Modulus):
    def __init__(self, inner: Modulus, tally: Counter[str]) -> None:
        super().__init__(inner.modulus)
        self.modulus = inner.modulus
        self._inner = inner
        self._tally = tally

    def reduced(self, values: Sequence[int]) -> list[Residue]:
        return self._inner.reduced(values)

    def multiplied(self, left: Sequence[Residue], right: Sequence[Residue]) -> list[Residue]:
        self._tally["products"] += len(left)
        return self._inner.multiplied(left, right)

    def product(self, values: Sequence[Residue]) -> Residue:
        self._tally["products"] += max(0, len(values) - 1)
        return self._inner.product(values)

    def powers(self, bases: Sequence[Residue], exponents: Sequence[int]) -> list[Residue]:
        self._tally["powers"] += len(bases)
        return self._inner.powers(bases, exponents)

    def powers_of_all(self, bases: Sequence[Residue], exponent: int) -> list[Residue]:
        # Numbers mod N² to the power N are uniform randomisers; mod p² it is the power p.
        uniform = exponent * exponent == self.modulus
        self._tally["uniform" if uniform else "same powers"] += len(bases)
        return self._inner.powers_of_all(bases, exponent)

    def inverses(self, values: Sequence[Residue]) -> list[Residue]:
        self._tally["inverses"] += len(values)
        return self._inner.inverses(values)

    def invertible(self, values: Sequence[Residue]) -> bool:
        return self._inner.invertible(values)

    def fixed_base(self, base: Residue, *, exponent_bits: int) -> FixedPower:
        return _CountedPower(self._inner.fixed_base(base, exponent_bits=exponent_bits), self._tally)

    def fixed_bases(self, bases: Sequence[Residue], *, exponent_bits: int, uses: int) -> FixedBases:
        inner = self._inner.fixed_bases(bases, exponent_bits=exponent_bits, uses=uses)
        return _CountedBases(inner, self._tally, kind="terms", each=len(bases))

    def mixed_powers(self, bases: Sequence[Residue], *, exponent_bits: int) -> FixedBases:
        # Randomisers, as r^N are.
        inner = self._inner.mixed_powers(bases, exponent_bits=exponent_bits)
        return _CountedBases(inner, self._tally, kind="uniform")

    def combined(self, bases: Sequence[Residue], rows: Sequence[Sequence[int]]) -> list[Residue]:
        self._tally["terms"] += len(bases) * len(rows)
        return self._inner.combined(bases, rows)

    def joined(self, values: Sequence[Residue], *, shift: int) -> Residue:
        self._tally["powers"] += max(0, len(values) - 1)
        return self._inner.joined(values, shift=shift)

    def joined_with_power(
        self, values: Sequence[Residue], *, shift: int, base: Residue, exponent: int
    ) -> Residue:
        self._tally["powers"] += max(0, len(values) - 1)
        self._tally["uniform"] += 1
        return self._inner.joined_with_power(values, shift=shift, base=base, exponent=exponent)

    def combined_sparse(self, bases: Sequence[Residue], rows: Sequence[SparseRow]) -> list[Residue]:
        self._tally["terms"] += sum(len(columns) for columns, _ in rows)
        return self._inner.combined_sparse(bases, rows)
