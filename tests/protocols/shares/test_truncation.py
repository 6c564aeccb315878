import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from harness.conversations.enumeration import GivenWords, grid, words
from harness.conversations.opened import opened_words
from harness.entropy import SeededEntropy
from harness.meddling import is_kind, rewriting
from harness.noise import assert_looks_uniform, assert_shows_structure
from sottovoce import wire
from sottovoce.errors import MisuseError, ViolationError
from sottovoce.numbers.ring import Words, from_ring, share, to_ring
from sottovoce.protocols.messages import Message
from sottovoce.protocols.runner import Meddler, Outcome
from sottovoce.protocols.shares.holders import HolderPrograms, Trio, run
from sottovoce.protocols.shares.material import Context
from sottovoce.protocols.shares.rings import Ring
from sottovoce.protocols.shares.truncation import (
    DealtQuotients,
    DividendShare,
    RingTruncation,
    deal_truncation,
    truncated,
)

TRIO = Trio("coordinator", "evaluator", "dealer")
HERE = Context.among("flu", ["alice", "bob"])


def both_sides(
    truncation: RingTruncation, x: Words, first_words: list[int], second_words: list[int]
) -> tuple[Words, Words]:
    """Shares (x, 0) divided with these masks: the opened z and the quotient."""
    count = len(x)
    dealt = truncation.deal(GivenWords(first_words), GivenWords(second_words), count)
    halves = [
        truncation.first_half(GivenWords(first_words), dealt),
        truncation.second_half(GivenWords(second_words), count),
    ]
    ring = truncation.ring
    shares = (x, np.zeros_like(x))
    z = ring.reduce(
        sum(
            truncation.masked(part, half, first=first)
            for part, half, first in zip(shares, halves, (True, False), strict=True)
        )
    )
    quotient = ring.reduce(
        sum(
            truncation.finish(z, half, first=first)
            for half, first in zip(halves, (True, False), strict=True)
        )
    )
    return z, quotient


@pytest.mark.parametrize("bits", range(1, 7))
def test_exhaustively_over_2_to_the_8_it_is_floor_or_floor_plus_one(bits: int) -> None:
    ring = Ring(8)
    truncation = RingTruncation(bits, ring)
    offset, mask = grid(2 * ring.quarter, 256)
    x = offset.astype(np.int64) - ring.quarter
    zeros = [0] * len(x)
    # The second's mask stands for r (the first's is 0), its other halves are arbitrary.
    other = words(ring.reduce(mask * np.uint64(77) + offset))
    z, quotient = both_sides(
        truncation, ring.reduce(to_ring(x)), zeros, [*words(mask), *other, *other[::-1]]
    )
    signed = quotient.astype(np.int64)
    signed[signed >= 128] -= 256
    assert np.isin(signed - (x >> bits), (0, 1)).all()
    # Exactly as often floor + 1 as the fraction says: unbiased.
    for value in range(-ring.quarter, ring.quarter):
        above = (signed[x == value] - (value >> bits)).sum()
        assert above * 2**bits == (value % 2**bits) * 256
        # And z takes every value once: uniform, whatever x is.
        assert sorted(z[x == value]) == list(range(256))


def test_outside_a_quarter_of_the_ring_it_is_silently_wrong() -> None:
    ring = Ring(8)
    outside, mask = grid(128, 256)
    x = outside.astype(np.int64) + ring.quarter
    x = x[x < 128]
    mask = mask[: len(x)]
    _, quotient = both_sides(
        RingTruncation(3, ring),
        ring.reduce(to_ring(x)),
        [0] * len(x),
        [*words(mask), *[0] * 2 * len(x)],
    )
    assert not np.isin(quotient.astype(np.int64) - (x >> 3), (0, 1)).all()


@given(st.lists(st.integers(-(2**62), 2**62 - 1), min_size=1, max_size=20), st.integers(1, 62))
def test_the_whole_conversation_over_2_to_the_64(values: list[int], bits: int) -> None:
    outcome = divide(np.array(values), RingTruncation(bits))
    quotient = from_ring(outcome.results["coordinator"] + outcome.results["evaluator"])
    assert all(int(q) - (x >> bits) in {0, 1} for q, x in zip(quotient, values, strict=True))


def divide(
    values: NDArray[np.int64],
    truncation: RingTruncation,
    seed: int = 1,
    meddler: Meddler | None = None,
) -> Outcome:
    shares = share(to_ring(values), SeededEntropy(seed))
    programs = HolderPrograms(
        lambda holder: truncated(holder, shares[0], truncation, purpose="test"),
        lambda holder: truncated(holder, shares[1], truncation, purpose="test"),
        lambda dealer: deal_truncation(dealer, truncation, values.shape, purpose="test"),
    )
    return run(programs, TRIO, HERE, entropy=SeededEntropy(seed + 1), meddler=meddler)


def test_what_everybody_sees_is_noise_and_the_dealer_sees_nothing() -> None:
    outcome = divide(np.full((40, 20), 12_345), RingTruncation(20))
    for name in ("coordinator", "evaluator"):
        assert_looks_uniform(outcome.views[name].words(), what=name)
    assert_looks_uniform(opened_words(outcome))
    assert outcome.views["dealer"].received == []


def test_a_forgotten_mask_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RingTruncation, "masked", lambda self, share, half, first: share)
    assert_shows_structure(opened_words(divide(np.full((40, 20), 12_345), RingTruncation(20))))


@pytest.mark.parametrize("bits", [0, 63])
def test_it_divides_by_two_to_the_1_up_to_62(bits: int) -> None:
    with pytest.raises(MisuseError, match=f"1 to 62 bits, found {bits}"):
        RingTruncation(bits)


@pytest.mark.parametrize(
    ("kind", "party", "fields"), [(DividendShare, "evaluator", 1), (DealtQuotients, "dealer", 2)]
)
def test_wrong_shapes_are_refused_naming_the_party(
    kind: type[Message], party: str, fields: int
) -> None:
    small = wire.Words.of(np.zeros(3, np.uint64))
    meddler = rewriting(
        lambda packet: is_kind(packet, kind) and packet.recipient == "coordinator",
        kind,
        lambda message: kind(*[small] * fields),
    )
    with pytest.raises(ViolationError, match=f"{kind.__name__}: expected words of shape") as error:
        divide(np.arange(5), RingTruncation(3), meddler=meddler)
    assert error.value.party == party
