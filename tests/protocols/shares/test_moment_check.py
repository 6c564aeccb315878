"""Whoever contributes more than its rows can have is noticed, whatever it writes into the words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from harness.examples.text_moments import text_moments
from harness.meddling import is_kind, rewriting
from sottovoce import wire
from sottovoce.errors import MismatchError, ViolationError
from sottovoce.numbers.ring import Words, share
from sottovoce.protocols.runner import Meddler
from sottovoce.protocols.shares.contribution import MomentScales
from sottovoce.protocols.shares.holders import HolderPrograms, Trio, run
from sottovoce.protocols.shares.material import Context
from sottovoce.protocols.shares.moment_check import (
    MomentBounds,
    PlausibleMomentsBit,
    check_moments,
    deal_moment_check,
)
from sottovoce.protocols.shares.triangle import Triangle

TRIO = Trio("coordinator", "evaluator", "dealer")
HERE = Context.among("flu", ["alice", "bob", "carol"])
MOMENTS = text_moments(60, 12, classes=3)
SHAPE = MOMENTS.products.shape
TRIANGLE = Triangle(SHAPE[0])
# As many rows as there are: nothing is left for anybody else.
SCALES = MomentScales.fit(weight=len(MOMENTS.rows), row_norm=1.05, penalty=1.0)
BOUNDS = MomentBounds.of(SCALES, SHAPE, peers=3)
HONEST = SCALES.written(MOMENTS.second, MOMENTS.products)


def check(words: Words, meddler: Meddler | None = None) -> None:
    first, second = share(words, SeededEntropy(3))
    programs = HolderPrograms(
        lambda holder: check_moments(holder, BOUNDS, first),
        lambda holder: check_moments(holder, BOUNDS, second),
        lambda dealer: deal_moment_check(dealer, BOUNDS),
    )
    run(programs, TRIO, HERE, entropy=SeededEntropy(4), meddler=meddler)


def _with(place: int, word: int) -> Words:
    words = HONEST.copy()
    words[place : place + 1] += np.uint64(word % 2**64)
    return words


def test_moments_of_as_many_rows_as_were_published_pass() -> None:
    check(HONEST)
    check(np.zeros_like(HONEST))


@pytest.mark.parametrize("column", [0, SHAPE[0] - 1])
def test_a_matrix_that_is_too_heavy_does_not(column: int) -> None:
    place = int(TRIANGLE.diagonal()[column])
    with pytest.raises(MismatchError, match="larger than the published rows"):
        check(_with(place, SCALES.matrix.bound))
    with pytest.raises(MismatchError, match="larger than the published rows"):
        check(_with(place, -SCALES.matrix.bound))


@given(times=st.floats(4, 2**20), place=st.integers(0, SHAPE[0] * SHAPE[1] - 1))
def test_a_right_hand_side_that_is_too_long_does_not(times: float, place: int) -> None:
    with pytest.raises(MismatchError, match="larger than the published rows"):
        check(_with(TRIANGLE.size + place, int(times * SCALES.vectors.bound)))


@given(
    word=st.integers(2**48, 2**64 - 2**48)
    | st.integers(50, 63).map(lambda power: 2**power)
    | st.sampled_from([2**62, 2**63, 2**63 - 1, 3 * 2**62]),
    entries=st.integers(1, SHAPE[0] * SHAPE[1]),
)
def test_no_word_wraps_around_to_something_small(word: int, entries: int) -> None:
    words = HONEST.copy()
    words[TRIANGLE.size : TRIANGLE.size + entries] = np.uint64(word)
    with pytest.raises(MismatchError, match="larger than the published rows"):
        check(words)


def test_a_bit_that_is_no_bit_names_the_other_holder() -> None:
    meddler = rewriting(
        lambda packet: is_kind(packet, PlausibleMomentsBit) and packet.sender == "evaluator",
        PlausibleMomentsBit,
        lambda message: PlausibleMomentsBit(wire.Words.of(np.full(1, 77, np.uint64))),
    )
    with pytest.raises(ViolationError, match="the shares make no bit") as error:
        check(HONEST, meddler)
    assert error.value.party == "evaluator"
