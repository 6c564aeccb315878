"""Moments that look like those of text: sparse unit rows of frequent and rare words, and a bias."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TextMoments:
    """Rows with their targets, A = XᵀX and b = XᵀY, and rows that nobody trained on."""

    rows: Floats
    targets: Floats
    unseen: Floats

    @property
    def second(self) -> Floats:
        return self.rows.T @ self.rows

    @property
    def products(self) -> Floats:
        return self.rows.T @ self.targets

    @property
    def largest(self) -> float:
        return float(np.linalg.eigvalsh(self.second)[-1])

    def labels(self, theta: Floats) -> NDArray[np.int64]:
        scores = self.unseen @ theta
        return np.argmax(scores, axis=1) if scores.shape[1] > 1 else (scores[:, 0] >= 0) * 1


@lru_cache(maxsize=8)
def text_moments(documents: int, features: int, classes: int = 1, seed: int = 0) -> TextMoments:
    rng = np.random.default_rng(seed)
    kinds = max(2, classes)
    frequency = 1 / np.arange(1, features)
    taste = frequency * np.exp(0.7 * rng.standard_normal((kinds, features - 1)))
    taste /= taste.sum(axis=1, keepdims=True)
    count = documents + documents // 2
    label = rng.integers(0, kinds, count)
    rows = np.zeros((count, features))
    for kind in range(kinds):
        mine = np.flatnonzero(label == kind)
        length = rng.integers(5, 30, len(mine))
        words = rng.choice(features - 1, length.sum(), p=taste[kind])
        np.add.at(rows, (np.repeat(mine, length), words), 1.0)
    rows = np.minimum(rows, 3.0)
    rows[:, :-1] *= 1.0 - np.log(frequency / frequency.sum())
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[:, -1] = 0.3
    sides = label[:, None] == (np.arange(classes) if classes > 1 else np.ones(1))
    targets = np.where(sides, 1.0, -1.0)
    return TextMoments(rows[:documents], targets[:documents], rows[documents:])
