"""The largest weight that contributions may have, compared with their rows.

Σ w x xᵀ of rows of length at most L has a trace of at most m·L², and Σ w x y a length of at most
m·L in every class. If peers contribute something else in place of these sums, an honest
contribution may be heavier, by factors that every party computes in the same way.

Sampled rados: A is the mean of (Xᵀσ)(Xᵀσ)ᵀ over n signatures, and b is off by the mean of Xᵀσ. Both
lengths are convex functions of the signs that change by at most √(m·L²/n) when the signs change by
1. So neither exceeds its mean by more than t times that, except with probability e^(−t²/8)
(Talagrand). Numbers that are multiplied under encryption or in shares are rounded more coarsely
first.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Self

from sottovoce.study.choices import Contribution
from sottovoce.study.plan import StudyPlan

# Honest rados are heavier with a probability of e^-50.
_FURTHEST = 20.0
# The rounding error of rows or block columns with twelve fraction bits, squared and added up.
_COARSE = 1 / 64


@dataclass(frozen=True)
class RowLimits:
    """The factors by which trace and right-hand side may exceed those of the rows themselves."""

    trace: float = 1.0
    length: float = 1.0

    @classmethod
    def of(cls, plan: StudyPlan, *, multiplied: bool = False) -> Self:
        """Return the limits for a plan's contributions; `multiplied` if A is a sealed product."""
        trace = length = 1.0
        if plan.contribution is Contribution.RADOS:
            trace = (1 + _FURTHEST / sqrt(plan.rados)) ** 2
            length = 1 + (1 + _FURTHEST) / sqrt(plan.rados)
        if multiplied or plan.arrangement.by_features:
            trace, length = trace + _COARSE, length + _COARSE
        return cls(trace, length)
