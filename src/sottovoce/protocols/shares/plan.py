"""How long a sealed solve takes and which words it needs, from public numbers alone.

The system (A + Γ)θ = b is solved by Chebyshev iteration between a public lower
and upper end of the spectrum. In integers, with A at F fraction bits, d at X,
r = b − Aθ at F + X and 2^e the power of two above the upper end, each step is

    d ← (a_k·2^(F+e)·d + b_k·r) / 2^(F+e+q)      one exact truncation
    θ ← θ + d
    r ← r − A d                                  exact: no rounding at all

with a_k, b_k of q fraction bits. Since r is exact, whatever rounding did to d is
seen by the next step and mended. As the residual shrinks at a rate that is known
beforehand, θ, d and r are doubled now and then (`Step.doublings`): refinement of
the precision while iterating, without a restart. Only the dividend must stay
within 2^62, and that bound is worked out here, before anything is sent.
"""

import math
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate
from typing import Self

import numpy as np

from sottovoce.errors import BoundError, InputError
from sottovoce.numbers.fixed import Scale

# The share of the residual that may be left: text moments then have θ to about 1e-5.
PRECISION = 2.0**-15
MOST_STEPS = 4096
# Entries of the final residual are brought down to this many bits before they are squared.
_RESIDUAL_BITS = 16
# Rounding is unbiased and independent from step to step: eight standard deviations are never met.
_SIGMAS = 8


@dataclass(frozen=True)
class System:
    """The public numbers of (A + Γ)θ = b with one right-hand side per class.

    `weight` bounds Σ w y² of every class (the number of documents, for labels ±1);
    `penalty` is λ, times the smallest factor where features have their own;
    `ceiling` is the agreed upper end c of the spectrum of A + Γ, never an estimate
    from below: one per cent too low is wrong by three orders of magnitude.
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
class Step:
    """One iteration: its two constants at the plan's constant bits, and doublings after it."""

    momentum: int
    gain: int
    doublings: int


@dataclass(frozen=True)
class SolvePlan:
    """Everything about a sealed solve that both holders and the dealer must agree on."""

    system: System
    matrix_bits: int
    lift: int
    scale_bits: int
    constant_bits: int
    steps: tuple[Step, ...]
    solution: Scale
    residual_shift: int
    residual_bound: int

    @classmethod
    def fit(
        cls,
        system: System,
        *,
        matrix_bits: int,
        vector_bits: int,
        precision: float = PRECISION,
    ) -> Self:
        """The plan for A at `matrix_bits` and b at `vector_bits` fraction bits."""
        course = _Course.of(system, precision)
        scale_bits = matrix_bits + course.exponent
        if scale_bits < 1:
            raise BoundError(
                f"solve: a matrix of {matrix_bits} fraction bits and a spectrum below "
                f"2^{course.exponent} has no digits left",
                hints=(f"use at least {8 - course.exponent} fraction bits for the matrix",),
            )
        solution_bits = 61 - scale_bits - course.constant_bits - course.direction_bits
        lift = solution_bits + matrix_bits - vector_bits
        _check_room(course, scale_bits=scale_bits, lift=lift, vector_bits=vector_bits)
        limit = math.log2(course.solution_norm) + solution_bits
        steps, doublings = course.steps(most_doublings=int(60 - limit))
        shift, bound = course.residual(
            bits=matrix_bits + solution_bits, doublings=doublings, matrix_bits=matrix_bits
        )
        scale = Scale.covering(2 * course.solution_norm, fraction_bits=solution_bits + doublings)
        return cls(
            system,
            matrix_bits,
            lift,
            scale_bits,
            course.constant_bits,
            steps,
            scale,
            shift,
            bound,
        )

    @property
    def shift(self) -> int:
        """By how many bits every step divides."""
        return self.scale_bits + self.constant_bits

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of θ, b, d and r: one column per class."""
        return self.system.features, self.system.classes

    @property
    def openings(self) -> int:
        """Trips between the holders: the matrix, two an iteration, and five for the last check."""
        return 2 * len(self.steps) + 6

    def digest(self) -> bytes:
        """What three parties compare before anything is opened."""
        return blake2b(repr(self).encode(), digest_size=32, person=b"sottovoce/solve").digest()


def _check_room(course: "_Course", *, scale_bits: int, lift: int, vector_bits: int) -> None:
    """The rules of a plan; each names what to change."""
    left = 61 - scale_bits - course.constant_bits
    needed = math.ceil(math.log2(course.noise)) + 2
    if left < needed:
        raise BoundError(
            f"solve: {scale_bits} bits of the matrix and {course.constant_bits} of the constants "
            f"leave {left} bits for the direction, expected at least {needed}",
            hints=(f"give the matrix {needed - left} fraction bits fewer", "or raise the penalty"),
        )
    if lift < 0:
        raise BoundError(
            f"solve: the right-hand side has {vector_bits} fraction bits, "
            f"expected at most {vector_bits + lift}",
            hints=(f"encode it with {vector_bits + lift} fraction bits",),
        )


@dataclass(frozen=True)
class _Course:
    """The iteration in exact numbers: its constants, and how far everything can get."""

    system: System
    exponent: int
    constant_bits: int
    constants: tuple[tuple[int, int], ...]
    residuals: tuple[float, ...]
    directions: tuple[float, ...]

    @classmethod
    def of(cls, system: System, precision: float) -> Self:
        """Follow the residual polynomial over the whole interval, with the rounded constants.

        It is sampled at eight times as many Chebyshev points as its degree; between
        them a polynomial p of degree k, or √t·p, is at most 4 % larger (Ehlich and Zeller).
        """
        if not 2.0**-40 <= precision < 1:
            raise InputError(f"solve: expected a precision from 2^-40 to 1, found {precision}")
        exponent = math.frexp(system.ceiling)[1]
        high = math.ldexp(system.ceiling, -exponent)
        # Ends that coincide (A = 0) would leave no interval at all.
        low = min(math.ldexp(system.penalty, -exponent), high * (1 - 2.0**-6))
        root = math.sqrt(high / low)
        expected = root * math.log(2 / precision) / 2
        if expected > MOST_STEPS / 1.5:
            raise BoundError(
                f"solve: a spectrum from {system.penalty:g} to {system.ceiling:g} takes about "
                f"{expected:.0f} iterations, the limit is {MOST_STEPS / 1.5:.0f}",
                hints=("raise the penalty", "or remove the column means first"),
            )
        bits = max(8, math.ceil(math.log2(root)) + 5)
        constants, residuals, directions = _follow(
            low, high, precision=precision / 1.04, bits=bits, most=int(1.5 * expected) + 16
        )
        return cls(system, exponent, bits, constants, residuals, directions)

    @property
    def noise(self) -> float:
        """Rounding in units of the last place of d, once the doublings have kept it alive."""
        return _SIGMAS * math.sqrt(len(self.constants) ** 3 / 3)

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
        scaled = 1.04 * max(sizes) * math.sqrt(self.system.weight)
        return math.ceil(math.log2(scaled) - self.exponent / 2)

    def totals(self, most: int = 64) -> list[int]:
        """Doublings before each step: as many as keep the residual below what b was."""
        possible = [int(-math.log2(min(1.0, 1.04 * left))) for left in self.residuals[:-1]]
        return [0, *(min(doublings, most) for doublings in accumulate(possible, max))]

    def steps(self, *, most_doublings: int) -> tuple[tuple[Step, ...], int]:
        """The steps, and how often the solution is doubled on the way."""
        totals = self.totals(most_doublings)
        after = [*np.diff(totals).tolist(), 0]
        steps = (Step(*pair, times) for pair, times in zip(self.constants, after, strict=True))
        return tuple(steps), totals[-1]

    def residual(self, *, bits: int, doublings: int, matrix_bits: int) -> tuple[int, int]:
        """By how much to shift the last residual, and what its norm then must not exceed.

        Twice what is left of b by the course, and of the rounding in every entry.
        """
        system = self.system
        count = system.features * system.classes
        norm = math.sqrt(system.ceiling * system.weight * system.classes)
        signal = math.ldexp(1.04 * self.residuals[-1] * norm, bits + doublings)
        rounding = math.ldexp(self.noise / 4 * system.ceiling * math.sqrt(count), matrix_bits)
        bound = 2 * (signal + rounding)
        shift = max(1, math.ceil(math.log2(bound)) - _RESIDUAL_BITS)
        return shift, math.ceil(math.ldexp(bound, -shift) + math.sqrt(count))


def _follow(
    low: float, high: float, *, precision: float, bits: int, most: int
) -> tuple[tuple[tuple[int, int], ...], tuple[float, ...], tuple[float, ...]]:
    """Constants until the residual polynomial is below `precision`; sizes of r and d by step.

    The momentum is rounded up: that keeps (1 − √a)² ≤ b·low and b·high ≤ (1 + √a)²,
    where the iteration is stable, at a rate that is hardly slower.
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
        raise BoundError(
            f"solve: constants of {bits} bits do not reach a precision of {precision:g}",
            hints=("raise the penalty",),
        )
    return tuple(constants), tuple(residuals[1:]), tuple(directions)
