"""S.Div: quotients of encrypted numbers by Goldschmidt's iteration, one trip a step.

    evaluator                                                  key holder
    D = d·c, N = n·c with a public c that brings D around 1: no trip
    Goldschmidt's steps, one trip each (see `goldschmidt`): D goes to 1, N to n/d

The divisors' range, 0 < lower ≤ d ≤ upper, is public. Nobody can see whether a divisor is within
it: the caller is responsible for that. A range that touches 0 is refused before anything is sent.
The evaluator learns nothing; the key holder sees the length, the number of steps and noise within
2^−κ. Both follow the protocol and do not pool what they saw.

The error is bounded by public numbers (`DivPlan.error_bound`): by the tolerance at which the steps
end, and by one unit of truncation in each step, which small divisors magnify.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sottovoce.entropy import Entropy
from sottovoce.errors import BoundError, InputError, MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import Encrypted, Plain, SecretKey, Unsent
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.two_party.goldschmidt import (
    GoldschmidtSteps,
    constant,
    rounded_down,
    settle,
)
from sottovoce.protocols.two_party.lines import LineProducts, line_rule
from sottovoce.protocols.two_party.masks import Masking


@dataclass(frozen=True)
class DivPlan:
    """Everything public about quotients n/d: lower ≤ d ≤ upper, the scales, the tolerance.

    The error is about `tolerance` of the result, plus one unit of 2^−quotient_bits.
    """

    lower: float
    upper: float
    divisor_bits: int
    numerator: Scale = field(default_factory=lambda: Scale(0, 1))
    quotient_bits: int = 24
    tolerance: float = 2.0**-16
    masking: Masking = field(default_factory=Masking)

    def __post_init__(self) -> None:
        if not 0 < self.lower <= self.upper < float("inf"):
            raise InputError(
                "S.Div: expected divisors in a range above 0, "
                f"found {self.lower:g} to {self.upper:g}",
                hints=("a divisor that may be 0 has no quotient; add a public constant to it",),
            )
        if not 0 < self.tolerance < 1:
            raise InputError(f"S.Div: expected 0 < tolerance < 1, found {self.tolerance:g}")

    @property
    def divisor(self) -> Scale:
        """The scale of the divisors."""
        return Scale.covering(Fraction(self.upper), fraction_bits=self.divisor_bits)

    @cached_property
    def _centre(self) -> Fraction:
        """The factor c: 2/(lower + upper), rounded down, so that no divisor gets beyond 2."""
        return rounded_down(2 / (Fraction(self.lower) + Fraction(self.upper)))

    @cached_property
    def course(self) -> GoldschmidtSteps:
        """The plan of Goldschmidt's steps."""
        numerators = Fraction(self.numerator.bound, 1 << self.numerator.fraction_bits)
        return GoldschmidtSteps(
            Fraction(self.lower) * self._centre,
            Fraction(self.upper) * self._centre,
            self.tolerance,
            numerators / Fraction(self.lower),
            self.quotient_bits,
            self.masking,
        )

    @property
    def start_bits(self) -> int:
        """The fraction bits of c, enough that both first lines have bits to be cut."""
        course = self.course
        return max(
            self._centre.denominator.bit_length(),
            course.fraction_bits - self.divisor_bits + 1,
            course.numerator_bits - self.numerator.fraction_bits + 1,
        )

    @property
    def start(self) -> int:
        """The factor c in units of 2^−start_bits."""
        return int(self._centre * (1 << self.start_bits))

    @property
    def start_scales(self) -> tuple[Scale, Scale]:
        """The scales of the first lines: D below 2, and N."""
        bits = self.divisor_bits + self.start_bits
        numerator = self.numerator.times(Scale(self.start_bits, self.start))
        return Scale(bits, 2 << bits), numerator

    @property
    def steps(self) -> int:
        """The number of trips."""
        return self.course.steps

    @property
    def result_scale(self) -> Scale:
        """The scale of quotients before they are cut."""
        return self.course.whole(self.course.numerator_scale)

    def slots(self, plaintext_bits: int) -> Slots:
        """Return slots for divisors and numerators."""
        return self.course.slots(plaintext_bits, *self.start_scales)

    def error_bound(self, quotients: ArrayLike) -> NDArray[np.float64]:
        """Return the largest error of each of these quotients."""
        return self.course.error_bound(quotients)


def divide(
    numerators: Encrypted, divisors: Encrypted, plan: DivPlan, *, entropy: Entropy
) -> Party[Unsent]:
    """S.Div at the evaluator: return ⟨⟨n/d⟩⟩, value by value, of vectors in the same slots.

    The result has more fraction bits than are exact: the caller cuts it where it uses it.
    """
    _check("divisors", divisors, plan.divisor)
    _check("numerators", numerators, plan.numerator)
    start_divisor, start_numerator = plan.start_scales
    D = (divisors * plan.start).divided(plan.start_bits).within(start_divisor)
    N = (numerators * plan.start).divided(plan.start_bits).within(start_numerator)
    return (yield from settle(D, N, plan.course, entropy=entropy))


def reciprocal(divisors: Encrypted, plan: DivPlan, *, entropy: Entropy) -> Party[Unsent]:
    """Return ⟨⟨1/d⟩⟩ of a packed vector, for a plan whose numerators are `Scale(0, 1)`."""
    ones = Plain(np.full(divisors.shape, 1 << plan.numerator.fraction_bits), plan.numerator)
    return (yield from divide(constant(ones, divisors), divisors, plan, entropy=entropy))


def division_rule(
    key: SecretKey, plan: DivPlan, *, vectors: int = 1, entropy: Entropy
) -> AnswerRule[LineProducts]:
    """The rule for a key holder: the steps of this number of divisions."""
    return line_rule(key, budget=vectors * plan.steps, entropy=entropy)


def _check(what: str, tensor: Encrypted, scale: Scale) -> None:
    """Refuse operands that do not fit the plan, before anything is sent."""
    if tensor.scale.fraction_bits != scale.fraction_bits:
        raise MismatchError(
            f"S.Div: expected {what} with {scale.fraction_bits} fraction bits, "
            f"found {tensor.scale.fraction_bits}"
        )
    if tensor.scale.bound > scale.bound:
        unit = 2**scale.fraction_bits
        raise BoundError(
            f"S.Div: expected {what} within {scale.bound / unit:.6g}, found a bound of "
            f"{tensor.scale.bound / unit:.6g}",
            hints=("use a wider range in the plan",),
        )
