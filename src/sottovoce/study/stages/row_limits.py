"""The largest weight that contributions may have, compared with the rows that they stand for.

Σ w x xᵀ of rows of length at most L has a trace of at most m·L², and Σ w x y a length of at most
m·L in every class. Where something else is contributed that stands for them, it may honestly be
heavier, by factors that everybody works out alike.

Sampled rados: A is the mean of (Xᵀσ)(Xᵀσ)ᵀ over n signatures, and b is off by the mean of Xᵀσ. Both
lengths are convex functions of the signs that change by no more than √(m·L²/n) when the signs
change by 1, so neither is longer than its mean and t times that, but for e^(−t²/8) (Talagrand).
What is multiplied under encryption or in shares is written more coarsely before.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Self

from sottovoce.study.choices import Contribution
from sottovoce.study.plan import StudyPlan

# e^-50: so rarely honest rados are heavier.
_FURTHEST = 20.0
# Rows or block columns of twelve fraction bits: squares of hundreds of them are off by less.
_COARSE = 1 / 64


@dataclass(frozen=True)
class RowLimits:
    """By which factors trace and right-hand side may exceed those of the rows themselves."""

    trace: float = 1.0
    length: float = 1.0

    @classmethod
    def of(cls, plan: StudyPlan, *, multiplied: bool = False) -> Self:
        """For what a plan has peers contribute; `multiplied` where A is a product made sealed."""
        trace = length = 1.0
        if plan.contribution is Contribution.RADOS:
            trace = (1 + _FURTHEST / sqrt(plan.rados)) ** 2
            length = 1 + (1 + _FURTHEST) / sqrt(plan.rados)
        if multiplied or plan.arrangement.by_features:
            trace, length = trace + _COARSE, length + _COARSE
        return cls(trace, length)
