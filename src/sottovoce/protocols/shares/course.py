"""The course of a Chebyshev iteration in real numbers: its constants, and its bounds.

Nothing here is secret, and nothing is computed from data. A course depends on the interval of the
spectrum alone, and bounds the direction, the solution and the residual of every system with that
spectrum. `plan.py` turns that into words and bits.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Self, TypeAlias

import numpy as np

from sottovoce.errors import BoundError, InputError

# The part of the residual that may be left; it is also the relative error of θ.
PRECISION = 2.0**-14
MOST_STEPS = 4096
# Entries of the final residual are brought down to this many bits before they are squared.
_RESIDUAL_BITS = 16
# Rounding is unbiased and independent from step to step; eight deviations practically never occur.
_SIGMAS = 8
# The factor by which a polynomial may be larger between the sampled points of the interval.
_BETWEEN = 1.04
_MORE_BITS = 2
_WORTH_A_BIT = 0.95
_Followed: TypeAlias = tuple[tuple[tuple[int, int], ...], tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True)
class System:
    """The public numbers of (A + Γ)θ = b with one right-hand side per class.

    `weight` bounds Σ w y² of every class (the number of documents, for labels ±1);
    `penalty` is λ, times the smallest factor where features have their own;
    `ceiling` is the agreed upper end c of the spectrum of A + Γ, never an estimate from below: if
    it is one per cent too low, the result is wrong by three orders of magnitude.
    """

    features: int
    classes: int
    weight: float
    penalty: float
    ceiling: float

    def __post_init__(self) -> None:
        if self.features < 1 or self.classes < 1:
            raise InputError(
                f"solve: expected at least 1 feature and 1 class, "
                f"found {self.features} and {self.classes}"
            )
        if not (math.isfinite(self.penalty) and self.penalty > 0):
            raise InputError(
                f"solve: expected a penalty above 0, found {self.penalty}",
                hints=("without a penalty the system may have no single solution: alpha=1.0",),
            )
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise InputError(f"solve: expected documents to solve for, found {self.weight}")
        if not (math.isfinite(self.ceiling) and self.ceiling >= self.penalty):
            raise InputError(
                f"solve: expected an upper end of the spectrum of at least the penalty "
                f"{self.penalty}, found {self.ceiling}"
            )


@dataclass(frozen=True, slots=True)
class IterationConstants:
    """One iteration: its two constants at the plan's constant bits, and doublings after it."""

    momentum: int
    gain: int
    doublings: int


def expected_steps(condition: float, precision: float) -> int:
    """Return Chebyshev's √κ·ln(2/ε)/2, and a little more because constants are rounded."""
    return math.ceil(1.1 * math.sqrt(condition) * math.log(2 / precision) / 2) + 8


def largest_condition(precision: float) -> float:
    """Return the largest quotient of the two ends that a solve with `MOST_STEPS` can handle."""
    return float(((MOST_STEPS - 8) * 2 / (1.1 * math.log(2 / precision))) ** 2)


def constant_bits(condition: float) -> int:
    """Return enough bits for the momentum, about 1 − 4/√κ, so that the iteration is not slowed."""
    return max(8, math.ceil(math.log2(condition) / 2) + 4)


def _noise(steps: int) -> float:
    """Return the rounding error in units of the last place of d, where doublings preserve it.

    A step's rounding comes back n steps later as at most 2n times half a unit.
    """
    return _SIGMAS * math.sqrt(steps**3 / 3)


def noise_bits(steps: int) -> int:
    """Return how many of a direction's bits rounding may fill."""
    return math.ceil(math.log2(_noise(steps)))


@dataclass(frozen=True)
class ExactIteration:
    """The iteration in exact numbers: its constants, and bounds on every value."""

    system: System
    exponent: int
    constant_bits: int
    constants: tuple[tuple[int, int], ...]
    residuals: tuple[float, ...]
    directions: tuple[float, ...]

    @classmethod
    def of(cls, system: System, precision: float, *, room: int = 64) -> Self:
        """Follow the residual polynomial over the whole interval, with rounded constants.

        It is sampled at eight times as many Chebyshev points as its degree; between
        them a polynomial p of that degree, or √t·p, is at most `_BETWEEN` times larger
        (Ehlich and Zeller). `room` is for the bits of constants and of the direction's rounding.
        """
        if not 2.0**-40 <= precision < 1:
            raise InputError(f"solve: expected a precision from 2^-40 to 1, found {precision}")
        exponent = math.frexp(system.ceiling)[1]
        high = math.ldexp(system.ceiling, -exponent)
        # Ends that coincide (A = 0) would leave no interval.
        low = min(math.ldexp(system.penalty, -exponent), high * (1 - 2.0**-6))
        expected = expected_steps(high / low, precision)
        if expected > MOST_STEPS:
            raise BoundError(
                f"solve: a spectrum from {system.penalty:g} to {system.ceiling:g} takes about "
                f"{expected} iterations, the limit is {MOST_STEPS}",
                hints=("raise the penalty", "or remove the column means first"),
            )
        bits, most = constant_bits(high / low), int(1.5 * expected) + 16
        # With unlucky rounding the iteration is slow or stalls: one more bit repairs that.
        possible = [
            cls(system, exponent, bits + more, *followed)
            for more in range(_MORE_BITS + 1)
            if (followed := _follow(low, high, precision / _BETWEEN, bits=bits + more, most=most))
        ]
        if not possible:
            raise BoundError(
                f"solve: constants of {bits + _MORE_BITS} bits do not reach a precision of "
                f"{precision:g}",
                hints=("raise the penalty",),
            )
        fitting = [course for course in possible if course.noise_and_constants <= room]
        best, *finer = fitting or possible[:1]
        for course in finer:
            # Every additional bit here is one bit less of θ.
            if len(course.constants) < _WORTH_A_BIT * len(best.constants):
                best = course
        return best

    @property
    def noise_and_constants(self) -> int:
        """The bits of the constants, plus those of the direction that rounding may fill."""
        return self.constant_bits + noise_bits(len(self.constants))

    @property
    def solution_norm(self) -> float:
        """‖θ‖ ≤ √weight / (2√penalty), since ‖(XᵀX + G)⁻¹Xᵀ‖ ≤ 1 / (2√penalty)."""
        return math.sqrt(self.system.weight / self.system.penalty) / 2

    @property
    def direction_bits(self) -> int:
        """log2 of a bound on ‖d‖, for the largest direction, in units of θ.

        ‖d‖ ≤ max √t|D(t)|·‖A^(−1/2) b‖, and bᵀA⁻¹b ≤ Σ w y² because b = Xᵀ(w y).
        """
        sizes = (
            size * 2**total for size, total in zip(self.directions, self.totals(), strict=True)
        )
        scaled = _BETWEEN * max(sizes) * math.sqrt(self.system.weight)
        return math.ceil(math.log2(scaled) - self.exponent / 2)

    def totals(self, most: int = 64) -> list[int]:
        """Return the doublings before each step: as many as keep the residual smaller than b."""
        possible = [int(-math.log2(min(1.0, _BETWEEN * left))) for left in self.residuals[:-1]]
        return [0, *(min(doublings, most) for doublings in accumulate(possible, max))]

    def steps(self, *, most_doublings: int) -> tuple[tuple[IterationConstants, ...], int]:
        """Return the steps, and how often the solution is doubled during them."""
        totals = self.totals(most_doublings)
        after = [*np.diff(totals).tolist(), 0]
        steps = (
            IterationConstants(*pair, times)
            for pair, times in zip(self.constants, after, strict=True)
        )
        return tuple(steps), totals[-1]

    def residual(self, *, bits: int, doublings: int, matrix_bits: int) -> tuple[int, int]:
        """The shift of the last residual in bits, and the largest norm that passes after it.

        The norm is twice the part of b that the course leaves, plus the rounding in every entry.
        """
        system = self.system
        count = system.features * system.classes
        norm = math.sqrt(system.ceiling * system.weight * system.classes)
        signal = math.ldexp(_BETWEEN * self.residuals[-1] * norm, bits + doublings)
        noise = _noise(len(self.constants)) / 4
        rounding = math.ldexp(noise * system.ceiling * math.sqrt(count), matrix_bits)
        bound = 2 * (signal + rounding)
        shift = max(1, math.ceil(math.log2(bound)) - _RESIDUAL_BITS)
        return shift, math.ceil(math.ldexp(bound, -shift) + math.sqrt(count))


# Cached: all seats of a study in this process ask for the same numbers.
@lru_cache(maxsize=64)
def _follow(low: float, high: float, precision: float, *, bits: int, most: int) -> _Followed | None:
    """Return constants until the residual polynomial is below `precision`, and sizes of r and d.

    Return None if that takes more than `most` steps. The momentum is rounded up: that keeps (1 −
    √a)² ≤ b·low and b·high ≤ (1 + √a)², so the iteration is stable and hardly slower.
    """
    centre, radius = (high + low) / 2, (high - low) / 2
    points = 8 * most
    t = centre + radius * np.cos(np.pi * (np.arange(points) + 0.5) / points)
    r, d = np.ones(points), np.zeros(points)
    ratio, momentum, gain = radius / centre, 0.0, 1 / centre
    constants: list[tuple[int, int]] = []
    residuals, directions = [1.0], []
    while residuals[-1] > precision and len(constants) < most:
        a, b = math.ceil(math.ldexp(momentum, bits)), round(math.ldexp(gain, bits))
        d = math.ldexp(a, -bits) * d + math.ldexp(b, -bits) * r
        r = r - t * d
        constants.append((a, b))
        residuals.append(float(np.abs(r).max()))
        directions.append(float((np.sqrt(t) * np.abs(d)).max()))
        following = 1 / (2 * centre / radius - ratio)
        momentum, gain, ratio = ratio * following, 2 * following / radius, following
    if residuals[-1] > precision:
        return None
    return tuple(constants), tuple(residuals[1:]), tuple(directions)
