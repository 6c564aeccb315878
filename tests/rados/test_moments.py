"""Moments: sums that do not depend on how the rows arrive, and what rados tell of them."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sottovoce.errors import InputError, MismatchError, MisuseError
from sottovoce.rados import Moments, RadoMoments, joined, moments


def table(seed: int, rows: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) * (rng.random((rows, features)) < 0.5)
    return X, np.where(rng.random(rows) < 0.5, -1.0, 1.0)


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 12), st.integers(0, 40))
def test_any_split_into_chunks_dense_or_sparse_gives_the_same_sums(
    seed: int, rows: int, features: int, cut: int
) -> None:
    X, y = table(seed, rows, features)
    whole = Moments.of(X, y)
    parts = Moments(features)
    parts.add(X[:cut], y[:cut]).add(sparse.csr_matrix(X[cut:]), y[cut:])
    assert whole.count == parts.count == rows
    np.testing.assert_allclose(whole.second, X.T @ X, atol=1e-12)
    np.testing.assert_allclose(parts.second, X.T @ X, atol=1e-12)
    np.testing.assert_allclose(parts.products[:, 0], X.T @ y, atol=1e-12)
    np.testing.assert_allclose(parts.totals, X.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(parts.target_totals, [y.sum()], atol=1e-12)
    assert (parts.second == parts.second.T).all()


@given(st.integers(0, 2**32), st.integers(1, 4))
def test_moments_of_peers_add_up_to_those_of_the_union(seed: int, peers: int) -> None:
    X, y = table(seed, 24, 5)
    dealt = [Moments.of(X[peer::peers], y[peer::peers]) for peer in range(peers)]
    union = joined(dealt)
    np.testing.assert_allclose(union.second, X.T @ X, atol=1e-12)
    np.testing.assert_allclose(union.products[:, 0], X.T @ y, atol=1e-12)
    assert union.count == 24


@given(st.integers(0, 2**32), st.integers(1, 600))
def test_rows_may_be_measured_from_another_point(seed: int, features: int) -> None:
    X, y = table(seed, 12, features)
    point = np.random.default_rng(seed).normal(size=features)
    moved = Moments.of(sparse.csr_matrix(X), y, weights=np.arange(12.0))
    moved.move(point)
    there = Moments.of(X - point, y, weights=np.arange(12.0))
    np.testing.assert_allclose(moved.second, there.second, atol=1e-9)
    np.testing.assert_allclose(np.triu(moved.upper), np.triu(there.second), atol=1e-9)
    np.testing.assert_allclose(moved.products, there.products, atol=1e-9)
    np.testing.assert_allclose(moved.totals, there.totals, atol=1e-9)
    with pytest.raises(MismatchError, match="expected a point of"):
        moved.move(np.zeros(features + 1))


@given(st.integers(0, 2**32))
def test_a_weight_counts_a_row_that_often(seed: int) -> None:
    X, y = table(seed, 10, 4)
    weights = np.random.default_rng(seed).integers(0, 4, 10)
    repeated = Moments.of(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    for rows in (X, sparse.csr_array(X)):
        once = Moments.of(rows, y, weights=weights)
        assert once.weight == repeated.count
        for name in ("second", "products", "totals", "target_totals"):
            np.testing.assert_allclose(getattr(once, name), getattr(repeated, name), atol=1e-12)


def test_centring_is_taking_column_means_away() -> None:
    X, y = table(1, 30, 5)
    X += 3
    centred = Moments.of(X, y).centred()
    direct = Moments.of(X - X.mean(axis=0), y - y.mean())
    np.testing.assert_allclose(centred.second, direct.second, atol=1e-10)
    np.testing.assert_allclose(centred.products, direct.products, atol=1e-10)


@pytest.mark.parametrize("share", [0.02, 0.5], ids=["sparse", "nearly dense"])
def test_the_number_of_workers_never_changes_a_bit(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moments, "BLOCK_ROWS", 100)
    rng = np.random.default_rng(3)
    X = sparse.random_array((350, 60), density=share, rng=rng, format="csr")
    Y = np.sign(rng.normal(size=(350, 3)))
    alone, two, five = (Moments.of(X, Y, workers=workers) for workers in (1, 2, 5))
    assert alone.second.tobytes() == two.second.tobytes() == five.second.tobytes()
    np.testing.assert_allclose(alone.second, (X.T @ X).toarray(), atol=1e-12)
    np.testing.assert_allclose(alone.products, X.T @ Y, atol=1e-12)


def test_memory_does_not_grow_with_the_number_of_documents() -> None:
    rng = np.random.default_rng(0)
    chunk = sparse.random_array((2_000, 200), density=0.03, rng=rng, format="csr")
    y = rng.choice([-1.0, 1.0], 2_000)
    sums = Moments(200).add(chunk, y)
    peaks = []
    tracemalloc.start()
    for chunks in (1, 20):
        tracemalloc.reset_peak()
        for _ in range(chunks):
            sums.add(chunk, y)
        peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]


@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(1, 4))
def test_moments_over_all_signatures_are_half_XtY_and_a_quarter_of_XtX(
    seed: int, rows: int, features: int
) -> None:
    X, y = table(seed, rows, features)
    signatures = np.array(list(product((-1, 1), repeat=rows)))
    rados = 0.5 * (signatures + y) @ X
    exact, sampled = RadoMoments.exact(Moments.of(X, y)), RadoMoments.sampled(rados)
    np.testing.assert_allclose(exact.mean[:, 0], rados.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(
        exact.covariance, np.cov(rados.T, bias=True).reshape(2 * (features,)), atol=1e-12
    )
    np.testing.assert_allclose(sampled.mean, exact.mean, atol=1e-12)
    np.testing.assert_allclose(sampled.covariance, exact.covariance, atol=1e-12)
    np.testing.assert_allclose(sampled.second, X.T @ X, atol=1e-11)
    np.testing.assert_allclose(sampled.products[:, 0], X.T @ y, atol=1e-11)


def test_rado_moments_of_independent_peers_add() -> None:
    X, y = table(5, 12, 3)
    parts = [RadoMoments.exact(Moments.of(X[i::2], y[i::2])) for i in range(2)]
    union = RadoMoments.exact(Moments.of(X, y))
    np.testing.assert_allclose((parts[0] + parts[1]).mean, union.mean, atol=1e-12)
    np.testing.assert_allclose((parts[0] + parts[1]).covariance, union.covariance, atol=1e-12)


def test_bad_input_is_named() -> None:
    X, y = table(2, 6, 3)
    with pytest.raises(InputError, match="expected finite numbers, found NaN"):
        Moments.of(np.where(X == 0, np.nan, X), y)
    with pytest.raises(InputError, match="expected finite numbers, found NaN"):
        Moments(3).add(sparse.csr_array(np.where(X == 0, np.inf, X)), y)
    with pytest.raises(InputError, match="at least 1 row, found 0"):
        Moments.of(X[:0], y[:0])
    with pytest.raises(InputError, match="at least 1 feature, found 0"):
        Moments.of(X[:, :0], y)
    with pytest.raises(InputError, match="expected a matrix, found 1"):
        Moments.of(y, y)
    with pytest.raises(MismatchError, match="rows of 4 features, found 3"):
        Moments(4).add(X, y)
    with pytest.raises(MismatchError, match="expected 6 rows, found shape"):
        Moments(3).add(X, y[:5])
    with pytest.raises(MismatchError, match="expected 2 targets a row, found 1"):
        Moments(3, 2).add(X, y)
    with pytest.raises(InputError, match="weights: expected finite numbers of at least 0"):
        Moments.of(X, y, weights=-np.ones(6))
    with pytest.raises(MismatchError, match="expected 3 features and 1 classes, found 4 and 1"):
        Moments.of(X, y) + Moments(4)
    with pytest.raises(MisuseError, match="nothing to centre"):
        Moments(3).centred()
    with pytest.raises(InputError, match="rados: expected at least 1 row, found 0"):
        RadoMoments.sampled(X[:0])


def test_repr_shows_sizes_and_no_sums() -> None:
    X, y = table(2, 6, 3)
    assert repr(Moments.of(X, y)) == "Moments(features=3, classes=1, count=6)"


def test_the_second_moment_is_whole_however_many_blocks_are_mirrored() -> None:
    rows = np.random.default_rng(3).normal(size=(40, 2 * moments.MIRROR + 3))
    second = Moments.of(rows, np.ones(40)).second
    assert (second == second.T).all()
    np.testing.assert_allclose(second, rows.T @ rows, atol=1e-10)
    sparse_rows = sparse.random_array((40, moments.MIRROR + 1), density=0.02, rng=4, format="csr")
    dense = sparse_rows.toarray()
    np.testing.assert_allclose(
        Moments.of(sparse_rows, np.ones(40)).second, dense.T @ dense, atol=1e-12
    )
