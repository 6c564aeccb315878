"""Rows measured from a public point: the same model, fewer steps, and ends that always hold."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.studies import BINARY
from sottovoce import wire
from sottovoce.errors import ViolationError
from sottovoce.numbers.rounding import rounded_up
from sottovoce.rados import Moments, joined
from sottovoce.study import InsecureToyPlan
from sottovoce.study.candidates import Candidate
from sottovoce.study.queries.scoring import ScorePlan
from sottovoce.study.stages.centring import END_PARTS, WHOLE, Reference, ToldSpectrum, moved_norm
from sottovoce.study.stages.contributions import end_parts, penalties_of, solve_plan, told_parts
from sottovoce.study.stages.solving import SolveNumbers, _ends_of
from sottovoce.study.totals import Totals
from sottovoce.text.columns import Numeric
from sottovoce.text.features import ONE_HOT, Weighting
from sottovoce.text.reading import Level, Reading

UNIT = 2.0**-5


def plan_of(features: int, **more) -> InsecureToyPlan:
    return InsecureToyPlan("point", BINARY, features=features, key_bits=768, **more)


def told_exactly(peers, reference: Reference) -> ToldSpectrum:
    parts = [
        [rounded_up(math.ceil(END_PARTS * end)) for end in reference.figures(moved)]
        for moved in peers
    ]
    return ToldSpectrum.opened(np.sum(parts, axis=0))


def rows_of(rng, count: int, frequency, weights, *, bias: float):
    """Unit rows with words of these frequencies and weights, and the bias."""
    words = (rng.random((count, len(frequency))) < frequency) * weights
    lengths = np.maximum(np.linalg.norm(words, axis=1, keepdims=True), 1e-9)
    return np.hstack([words / lengths, np.full((count, 1), bias)])


def whole_matrix(moved: Moments, reference: Reference, penalties, times: int):
    """What is solved: the sum of what peers wrote, with the bias and the penalty of the solve."""
    scale = np.append(np.ones(moved.features - 1), times)
    tilt = reference.tilt(penalties, times)
    diagonal = np.append(penalties[:-1], 0.0)
    second = moved.second * np.outer(scale, scale) + np.diag(diagonal) + np.outer(tilt, tilt)
    return second, moved.products * scale[:, None]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    alpha=st.sampled_from([0.01, 1.0, 30.0]),
    guess=st.sampled_from(["good", "bad", "zero"]),
    left=st.booleans(),
)
def test_both_ends_hold_and_the_model_is_the_same(seed, alpha, guess, left) -> None:
    rng = np.random.default_rng(seed)
    features, bias = int(rng.integers(2, 12)), float(rng.choice([0.3, 1.0, 0.05]))
    plan = plan_of(features, distrusted=(0,), epsilon=0.5, weighting=Weighting(bias=bias))
    penalties = penalties_of(plan, features + 1, Candidate(alpha))
    frequency = rng.uniform(0.02, 0.95, features)
    peers = []
    for _ in range(int(rng.integers(2, 5))):
        # Peers differ, and one may have very few documents.
        mine = np.clip(frequency * rng.uniform(0.5, 1.5, features), 0, 1)
        weights = rng.uniform(0.5, 3, features)
        rows = rows_of(rng, int(rng.integers(1, 120)), mine, weights, bias=bias)
        peers.append(Moments.of(rows, np.where(rng.random(len(rows)) < 0.5, -1.0, 1.0)))
    union = joined(peers)
    halves = {
        "good": np.maximum(1, np.rint(2 * (1 - np.log(frequency)))).astype(int),
        "bad": rng.integers(1, 12, features),
        "zero": np.full(features, 60),
    }[guess]
    reference = Reference.of(plan, tuple(halves.tolist()))
    for peer in peers:
        reference.move(peer)
    published = rounded_up(int(union.weight))
    kept = peers[1:] if left and peers[0].weight < 0.8 * union.weight else peers
    result = reference.ends(
        told_exactly(kept, reference),
        penalties,
        weight=published,
        all_peers=len(kept) == len(peers),
    )
    matrix, products = whole_matrix(joined(kept), reference, penalties, result.times)
    spectrum = np.linalg.eigvalsh(matrix)
    assert spectrum[-1] <= result.ends.ceiling_parts / END_PARTS + penalties.max()
    assert spectrum[0] >= penalties.min() * result.ends.floor_share / WHOLE

    phi = np.linalg.solve(matrix, products)
    theta = phi.copy()
    theta[-1] = (result.times * UNIT * phi[-1] - reference.mean @ phi[:-1]) / bias
    for item in kept:
        item.move(-np.append(reference.mean, bias - UNIT))
    origin = joined(kept)
    plain = np.linalg.solve(origin.second + np.diag(penalties), origin.products)
    np.testing.assert_allclose(theta, plain, rtol=0, atol=1e-7 * (1 + np.abs(plain).max()))


def test_what_a_peer_tells_leaves_it_rounded_up() -> None:
    """Coordinator and evaluator open the sum of these numbers as it is."""
    rng = np.random.default_rng(1)
    plan = plan_of(5)
    reference = Reference.of(plan, (2, 3, 4, 5, 6))
    for count in (3, 40, 700):
        moments = Moments.of(
            rows_of(rng, count, np.full(5, 0.4), np.ones(5), bias=0.3), np.ones(count)
        )
        reference.move(moments)
        parts_told = told_parts(plan, moments, reference, fraction_bits=20)
        assert ToldSpectrum.opened(parts_told.words) == parts_told
        largest = np.linalg.eigvalsh(moments.second[:-1, :-1])[-1]
        assert largest * END_PARTS <= parts_told.largest <= 1.4 * largest * END_PARTS + 2
        apart = moments.totals[:-1] @ moments.totals[:-1] / count
        assert apart * END_PARTS <= parts_told.apart <= 1.4 * apart * END_PARTS + 2


@pytest.mark.parametrize(("parts", "share"), [(-1, WHOLE), (10, 0), (10, WHOLE + 1)])
def test_ends_without_an_interval_name_who_told_them(parts: int, share: int) -> None:
    numbers = SolveNumbers(wire.Words.of(np.zeros(1, np.uint64)), parts, share, (1, 1), ())
    with pytest.raises(ViolationError, match=f"coordinator: .*found {parts} and {share}"):
        _ends_of(numbers, sender="coordinator")


def test_text_is_solved_in_two_thirds_of_the_steps() -> None:
    rng = np.random.default_rng(5)
    frequency = np.minimum(0.6, 3 / np.arange(2, 402))
    plan = plan_of(400)
    halves = np.rint(2 * (1 - np.log(frequency))).astype(int)
    peers = [
        Moments.of(rows_of(rng, 700, frequency, halves / 2, bias=0.3), np.ones(700))
        for _ in range(3)
    ]
    reference = Reference.of(plan, tuple(halves.tolist()))
    penalties = penalties_of(plan, 401, Candidate())
    totals = Totals(2100, (1100, 1000), ("a", "b", "c"))
    before = sum(end_parts(peer, fraction_bits=20) for peer in peers)
    for peer in peers:
        reference.move(peer)
    after = told_exactly(peers, reference)
    result = reference.ends(after, penalties, weight=2100, all_peers=True)
    still = replace(result.ends, ceiling_parts=before, floor_share=WHOLE)
    fewer, more = (
        len(solve_plan(plan, totals, Candidate(), ends=ends).steps) for ends in (result.ends, still)
    )
    assert fewer < 0.65 * more


def test_the_bias_of_the_model_comes_back_exactly() -> None:
    plan = plan_of(3)
    reference = Reference.of(plan, (3, 4, 6))
    assert all(point > 0 for point in reference.point)
    assert np.linalg.norm(reference.mean) <= 0.5
    assert np.hypot(1 + np.linalg.norm(reference.mean), UNIT) <= moved_norm(plan)
    solution = solve_plan(
        plan,
        Totals(100, (50, 50), ()),
        Candidate(),
        ends=reference.ends(ToldSpectrum(2560, 320), np.ones(4), weight=100, all_peers=True).ends,
    ).solution
    scores = ScorePlan.fit(plan, (3, 4, 6), solution)
    phi = np.array([[5], [-7], [11], [13]], np.int64)
    row = reference.bias_row(phi.view(np.uint64), 6).view(np.int64)
    exact = 6 * UNIT * 13 - reference.mean @ phi[:-1, 0]
    # In units of a factor: a sixteenth of the bias, of 14 fraction bits.
    assert row.tolist() == [exact / 16 * 2**scores.factor_scale.fraction_bits]


@pytest.mark.parametrize(
    "other",
    [
        {"dictionary": "hashed"},
        {"weighting": ONE_HOT},
        {"weighting": Weighting(bias=0)},
        {"reading": Reading(level=Level.SENTENCE)},
        {"columns": (Numeric("age", 0, 100),)},
    ],
    ids=str,
)
def test_where_no_idf_tells_of_means_the_origin_stays(other) -> None:
    assert Reference.of(plan_of(4, **other), (2, 3, 4, 5)) is None
