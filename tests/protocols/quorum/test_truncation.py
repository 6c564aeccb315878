"""Product and truncation in one opening."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from harness.noise import assert_looks_uniform
from harness.quorums import OPENER, SIZES, joined, quorum_of, shared, talk
from sottovoce.errors import BoundError, MisuseError
from sottovoce.numbers import limbs
from sottovoce.numbers.residues import PRIMES, Base, Planes
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.quorum.dealing import QuorumMember
from sottovoce.protocols.quorum.products import multiplied, reduction
from sottovoce.protocols.quorum.truncation import FusedTruncation, MaskedDividend, truncated


@pytest.mark.parametrize(("members", "threshold"), SIZES)
@settings(max_examples=4)
@given(
    pairs=st.lists(
        st.tuples(st.integers(-(2**31), 2**31), st.integers(-(2**28), 2**28)),
        min_size=1,
        max_size=4,
    ),
    shift=st.integers(1, 40),
    seed=st.integers(0, 99),
)
def test_a_product_comes_back_divided(
    members: int, threshold: int, pairs: list[tuple[int, int]], shift: int, seed: int
) -> None:
    quorum, base = quorum_of(members, threshold), Base()
    left = shared(quorum, [pair[0] for pair in pairs])
    right = shared(quorum, [pair[1] for pair in pairs], seed=50)
    truncation = FusedTruncation.of(quorum, bits=60, shift=shift, hiding=60)

    def member(seat: QuorumMember) -> Party[Planes]:
        share = base.times(left[seat.name], right[seat.name])
        return (yield from truncated(seat, truncation, share, purpose="test"))

    opening = truncation.opening(quorum, (len(pairs),))
    outcome = talk(quorum, member, [opening], seed=seed)
    quotients = base.signed(joined(quorum, outcome)).tolist()
    for quotient, (x, y) in zip(quotients, pairs, strict=True):
        assert abs(quotient - x * y / 2**shift) < (threshold + 2) / 2


@pytest.mark.parametrize("dealers", [1, 2, pytest.param(3, marks=pytest.mark.soak)])
def test_every_value_and_every_mask_in_a_small_range(dealers: int) -> None:
    """Exhaustive: for all y and all masks the error is below (k + 1)/2 and its mean is nearly 0."""
    truncation = FusedTruncation(bits=3, shift=2, hiding=1, dealers=dealers, base=Base(1))
    base, top = truncation.base, 2**4
    for value in range(-(2**3) + 1, 2**3):
        errors = []
        for masks in product(range(top), repeat=dealers):
            z = value + truncation.offset + sum(masks)
            assert 0 <= z < truncation.limit
            opened = base.of(np.array([z >> truncation.shift]))
            dealt = base.of(np.array([sum(mask >> truncation.shift for mask in masks)]))
            quotient = int(base.signed(truncation.finish(opened, dealt))[0])
            errors.append(quotient - value / 4)
        assert max(map(abs, errors)) < (dealers + 1) / 2
        assert abs(math.fsum(errors) / len(errors)) <= (dealers - 1) / 8


def test_what_is_opened_hardly_depends_on_the_value() -> None:
    """Exhaustive: the distributions of z for any two values are within 2^(1−κ) of each other."""
    bits, hiding = 2, 5
    truncation = FusedTruncation(bits=bits, shift=1, hiding=hiding, dealers=1, base=Base(1))
    masks = 2 ** (bits + hiding)
    seen = {
        value: Counter(value + truncation.offset + mask for mask in range(masks))
        for value in range(-(2**bits) + 1, 2**bits)
    }
    for first, other in product(seen.values(), repeat=2):
        differing = sum(abs(first[z] - other[z]) for z in first.keys() | other.keys())
        assert differing / masks / 2 <= 2.0 ** (1 - hiding)


def test_drawn_masks_fill_their_range_and_their_quotients_fit() -> None:
    truncation = FusedTruncation(bits=40, shift=17, hiding=60, dealers=2)
    number, quotient = truncation.secrets(SeededEntropy(1), 500)
    whole = truncation.base.integers(number)
    assert (whole // 2**17 == truncation.base.integers(quotient)).all()
    assert_looks_uniform(whole.tolist(), 2**100)


@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (5, 2)])
def test_the_opener_sees_fresh_polynomials_of_the_same_value(members: int, threshold: int) -> None:
    """All shares of a constant: each is noise, though the value is the same in every entry."""
    quorum = quorum_of(members, threshold)
    constant = {name: Base().of(np.full(500, 1234)) for name in quorum.members}
    truncation = FusedTruncation.of(quorum, bits=20, shift=10, hiding=70)

    def member(seat: QuorumMember) -> Party[Planes]:
        return (yield from truncated(seat, truncation, constant[seat.name], purpose="test"))

    outcome = talk(quorum, member, [truncation.opening(quorum, (500,))])
    for message in outcome.views[OPENER].of(MaskedDividend):
        for plane, prime in enumerate(PRIMES):
            assert_looks_uniform(message.share.planes()[plane].tolist(), prime)
    # Where the mask is short the opened integers themselves are short, and stay in their range.
    shares = outcome.views[OPENER].of(MaskedDividend)
    assert len({bytes(message.share.data) for message in shares}) == members


def test_material_is_used_once() -> None:
    quorum = quorum_of(3, 1)
    shares = shared(quorum, np.arange(2))
    truncation = FusedTruncation.of(quorum, bits=20, shift=10, hiding=60)

    def member(seat: QuorumMember) -> Party[Planes]:
        yield from truncated(seat, truncation, shares[seat.name], purpose="same")
        return (yield from truncated(seat, truncation, shares[seat.name], purpose="same"))

    with pytest.raises(MisuseError, match="was used already"):
        talk(quorum, member, [truncation.opening(quorum, (2,))] * 2)


@pytest.mark.parametrize(
    ("bits", "shift", "hiding", "message"),
    [
        (80, 10, 80, "do not fit 7 residues of 146 bits"),
        (20, 0, 60, "shift and hiding of at least 1"),
        (0, 5, 60, "found 0, 5 and 60"),
    ],
)
def test_bounds_that_do_not_fit_are_refused_beforehand(
    bits: int, shift: int, hiding: int, message: str
) -> None:
    with pytest.raises(BoundError, match=message):
        FusedTruncation(bits, shift, hiding, 2)


@pytest.mark.parametrize(("members", "threshold"), SIZES)
def test_exact_products(members: int, threshold: int) -> None:
    quorum, base = quorum_of(members, threshold), Base(3)
    left, right = np.array([2**30, -5, 0]), np.array([-(2**29), 7, 9])
    first, other = shared(quorum, left, base), shared(quorum, right, base, seed=60)

    def member(seat: QuorumMember) -> Party[Planes]:
        return (yield from multiplied(seat, first[seat.name], other[seat.name], purpose="test"))

    outcome = talk(quorum, member, [reduction(quorum, base, (3,))])
    assert base.signed(joined(quorum, outcome)).tolist() == (left * right).tolist()


def test_limbs_hold_the_masks() -> None:
    assert limbs.count_for(123) == 4
