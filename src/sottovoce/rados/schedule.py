"""RadoLearn on a public schedule, which does not depend on the data.

`descend` chooses step sizes and stops depending on the loss, which nobody may see under encryption.
Here the number of steps, the step size and the momentum are public, and exp is the polynomial (1 +
z + z²/2)^(2^k), z = x/2^k: k + 1 squarings, because 1 + z + z²/2 is half of (1 + z)² + 1. Only
ratios of exponentials matter, so a public bound is subtracted from every exponent and nothing
grows. Each line of `descend_on_schedule` is one operation of an encrypted run: matrix × vector,
squarings, a weighted sum of rados, one division, one axpy.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce.errors import BoundError, InputError
from sottovoce.rados.closed_form import as_penalty
from sottovoce.rados.rows import Discreet, Floats, dense_rados


@dataclass(frozen=True)
class Schedule:
    """The public numbers of a descent: steps, step size, the exponents' bound, squarings.

    Exponents keep within `bound` of `centre`. Momentum is rounded to
    `momentum_bits` behind the point where an encrypted run needs it so. The
    defaults suit 1,000 rados of 50 documents each with entries up to 1 in
    magnitude; a step size should be near 1 over the rados' largest variance in
    any direction.
    """

    steps: int = 10
    rate: float = 2.0**-7
    bound: float = 40.0
    squarings: int = 16
    centre: float = 0.0
    momentum_bits: int | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that cannot be a schedule."""
        if self.steps < 1 or self.squarings < 1:
            raise InputError(
                f"schedule: expected at least 1 step and 1 squaring, "
                f"found {self.steps} and {self.squarings}"
            )
        if not (self.rate > 0 and self.bound > 0):
            raise InputError(
                f"schedule: expected a step size and a bound above 0, "
                f"found {self.rate:g} and {self.bound:g}"
            )
        if 4 * self.bound >= 2.0**self.squarings:
            raise InputError(
                f"schedule: expected a bound below 2^{self.squarings - 2}, where the polynomial "
                f"still falls, found {self.bound:g}"
            )

    def momentum(self, step: int) -> float:
        """The part of the last movement that step number `step` (from 0) repeats."""
        exact = step / (step + 3)
        if self.momentum_bits is None:
            return exact
        return round(exact * 2.0**self.momentum_bits) / 2.0**self.momentum_bits

    @property
    def top(self) -> float:
        """The largest exponent that may occur: weights are exp(x − top), so that none exceeds 1."""
        return self.centre + self.bound


@dataclass(frozen=True, repr=False)
class Scheduled(Discreet):
    """θ after the last step, and what occurred on the way.

    `largest_exponent` is the farthest from the schedule's centre, `losses` are
    log mean exp(−θᵀπ) where each step started.
    """

    theta: Floats
    largest_exponent: float
    losses: Floats


def polynomial_exp(x: Floats, schedule: Schedule) -> Floats:
    """exp(x − top) as (1 + z + z²/2)^(2^k) with z = (x − top)/2^k, by k + 1 squarings."""
    doublings = schedule.squarings - 1
    power = 1 + (x - schedule.top) / 2.0**doublings
    power = (power * power + 1) / 2
    for _ in range(doublings):
        power = power * power
    return np.asarray(power)


def descend_on_schedule(rados: Any, *, penalty: Any, schedule: Schedule | None = None) -> Scheduled:
    """Learn θ from rados (rows) under the penalty Γ, as an encrypted run does."""
    plan = schedule or Schedule()
    rows = dense_rados(rados)
    gamma = as_penalty(penalty, features=rows.shape[1])
    theta = ahead = np.zeros(rows.shape[1])
    largest, losses = 0.0, []
    for step in range(plan.steps):
        exponents = -(rows @ ahead)
        largest = max(largest, float(np.abs(exponents - plan.centre).max()))
        if largest > plan.bound:
            around = f" of {plan.centre:g}" if plan.centre else ""
            raise BoundError(
                f"schedule: expected exponents within ±{plan.bound:g}{around}, "
                f"found {largest:.3g} in step {step + 1}",
                hints=("use a smaller step size, fewer steps, or a larger bound",),
            )
        weights = polynomial_exp(exponents, plan)
        losses.append(float(np.log(weights.mean())) + plan.top)
        pull = (weights @ rows) / weights.sum()
        following = ahead + plan.rate * (pull - 2 * gamma * ahead)
        ahead = following + plan.momentum(step) * (following - theta)
        theta = following
    return Scheduled(theta, largest, np.array(losses))
