"""Doors that hand out given words, so that a test can try every mask there is."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import Entropy


class GivenWords(Entropy):
    """Draws exactly these words, one after the other."""

    def __init__(self, words: Iterable[int]) -> None:
        self._words = iter(words)

    def read(self, count: int) -> bytes:
        assert count % 8 == 0, "only words are given"
        return b"".join(next(self._words).to_bytes(8, "little") for _ in range(count // 8))


def grid(*sizes: int) -> list[NDArray[np.uint64]]:
    """Every combination of numbers below the sizes, as one flat array per number."""
    axes = np.meshgrid(*(np.arange(size, dtype=np.uint64) for size in sizes), indexing="ij")
    return [axis.ravel() for axis in axes]


def words(array: NDArray[np.uint64]) -> Sequence[int]:
    return [int(word) for word in array.ravel()]
