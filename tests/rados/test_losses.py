"""The same loss twice: over documents, and over all their rados; and gradients that are slopes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from harness.tables import all_signatures, part
from sottovoce.rados import (
    Moments,
    RadoLoss,
    RadoMoments,
    exponential,
    gamma,
    logistic,
    m_loss,
    rados,
    ridge_penalty,
    solve,
    square,
)

seeds = st.integers(0, 2**32)


def point(seed: int, features: int = 3) -> np.ndarray:
    return np.random.default_rng(seed + 1).normal(size=features)


@given(seeds, st.integers(1, 9))
def test_logistic_loss_is_the_exponential_loss_over_all_rados(seed: int, rows: int) -> None:
    own, theta = part(seed, rows, 3), point(seed)
    over_rados = exponential(theta, rados(own, all_signatures(rows)))
    over_documents = logistic(theta, own)
    assert np.isclose(over_documents.value, np.log(2) + over_rados.value / rows, atol=1e-10)
    np.testing.assert_allclose(over_documents.gradient, over_rados.gradient / rows, atol=1e-10)


@given(seeds, st.integers(1, 9))
def test_square_loss_is_the_m_loss_over_all_rados(seed: int, rows: int) -> None:
    own, theta = part(seed, rows, 3), point(seed)
    over_rados = m_loss(theta, RadoMoments.sampled(rados(own, all_signatures(rows))))
    over_documents = square(theta / 2, own)
    assert np.isclose(over_documents.value, 1 + 2 / rows * over_rados.value, atol=1e-10)
    np.testing.assert_allclose(
        over_documents.gradient / 2, 2 / rows * over_rados.gradient, atol=1e-10
    )


@given(seeds, st.floats(0.01, 100))
def test_the_regularised_m_loss_is_least_at_the_closed_form(seed: int, penalty: float) -> None:
    own = part(seed, 30, 3)
    moments = RadoMoments.exact(Moments.of(own.rows, own.labels))
    G = penalty * gamma(3, distrusted=[1], epsilon=0.1)
    best = solve(moments.covariance, moments.mean, penalty=G)[:, 0]
    loss = m_loss(best, moments) + ridge_penalty(best, G / 2)
    np.testing.assert_allclose(loss.gradient, 0, atol=1e-9)
    # Ridge's coefficients are half of it, under four times the penalty.
    ridge = solve(moments.second, moments.products, penalty=4 * G)[:, 0]
    np.testing.assert_allclose(best / 2, ridge, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_every_gradient_is_the_slope(seed: int) -> None:
    own, theta = part(seed, 20, 3), point(seed)
    sample = own.rows * own.labels[:, np.newaxis]
    moments = RadoMoments.sampled(sample)
    for loss in (
        lambda t: logistic(t, own),
        lambda t: square(t, own),
        lambda t: exponential(t, sample),
        lambda t: m_loss(t, moments),
        lambda t: ridge_penalty(t, [1.0, 0.1, 2.0]),
        lambda t: logistic(t, own) + ridge_penalty(t, 0.5),
    ):
        value: RadoLoss = loss(theta)
        slope = approx_fprime(theta, lambda t, loss=loss: loss(t).value, 1e-7)
        np.testing.assert_allclose(value.gradient, slope, atol=1e-4)


def test_the_exponential_loss_is_safe_at_any_magnitude() -> None:
    loss = exponential(np.array([1.0]), np.array([[5000.0], [-5000.0]]))
    assert np.isclose(loss.value, 5000 - np.log(2))
    np.testing.assert_allclose(loss.gradient, [5000])
