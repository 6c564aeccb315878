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
# The relative error of a number of single precision.
_SINGLE = 2.0**-24


def upper_end(matrix: Floats) -> float:
    """Return a bound of the eigenvalues of second moments, given their upper triangle."""
    from scipy.linalg.blas import ssymv

    # Single precision takes half the memory. BLAS reads columns first, so our upper triangle is its
    # lower one.
    sizes: Any = np.abs(matrix, dtype=np.float32).T
    x = _positive(ssymv(1.0, sizes, np.ones(len(matrix), np.float32), lower=1))
    best = np.inf
    for _ in range(_ROUNDS):
        following = ssymv(1.0, sizes, x, lower=1)
        quotients = following.astype(np.float64) / x
        best = min(best, float(quotients.max()))
        # The Rayleigh quotient is a lower bound: stop when the two are close.
        if best <= _TIGHT * float(x @ following) / float(x @ x):
            break
        x = _positive(following)
    # Each sum has as many terms as the matrix has columns, none of them negative, so this covers
    # the rounding of all of them and of the sizes.
    best *= 1 + 2 * (len(matrix) + 4) * _SINGLE
    # Moments have no negative eigenvalue, so their trace is an upper bound, too.
    return min(best, float(np.trace(matrix)) * (1 + 1e-12))


def _positive(x: Any) -> Any:
    """Return this direction with a largest entry of 1, and no entry that is nearly 0."""
    return np.maximum(x / (x.max() or np.float32(1)), np.float32(_FLOOR))
