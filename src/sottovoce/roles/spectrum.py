"""An upper end of a peer's own spectrum that is never too low, in a few products.

For a matrix without negative entries and any x > 0, the largest eigenvalue is at most
max (Ax)_i / x_i (Collatz and Wielandt), and power iteration makes that tight. Text has no
negative entries; elsewhere the absolute values give an upper end, too.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ROUNDS = 60
_TIGHT = 1.001
# Every x stays this share of the largest above zero, so that no quotient is without meaning.
_FLOOR = 1e-9


def upper_end(matrix: Floats) -> float:
    """A number that no eigenvalue of this symmetric matrix exceeds."""
    sizes = np.abs(matrix)
    x = sizes.sum(axis=0)
    x = np.maximum(x, _FLOOR * max(float(x.max()), 1.0))
    best = np.inf
    for _ in range(_ROUNDS):
        following = sizes @ x
        quotients = following / x
        best = min(best, float(quotients.max()))
        # The Rayleigh quotient is a lower end: between the two there is nothing left to gain.
        if best <= _TIGHT * float(x @ following) / float(x @ x):
            break
        x = np.maximum(following, _FLOOR * float(following.max()))
    # Sums of floats are off by a few units in the last place.
    return best * (1 + 1e-12)
