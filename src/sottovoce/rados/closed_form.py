"""The M-loss has a closed form: ridge regression on moments, or on rados with target 1.

A penalty is Γ's diagonal: one number for every feature, or one per feature.
`gamma` makes the paper's: 1 on trusted features and ε on distrusted ones.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from sottovoce.errors import InputError, MismatchError
from sottovoce.rados.moments import Moments
from sottovoce.rados.rows import Floats, dense_rados


def gamma(features: int, *, distrusted: Sequence[int] = (), epsilon: float = 1.0) -> Floats:
    """The paper's Γ as a vector: 1 everywhere, `epsilon` on the `distrusted` features."""
    if not 0 < epsilon <= 1:
        raise InputError(f"gamma: expected 0 < epsilon <= 1, found {epsilon:g}")
    diagonal = np.ones(features)
    diagonal[list(distrusted)] = epsilon
    return diagonal


def as_penalty(penalty: Any, *, features: int) -> Floats:
    """A penalty as Γ's diagonal, one number of at least 0 per feature."""
    diagonal = np.asarray(penalty, dtype=np.float64)
    if diagonal.shape not in {(), (features,)}:
        raise MismatchError(
            f"penalty: expected one number or {features}, found shape {diagonal.shape}"
        )
    if not (np.isfinite(diagonal).all() and (diagonal >= 0).all()):
        raise InputError("penalty: expected finite numbers of at least 0")
    return np.broadcast_to(diagonal, (features,))


def solve(second: Floats, products: Floats, *, penalty: Any) -> Floats:
    """θ = (XᵀX + Γ)⁻¹ XᵀY: ridge regression, a column per class."""
    diagonal = as_penalty(penalty, features=second.shape[0])
    try:
        factor = scipy.linalg.cho_factor(second + np.diag(diagonal))
    except scipy.linalg.LinAlgError as error:
        raise InputError(
            "closed form: the second moment is singular and the penalty does not mend it",
            hints=("give a penalty above 0",),
        ) from error
    return np.asarray(scipy.linalg.cho_solve(factor, products))


def solve_rows(rows: Any, targets: Any, *, weights: Any = None, penalty: Any) -> Floats:
    """Return the same θ from few sparse rows, by a system of the size of the rows.

    Γ⁻¹XᵀW^½ (W^½XΓ⁻¹XᵀW^½ + 1)⁻¹ W^½Y, for a Γ that is positive.
    """
    diagonal = as_penalty(penalty, features=rows.shape[1])
    if not (diagonal > 0).all():
        raise InputError("closed form of rows: expected a penalty above 0 on every feature")
    roots = np.ones(rows.shape[0]) if weights is None else np.sqrt(weights)
    scaled = rows.multiply(1 / diagonal).tocsr()
    system = np.asarray((scaled @ rows.T).toarray()) * np.outer(roots, roots)
    system[np.diag_indices_from(system)] += 1
    dual = scipy.linalg.cho_solve(scipy.linalg.cho_factor(system), roots[:, np.newaxis] * targets)
    return np.asarray(scaled.T @ (roots[:, np.newaxis] * dual))


def solve_rados(rados: Any, *, penalty: Any) -> Floats:
    """θ* = (BBᵀ + nΓ)⁻¹ B·1, as the paper has it; `rados` are rows, B holds them as columns."""
    rows = dense_rados(rados)
    sums = Moments.of(rows, np.ones(len(rows)))
    diagonal = as_penalty(penalty, features=sums.features)
    return solve(sums.second, sums.products, penalty=sums.count * diagonal)[:, 0]
