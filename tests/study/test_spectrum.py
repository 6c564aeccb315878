"""The upper end that a peer tells of its spectrum is not below it, and close."""

import numpy as np
import pytest

from sottovoce.study.stages.spectrum import upper_end


def _upper(matrix: np.ndarray) -> np.ndarray:
    """The matrix as moments keep it: what stands below the diagonal does not count."""
    return np.triu(matrix) + np.tril(np.full_like(matrix, 7e3), -1)


@pytest.mark.parametrize("side", [1, 2, 40, 600])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e8])
@pytest.mark.parametrize("least", [0.0, -1.0])
def test_it_is_an_upper_bound_and_close(side: int, scale: float, least: float) -> None:
    rng = np.random.default_rng(side)
    rows = rng.uniform(least, 1, (3 * side, side)) * (rng.random((3 * side, side)) < 0.2)
    moments = scale * rows.T @ rows
    largest = np.linalg.eigvalsh(moments)[-1]
    assert largest <= upper_end(_upper(moments)) <= 1.05 * largest


@pytest.mark.parametrize("seed", range(8))
def test_directions_that_are_hard_to_tell_apart_do_not_take_it_below_the_spectrum(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    turned, _ = np.linalg.qr(rng.normal(size=(400, 400)))
    for eigenvalues in (
        1 - np.arange(400) / 4e6,
        np.r_[1.05, np.ones(399)],
        np.cos(np.arange(400) * np.pi / 800) ** 2,
        np.r_[np.ones(3), np.zeros(397)],
    ):
        matrix = (turned * eigenvalues) @ turned.T
        assert eigenvalues[0] <= upper_end(_upper(matrix)) <= 1.05 * eigenvalues[0]


def test_rounding_to_single_precision_does_not_take_it_below_the_spectrum() -> None:
    """Without the share that the method may be short, rounding alone is between."""
    direction = np.random.default_rng(2).random(301) + 0.1
    largest = float(direction @ direction)
    # The trace would be as tight, so the matrix is one whose trace is larger.
    matrix = np.kron(np.eye(2), np.outer(direction, direction))
    assert largest <= (1 - 1 / 32) * upper_end(_upper(matrix)) <= 1.001 * largest


def test_no_rows_have_no_spectrum() -> None:
    assert upper_end(np.zeros((5, 5))) == 0
