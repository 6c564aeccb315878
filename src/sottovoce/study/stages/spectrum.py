"""A certain upper bound of a peer's own spectrum, found in a few products.

For a matrix without negative entries and any x > 0, the largest eigenvalue is at most max (Ax)_i /
x_i (Collatz and Wielandt), and power iteration makes that tight. Text has no negative entries;
elsewhere the absolute values give an upper end, too; for rows of text measured from near their mean
it is at most about half as much again. The sum of all eigenvalues, none of which is negative, is
another one.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ROUNDS = 30
# The result is rounded up to two digits, so more precision is useless.
_TIGHT = 1.005
# Every x stays this share of the largest above zero, so that no quotient is without meaning.
_FLOOR = 1e-9


def upper_end(matrix: Floats) -> float:
    """A number that no eigenvalue of second moments exceeds, given by their upper triangle."""
    from scipy.linalg.blas import dsymv

    # BLAS reads columns first: the upper triangle of rows is its lower one.
    sizes: Any = np.abs(matrix).T
    x = dsymv(1.0, sizes, np.ones(len(matrix)), lower=1)
    x = np.maximum(x, _FLOOR * max(float(x.max()), 1.0))
    best = np.inf
    for _ in range(_ROUNDS):
        following = dsymv(1.0, sizes, x, lower=1)
        quotients = following / x
        best = min(best, float(quotients.max()))
        # The Rayleigh quotient is a lower end: between the two there is nothing left to gain.
        if best <= _TIGHT * float(x @ following) / float(x @ x):
            break
        x = np.maximum(following, _FLOOR * float(following.max()))
    # Moments have no negative eigenvalue, so their trace is an upper end, too. Sums of floats are
    # off by a few units in the last place.
    return min(best, float(np.trace(matrix))) * (1 + 1e-12)
