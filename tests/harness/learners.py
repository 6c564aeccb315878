"""Small studies for the encrypted learners: numeric tables, and text that attacks can rebuild."""

import numpy as np

from sottovoce.rados import Part

NAMES = ("alice", "bob", "carol", "dave")


def numeric_parts(peers: int = 3, *, features: int = 4, rows: int = 12, seed: int = 0):
    """Labelled rows with entries up to 1, dealt to named peers."""
    rng = np.random.default_rng(seed)
    rule = rng.normal(size=features)
    parts = {}
    for name in NAMES[:peers]:
        X = np.round(rng.uniform(-1, 1, (rows, features)), 3)
        y = np.where(X @ rule + 0.3 * rng.normal(size=rows) > 0, 1.0, -1.0)
        parts[name] = Part.of(X, y)
    return parts


def text_parts(peers: int = 3, *, words: int = 40, documents: int = 8, seed: int = 0):
    """Sparse counts of words, a few in every document: opened moments give them away."""
    rng = np.random.default_rng(seed)
    parts = {}
    for name in NAMES[:peers]:
        X = np.zeros((documents, words))
        for row in X:
            row[rng.choice(words, 5, replace=False)] = rng.integers(1, 4, 5)
        parts[name] = Part.of(X, rng.choice([-1.0, 1.0], documents))
    return parts
