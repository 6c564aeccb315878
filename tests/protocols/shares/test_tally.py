"""Comparisons that stay shared, added up by groups that the asker alone knows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from harness.conversations.opened import opened_words
from harness.entropy import SeededEntropy
from harness.noise import assert_looks_uniform
from sottovoce.errors import InputError, MismatchError
from sottovoce.numbers.ring import share, to_ring
from sottovoce.protocols.runner import Outcome
from sottovoce.protocols.shares.holders import Trio
from sottovoce.protocols.shares.labels.tally import TallyPlan, run
from sottovoce.protocols.shares.material import Context
from sottovoce.protocols.shares.rings import Ring

TRIO = Trio("coordinator", "alice", "dealer")
HERE = Context.among("flu", ["alice"], round=3)
RING = Ring(20)


def count(values: NDArray[np.int64], groups: NDArray[np.int64], seed: int = 1) -> Outcome:
    entropy = SeededEntropy(seed)
    first, second = (RING.reduce(half) for half in share(to_ring(values), entropy))
    plan = TallyPlan(*values.shape, RING)
    return run(plan, (first, second), to_ring(groups), TRIO, HERE, entropy=entropy)


def joint(outcome: Outcome) -> NDArray[np.uint64]:
    return RING.reduce(outcome.results["coordinator"] + outcome.results["alice"])


@given(
    st.integers(1, 9),
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(0, 2**32),
)
def test_counts_are_those_of_a_trusted_friend(
    rows: int, classes: int, thresholds: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, size=(rows, classes, thresholds))
    groups = rng.integers(0, 2, size=(rows, classes, 2))
    wanted = np.einsum("ics,ict->cst", groups, (values >= 0).astype(np.int64))
    assert np.array_equal(joint(count(values, groups)).astype(np.int64), wanted)


def test_no_party_sees_a_comparison_or_a_count() -> None:
    """All values are negative, and every row is of one group: what is seen is uniform anyway."""
    rows = 150
    values = np.full((rows, 1, 2), -7)
    groups = np.zeros((rows, 1, 2), np.int64)
    groups[:, :, 0] = 1
    outcome = count(values, groups)
    assert not joint(outcome).any()
    assert outcome.views["dealer"].received == []
    seen = opened_words(outcome, second="alice") & np.uint64(2**20 - 1)
    assert_looks_uniform(seen, 2**20)
    shares = np.concatenate(
        [count(values[:9], groups[:9], seed).results["alice"].ravel() for seed in range(50)]
    )
    assert len(np.unique(shares)) > 190


def test_two_different_documents_look_the_same_to_everybody() -> None:
    groups = np.ones((4, 1, 2), np.int64)
    outcomes = [count(np.full((4, 1, 3), value), groups) for value in (-5, 5)]
    sizes = [
        [(item.sender, type(item.message), item.size) for item in view.received]
        for outcome in outcomes
        for view in outcome.views.values()
    ]
    assert sizes[: len(sizes) // 2] == sizes[len(sizes) // 2 :]


def test_plans_and_shapes_that_do_not_fit_are_named() -> None:
    with pytest.raises(InputError, match="at least 1 document, class and threshold, found 3, 0"):
        TallyPlan(3, 0, 1, RING)
    with pytest.raises(InputError, match="9 documents cannot be counted in 3 bits"):
        TallyPlan(9, 1, 1, Ring(3))
    plan, values = TallyPlan(4, 1, 2, RING), np.zeros((4, 1, 3), np.uint64)
    with pytest.raises(MismatchError, match=r"expected values of shape \(4, 1, 2\)"):
        run(plan, (values, values), values, TRIO, HERE, entropy=SeededEntropy(1))
