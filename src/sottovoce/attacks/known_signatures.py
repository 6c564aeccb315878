"""Reconstruction from rados whose signatures are known: m + 1 of them are linear equations.

2π_σ = Xᵀσ + XᵀY, so the unknowns are the m documents and one more row, XᵀY. The
intermediary who draws signatures is such an observer.
"""

import numpy as np

from sottovoce.attacks.exposure import ExposedRados
from sottovoce.attacks.recovered import Recovered, worth_telling
from sottovoce.rados.rows import Floats

_ROUNDING = 1e-6
_DEPENDENT = 1e-12


def attack_known_signatures(exposed: ExposedRados) -> tuple[Recovered, ...]:
    """Every document, where there are more independent signatures than documents; else none."""
    signs = exposed.signatures
    if signs is None or len(signs) <= signs.shape[1]:
        return ()
    equations = np.column_stack([signs, np.ones(len(signs))])
    solution, _, rank, _ = np.linalg.lstsq(equations, 2 * exposed.rados, rcond=None)
    if rank < equations.shape[1]:
        return ()
    largest = np.abs(exposed.rados).max(initial=0.0)
    if np.abs(equations @ solution - 2 * exposed.rados).max(initial=0.0) > _ROUNDING * largest:
        return ()
    rows, products = solution[:-1].astype(np.float64), solution[-1].astype(np.float64)
    rows[np.abs(rows) <= _ROUNDING * largest] = 0
    return worth_telling(
        Recovered.from_row(row, label)
        for row, label in zip(rows, labels_from(rows, products), strict=True)
    )


def labels_from(rows: Floats, products: Floats) -> list[int | None]:
    """Labels with Σ y_i x_i = `products`, each where linear algebra determines it."""
    sizes, directions = np.linalg.eigh(rows @ rows.T)
    kept = sizes > _DEPENDENT * sizes.max(initial=0.0)
    directions = directions[:, kept]
    guess = directions @ ((directions.T @ (rows @ products)) / sizes[kept])
    # A label is determined where no combination of other documents could stand for its own.
    determined = (directions**2).sum(axis=1) > 1 - _ROUNDING
    return [
        int(np.sign(value)) if sure and value else None
        for value, sure in zip(guess, determined, strict=True)
    ]
