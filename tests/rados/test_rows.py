"""Rows as every learner takes them; and no type that shows figures where sizes are enough."""

import numpy as np
import pytest
from scipy import sparse

from harness.tables import part
from sottovoce.errors import InputError, MismatchError
from sottovoce.rados import (
    BlockSums,
    GivenSignatures,
    JointLayout,
    Moments,
    Part,
    RadoFamily,
    RadoMoments,
    RandomSignatures,
    boost,
    descend,
    descend_on_schedule,
    join_blocks,
    logistic,
    private_rados,
    rados,
)
from sottovoce.rados.rows import as_rows, as_targets, with_bias


def test_duplicates_in_sparse_rows_are_added_and_the_callers_matrix_is_left_alone() -> None:
    given = sparse.csr_matrix(([1.0, 2.0, 4.0], [2, 0, 2], [0, 3]), shape=(1, 3))
    rows = as_rows(given)
    np.testing.assert_array_equal(rows.toarray(), [[2, 0, 5]])
    assert rows.has_canonical_format
    assert given.nnz == 3
    assert list(given.indices) == [2, 0, 2]


def test_integers_and_booleans_become_floats() -> None:
    for X in (np.eye(2, dtype=int), sparse.csr_array(np.eye(2, dtype=bool))):
        assert as_rows(X).dtype == np.float64


def test_a_bias_column_stands_last() -> None:
    X = np.arange(6.0).reshape(3, 2)
    expected = [[0, 1, 0.3], [2, 3, 0.3], [4, 5, 0.3]]
    np.testing.assert_array_equal(with_bias(X, 0.3), expected)
    np.testing.assert_array_equal(with_bias(sparse.csr_array(X), 0.3).toarray(), expected)


def test_bad_targets_are_named() -> None:
    with pytest.raises(MismatchError, match=r"weights: expected shape \(2,\), found \(3,\)"):
        Moments.of(np.eye(2), [1, 1], weights=[1, 1, 1])
    with pytest.raises(InputError, match="targets: expected finite numbers"):
        as_targets([1.0, np.nan], rows=2)
    with pytest.raises(InputError, match="at least 1 feature and 1 class, found 0 and 1"):
        Moments(0)
    with pytest.raises(MismatchError, match=r"expected means of shape \(2, 1\)"):
        RadoMoments.sampled(np.ones((2, 2))) + RadoMoments.sampled(np.ones((2, 3)))


def test_reprs_show_sizes_and_no_figures() -> None:
    marked = part(1, rows=12, features=3).rows.round() + 0.7182
    labels = np.resize([1.0, -1.0], 12)
    own = Part.of(marked, labels)
    rng = np.random.default_rng(271828)
    signatures = RandomSignatures.draw(5, 12, rng=rng)
    result = rados(own, signatures)
    blocks = BlockSums.of(np.ones((12, 1)), marked, labels)
    flags = Part.of(np.column_stack([marked, labels]), labels)
    things = [
        own,
        Moments.of(marked, labels),
        RadoMoments.sampled(result),
        RadoFamily.of(marked, labels, signatures),
        blocks,
        join_blocks([blocks], JointLayout((0,), ((1, 2, 3),))),
        private_rados(flags, feature=3, count=4, epsilon=2.0, rng=rng),
        boost(result),
        descend(result, penalty=1),
        descend_on_schedule(result / 100, penalty=1),
        logistic(np.ones(3), own),
        GivenSignatures.of(signatures.whole()),
        signatures,
    ]
    for thing in things:
        text = repr(thing)
        assert text.startswith(type(thing).__name__)
        assert "array" not in text
        assert "\n" not in text
        assert str(signatures.seed) not in text
    assert repr(own) == "Part(rows=12×3, labels=12)"
    assert repr(signatures) == "RandomSignatures(count=5, documents=12)"
