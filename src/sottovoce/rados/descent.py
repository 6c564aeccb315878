"""RadoLearn: minimise J(θ) = log mean exp(−θᵀπ) + θᵀΓθ over a sample of rados.

On n sampled rados the loss stands for the logistic loss only while the variance
of θᵀπ stays below about ln n; beyond, a few rados carry all the weight, the loss
may fall without end, and descent drifts to a bad direction. `descend` keeps θ
inside: a step over that edge is pulled back to it. It is gradient descent with
Nesterov's momentum, a step size found by halving, and a restart of the momentum
where it points uphill.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from sottovoce.errors import InputError
from sottovoce.rados.closed_form import as_penalty
from sottovoce.rados.losses import Loss, exponential, ridge_penalty
from sottovoce.rados.rows import Floats, dense_rados

# How far beyond its first guess a step size may grow: bounds a loss without minimum.
LARGEST_GROWTH = 2.0**10


class Halt(StrEnum):
    """Why descent ended."""

    FLAT = "the gradient is flat"
    STILL = "steps no longer move"
    STEPS = "all steps are taken"


@dataclass(frozen=True)
class Descended:
    """θ, after how many steps, why it ended there, and whether the sample's edge held it back."""

    theta: Floats
    steps: int
    halt: Halt
    at_edge: bool


def descend(rados: Any, *, penalty: Any, steps: int = 200, tolerance: float = 1e-4) -> Descended:
    """Learn θ from rados (rows) under the penalty Γ.

    Ends where the gradient or the movement of θ is below `tolerance`, relative to
    the first gradient and to θ.
    """
    rows = dense_rados(rados)
    if steps < 1:
        raise InputError(f"descent: expected at least 1 step, found {steps}")
    if not tolerance > 0:
        raise InputError(f"descent: expected a tolerance above 0, found {tolerance:g}")
    gamma = as_penalty(penalty, features=rows.shape[1])

    def objective(theta: Floats) -> Loss:
        return exponential(theta, rows) + ridge_penalty(theta, gamma)

    theta = ahead = np.zeros(rows.shape[1])
    slope = objective(theta)
    flat = tolerance * float(np.linalg.norm(slope.gradient))
    rate = largest = 1 / max(float(np.mean(np.sum(rows**2, axis=1))), np.finfo(float).tiny)
    momentum, at_edge = 1.0, False
    for done in range(steps):
        slope = objective(ahead)
        if np.linalg.norm(slope.gradient) <= flat:
            return Descended(ahead, done, Halt.FLAT, at_edge)
        guess = rate if at_edge else min(2 * rate, LARGEST_GROWTH * largest)
        rate = _rate(objective, ahead, slope, guess=guess)
        step, at_edge = _pulled_back(ahead - rate * slope.gradient, rows)
        moved = step - theta
        if np.linalg.norm(moved) <= tolerance * np.linalg.norm(step):
            return Descended(step, done + 1, Halt.STILL, at_edge)
        momentum = 1.0 if at_edge or (ahead - step) @ moved > 0 else momentum
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = step + (momentum - 1) / following * moved
        theta, momentum = step, following
    return Descended(theta, steps, Halt.STEPS, at_edge)


def _rate(
    objective: Callable[[Floats], Loss], start: Floats, slope: Loss, *, guess: float
) -> float:
    """Halve the guess until a step lowers the loss by at least half of what its slope promised."""
    squared = float(slope.gradient @ slope.gradient)
    rate = guess
    while objective(
        start - rate * slope.gradient
    ).value > slope.value - rate / 2 * squared and rate * squared > np.finfo(float).eps * abs(
        slope.value
    ):
        rate /= 2
    return rate


def _pulled_back(theta: Floats, rados: Floats) -> tuple[Floats, bool]:
    """θ, scaled down to where the variance of θᵀπ is ln n if it was above."""
    variance, edge = float(np.var(rados @ theta)), float(np.log(len(rados)))
    return (theta * np.sqrt(edge / variance), True) if variance > edge else (theta, False)
