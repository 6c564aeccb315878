"""Rados are sums of edge vectors: given, random, distinct, class by class, sparse or dense."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from harness.tables import all_signatures, part
from sottovoce.errors import InputError, MismatchError
from sottovoce.rados import (
    GivenSignatures,
    Moments,
    Part,
    RadoFamily,
    RadoMoments,
    RandomSignatures,
    deal,
    exact_moments,
    rados,
    random_rados,
    summed_moments,
    united_rados,
)

seeds = st.integers(0, 2**32)


@given(seeds, st.integers(1, 12), st.integers(1, 5), st.integers(1, 9))
def test_a_rado_is_the_sum_of_the_edge_vectors_where_signature_and_label_agree(
    seed: int, rows: int, features: int, count: int
) -> None:
    own = part(seed, rows, features)
    signs = np.random.default_rng(seed).choice([-1, 1], (count, rows))
    result = rados(own, GivenSignatures.of(signs))
    for sigma, rado in zip(signs, result, strict=True):
        chosen = sigma == own.labels
        np.testing.assert_allclose(rado, own.labels[chosen] @ own.rows[chosen], atol=1e-12)
    thin = Part.of(sparse.csr_matrix(own.rows), own.labels)
    np.testing.assert_allclose(rados(thin, GivenSignatures.of(signs)), result, atol=1e-12)


@given(seeds, st.integers(1, 80), st.data())
def test_random_signatures_are_distinct_signs_that_can_be_drawn_again(
    seed: int, documents: int, data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, min(2**documents, 40)))
    drawn = RandomSignatures.draw(count, documents, rng=np.random.default_rng(seed))
    signs = drawn.whole()
    assert signs.shape == (count, documents)
    assert set(np.unique(signs)) <= {-1, 1}
    assert len(np.unique(signs, axis=0)) == count
    assert (drawn.whole() == signs).all()


@given(seeds, st.integers(1, 5))
def test_the_excluded_signature_and_no_other_is_never_drawn(seed: int, documents: int) -> None:
    rng = np.random.default_rng(seed)
    excluded = rng.choice([-1, 1], documents)
    drawn = RandomSignatures.draw(2**documents - 1, documents, rng=rng, exclude=excluded)
    signs = drawn.whole()
    assert len(np.unique(signs, axis=0)) == 2**documents - 1
    assert not (signs == excluded).all(axis=1).any()


def test_random_signs_are_fair_everywhere() -> None:
    signs = RandomSignatures.draw(4_000, 70, rng=np.random.default_rng(1)).whole()
    assert np.abs(signs.mean(axis=0)).max() < 5 / np.sqrt(4_000)
    assert np.abs(np.corrcoef(signs.T) - np.eye(70)).max() < 5.5 / np.sqrt(4_000)


def test_rados_of_distinct_peers_are_distinct() -> None:
    own = part(4, rows=8, features=3)
    parts = deal(own.rows, own.labels, peers=4, rng=np.random.default_rng(0))
    # Two documents a peer: four rados with the empty one, three without.
    every = united_rados([parts[0], parts[1]], count=6, rng=np.random.default_rng(1))
    assert every.shape == (6, 3)
    assert len(np.unique(every.round(9), axis=0)) == 6


@given(seeds, st.integers(1, 3))
def test_over_all_signatures_sampled_moments_are_the_exact_ones(seed: int, classes: int) -> None:
    own = part(seed, rows=7, features=3)
    Y = np.random.default_rng(seed).choice([-1.0, 1.0], (7, classes))
    sampled = RadoFamily.of(own.rows, Y, all_signatures(7)).moments()
    exact = RadoMoments.exact(Moments.of(own.rows, Y))
    np.testing.assert_allclose(sampled.mean, exact.mean, atol=1e-12)
    np.testing.assert_allclose(sampled.covariance, exact.covariance, atol=1e-12)


@given(seeds)
def test_a_weighted_rado_has_the_moments_of_weighted_documents(seed: int) -> None:
    own = part(seed, rows=7, features=3)
    weights = np.random.default_rng(seed).random(7) * 3
    for rows in (own.rows, sparse.csr_array(own.rows)):
        family = RadoFamily.of(rows, own.labels, all_signatures(7), weights=weights)
        exact = RadoMoments.exact(Moments.of(own.rows, own.labels, weights=weights))
        np.testing.assert_allclose(family.moments().mean, exact.mean, atol=1e-12)
        np.testing.assert_allclose(family.moments().covariance, exact.covariance, atol=1e-12)


def test_classes_share_the_covariance_that_each_of_them_has_alone() -> None:
    own = part(3, rows=20, features=4)
    signatures = RandomSignatures.draw(50, 20, rng=np.random.default_rng(0))
    Y = np.column_stack([own.labels, np.roll(own.labels, 3)])
    family = RadoFamily.of(own.rows, Y, signatures)
    together = family.moments()
    assert family.classes == 2
    for column in range(2):
        own_rados = rados(Part.of(own.rows, Y[:, column]), signatures)
        np.testing.assert_allclose(family.rados(column), own_rados, atol=1e-12)
        alone = RadoMoments.sampled(own_rados)
        np.testing.assert_allclose(together.mean[:, [column]], alone.mean, atol=1e-12)
        np.testing.assert_allclose(together.covariance, alone.covariance, atol=1e-12)


@given(seeds, st.integers(1, 5))
def test_exact_moments_do_not_notice_how_documents_were_dealt(seed: int, peers: int) -> None:
    own = part(seed)
    parts = deal(own.rows, own.labels, peers=peers, rng=np.random.default_rng(seed))
    assert sum(len(part.labels) for part in parts) == 30
    whole = RadoMoments.exact(Moments.of(own.rows, own.labels))
    np.testing.assert_allclose(exact_moments(parts).mean, whole.mean, atol=1e-12)
    np.testing.assert_allclose(exact_moments(parts).covariance, whole.covariance, atol=1e-12)


def test_summed_moments_of_many_rados_come_near_the_exact_ones() -> None:
    own = part(6)
    parts = deal(own.rows, own.labels, peers=3, rng=np.random.default_rng(0))
    sampled = summed_moments(parts, count=3_000, rng=np.random.default_rng(1))
    exact = exact_moments(parts)
    assert np.linalg.norm(sampled.mean - exact.mean) < 0.05 * np.linalg.norm(exact.mean)
    gap = np.linalg.norm(sampled.covariance - exact.covariance)
    assert gap < 0.2 * np.linalg.norm(exact.covariance)


def test_rados_of_many_documents_never_hold_signs_times_documents() -> None:
    rng = np.random.default_rng(0)
    documents, count = 60_000, 500
    X = sparse.random_array((documents, 20), density=0.05, rng=rng, format="csr")
    own = Part.of(X, rng.choice([-1.0, 1.0], documents))
    tracemalloc.start()
    random_rados(own, count=count, rng=rng)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6  # the signs alone would be 240 MB as float64


def test_bad_input_is_named() -> None:
    own = part(1, rows=4, features=2)
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="labels: expected numbers, found something else"):
        Part.of(own.rows, ["spam", "ham", "ham", "ham"])
    with pytest.raises(InputError, match="rows: expected numbers, found something else"):
        Part.of([["a", "b"]], [1])
    with pytest.raises(InputError, match=r"rados: expected at least .* found 0"):
        random_rados(own, count=0, rng=rng)
    with pytest.raises(InputError, match="for each of 2 peers, found 0"):
        united_rados([own, own], count=0, rng=rng)
    with pytest.raises(InputError, match="for each of 2 peers, found 1"):
        summed_moments([own, own], count=1, rng=rng)
    with pytest.raises(InputError, match=r"at most 16 distinct rados of 4 document\(s\), found 17"):
        random_rados(own, count=17, rng=rng)
    with pytest.raises(InputError, match=r"at most as many as there are documents \(4\), found 5"):
        deal(own.rows, own.labels, peers=5, rng=rng)
    with pytest.raises(InputError, match="peers: expected at least 1, found 0"):
        deal(own.rows, own.labels, peers=0, rng=rng)
    with pytest.raises(InputError, match="labels: expected -1 and 1, found 0"):
        Part.of(own.rows, [0, 1, 1, 0])
    with pytest.raises(MismatchError, match=r"labels: expected shape \(4,\), found \(3,\)"):
        Part.of(own.rows, [1, 1, 1])
    with pytest.raises(InputError, match="at least 1 row, found 0"):
        Part.of(np.empty((0, 2)), [])
    with pytest.raises(MismatchError, match="signs for 4 documents, found 3"):
        rados(own, GivenSignatures.of(np.ones((2, 3))))
    with pytest.raises(InputError, match="expected signs -1 and 1"):
        GivenSignatures.of([[0, 1]])
    with pytest.raises(InputError, match="expected a matrix, found 1"):
        GivenSignatures.of([1, 1])
    with pytest.raises(InputError, match="at least 1 rado, found 0"):
        GivenSignatures.of(np.empty((0, 3)))
    with pytest.raises(InputError, match="at least 1 document, found 0"):
        RandomSignatures.draw(1, 0, rng=rng)
    with pytest.raises(MismatchError, match="expected 4 signs, found shape"):
        RandomSignatures.draw(1, 4, rng=rng, exclude=[1, 1])
