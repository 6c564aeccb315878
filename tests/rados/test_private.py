"""Private rados: the guarantee that is reported is the one that counting all signatures gives."""

from collections import Counter
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from sottovoce.errors import InputError
from sottovoce.rados import Part, private_rados
from sottovoce.rados.private import KeptWindow


def boolean(seed: int, rows: int = 40) -> Part:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(rows, 2)), rng.choice([-1.0, 1.0], rows)])
    return Part.of(X, rng.choice([-1.0, 1.0], rows))


def released(edges: np.ndarray, epsilon: float) -> dict[float, float]:
    """The distribution of the sensitive coordinate, by going through every signature."""
    m, plus = len(edges), int((edges > 0).sum())
    beta = 1 / (1 + np.exp(epsilon / 2))
    values = [float(edges[list(chosen)].sum()) for chosen in product((False, True), repeat=m)]
    kept = [v for v in values if -(m - plus) + beta * (m + 1) <= v <= plus - beta * (m + 1)]
    return {value: count / len(kept) for value, count in Counter(kept).items()}


@given(st.integers(4, 10), st.floats(1, 6), st.integers(0, 2**32))
def test_epsilon_and_delta_are_what_counting_gives(m: int, epsilon: float, seed: int) -> None:
    assume((m + 1) / (1 + np.exp(epsilon / 2)) <= m // 2)
    edges = np.random.default_rng(seed).choice([-1.0, 1.0], m)
    guarantee = KeptWindow.of(m, epsilon=epsilon).guarantee(epsilon)
    assert 0 <= guarantee.spent <= epsilon / 2 + 1e-12
    here = released(edges, epsilon)
    flipped = edges.copy()
    flipped[0] *= -1
    there = released(flipped, epsilon)
    ratios = [abs(np.log(here[v] / there[v])) for v in here.keys() & there.keys()]
    assert np.isclose(max(ratios, default=0.0), guarantee.spent)
    assert np.isclose(sum(here[v] for v in here.keys() - there.keys()), guarantee.delta)


@given(st.integers(0, 2**32), st.floats(0.1, 8), st.sampled_from([np.array, sparse.csr_array]))
def test_every_private_rado_is_inside_the_window(
    seed: int, epsilon: float, form: Callable[[np.ndarray], object]
) -> None:
    own = boolean(seed)
    rows = form(own.rows)
    result = private_rados(
        Part.of(rows, own.labels),
        feature=2,
        count=30,
        epsilon=epsilon,
        rng=np.random.default_rng(1),
    )
    m, plus = 40, int((own.labels * own.rows[:, 2] > 0).sum())
    beta = 1 / (1 + np.exp(epsilon / 2))
    assert result.vectors.shape == (30, 3)
    assert (result.vectors[:, 2] >= -(m - plus) + beta * (m + 1) - 1e-9).all()
    assert (result.vectors[:, 2] <= plus - beta * (m + 1) + 1e-9).all()
    assert result.drawn >= 30


def test_the_acceptance_rate_is_the_share_that_is_kept() -> None:
    own = boolean(2)
    result = private_rados(own, feature=2, count=4_000, epsilon=0.3, rng=np.random.default_rng(0))
    expected = result.each.acceptance
    assert 0.05 < expected < 0.5
    assert abs(4_000 / result.drawn - expected) < 5 * np.sqrt(expected / result.drawn)


def test_privacy_composes_linearly_in_the_number_of_rados() -> None:
    result = private_rados(
        boolean(2), feature=2, count=25, epsilon=1.0, rng=np.random.default_rng(0)
    )
    assert result.total.epsilon == 25 * result.each.epsilon
    assert result.total.delta == 25 * result.each.delta
    assert result.total.spent == 25 * result.each.spent


def test_the_other_coordinates_are_not_protected() -> None:
    # Each document carries a mark of its own, so a rado tells which ones it adds up,
    # and with that the sensitive feature of the last document, for any epsilon.
    rng = np.random.default_rng(0)
    sensitive, y = rng.choice([-1.0, 1.0], 12), np.ones(12)
    own = Part.of(np.column_stack([np.eye(12), sensitive]), y)
    result = private_rados(own, feature=12, count=20, epsilon=0.5, rng=rng).vectors
    with_last = result[result[:, 11] == 1]
    assert len(with_last)
    guesses = with_last[:, 12] - with_last[:, :11] @ sensitive[:11]
    assert (guesses == sensitive[11]).all()


def test_bad_input_is_named() -> None:
    own, rng = boolean(1), np.random.default_rng(0)
    for epsilon in (0.0, -1.0, np.nan):
        with pytest.raises(InputError, match="expected epsilon above 0"):
            private_rados(own, feature=2, count=5, epsilon=epsilon, rng=rng)
    with pytest.raises(InputError, match="at least 1 rado, found 0"):
        private_rados(own, feature=2, count=0, epsilon=1.0, rng=rng)
    with pytest.raises(InputError, match="feature from 0 to 2, found 3"):
        private_rados(own, feature=3, count=5, epsilon=1.0, rng=rng)
    with pytest.raises(InputError, match="feature 0 to be -1 or 1 everywhere") as caught:
        private_rados(own, feature=0, count=5, epsilon=1.0, rng=rng)
    assert caught.value.hints
    single = Part.of(np.ones((1, 1)), [1.0])
    with pytest.raises(InputError, match=r"with 1 document\(s\) no rado satisfies epsilon 0.1"):
        private_rados(single, feature=0, count=1, epsilon=0.1, rng=rng)
