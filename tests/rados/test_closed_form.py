"""The closed form is ridge regression, over moments and over rados, for one λ or for many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import Ridge

from sottovoce.datasets import load_ionosphere
from sottovoce.errors import InputError, MismatchError
from sottovoce.rados import (
    Moments,
    Part,
    RadoMoments,
    gamma,
    random_rados,
    solve,
    solve_rados,
    solve_rows,
)
from sottovoce.rados.rows import with_bias

seeds = st.integers(0, 2**32)


def table(seed: int, rows: int = 30, features: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    return X, np.where(X @ rng.normal(size=features) + rng.normal(size=rows) > 0, 1.0, -1.0)


def direction(theta: np.ndarray) -> np.ndarray:
    return theta / np.linalg.norm(theta)


@given(seeds, st.floats(1e-3, 1e3))
def test_over_exact_moments_it_is_ridge_on_the_documents(seed: int, alpha: float) -> None:
    X, y = table(seed)
    exact = RadoMoments.exact(Moments.of(X, y))
    ours = solve(exact.second, exact.products, penalty=alpha)[:, 0]
    ridge = Ridge(alpha=alpha, fit_intercept=False, solver="cholesky").fit(X, y)
    np.testing.assert_allclose(ours, ridge.coef_, atol=1e-10)


@given(seeds, st.floats(1e-3, 1e3))
def test_over_rados_it_is_ridge_whose_documents_are_the_rados_with_target_1(
    seed: int, penalty: float
) -> None:
    rados, _ = table(seed)
    n = len(rados)
    ridge = Ridge(alpha=n * penalty, fit_intercept=False, solver="cholesky")
    ridge.fit(rados, np.ones(n))
    np.testing.assert_allclose(solve_rados(rados, penalty=penalty), ridge.coef_, atol=1e-10)


@given(seeds, st.floats(1e-2, 1e2), st.floats(0.01, 1))
def test_centred_and_uncentred_second_moments_give_one_direction(
    seed: int, penalty: float, epsilon: float
) -> None:
    rados, _ = table(seed)
    G = penalty * gamma(6, distrusted=(1, 4), epsilon=epsilon)
    centred = RadoMoments.sampled(rados)
    over_moments = solve(centred.covariance, centred.mean, penalty=G)[:, 0]
    over_rados = solve_rados(rados, penalty=G)
    np.testing.assert_allclose(direction(over_moments), direction(over_rados), atol=1e-9)


def test_centring_improves_the_condition_and_leaves_the_direction() -> None:
    table = load_ionosphere()
    own = Part.of(with_bias(table.train.X, 1.0), table.train.y)
    rados = random_rados(own, count=1000, rng=np.random.default_rng(0))
    centred = RadoMoments.sampled(rados)
    plain = rados.T @ rados / len(rados)
    whole, part = (np.linalg.cond(A + np.eye(35)) for A in (plain, centred.covariance))
    assert whole > 10 * part
    np.testing.assert_allclose(
        direction(solve(centred.covariance, centred.mean, penalty=1)[:, 0]),
        direction(solve(plain, centred.mean, penalty=1)[:, 0]),
        atol=1e-9,
    )


def test_a_constant_column_is_no_obstacle_under_a_penalty() -> None:
    X, y = table(1)
    X[:, 2] = 0
    sums = Moments.of(X, y)
    assert solve(sums.second, sums.products, penalty=1)[2, 0] == 0
    with pytest.raises(InputError, match="singular") as caught:
        solve(sums.second, sums.products, penalty=0)
    assert caught.value.hints


def test_bad_penalties_are_named() -> None:
    second, products = np.eye(3), np.ones((3, 1))
    with pytest.raises(InputError, match="penalty: expected finite numbers of at least 0"):
        solve(second, products, penalty=-1)
    with pytest.raises(MismatchError, match="expected one number or 3, found shape"):
        solve(second, products, penalty=[1, 2])
    with pytest.raises(InputError, match="0 < epsilon <= 1, found 0"):
        gamma(3, distrusted=[0], epsilon=0)
    with pytest.raises(InputError, match="rados: expected at least 1 row, found 0"):
        solve_rados(np.empty((0, 3)), penalty=1)


@pytest.mark.parametrize("spread", [0.0, 1.5])
def test_few_rows_and_their_moments_give_the_same_weights(spread: float) -> None:
    random = np.random.default_rng(5)
    rows = sparse.random_array((12, 30), density=0.4, rng=random, format="csr")
    targets = np.sign(random.normal(size=(12, 3)))
    weights = random.uniform(0.5, 0.5 + spread, 12) if spread else None
    penalty = random.uniform(0.5, 2, 30)
    sums = Moments.of(rows, targets, weights=weights)
    expected = solve(sums.second, sums.products, penalty=penalty)
    solution = solve_rows(rows, targets, weights=weights, penalty=penalty)
    np.testing.assert_allclose(solution, expected, atol=1e-10)
    with pytest.raises(InputError, match="expected a penalty above 0 on every feature"):
        solve_rows(rows, targets, penalty=0.0)
