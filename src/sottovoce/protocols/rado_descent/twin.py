"""The ideal of the descent: the same integers in the clear, rounding down.

A run on ciphertexts must agree with it, up to the few units lost in truncations and division. The
ideal also checks what a run on ciphertexts cannot see: that exponents, θ and the loss stay within
the plan's ranges.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import BoundError, MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Plain
from sottovoce.protocols.rado_descent.plan import COEFFICIENT_BITS, DescentPlan
from sottovoce.protocols.rado_descent.range_check import keeps_range
from sottovoce.protocols.two_party.exponential import plain_exponential

Wide = NDArray[Any]


def plain_descent(rados: Plain, plan: DescentPlan) -> Plain:
    """θ after all steps, on the grid on which the evaluator holds it."""
    if rados.shape != (plan.rados, plan.features):
        raise MismatchError(
            f"rados: expected {plan.rados} of {plan.features} features, found {rados.shape}"
        )
    rows = rados.integers.astype(object)
    ahead, theta = (np.zeros(plan.features, dtype=object) for _ in range(2))
    for step in range(plan.schedule.steps):
        pull = _pull(rows, ahead, plan) if step else rows.sum(axis=0) * mean_factor(plan)
        following = moved(ahead, pull, plan)
        ahead = accelerated(following, theta, plan, step) >> plan.ahead_cut.bits
        theta = following
        Plain(ahead, plan.theta_scale)
    return Plain(theta, plan.following_scale)


def exponents(rows: Wide, ahead: Wide, plan: DescentPlan) -> Plain:
    """Return −π·ahead, counted from the schedule's centre or their mean; raise if out of range."""
    scale = plan.exponentials.input_scale
    if not plan.centred:
        return Plain(-(rows @ ahead) - centre_units(plan), scale)
    x = -(columns_of(rows, plan).T @ ahead)
    check = plan.range_check
    if not keeps_range(Plain(x, check.exponents), check):
        raise BoundError(f"rado-descent: expected exponents within ±{check.bound}, found others")
    return Plain(x, scale)


def columns_of(rows: Wide, plan: DescentPlan) -> Wide:
    """Rados by feature, as exponents are made of them: n·π − Σπ where they are centred."""
    if not plan.centred:
        return np.asarray(rows.T)
    return np.asarray((rows * len(rows) - rows.sum(axis=0)).T)


def centre_units(plan: DescentPlan) -> int:
    """The schedule's centre on the grid of the exponents."""
    return round(plan.schedule.centre * float(1 << plan.exponentials.input_bits))


def mean_factor(plan: DescentPlan) -> int:
    """The factor that turns the sum of all rados into their mean, on the grid of pulls."""
    return round((1 << plan.pull_bits - plan.bits.rado) / plan.rados)


def quotient(sums: Wide, total: int, plan: DescentPlan) -> Wide:
    """Σwπ / Σw, exactly, rounded down."""
    return np.asarray((sums << plan.pull_bits - plan.bits.rado) // total)


def moved(ahead: Wide, pull: Wide, plan: DescentPlan) -> Wide:
    """θ' = shrink·ahead + rate·pull."""
    return np.asarray(ahead * (plan.shrink << plan.pull_bits - plan.bits.theta) + pull * plan.rate)


def accelerated(following: Wide, theta: Wide, plan: DescentPlan, step: int) -> Wide:
    """θ' + momentum·(θ' − θ)."""
    momentum = plan.momentum(step)
    return np.asarray(following * ((1 << COEFFICIENT_BITS) + momentum) - theta * momentum)


def _pull(rows: Wide, ahead: Wide, plan: DescentPlan) -> Wide:
    exponential = plain_exponential(exponents(rows, ahead, plan), plan.exponentials)
    weights = exponential.integers.astype(object) >> plan.weight_cut.bits
    total = int(weights.sum())
    low, high = (Scale.covering(end, fraction_bits=plan.bits.weight) for end in plan.total_range)
    if not low.bound <= total <= high.bound:
        unit = 2.0**plan.bits.weight
        raise BoundError(
            f"descent: expected weights that add up to {plan.total_range[0]:.3g} … "
            f"{plan.total_range[1]:.3g}, found {total / unit:.3g}",
            hints=("use a smaller step size, fewer steps, or a lower floor",),
        )
    return quotient(weights @ rows, total, plan)
