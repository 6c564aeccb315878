"""[y ≥ 0] without a dealer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.noise import assert_looks_uniform
from harness.quorums import OPENER, SIZES, joined, quorum_of, shared, talk
from sottovoce.errors import BoundError, ViolationError
from sottovoce.numbers.residues import PRIMES, Base, Planes
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.quorum.comparison import (
    BIT_BASE,
    MaskedScore,
    SharedComparison,
    at_least_zero,
)
from sottovoce.protocols.quorum.dealing import QuorumMember
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import OpenedValues
from sottovoce.protocols.quorum.products import MaskedProduct
from sottovoce.protocols.runner import Outcome


def compared(
    quorum: Quorum, comparison: SharedComparison, values: list[int], seed: int = 1
) -> Outcome:
    shares = shared(quorum, np.array(values), comparison.base, degree=2 * quorum.threshold)

    def member(seat: QuorumMember) -> Party[Planes]:
        share = shares[seat.name]
        return (yield from at_least_zero(seat, comparison, share, purpose="test"))

    openings = comparison.openings(quorum, (len(values),))
    return talk(quorum, member, openings, seed=seed)


@pytest.mark.parametrize(("members", "threshold"), SIZES)
@settings(max_examples=3)
@given(data=st.data(), bits=st.integers(1, 40), seed=st.integers(0, 99))
def test_signs_are_those_of_the_integers(
    members: int, threshold: int, data: st.DataObject, bits: int, seed: int
) -> None:
    quorum, top = quorum_of(members, threshold), 2**bits
    edges = st.sampled_from([-top, -1, 0, top - 1])
    inside = st.integers(-top, top - 1)
    values = data.draw(st.lists(edges | inside, min_size=1, max_size=4))
    outcome = compared(quorum, SharedComparison(bits, 60, Base(6)), values, seed)
    assert joined(quorum, outcome)[0].tolist() == [int(value >= 0) for value in values]


@pytest.mark.parametrize("bits", [1, 2, 3, 5])
def test_every_value_of_a_small_range(bits: int) -> None:
    quorum, values = quorum_of(3, 1), list(range(-(2**bits), 2**bits))
    for seed in range(6):
        outcome = compared(quorum, SharedComparison(bits, 20, Base(3)), values, seed)
        assert joined(quorum, outcome)[0].tolist() == [int(value >= 0) for value in values]


def test_everything_that_the_opener_sees_is_noise() -> None:
    quorum = quorum_of(5, 2)
    comparison = SharedComparison(12, 70, Base(5))
    outcome = compared(quorum, comparison, [3] * 100)
    for message in outcome.views[OPENER].of(MaskedScore):
        for plane in range(5):
            assert_looks_uniform(message.share.planes()[plane].tolist(), PRIMES[plane])
    for message in outcome.views[OPENER].of(MaskedProduct):
        for plane in range(message.share.shape[0]):
            assert_looks_uniform(message.share.planes()[plane].reshape(-1).tolist(), PRIMES[plane])
    # What is opened of the products is uniform in its field, at every member.
    for message in outcome.views["site1"].of(OpenedValues):
        if message.values.shape[0] == 1:
            plane = message.values.planes()[0].reshape(-1)
            assert_looks_uniform(plane.tolist(), PRIMES[0])


def test_the_low_bits_of_what_is_opened_are_uniform() -> None:
    quorum, comparison = quorum_of(3, 1), SharedComparison(16, 60, Base(5))
    outcome = compared(quorum, comparison, [5] * 400)
    shape = comparison.opening(quorum, (400,)).planes_shape
    opened = [
        message
        for message in outcome.views["site1"].of(OpenedValues)
        if message.values.shape == shape
    ]
    low = [int(value) % 2**16 for value in comparison.base.integers(opened[0].values.planes())]
    assert_looks_uniform(low, 2**16)


def test_a_value_outside_its_bound_is_not_taken_for_a_bit() -> None:
    quorum = quorum_of(3, 1)
    outside = Base(5).modulus // 2
    shares = shared(quorum, np.array([outside], object), Base(5))
    comparison = SharedComparison(16, 60, Base(5))

    def member(seat: QuorumMember) -> Party[Planes]:
        return (yield from at_least_zero(seat, comparison, shares[seat.name], purpose="test"))

    with pytest.raises(ViolationError, match="expected a value in the range of its mask"):
        talk(quorum, member, comparison.openings(quorum, (1,)))


def test_bounds_that_do_not_fit_are_refused_beforehand() -> None:
    with pytest.raises(BoundError, match="do not fit 3 residues"):
        SharedComparison(20, 60, Base(3)).limit(quorum_of(3, 1))
    with pytest.raises(BoundError, match="at least 1 bit"):
        SharedComparison(0, 60, BIT_BASE)
