"""RadoBoost (Nock and others, 2015): one feature a round, weights on rados instead of documents."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce.errors import InputError
from sottovoce.rados.rows import Discreet, Floats, dense_rados

# |r| is clipped here, so that no round takes an unbounded step.
LARGEST_EDGE = 0.8
SMALLEST_STEP = 1e-6
# If one rado has nearly all the weight, there is nothing more to learn.
LARGEST_WEIGHT = 1 - 1e-4


@dataclass(frozen=True, repr=False)
class Boosted(Discreet):
    """θ, and the number of rounds."""

    theta: Floats
    rounds: int


def boost(rados: Any, *, rounds: int = 100) -> Boosted:
    """Learn θ from rados (rows); stops early when a step is tiny or one rado outweighs all."""
    rows = dense_rados(rados)
    if rounds < 1:
        raise InputError(f"boost: expected at least 1 round, found {rounds}")
    largest = np.abs(rows).max(axis=0)
    # A column of zeros gets edge 0, so an informative column is always chosen before it.
    edges = np.divide(rows, largest, out=np.zeros_like(rows), where=largest > 0)
    theta = np.zeros(rows.shape[1])
    weights = np.full(len(rows), 1 / len(rows))
    for done in range(rounds):
        r = weights @ edges
        k = int(np.argmax(np.abs(r)))
        edge = float(np.clip(r[k], -LARGEST_EDGE, LARGEST_EDGE))
        step = np.log((1 + edge) / (1 - edge)) / (2 * largest[k]) if largest[k] > 0 else 0.0
        if abs(step) < SMALLEST_STEP:
            return Boosted(theta, done)
        theta[k] += step
        weights *= (1 - edge * edges[:, k]) / (1 - edge**2)
        weights /= weights.sum()
        if weights.max() > LARGEST_WEIGHT:
            return Boosted(theta, done + 1)
    return Boosted(theta, rounds)
