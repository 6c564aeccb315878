"""The plan of a sealed solve: its steps and its words, from public numbers alone.

The system (A + Γ)θ = b is solved by Chebyshev iteration between a public lower
and upper end of the spectrum. In integers, with A at F fraction bits, d at X,
r = b − Aθ at F + X and 2^e the power of two above the upper end, each step is

    d ← (a_k·2^(F+e)·d + b_k·r) / 2^(F+e+q)      one exact truncation
    θ ← θ + d
    r ← r − A d                                  exact: no rounding at all

with a_k, b_k of q fraction bits. Since r is exact, the next step corrects the rounding errors in d.
The residual shrinks at a rate that is known beforehand, so θ, d and r are doubled from time to time
(`IterationConstants.doublings`): the precision grows while iterating, without a restart. Only the
dividend must stay within 2^62, and that bound is computed here, before anything is sent.
"""

import math
from dataclasses import dataclass
from hashlib import blake2b
from typing import Self

from sottovoce.errors import BoundError
from sottovoce.numbers.fixed import Scale
from sottovoce.protocols.shares.course import (
    MOST_STEPS,
    PRECISION,
    ExactIteration,
    IterationConstants,
    System,
    constant_bits,
    expected_steps,
    noise_bits,
)

# The dividend stays below 2^62: 2^61 for its exact value, and as much for rounding.
_ROOM = 61
# A matrix needs no more bits than these; the rest is for the right-hand side.
_WIDEST = 36


@dataclass(frozen=True)
class ShareSolvePlan:
    """Everything about a sealed solve that both holders and the dealer must agree on."""

    system: System
    matrix_bits: int
    lift: int
    scale_bits: int
    constant_bits: int
    steps: tuple[IterationConstants, ...]
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
        room = _ROOM - matrix_bits - math.frexp(system.ceiling)[1]
        course = ExactIteration.of(system, precision, room=room)
        scale_bits = matrix_bits + course.exponent
        if scale_bits < 1:
            raise BoundError(
                f"solve: a matrix of {matrix_bits} fraction bits and a spectrum below "
                f"2^{course.exponent} has no digits left",
                hints=(f"use at least {8 - course.exponent} fraction bits for the matrix",),
            )
        solution_bits = _ROOM - scale_bits - course.constant_bits - course.direction_bits
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
        """The number of bits by which every step divides."""
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
        """A digest that three parties compare before anything is opened."""
        return blake2b(repr(self).encode(), digest_size=32, person=b"sottovoce/solve2").digest()


def matrix_word_bits(condition: float) -> int:
    """The number of bits that the upper end of a spectrum of this condition may take in a word."""
    steps = min(expected_steps(condition, PRECISION), MOST_STEPS)
    room = _ROOM - constant_bits(condition) - noise_bits(steps)
    return min(room, _WIDEST)


def _check_room(course: "ExactIteration", *, scale_bits: int, lift: int, vector_bits: int) -> None:
    """Refuse a plan without enough room; each error names what to change."""
    left = _ROOM - scale_bits - course.constant_bits
    needed = noise_bits(len(course.constants))
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
