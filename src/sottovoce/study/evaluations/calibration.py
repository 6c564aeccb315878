"""Calibration: the share of a class among the rows with a similar score, in eight bins.

The bins are computed from the points that a joint ROC shows (`roc.py`), so they reveal no more than
it does. With more than two sealed classes they are bins of the margin by which a label won, and an
asker counts its own held-out documents. Neighbouring bins are joined until there are at most eight
and the share rises from each bin to the next.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sottovoce.study.evaluations.roc import Roc, RocSide

MOST_BINS = 8
"""The number of bits that name one of eight bins."""

MARGINS = (0.0625, 0.125, 0.1875, 0.25, 0.375, 0.5, 0.75)
"""The margins that separate the eight bins."""


@dataclass(frozen=True)
class ScoreBin:
    """Scores from `low` to below `high`: how many rows have them, and how many of the class."""

    low: float
    high: float
    rows: float
    of_class: float

    @property
    def share(self) -> float:
        """The share of the class, moved a little towards one half if there are few rows."""
        return (self.of_class + 0.5) / (self.rows + 1.0)

    def joined(self, higher: "ScoreBin") -> "ScoreBin":
        """Return this bin joined with the next higher one."""
        rows, of_class = self.rows + higher.rows, self.of_class + higher.of_class
        return ScoreBin(self.low, higher.high, rows, of_class)


@dataclass(frozen=True)
class Calibration:
    """The bins of one class's scores, from the lowest to the highest."""

    bins: tuple[ScoreBin, ...]

    @classmethod
    def of(cls, roc: Roc, sides: tuple[RocSide, RocSide]) -> Self:
        """Return the bins between the points of a ROC, given both sides' numbers of rows."""
        bins = _evened(_rising(tuple(_between(roc, sides))))
        return cls(bins)

    @classmethod
    def of_margins(
        cls, numbers: NDArray[np.int64], right: NDArray[np.bool_], *, accuracy: float
    ) -> Self:
        """Return how often labels were right, by the bin of their margin (`MARGINS`).

        Every bin gets one additional row, which is right with the probability `accuracy`.
        """
        bins = len(MARGINS) + 1
        rows = np.bincount(numbers, minlength=bins) + 1.0
        hits = np.bincount(numbers, right.astype(np.float64), minlength=bins) + accuracy
        edges = (0.0, *MARGINS, np.inf)
        parts = zip(edges, edges[1:], rows.tolist(), hits.tolist(), strict=False)
        return cls(_rising([ScoreBin(*part) for part in parts]))

    @property
    def edges(self) -> tuple[float, ...]:
        """The scores at which a bin ends and the next one begins; at most seven."""
        return tuple(part.high for part in self.bins[:-1])

    @property
    def shares(self) -> tuple[float, ...]:
        """The probability of the class in every bin, which rises."""
        return tuple(part.share for part in self.bins)

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of the class for every score."""
        numbers = np.searchsorted(np.array(self.edges), scores, side="right")
        return np.array(self.shares)[numbers]


def _between(roc: Roc, sides: tuple[RocSide, RocSide]) -> Iterator[ScoreBin]:
    """Yield the counts between neighbouring points, from the lowest scores to the highest."""
    edges = (np.inf, *roc.thresholds, -np.inf)
    own = np.array(roc.true_positive_rate) * sides[0].rows
    other = np.array(roc.false_positive_rate) * sides[1].rows
    for place in reversed(range(len(edges) - 1)):
        mine = float(own[place + 1] - own[place])
        rows = mine + float(other[place + 1] - other[place])
        yield ScoreBin(float(edges[place + 1]), float(edges[place]), rows, mine)


def _rising(bins: Sequence[ScoreBin]) -> tuple[ScoreBin, ...]:
    """Join neighbouring bins until no share falls."""
    kept: list[ScoreBin] = []
    for part in bins:
        kept.append(part)
        while len(kept) > 1 and kept[-2].share >= kept[-1].share:
            higher = kept.pop()
            kept[-1] = kept[-1].joined(higher)
    return tuple(kept)


def _evened(bins: Sequence[ScoreBin]) -> tuple[ScoreBin, ...]:
    """Join the two neighbours with the fewest rows until there are at most eight bins."""
    kept = list(bins)
    while len(kept) > MOST_BINS:
        place = min(range(len(kept) - 1), key=lambda place: kept[place].rows + kept[place + 1].rows)
        kept[place : place + 2] = [kept[place].joined(kept[place + 1])]
    return tuple(kept)
