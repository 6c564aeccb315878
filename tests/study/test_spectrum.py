"""The upper end that a peer tells of its spectrum is never below it, and close for text."""

import numpy as np
import pytest

from sottovoce.study.stages.spectrum import upper_end


def _upper(matrix: np.ndarray) -> np.ndarray:
    """The matrix as moments keep it: what stands below the diagonal does not count."""
    return np.triu(matrix) + np.tril(np.full_like(matrix, 7e3), -1)


@pytest.mark.parametrize("side", [1, 2, 40, 600])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e8])
def test_it_is_an_upper_bound_and_close_for_rows_without_negative_entries(
    side: int, scale: float
) -> None:
    rng = np.random.default_rng(side)
    rows = rng.random((3 * side, side)) * (rng.random((3 * side, side)) < 0.2)
    moments = scale * rows.T @ rows
    largest = np.linalg.eigvalsh(moments)[-1]
    assert largest <= upper_end(_upper(moments)) <= 1.01 * largest


@pytest.mark.parametrize("seed", range(8))
def test_rounding_to_single_precision_does_not_take_it_below_the_spectrum(seed: int) -> None:
    """For one direction all quotients are the eigenvalue: nothing but rounding is between."""
    direction = np.random.default_rng(seed).random(301) + 0.1
    largest = float(direction @ direction)
    # The trace would be as tight, so the matrix is one whose trace is larger.
    matrix = np.kron(np.eye(2), np.outer(direction, direction))
    assert largest <= upper_end(_upper(matrix)) <= 1.001 * largest


def test_signs_only_make_it_larger() -> None:
    rows = np.random.default_rng(3).normal(size=(900, 300))
    moments = rows.T @ rows
    assert np.linalg.eigvalsh(moments)[-1] <= upper_end(_upper(moments)) <= np.trace(moments) * 1.1


def test_no_rows_have_no_spectrum() -> None:
    assert upper_end(np.zeros((5, 5))) == 0
