"""Losses of a linear classifier θ with their gradients: over documents, over rados, over moments.

Over all 2^m rados they are the same losses twice (tests/rados/test_losses.py):
logistic(θ) = log 2 + exponential(θ)/m, and square(θ/2) = 1 + (2/m)·m_loss(θ).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp, softmax

from sottovoce.rados.closed_form import as_penalty
from sottovoce.rados.moments import RadoMoments
from sottovoce.rados.observations import Part
from sottovoce.rados.rows import Discreet, Floats, Rows


@dataclass(frozen=True, repr=False)
class RadoLoss(Discreet):
    """The value of a loss at some θ, and its gradient there; losses add."""

    value: float
    gradient: Floats

    def __add__(self, other: "RadoLoss") -> "RadoLoss":
        return RadoLoss(self.value + other.value, self.gradient + other.gradient)


def logistic(theta: Floats, part: Part) -> RadoLoss:
    """Mean of log(1 + exp(−y θᵀx)) over documents."""
    margins = part.labels * (part.rows @ theta)
    pull = -part.labels * expit(-margins) / len(margins)
    return RadoLoss(float(np.logaddexp(0, -margins).mean()), np.asarray(pull @ part.rows))


def square(theta: Floats, part: Part) -> RadoLoss:
    """Mean of (1 − y θᵀx)² over documents."""
    gaps = part.labels - part.rows @ theta
    return RadoLoss(float(np.mean(gaps**2)), np.asarray(-2 / len(gaps) * (gaps @ part.rows)))


def exponential(theta: Floats, rados: Rows) -> RadoLoss:
    """Log of the mean of exp(−θᵀπ) over rados, safe at any magnitude."""
    exponents = -(rados @ theta)
    value = float(logsumexp(exponents)) - float(np.log(len(exponents)))
    return RadoLoss(value, np.asarray(-(softmax(exponents) @ rados)))


def m_loss(theta: Floats, moments: RadoMoments) -> RadoLoss:
    """−(mean − ½ variance) of θᵀπ, for moments of one class."""
    mean, pulled = moments.mean[:, 0], moments.covariance @ theta
    return RadoLoss(float(-theta @ mean + theta @ pulled / 2), pulled - mean)


def ridge_penalty(theta: Floats, penalty: Any) -> RadoLoss:
    """θᵀΓθ, for Γ given as one number or as a number per feature."""
    diagonal = as_penalty(penalty, features=len(theta))
    return RadoLoss(float(theta @ (diagonal * theta)), 2 * diagonal * theta)
