"""Rounding of counts that leave a site, so that they do not reveal single documents."""

from math import isqrt

import numpy as np
from numpy.typing import NDArray

Counted = NDArray[np.int64]

STEP = 3
"""Counts of features are rounded to powers of this."""
_POWERS = 30
_GRID = np.array([0, *(STEP**k for k in range(1, _POWERS))], np.int64)
# A count from here on is nearer, by its ratio, to the next power: no whole number is in the middle.
_FROM = np.array([2, *(isqrt(STEP ** (2 * k + 1)) + 1 for k in range(1, _POWERS - 1))], np.int64)


def rounded_up(number: int) -> int:
    """Return the next number of two significant digits: 1,234 becomes 1,300."""
    unit = int(10 ** max(0, len(str(number)) - 2))
    return -(-number // unit) * unit


def to_powers(counts: Counted) -> Counted:
    """Round every count to the nearest of 0, 3, 9, 27, 81, … by ratio; 1 becomes 0."""
    return np.asarray(_GRID[np.searchsorted(_FROM, counts, side="right")])
