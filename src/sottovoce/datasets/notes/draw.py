"""Seeded draws that come out the same on every machine: one uniform number at a time."""

import random
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, TypeVar

T = TypeVar("T")


class Draw:
    """A stream of draws; it rests on `random()` alone, which Python promises never to change."""

    def __init__(self, seed: str) -> None:
        self.unit = random.Random(seed).random  # noqa: S311 - made-up notes hide nothing

    def chance(self, probability: float) -> bool:
        """True with that probability."""
        return self.unit() < probability

    def below(self, bound: int) -> int:
        """A whole number from 0 to `bound` − 1."""
        return int(self.unit() * bound)

    def between(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def pick(self, items: Sequence[T]) -> T:
        """One of the items, each as likely."""
        return items[int(self.unit() * len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in a random order."""
        return [item for _, item in sorted(((self.unit(), item) for item in items), key=_first)]


def _first(pair: tuple[float, object]) -> float:
    return pair[0]


@dataclass(frozen=True, slots=True)
class Menu(Generic[T]):
    """Items with how often each is chosen."""

    items: tuple[T, ...]
    cumulative: tuple[float, ...]

    @classmethod
    def weighted(cls, items: Sequence[T], weights: Sequence[float]) -> "Menu[T]":
        """A menu by weights, which need not add up to one."""
        total = sum(weights)
        return cls(tuple(items), tuple(accumulate(weight / total for weight in weights)))

    @classmethod
    def zipf(cls, items: Sequence[T]) -> "Menu[T]":
        """A menu by rank, as words are in every text: the first often, the last seldom."""
        return cls.weighted(items, [(rank + 1.5) ** -1.0 for rank in range(len(items))])

    def draw(self, draw: Draw) -> T:
        """One item."""
        return self.items[min(bisect_right(self.cumulative, draw.unit()), len(self.items) - 1)]
