"""Tries every attack on everything that a party saw, to find what a protocol leaks.

`attack_everything` takes the numbers of a recorded view in any shape, reads them in several ways,
arranges them as rados, moments and rows could have been arranged, and tries each attack. On masks,
shares and ciphertexts it must recover nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np

from sottovoce.attacks.blocks import attack_blocks
from sottovoce.attacks.exposure import ExposedBlocks, ExposedMoments, ExposedRados
from sottovoce.attacks.known_signatures import attack_known_signatures
from sottovoce.attacks.readings import ArrayReading, combined, readings
from sottovoce.attacks.recovered import Recovered, worth_telling
from sottovoce.attacks.second_moments import attack_moments
from sottovoce.attacks.unknown_signatures import attack_unknown_signatures
from sottovoce.rados.rows import Floats

# In a smaller matrix text could not be told from chance.
_LEAST_ROWS, _LEAST_COLUMNS = 2, 8
# Larger arrays are left out, and named in the report.
_MOST_NUMBERS = 2**26
# How many arrays of one shape are combined pairwise, as shares would be.
_COMBINED = 6


@dataclass(frozen=True)
class AttackAttempt:
    """One attack on one arrangement of the view, and the documents that it gave."""

    attack: str
    reading: str
    shape: tuple[int, ...]
    documents: tuple[Recovered, ...]


@dataclass(frozen=True)
class AttackReport:
    """All attempts on one view; `left_out` names arrays that were too large to be tried."""

    attempts: tuple[AttackAttempt, ...]
    left_out: tuple[str, ...] = ()

    @property
    def documents(self) -> tuple[Recovered, ...]:
        """Everything that any attempt recovered, each document once."""
        return worth_telling(item for attempt in self.attempts for item in attempt.documents)


def attack_everything(view: Iterable[Any], *, modulus: int | None = None) -> AttackReport:
    """Try every attack on the arrays, lists and messages of `view`, in every plausible shape.

    A recorded conversation's `view.leaves()` can be given as it is.
    Values are read as they are, signed mod 2^64 and, where a Paillier `modulus` is given,
    signed mod N; arrays of one shape are also added and subtracted as shares would be.
    """
    items = list(view)
    seen = [reading for item in items for reading in readings(item, modulus=modulus)]
    seen += combined(items, most=_COMBINED)
    fitting = [reading for reading in seen if reading.values.size <= _MOST_NUMBERS]
    left_out = [_named(reading) for reading in seen if reading.values.size > _MOST_NUMBERS]
    matrices = [matrix for reading in fitting for matrix in _matrices(reading)]
    matrices += _stacked(fitting)
    attempts = [attempt for matrix in matrices for attempt in _attempts(matrix, fitting)]
    attempts += _with_signatures(matrices)
    return AttackReport(tuple(attempts), tuple(left_out))


def _named(reading: ArrayReading) -> str:
    return f"{reading.how}, shape {reading.values.shape}"


def _attempts(matrix: ArrayReading, seen: Sequence[ArrayReading]) -> Iterator[AttackAttempt]:
    """Attacks that need one matrix: as rows and as columns, and as a moment where it is one."""
    square = matrix.values.shape[0] == matrix.values.shape[1]
    for values in (matrix.values,) if square and _symmetric(matrix.values) else _both(matrix):
        for name, recovered in (
            ("unknown signatures", attack_unknown_signatures(ExposedRados(values))),
            ("rows in the clear", attack_blocks(ExposedBlocks(values))),
        ):
            yield AttackAttempt(name, matrix.how, values.shape, recovered)
    if square:
        mean = next(_vectors(seen, length=len(matrix.values)), None)
        recovered = attack_moments(ExposedMoments(matrix.values, mean))
        yield AttackAttempt("second moment", matrix.how, matrix.values.shape, recovered)


def _both(matrix: ArrayReading) -> tuple[Floats, Floats]:
    return matrix.values, np.ascontiguousarray(matrix.values.T)


def _symmetric(values: Floats) -> bool:
    return np.array_equal(values, values.T)


def _vectors(seen: Sequence[ArrayReading], *, length: int) -> Iterator[Floats]:
    for reading in seen:
        if reading.values.size == length and reading.values.any():
            yield reading.values.ravel()


def _matrices(reading: ArrayReading) -> Iterator[ArrayReading]:
    """The matrices as which an array could have been sent."""
    values = reading.values
    if values.ndim >= 2:
        yield from _large_enough(reading, values.reshape(-1, values.shape[-1]))
    flat = values.ravel()
    side = isqrt(flat.size)
    if values.ndim == 1 and side * side == flat.size:
        yield from _large_enough(reading, flat.reshape(side, side))
    side = (isqrt(8 * flat.size + 1) - 1) // 2
    if 1 in (*values.shape, values.ndim) and side * (side + 1) // 2 == flat.size:
        for upper in (True, False):
            yield from _large_enough(reading, _unfolded(flat, side, upper=upper))


def _unfolded(flat: Floats, side: int, *, upper: bool) -> Floats:
    """The symmetric matrix of which this is one triangle, row by row."""
    matrix = np.zeros((side, side))
    places = np.triu_indices(side) if upper else np.tril_indices(side)
    matrix[places] = matrix.T[places] = flat
    return matrix


def _large_enough(reading: ArrayReading, matrix: Floats) -> Iterator[ArrayReading]:
    if matrix.shape[0] >= _LEAST_ROWS and matrix.shape[1] >= _LEAST_COLUMNS:
        yield ArrayReading(reading.how, matrix)


def _stacked(seen: Sequence[ArrayReading]) -> Iterator[ArrayReading]:
    """Vectors of one length that came one by one, as the rows of one matrix."""
    rows: dict[tuple[str, int], list[Floats]] = {}
    for reading in seen:
        if max(reading.values.shape, default=0) == reading.values.size:
            rows.setdefault((reading.how, reading.values.size), []).append(reading.values.ravel())
    for (how, _), vectors in rows.items():
        if len(vectors) > 1:
            yield from _large_enough(ArrayReading(f"{how}, stacked", vectors[0]), np.array(vectors))


def _with_signatures(matrices: Sequence[ArrayReading]) -> Iterator[AttackAttempt]:
    """Attacks that need signatures too: any matrix of ±1 may be that, with as many rows."""
    for signs in matrices:
        if not np.isin(signs.values, (-1, 1)).all():
            continue
        for other in matrices:
            fits = len(other.values) == len(signs.values) and other.values.any()
            # One equation more than unknowns at least, or noise would be "explained", too.
            if other is not signs and fits and len(signs.values) > signs.values.shape[1] + 1:
                recovered = attack_known_signatures(ExposedRados(other.values, signs.values))
                yield AttackAttempt("known signatures", other.how, other.values.shape, recovered)
