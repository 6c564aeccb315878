"""An upper bound of a peer's own spectrum, found with some hundred and forty products.

The Lanczos method finds the largest eigenvalue from below, beginning at a random direction. For a
matrix without negative eigenvalues, k products of it leave the result short by more than a share ε
for at most 1.648 √d e^(−√ε (2k − 1)) of all directions, whatever the matrix is (Kuczyński and
Woźniakowski, 1992, theorem 4.2). So 1/(1 − ε) times the result is a bound, but for 2^−64 of them.
A bound from below it would be noticed at the end of the solve, which checks what is left over.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# The share ε, and ln of one over the share of directions.
_SHORT = 1 / 32
_RARE = 64 * math.log(2)
# The relative error of a number of single precision.
_SINGLE = 2.0**-24


def upper_end(matrix: Floats) -> float:
    """Return a bound of the eigenvalues of second moments, given their upper triangle."""
    trace = float(np.trace(matrix))
    if trace <= 0:
        return 0.0
    # Single precision takes half the memory. BLAS reads columns first, so our upper triangle is its
    # lower one.
    single: Any = np.divide(matrix, trace, dtype=np.float32, casting="same_kind").T
    # So much a product may be wrong by, for a vector of length 1.
    rounding = 2 * (len(matrix) + 4) * _SINGLE * _length(single.T)
    # No eigenvalue is negative, so their sum is a bound, too.
    return min(1 + 1e-12, _largest_found(single) / (1 - _SHORT) + rounding) * trace


def _largest_found(single: Any) -> float:
    """Return the largest eigenvalue of the matrix in the space that the products span."""
    from scipy.linalg import eigvalsh_tridiagonal
    from scipy.linalg.blas import ssymv

    side = len(single)
    count = min(side, _products(side))
    # Drawn independently of all data, the same for everybody: so the result can be repeated.
    start = np.random.default_rng(side).normal(size=side)
    basis = np.empty((count, side))
    basis[0] = start / np.linalg.norm(start)
    diagonal, beside = np.zeros(count), np.zeros(count)
    for step in range(count):
        image = ssymv(1.0, single, basis[step].astype(np.float32), lower=1).astype(np.float64)
        diagonal[step] = basis[step] @ image
        # All that was there before is taken out, twice, so that rounding leaves nothing of it.
        for _ in range(2):
            image -= (basis[: step + 1] @ image) @ basis[: step + 1]
        beside[step] = np.linalg.norm(image)
        if step + 1 == count or beside[step] <= _SINGLE:
            # Nothing new is left: the space is mapped to itself.
            break
        basis[step + 1] = image / beside[step]
    return float(eigvalsh_tridiagonal(diagonal[: step + 1], beside[:step])[-1])


def _length(upper: NDArray[np.float32]) -> float:
    """Return the root of the sum of all squared entries of a symmetric matrix."""
    squares = sum(float(row[place:] @ row[place:]) for place, row in enumerate(upper))
    return math.sqrt(2 * squares - float(np.diagonal(upper) @ np.diagonal(upper)))


def _products(side: int) -> int:
    """Return the number k of products for a matrix of this side."""
    return math.ceil((1 + (math.log(1.648 * math.sqrt(side)) + _RARE) / math.sqrt(_SHORT)) / 2)
