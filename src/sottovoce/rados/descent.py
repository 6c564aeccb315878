"""RadoLearn: minimise J(θ) = log mean exp(−θᵀπ) + θᵀΓθ over a sample of rados.

On n sampled rados the loss approximates the logistic loss only while the variance of θᵀπ stays
below about ln n. Beyond that a few rados have all the weight, the loss may fall without bound, and
descent moves in a bad direction. So θ is kept inside θᵀMθ ≤ ln n, where M, the loss's curvature at
θ = 0, is the rados' covariance plus 2Γ. In coordinates in which M is the identity, that region is a
ball and the loss is round at the start: gradient descent with Nesterov's momentum needs ten to
twenty steps, each projected back to the ball.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from sottovoce.errors import InputError
from sottovoce.rados.closed_form import as_penalty
from sottovoce.rados.losses import RadoLoss, exponential, ridge_penalty
from sottovoce.rados.moments import RadoMoments
from sottovoce.rados.rows import Discreet, Floats, dense_rados

# Keeps M invertible if a feature occurs in no rado and has no penalty.
FLOOR = 1e-9


class Halt(StrEnum):
    """Why descent ended."""

    STILL = "steps no longer move"
    STEPS = "all steps are taken"


@dataclass(frozen=True, repr=False)
class Descended(Discreet):
    """θ, the number of steps, why it ended, and whether the edge of the ball limited it."""

    theta: Floats
    steps: int
    halt: Halt
    at_edge: bool


def descend(rados: Any, *, penalty: Any, steps: int = 200, tolerance: float = 1e-4) -> Descended:
    """Learn θ from rados (rows) under the penalty Γ, until a step moves less than `tolerance`.

    Movement is measured where M is the identity, relative to the ball's radius.
    """
    rows = dense_rados(rados)
    if steps < 1:
        raise InputError(f"descent: expected at least 1 step, found {steps}")
    if not tolerance > 0:
        raise InputError(f"descent: expected a tolerance above 0, found {tolerance:g}")
    gamma = as_penalty(penalty, features=rows.shape[1])
    root = _root(rows, gamma)
    radius = float(np.sqrt(np.log1p(len(rows))))

    def objective(u: Floats) -> RadoLoss:
        theta = solve_triangular(root, u)
        loss = exponential(theta, rows) + ridge_penalty(theta, gamma)
        return RadoLoss(loss.value, solve_triangular(root, loss.gradient, trans="T"))

    here = ahead = np.zeros(rows.shape[1])
    rate, momentum, halt, done = 1.0, 1.0, Halt.STEPS, 0
    while done < steps and halt is Halt.STEPS:
        rate, step = _step(objective, ahead, rate=2 * rate, radius=radius)
        moved = step - here
        if np.linalg.norm(moved) <= tolerance * radius:
            halt = Halt.STILL
        # Momentum that points uphill is dropped (O'Donoghue and Candès, 2015).
        momentum = 1.0 if (ahead - step) @ moved > 0 else momentum
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = step + (momentum - 1) / following * moved
        here, momentum, done = step, following, done + 1
    at_edge = bool(np.linalg.norm(here) >= radius * (1 - 1e-9))
    return Descended(solve_triangular(root, here), done, halt, at_edge)


def _root(rados: Floats, gamma: Floats) -> Floats:
    """The upper triangle R with RᵀR = M: θ = R⁻¹u turns M's ellipsoid into a ball of u."""
    curvature = RadoMoments.sampled(rados).covariance + 2 * np.diag(gamma)
    floor = FLOOR * (float(np.mean(np.diag(curvature))) or 1.0)
    return np.asarray(cholesky(curvature + floor * np.eye(len(gamma))))


def _step(
    objective: Callable[[Floats], RadoLoss], start: Floats, *, rate: float, radius: float
) -> tuple[float, Floats]:
    """Take one projected step, halving its rate until the loss falls as its slope predicts."""
    slope = objective(start)
    while True:
        step = start - rate * slope.gradient
        step = step * min(1.0, radius / max(float(np.linalg.norm(step)), radius))
        moved = step - start
        promised = slope.value + slope.gradient @ moved + moved @ moved / (2 * rate)
        slack = 1e-12 * (1 + abs(slope.value))
        if objective(step).value <= promised + slack:
            return rate, step
        rate /= 2
