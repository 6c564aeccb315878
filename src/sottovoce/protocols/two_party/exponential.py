"""S.Exp: exp(x − B) as the polynomial (1 + z + z²/2)^(2^k), z = (x − B)/2^k, one trip a squaring.

    evaluator                                              key holder
    y = 1 + z, packed: no trip
    k + 1 times:
      ── MaskedLines ⟨⟨y + 2^ℓ + ρ⟩⟩, t ──────────────▶     q = ⌊· / 2^t⌋
      ◀── LineProducts ⟨⟨q⟩⟩ spread, ⟨⟨q²⟩⟩ packed ────
    r = ⌊(2^ℓ + ρ) / 2^t⌋, p = q − r: p² = q² − 2r ⊗ ⟨⟨q⟩⟩ + r²; y ← p²
    after the first: y ← (y + 1)/2 = 1 + z + z²/2, no trip

B ≥ |x| is public, so every y lies in 0 … 1 and nothing grows. A caller that uses exponentials as
weights divides by their sum, and the factor exp(−B) cancels. The evaluator learns nothing; the key
holder sees the length, k and noise within 2^−κ. Both follow the protocol and do not pool what they
saw. The exponents must be within their range: outside it the masks would no longer cover the
values.

There are two errors, both bounded by public numbers (`ExpPlan.error_bound`). The polynomial is
above exp by a part of about |x − B|³/(6·4^k), where (1 + z)^(2^k) alone would be below it by
|x − B|²/2^(k+1). And every truncation has an error of one unit of 2^−f, which later squarings
double.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil, e, log1p, log2, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sottovoce.entropy import Entropy
from sottovoce.errors import BoundError, InputError, MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import Encrypted, Plain, SecretKey, Unsent
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.two_party.lines import LineProducts, cut_and_multiply, line_rule
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.truncation import Cut

# Fraction bits in addition to the number of squarings: each squaring doubles earlier errors.
SPARE_BITS = 20


@dataclass(frozen=True, slots=True)
class ExpPlan:
    """Everything public about exponentials: |x| ≤ bound, k + 1 squarings, f fraction bits.

    `input_bits` are the fraction bits of x.
    """

    bound: int
    squarings: int
    fraction_bits: int
    input_bits: int = 32
    masking: Masking = field(default_factory=Masking)

    def __post_init__(self) -> None:
        if self.bound < 1 or self.squarings < 1 or 4 * self.bound >= 1 << self.squarings:
            raise InputError(
                "S.Exp: expected a bound of at least 1 and below a quarter of 2^squarings, where "
                f"the polynomial still falls, found {self.bound} and {self.squarings} squarings",
                hints=("ExpPlan.of(bound) chooses squarings and fraction bits",),
            )
        if self.fraction_bits < self.squarings + SPARE_BITS:
            raise InputError(
                f"S.Exp: expected at least {self.squarings + SPARE_BITS} fraction bits for "
                f"{self.squarings} squarings, found {self.fraction_bits}"
            )
        if self.input_bits + self.doublings <= self.fraction_bits:
            raise InputError(
                f"S.Exp: expected exponents with more than {self.fraction_bits - self.doublings} "
                f"fraction bits, found {self.input_bits}"
            )

    @classmethod
    def of(
        cls,
        bound: int,
        *,
        tolerance: float = 0.01,
        input_bits: int = 32,
        masking: Masking | None = None,
    ) -> "ExpPlan":
        """As many squarings as keep the polynomial within `tolerance` of exp, relatively.

        With these fraction bits exp(−B), the result for x = 0, has some 18 significant bits.
        """
        if not 0 < tolerance < 1:
            raise InputError(f"S.Exp: expected 0 < tolerance < 1, found {tolerance:g}")
        # |z| ≤ ½, so (2·bound)³·e^½/(6·4^k) bounds the logarithm of what is above exp.
        doublings = ceil(log2(max(sqrt(2.2 * bound**3 / log1p(tolerance)), 4 * bound)))
        squarings = doublings + 1
        spare = ceil(bound * log2(e)) + SPARE_BITS
        fraction_bits = max(squarings + SPARE_BITS, spare)
        return cls(
            bound,
            squarings,
            fraction_bits,
            max(input_bits, fraction_bits - doublings + 1),
            masking or Masking(),
        )

    @property
    def doublings(self) -> int:
        """k: the first squaring makes the polynomial of second order, the others its power."""
        return self.squarings - 1

    @property
    def input_scale(self) -> Scale:
        """The scale of exponents, within ±bound."""
        return Scale(self.input_bits, self.bound << self.input_bits)

    @property
    def start_scale(self) -> Scale:
        """The scale of 1 + z before it is cut: up to 1."""
        bits = self.input_bits + self.doublings
        return Scale(bits, 1 << bits)

    @property
    def power_scale(self) -> Scale:
        """The scale of powers when they are squared: up to 1, and a unit for rounding up."""
        largest = (1 << self.fraction_bits) + 1
        for _ in range(self.squarings):
            largest = (largest * largest >> self.fraction_bits) + 1
        return Scale(self.fraction_bits, largest)

    @property
    def result_scale(self) -> Scale:
        """The scale of squares before they are cut, also of the result."""
        return self.power_scale.times(self.power_scale)

    @property
    def second_scale(self) -> Scale:
        """The scale of (1 + z)² + 1 before it is cut, read as half of itself."""
        result = self.result_scale
        return Scale(result.fraction_bits + 1, result.bound + (1 << result.fraction_bits))

    def cuts(self) -> Iterator[Cut]:
        """Yield the cut of the power before each squaring."""
        first = self.input_bits + self.doublings - self.fraction_bits
        later = [self.fraction_bits] * (self.squarings - 2)
        for bits in (first, self.fraction_bits + 1, *later):
            yield Cut(bits, self.power_scale, self.masking)

    def slots(self, plaintext_bits: int) -> Slots:
        """Return slots that hold masked powers; the slots of x must be at least as wide."""
        return Slots.fit(
            max(self.start_scale.bound, self.second_scale.bound),
            plaintext_bits=plaintext_bits,
            mask_bits=self.masking.kappa,
        )

    def error_bound(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the largest error of exp(x − bound), for each of these x."""
        exponents = np.asarray(x, dtype=np.float64) - self.bound
        step = exponents / 2.0**self.doublings
        above = np.expm1(2.0**self.doublings * np.abs(step) ** 3 * np.exp(-step) / 6)
        unit = 2.0**-self.fraction_bits
        power, error = 1 + step, np.full_like(step, unit)
        power, error = (power**2 + 1) / 2, power * error + error**2 / 2 + unit
        for _ in range(self.doublings):
            error = 2 * power * error + error**2 + unit
            power = power**2
        return np.asarray(above * np.exp(exponents) + error)


def exponential(x: Encrypted, plan: ExpPlan, *, entropy: Entropy) -> Party[Unsent]:
    """S.Exp at the evaluator: return ⟨⟨exp(x − bound)⟩⟩ of a packed vector, in the same slots.

    The result has 2·f fraction bits, f more than are exact: the caller cuts it together with its
    next step (`truncate`, `cut_times_fixed`), which saves a trip.
    """
    _check(x, plan)
    offset = np.full(x.shape, (1 << plan.doublings) - plan.bound << plan.input_bits, dtype=object)
    start = x.divided(plan.doublings) + Plain(offset, plan.start_scale)
    power = start.within(plan.start_scale)
    for squaring, cut in enumerate(plan.cuts()):
        lines = yield from cut_and_multiply([power], [cut], entropy=entropy)
        power = lines.products[0]
        if squaring == 0:
            ones = np.full(x.shape, _one(plan), dtype=object)
            power = (power + Plain(ones, plan.result_scale)).within(_whole(plan)).divided(1)
    return power


def _one(plan: ExpPlan) -> int:
    """1, as squares are written."""
    return 1 << plan.result_scale.fraction_bits


def _whole(plan: ExpPlan) -> Scale:
    """(1 + z)² + 1."""
    return Scale(plan.result_scale.fraction_bits, plan.second_scale.bound)


def exponential_rule(
    key: SecretKey, plan: ExpPlan, *, vectors: int = 1, entropy: Entropy
) -> AnswerRule[LineProducts]:
    """The rule for a key holder: the squarings of this number of `vectors`."""
    return line_rule(key, budget=vectors * plan.squarings, entropy=entropy)


def _check(x: Encrypted, plan: ExpPlan) -> None:
    """Refuse exponents that do not fit the plan, before anything is sent."""
    if x.scale.fraction_bits != plan.input_bits:
        raise MismatchError(
            f"S.Exp: expected exponents with {plan.input_bits} fraction bits, "
            f"found {x.scale.fraction_bits}"
        )
    if x.scale.bound > plan.input_scale.bound:
        raise BoundError(
            f"S.Exp: expected exponents within ±{plan.bound}, found a bound of "
            f"{x.scale.bound / 2**plan.input_bits:.6g}",
            hints=("use a larger bound, or scale the exponents down",),
        )


def plain_exponential(x: Plain, plan: ExpPlan) -> Plain:
    """The ideal: the same polynomial in the clear, on the same integers, rounding down."""
    offset = (1 << plan.doublings) - plan.bound << plan.input_bits
    power = x.integers.astype(object) + offset
    for squaring, cut in enumerate(plan.cuts()):
        power = (power >> cut.bits) ** 2 + (_one(plan) if squaring == 0 else 0)
    return Plain(power, plan.result_scale)
