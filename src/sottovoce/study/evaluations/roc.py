"""A joint ROC: the rows of a class, and those of other classes, above every threshold.

Counts come from all peers together (`evaluation.py`) and are shown only if they reveal no small
cell. Between two shown points a side has no rows, or at least as many as the plan's minimum. The
rows below the last point are compared with the shown cells of the confusion table, so that a point
never reveals the content of a cell that is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import InputError, MisuseError
from sottovoce.hints import Hint, PlanSetting

Numbers = NDArray[np.int64]

# Areas that differ by more are not shown as one number.
_WIDEST = 0.2


@dataclass(frozen=True)
class RocSide:
    """The number of rows of a class, or of all others, in a confusion table.

    In `rows` a cell that is left out counts as half the minimum; `shown` are the rows in shown
    cells.
    """

    rows: float
    shown: int
    whole: bool

    def allows(self, above: int, *, fewest: int) -> bool:
        """Return whether this number above a threshold leaves no small number below it."""
        left = self.shown - above
        return left >= fewest or (self.whole and left == 0)


@dataclass(frozen=True)
class Roc:
    """One class's points, from the strictest threshold to the loosest, and the area below them.

    The rates begin at (0, 0) and end at (1, 1); between them is a point for every threshold in
    `thresholds`. The area for all scores, which nobody knows, is in `auc_range`: between two points
    the curve may stay low or rise at once. `auc` is the area under straight lines between them.
    """

    thresholds: tuple[float, ...]
    false_positive_rate: tuple[float, ...]
    true_positive_rate: tuple[float, ...]

    @classmethod
    def of(
        cls,
        thresholds: Sequence[float],
        counts: Numbers,
        sides: tuple[RocSide, RocSide],
        kept: Sequence[int],
    ) -> "Roc":
        """Return the `kept` points of counts (2 sides × thresholds), rows of the class first."""
        rates = [
            (
                0.0,
                *np.minimum(counts[side, list(kept)] / max(sides[side].rows, 1), 1.0).tolist(),
                1.0,
            )
            for side in (1, 0)
        ]
        return cls(tuple(thresholds[place] for place in kept), tuple(rates[0]), tuple(rates[1]))

    @property
    def auc(self) -> float | None:
        """The middle of `auc_range`; None where it could be more than a tenth wrong."""
        span = self.auc_range
        return None if span is None or span[1] - span[0] > _WIDEST else sum(span) / 2

    @property
    def auc_range(self) -> tuple[float, float] | None:
        """The least and the largest area of curves through these points; None without points."""
        if not self.thresholds:
            return None
        steps, rates = np.diff(self.false_positive_rate), np.array(self.true_positive_rate)
        return float(steps @ rates[:-1]), float(steps @ rates[1:])

    @property
    def area(self) -> str:
        """The area in words, as exactly as it is known."""
        if self.auc_range is None:
            return "no point may be shown"
        low, high = self.auc_range
        return f"{low:.2f} to {high:.2f}" if self.auc is None else f"{self.auc:.3f}"

    def youden(self) -> float:
        """Return the threshold with the largest difference of both rates, nearest to 0 if equal."""
        self._require_points()
        gains = np.subtract(self.true_positive_rate, self.false_positive_rate)[1:-1]
        return self.thresholds[self._best(gains)]

    def reaching(self, sensitivity: float) -> float:
        """Return the strictest threshold at which this share of the class is found."""
        if not 0 < sensitivity <= 1:
            raise InputError(f"roc: expected a sensitivity from 0 to 1, found {sensitivity:g}")
        self._require_points()
        for threshold, rate in zip(self.thresholds, self.true_positive_rate[1:-1], strict=True):
            if rate >= sensitivity:
                return threshold
        best = max(self.true_positive_rate[1:-1])
        raise InputError(
            f"roc: expected a point of sensitivity {sensitivity:g}, found at most {best:.3f}"
        )

    def _best(self, gains: NDArray[np.float64]) -> int:
        order = range(len(self.thresholds))
        return max(
            order, key=lambda place: (round(float(gains[place]), 9), -abs(self.thresholds[place]))
        )

    def _require_points(self) -> None:
        if not self.thresholds:
            raise MisuseError(
                "roc: no point of it may be shown, so there is none to choose",
                hints=(Hint("hold out more documents: ", PlanSetting("held_out", 0.3)),),
            )


def shown_points(counts: Numbers, sides: tuple[RocSide, RocSide], *, fewest: int) -> list[int]:
    """Return the thresholds that may be shown, from the strictest to the loosest."""
    kept: list[int] = []
    last = np.zeros(2, np.int64)
    for place in reversed(range(counts.shape[1])):
        step = counts[:, place] - last
        if not step.any():
            continue
        fits = all(gain == 0 or gain >= fewest for gain in step.tolist())
        if fits and all(
            side.allows(int(above), fewest=fewest)
            for side, above in zip(sides, counts[:, place], strict=True)
        ):
            kept.append(place)
            last = counts[:, place]
    return kept


def counted(
    scores: NDArray[np.float64], truth: NDArray[np.bool_], thresholds: Sequence[float]
) -> NDArray[np.uint64]:
    """Count from scores the rows of a class, and of the others, above each threshold.

    Rows × classes in, classes × 2 × thresholds out.
    """
    above = scores[:, :, np.newaxis] >= np.array(thresholds)
    sides = [(above & side[:, :, np.newaxis]).sum(axis=0) for side in (truth, ~truth)]
    return np.stack(sides, axis=1).astype(np.uint64)
