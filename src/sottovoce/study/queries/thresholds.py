"""Public thresholds on scores: those of a ROC, and those from which on a class is chosen.

A threshold t is for the score of a row of unit length. A sealed score is larger by the factor of
the row's norm, which its owner knows. The owner subtracts t·norm from its share of the score, and
the sign of the difference says on which side of t the row lies. Nobody else takes part. So an asker
may have its own thresholds for every row, which nobody learns. In this way it can add scores of its
own model to sealed ones.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.errors import SettingFault
from sottovoce.hints import PlanSetting
from sottovoce.numbers.fixed import Scale
from sottovoce.text.features import NORM_PARTS
from sottovoce.text.labels import Labels

Floats = NDArray[np.float64]

MOST_THRESHOLDS = 32
LARGEST_THRESHOLD = 1.0
"""Labels are -1 and 1, and scores are near these."""

ROC_THRESHOLDS = tuple(number / 16 for number in range(-16, 16))


def threshold_faults(thresholds: tuple[float, ...]) -> Iterator[SettingFault]:
    """Yield the faults of a ROC's thresholds."""
    count_found = f"found {len(thresholds)}"
    yield SettingFault(
        len(thresholds) > MOST_THRESHOLDS,
        "thresholds",
        f"expected at most {MOST_THRESHOLDS} thresholds (more would show scores), {count_found}",
        PlanSetting("thresholds", (-0.5, 0.0, 0.5)),
    )
    rising = all(threshold < other for threshold, other in pairwise(thresholds))
    yield SettingFault(
        not rising or not all(abs(threshold) <= LARGEST_THRESHOLD for threshold in thresholds),
        "thresholds",
        f"expected rising thresholds from -1 to 1, found {thresholds!r}",
    )


def operating_faults(labels: Labels, point: tuple[float, ...]) -> Iterator[SettingFault]:
    """Yield the faults of an operating point."""
    expected = f"{labels.width} threshold(s), for {', '.join(scored_names(labels))}"
    yield SettingFault(
        len(point) not in {0, labels.width},
        "operating_point",
        f"expected an operating point of {expected}, found {len(point)}",
    )
    yield SettingFault(
        not all(
            math.isfinite(threshold) and abs(threshold) <= LARGEST_THRESHOLD for threshold in point
        ),
        "operating_point",
        f"expected an operating point of thresholds from -1 to 1, found {point!r}",
    )


def scored_names(labels: Labels) -> tuple[str, ...]:
    """Return the class of every score; of two exclusive classes it is the second."""
    return labels.names[-1:] if labels.width == 1 else labels.names


def norms_of(rows: sparse.csr_array) -> NDArray[np.int64]:
    """Return the norm of every integer row, in sixteenths: its last column."""
    return np.asarray(rows[:, [-1]].toarray(), np.int64)[:, 0]


def row_thresholds(point: Sequence[float], own: Floats | None, *, rows: int, width: int) -> Floats:
    """Return every row's thresholds (rows × scores): the operating point plus `own` ones.

    `own` has one threshold for each score, for all rows or for each row. Rows that only fill up a
    batch come last and need none. All are limited to the range for which scores have room.
    """
    whole = np.zeros((rows, width))
    if own is not None:
        whole[: len(own) if own.ndim > 1 else rows] = own
    return np.asarray(np.clip(whole + (point or 0.0), -LARGEST_THRESHOLD, LARGEST_THRESHOLD))


def shifts(
    rows: sparse.csr_array, thresholds: Sequence[float] | Floats, *, bits: int
) -> NDArray[np.int64]:
    """Return t·norm for every row and every threshold (or its own), with `bits` fraction bits."""
    unit = np.ldexp(np.array(thresholds, np.float64), bits) / NORM_PARTS
    return np.rint(norms_of(rows)[:, np.newaxis] * unit).astype(np.int64)


def unit_scores(rows: sparse.csr_array, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scores of rows of unit length, from those of integer rows."""
    return np.asarray(scores * (NORM_PARTS / norms_of(rows)[:, np.newaxis]))


def shift_scale(largest_norm: float, *, bits: int) -> Scale:
    """Return the scale of t·norm."""
    return Scale(bits, math.ceil(math.ldexp(LARGEST_THRESHOLD * largest_norm, bits)) + 1)
