"""Block rados: what peers join blindly equals what one owner of the whole table would compute."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sottovoce.errors import InputError, MismatchError
from sottovoce.rados import (
    BlockSums,
    EnumeratedBlocks,
    JointLayout,
    Moments,
    join_blocks,
    lift,
    solve,
)


def joint(seed: int, rows: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two shared columns, five of the peers' own, labels."""
    rng = np.random.default_rng(seed)
    shared = np.column_stack([rng.integers(0, 3, rows), np.ones(rows)]).astype(float)
    return shared, rng.normal(size=(rows, 5)), rng.choice([-1.0, 1.0], rows)


LAYOUT = JointLayout(shared=(0, 6), own=((1, 2), (3, 4, 5)))


# Of forty rows in at most six blocks one has seven.
@given(st.integers(0, 2**32), st.integers(1, 7))
def test_joined_blocks_equal_a_direct_computation_on_the_joined_table(
    seed: int, minimum: int
) -> None:
    shared, own, y = joint(seed)
    # Peers keep their rows in different orders: there is no common key.
    order = np.random.default_rng(seed).permutation(len(y))
    alice = BlockSums.of(shared, own[:, :2], y, minimum=minimum)
    thin = sparse.csr_array(own[order][:, 2:])
    bob = BlockSums.of(shared[order], thin, y[order], minimum=minimum)
    result = join_blocks([alice, bob], LAYOUT)

    table = np.column_stack([shared[:, 0], own, shared[:, 1]])
    direct, dropped, lost = [], 0, 0
    for s in np.unique(shared[:, 0]):
        for label in (-1.0, 1.0):
            inside = (shared[:, 0] == s) & (y == label)
            if 0 < inside.sum() < minimum:
                dropped, lost = dropped + 1, lost + int(inside.sum())
            elif inside.any():
                direct.append(y[inside] @ table[inside])
    np.testing.assert_allclose(result.vectors, direct, atol=1e-12)
    assert (result.dropped_blocks, result.dropped_rows) == (dropped, lost)
    assert result.counts.sum() == len(y) - lost


def test_blocks_of_one_row_each_are_the_documents() -> None:
    _, own, y = joint(3, rows=12)
    key = np.arange(12.0)[:, np.newaxis]
    result = join_blocks(
        [BlockSums.of(key, own, y, minimum=1)], JointLayout(shared=(0,), own=((1, 2, 3, 4, 5),))
    )
    direct = Moments.of(np.hstack([key, own]), y)
    np.testing.assert_allclose(result.moments().second, direct.second, atol=1e-10)
    np.testing.assert_allclose(result.moments().products, direct.products, atol=1e-10)


def test_count_weighting_is_regression_on_block_means_with_their_counts() -> None:
    shared, own, y = joint(5)
    result = join_blocks([BlockSums.of(shared, own, y)], JointLayout((0, 6), ((1, 2, 3, 4, 5),)))
    root = np.sqrt(result.counts)[:, np.newaxis]
    A = result.vectors / root
    direct = np.linalg.solve(A.T @ A + np.eye(7), A.T @ root)
    sums = result.moments()
    np.testing.assert_allclose(solve(sums.second, sums.products, penalty=1), direct, atol=1e-10)


def test_lift_scatters_and_fills_with_zeros() -> None:
    lifted = lift(np.array([[1.0, 2.0]]), np.array([3, 0]), features=4)
    np.testing.assert_array_equal(lifted, [[2, 0, 0, 1]])


def test_bad_input_is_named() -> None:
    shared, own, y = joint(1, rows=6)
    key = np.arange(6.0)[:, np.newaxis]
    with pytest.raises(
        InputError, match=r"one block of 3 rows, found 6 block\(s\), the largest of 1 row"
    ) as caught:
        BlockSums.of(key, own, y)
    assert caught.value.hints
    with pytest.raises(InputError, match="minimum of at least 1 row, found 0"):
        BlockSums.of(key, own, y, minimum=0)
    with pytest.raises(MismatchError, match="dense matrix of 6 rows"):
        BlockSums.of(key[:5], own, y)
    with pytest.raises(InputError, match="every coordinate from 0 on exactly once"):
        JointLayout(shared=(0, 1), own=((1, 2),))
    alice = BlockSums.of(shared, own[:, :2], y, minimum=1)
    with pytest.raises(MismatchError, match="expected 2 peers, found 1"):
        join_blocks([alice], LAYOUT)
    bob = BlockSums.of(shared[:-1], own[:-1, 2:], y[:-1], minimum=1)
    with pytest.raises(MismatchError, match="peer 2 does not have the blocks and counts of peer 1"):
        join_blocks([alice, bob], LAYOUT)
    with pytest.raises(MismatchError, match="expected 2 columns, one per position, found 1"):
        lift(np.ones((1, 1)), np.array([0, 1]), features=3)
    with pytest.raises(MismatchError, match="positions from 0 to 2"):
        lift(np.ones((1, 1)), np.array([3]), features=3)


@given(st.integers(0, 2**32), st.integers(1, 5))
def test_an_enumeration_with_its_weights_gives_the_moments_of_joined_blocks(
    seed: int, minimum: int
) -> None:
    shared, own, y = joint(seed)
    table = np.column_stack([shared[:, 0], own, shared[:, 1]])
    sums = BlockSums.of(shared, own, y, minimum=minimum)
    direct = join_blocks([sums], JointLayout((0, 6), ((1, 2, 3, 4, 5),)))
    members = (2 * shared[:, 0] + (y > 0)).astype(np.int64)
    result = EnumeratedBlocks.of(table, members, blocks=8, minimum=minimum)
    signs = np.array([-1, 1] * 4)
    np.testing.assert_allclose(
        result.columns.T @ result.columns, direct.moments().second, atol=1e-9
    )
    # The target of a block before dividing by √count is its count.
    np.testing.assert_allclose(
        result.columns.T @ (signs * result.roots), direct.moments().products[:, 0], atol=1e-9
    )
    assert result.dropped_blocks == direct.dropped_blocks
    assert result.dropped_rows == direct.dropped_rows
    assert not result.columns[6:].any()


def test_bad_enumerations_are_named() -> None:
    _, own, _ = joint(1, rows=6)
    members = np.arange(6)
    with pytest.raises(InputError, match=r"one block of 2 rows, found 6 block\(s\)"):
        EnumeratedBlocks.of(own, members, blocks=6, minimum=2)
    with pytest.raises(MismatchError, match="one of 3 blocks for each of 6 rows"):
        EnumeratedBlocks.of(own, members, blocks=3, minimum=1)
    with pytest.raises(MismatchError, match="for each of 6 rows, found 5 numbers"):
        EnumeratedBlocks.of(own, members[:5], blocks=6, minimum=1)
