"""Moments of every peer against the rows that it claimed: exact where honest, named where not."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.quorums import OPENER, SIZES, here, quorum_of, shared
from sottovoce.errors import InputError, ViolationError
from sottovoce.numbers.residues import PRIMES, Base
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.quorum import moment_check
from sottovoce.protocols.quorum.dealing import QuorumMember, QuorumPrograms, run
from sottovoce.protocols.quorum.moment_check import (
    CheckedPart,
    WeightBounds,
    check_weights,
    open_weights,
)
from sottovoce.protocols.quorum.opening import OpenedValues, Opener
from sottovoce.protocols.runner import Outcome
from sottovoce.protocols.shares.contribution import MomentScales
from sottovoce.protocols.shares.triangle import Triangle

WIDTH, CLASSES, ROWS = 5, 2, 90
CLAIMED = {"north": 40, "south": 25, "west": 25}
FIELDS = Base(2)
Numbers = dict[str, list[int]]


def bounds_of(weights: tuple[float, ...] = (1.0, 0.0)) -> WeightBounds:
    scales = MomentScales.fit(weight=ROWS, penalty=1.0)
    return WeightBounds.of(scales, (WIDTH, CLASSES), weights, rows=ROWS, checks=15)


def words(rows: int, *, times: float = 1.0) -> list[int]:
    """Moments of so many unit rows, written for the study, and the rows that are claimed."""
    drawn = np.random.default_rng(rows).normal(size=(rows, WIDTH))
    drawn /= np.linalg.norm(drawn, axis=1)[:, np.newaxis]
    targets = np.sign(drawn[:, :CLASSES])
    scales = MomentScales.fit(weight=ROWS, penalty=1.0)
    second, products = times * drawn.T @ drawn, times * drawn.T @ targets
    matrix, vectors = scales.encode(second, products)
    signed = np.concatenate([matrix, vectors.ravel()]).view(np.int64)
    return [*signed.tolist(), rows, rows // 2]


def honest() -> Numbers:
    return {peer: words(rows) for peer, rows in CLAIMED.items()}


def checked(
    numbers: Numbers,
    *,
    bounds: WeightBounds | None = None,
    size: tuple[int, int] = (3, 1),
    opening: Callable[[Opener], Party[None]] | None = None,
) -> Outcome:
    """Everybody's numbers in shares, against what everybody claimed before."""
    quorum, bounds = quorum_of(*size), bounds or bounds_of()
    shares = {
        peer: shared(quorum, np.array(mine, object), seed=place)
        for place, (peer, mine) in enumerate(numbers.items())
    }
    before = {
        peer: shared(quorum, np.array([rows, rows // 2]), FIELDS, seed=77 + rows)
        for peer, rows in CLAIMED.items()
    }

    def member(seat: QuorumMember) -> Party[None]:
        parts = {
            peer: CheckedPart.of(bounds, shares[peer][seat.name], before[peer][seat.name])
            for peer in numbers
        }
        yield from check_weights(seat, bounds, parts)

    def opener(party: Opener) -> Party[None]:
        yield from open_weights(party, bounds, tuple(numbers), fields=FIELDS)

    programs = QuorumPrograms(member, opening or opener)
    return run(programs, quorum, here(quorum), entropy=SeededEntropy(5))


def refused(numbers: Numbers, **settings: Any) -> ViolationError:
    with pytest.raises(ViolationError) as caught:
        checked(numbers, **settings)
    return caught.value


def opens_without_looking(party: Opener) -> Party[None]:
    """An opener that tells the members what was opened, and refuses nothing itself."""
    quorum, bounds, peers = party.quorum, bounds_of(), len(CLAIMED)
    yield from party.open(moment_check._claims(quorum, FIELDS, (peers, len(bounds.factors))))
    for opening in moment_check._masked(quorum, bounds, peers):
        yield from party.open(opening)
    yield from party.open(moment_check._bits(quorum, peers))


def test_members_look_for_themselves() -> None:
    assert checked(honest(), opening=opens_without_looking)
    heavy = honest() | {"north": words(CLAIMED["north"], times=1.1)}
    more = honest() | {"north": words(CLAIMED["north"] + 2)}
    for numbers in (heavy, more):
        assert refused(numbers, opening=opens_without_looking).party == "north"


@pytest.mark.parametrize("size", SIZES)
def test_moments_of_rows_pass_and_open_nothing_else(size: tuple[int, int]) -> None:
    first, *_, last = checked(honest(), size=size).views["site1"].of(OpenedValues)
    claims, signs = first.values.planes(), last.values.planes()
    assert claims.shape == (FIELDS.count, 3, 2)
    assert not claims.any()
    assert signs.shape[1] == 3 * (2 + 2 * moment_check.DIRECTIONS) + 1
    assert (signs == 1).all()


def test_class_weights_count() -> None:
    numbers = honest()
    assert checked(numbers, bounds=bounds_of((0.0, 2.1)))
    assert refused(numbers, bounds=bounds_of((0.0, 1.5))).party == "north"


@pytest.mark.parametrize("peer", CLAIMED)
def test_who_contributes_more_than_its_rows_is_named(peer: str) -> None:
    numbers = honest()
    numbers[peer] = words(CLAIMED[peer], times=1.1)
    error = refused(numbers)
    assert error.party == peer
    assert "larger than its claimed rows can give" in error.message


def test_who_claims_other_rows_than_before_is_named() -> None:
    numbers = honest()
    numbers["south"] = words(80)
    assert refused(numbers).party == "south"
    assert "not those that went into the totals" in refused(numbers).message


def test_totals_of_fewer_rows_than_all_peers_claimed_are_refused() -> None:
    """A coordinator that publishes too few rows makes the masks of everything after too small."""
    all_rows = sum(CLAIMED.values()) << moment_check._WEIGHT_BITS
    assert checked(honest(), bounds=replace(bounds_of(), joint=all_rows))
    error = refused(honest(), bounds=replace(bounds_of(), joint=all_rows - 1))
    assert error.party == OPENER
    assert "fewer rows than those of all peers" in error.message


def test_a_large_column_of_the_right_hand_side_is_seen() -> None:
    numbers = honest()
    place = Triangle(WIDTH).size + 3
    scale = MomentScales.fit(weight=ROWS, penalty=1.0).vectors.fraction_bits
    for sign in (1, -1):
        numbers["west"][place] = sign * (14 * 25 * 2 << scale)
        assert refused(numbers).party == "west"


def test_a_trace_below_nothing_is_seen() -> None:
    numbers = honest()
    numbers["west"][0] = -(100 << 40)
    assert refused(numbers).party == "west"


def test_what_wraps_around_in_one_field_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """With signs in one field alone, a trace of some 2^21 times too much looks like none."""
    bounds, numbers = bounds_of(), honest()
    far = PRIMES[0] << bounds.bits
    numbers["west"][0] += far
    assert refused(numbers).party == "west"
    monkeypatch.setattr(moment_check, "_SIGN_BASE", Base(1))
    checked(numbers)


@pytest.mark.parametrize("power", [3, 5, 6, 7])
def test_nothing_that_is_far_too_large_passes(power: int) -> None:
    numbers = honest()
    numbers["south"][0] += PRIMES[0] * PRIMES[1] * PRIMES[2] << bounds_of().bits + power
    refused(numbers)


def test_rows_beyond_the_fields_of_totals_do_not_buy_weight() -> None:
    """The rows of now agree with those of before modulo two primes: more would fit there."""
    numbers = honest()
    numbers["south"] = words(25, times=3.0)
    numbers["south"][-2] += FIELDS.modulus
    assert refused(numbers).party == "south"


def test_the_masks_are_as_large_as_the_openings_ask_for() -> None:
    assert bounds_of().hiding >= 44 + np.log2(15 * (2 + 2 * moment_check.DIRECTIONS))


def test_what_the_opener_sees_before_the_signs_does_not_depend_on_the_moments() -> None:
    """Masked numbers fill the range of their masks, whatever they hide."""
    bounds = bounds_of()
    for message in checked(honest()).views["site2"].of(OpenedValues):
        if message.values.shape[0] == Base().count and message.values.shape[1:] != (1,):
            seen = Base().integers(message.values.planes()).ravel()
            sizes = [float(number) / 2.0 ** (bounds.bits + bounds.hiding) for number in seen]
            assert 0.5 < np.mean(sizes) < 1.5
            assert len(set(sizes)) == len(sizes)


@pytest.mark.parametrize("rows", [10, 10**4, 10**8])
@pytest.mark.parametrize("penalty", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("classes", [1, 200])
def test_no_study_is_too_large_for_the_masks(rows: int, penalty: float, classes: int) -> None:
    try:
        scales = MomentScales.fit(weight=rows, row_norm=2.3, penalty=penalty)
    except InputError:
        return
    weights = [1.0, *([0.0] * classes)]
    bounds = WeightBounds.of(scales, (8193, classes), weights, rows=rows, checks=5000)
    assert bounds.comparison.limit(quorum_of(9, 4)) < Base().modulus
