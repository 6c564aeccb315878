"""Small labelled tables for learners: the same from the same seed."""

from itertools import product

import numpy as np

from sottovoce.rados import GivenSignatures, Part


def part(seed: int, rows: int = 30, features: int = 6) -> Part:
    """Documents whose label a linear rule explains, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    y = np.where(X @ rng.normal(size=features) + rng.normal(size=rows) > 0, 1.0, -1.0)
    return Part.of(X, y)


def all_signatures(documents: int) -> GivenSignatures:
    """Every one of the 2^m signatures."""
    return GivenSignatures.of(list(product((-1, 1), repeat=documents)))
