"""A guaranteed upper bound of a peer's own spectrum, found with a few products.

For a matrix without negative entries and any x > 0, the largest eigenvalue is at most max (Ax)_i /
x_i (Collatz and Wielandt), and power iteration makes that bound tight. Text has no negative
entries. For other rows the absolute values give an upper bound, too; for rows of text measured from
near their mean it is at most about 1.5 times the largest eigenvalue. The sum of all eigenvalues,
none of which is negative, is another bound.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ROUNDS = 30
# The result is rounded up to two digits, so more precision would be useless.
_TIGHT = 1.005
# Every x_i is at least this share of the largest, so that all quotients are defined.
_FLOOR = 1e-9


def upper_end(matrix: Floats) -> float:
    """Return a bound of the eigenvalues of second moments, given their upper triangle."""
    from scipy.linalg.blas import dsymv

    # BLAS reads columns first, so our upper triangle is its lower one.
    sizes: Any = np.abs(matrix).T
    x = dsymv(1.0, sizes, np.ones(len(matrix)), lower=1)
    x = np.maximum(x, _FLOOR * max(float(x.max()), 1.0))
    best = np.inf
    for _ in range(_ROUNDS):
        following = dsymv(1.0, sizes, x, lower=1)
        quotients = following / x
        best = min(best, float(quotients.max()))
        # The Rayleigh quotient is a lower bound: stop when the two are close.
        if best <= _TIGHT * float(x @ following) / float(x @ x):
            break
        x = np.maximum(following, _FLOOR * float(following.max()))
    # Moments have no negative eigenvalue, so their trace is an upper bound, too. The factor covers
    # rounding errors of sums of floats.
    return min(best, float(np.trace(matrix))) * (1 + 1e-12)
