"""The joint mean: rounded at every peer, opened once, and never another model."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.studies import BINARY
from sottovoce.errors import InputError
from sottovoce.numbers.rounding import rounded_up
from sottovoce.rados import Moments
from sottovoce.study import InsecureToyPlan
from sottovoce.study.choices import Centre
from sottovoce.study.stages.centring import MEAN_PARTS, Reference
from sottovoce.study.stages.joint_mean import own_apart
from sottovoce.text.blocks import Blocks

HALVES = (4, 6, 8, 10)


def reference(features: int = 4, **more) -> Reference:
    plan = InsecureToyPlan("mean", BINARY, features=features, key_bits=768, **more)
    result = Reference.of(plan, HALVES[:features])
    assert result is not None
    return result


def moments_of(rows) -> Moments:
    rows = np.asarray(rows, float)
    with_bias = np.hstack([rows, np.full((len(rows), 1), 0.3)])
    return Moments.of(with_bias, np.where(np.arange(len(rows)) % 2, 1.0, -1.0))


@given(seed=st.integers(0, 2**32), counts=st.lists(st.integers(2, 90), min_size=2, max_size=5))
def test_the_corrected_point_is_the_joint_mean_to_the_nearest_part(seed, counts) -> None:
    rng = np.random.default_rng(seed)
    point = reference()
    peers = [moments_of(0.4 * rng.random((count, 4)) ** 2) for count in counts]
    sums = sum(own_apart(point, peer) for peer in peers)
    steps = point.correction(sums[:-1] / sums[-1])
    corrected = point.corrected(steps)
    assert corrected is not None
    rows = np.array([rounded_up(peer.count) for peer in peers])
    means = np.array([peer.totals[:-1] / peer.weight for peer in peers])
    joint = rows @ means / rows.sum()
    # Half a part at the peers, half a part at the coordinator, and the grid of the point.
    assert np.abs(corrected.mean - joint).max() <= 1.01 / MEAN_PARTS


def test_what_a_peer_sends_tells_nothing_finer_than_a_part() -> None:
    point = reference()
    rows = np.full((20, 4), 0.25)
    nudged = rows + 0.2 / MEAN_PARTS
    first, second = (own_apart(point, moments_of(table)) for table in (rows, nudged))
    on_the_edge = np.rint(MEAN_PARTS * (0.25 - point.mean)) != np.rint(
        MEAN_PARTS * (nudged[0] - point.mean)
    )
    assert (first[:-1] == second[:-1])[~on_the_edge].all()
    assert first[-1] == second[-1] == 20


def test_a_point_never_becomes_longer_than_moments_allow() -> None:
    point = reference()
    steps = point.correction(np.full(4, 0.9 * MEAN_PARTS))
    corrected = point.corrected(steps)
    assert corrected is not None
    assert np.linalg.norm(corrected.mean) <= 0.5
    assert point.corrected(np.full(4, MEAN_PARTS)) is None


def test_a_peer_of_few_rows_tells_the_means_of_its_words_alone() -> None:
    point = reference(beside=Blocks(tail=256))
    rng = np.random.default_rng(5)
    few, many = (
        own_apart(point, moments_of(0.3 * rng.random((count, 260)))) for count in (127, 128)
    )
    assert few[:4].any()
    assert not few[4:-1].any()
    assert many[4:-1].all()


def test_the_other_columns_are_corrected_within_the_length_of_a_row() -> None:
    point = reference(beside=Blocks(tail=256, kernel=64, kernel_weight=2.0))
    kernel = np.arange(260, 324)
    wanted = point.mean.copy()
    wanted[kernel] *= 0.6
    steps = point.correction(MEAN_PARTS * (wanted - point.mean))
    corrected = point.corrected(steps)
    assert corrected is not None
    assert np.abs(corrected.mean - wanted).max() <= 0.5 / MEAN_PARTS
    far = point.corrected(point.correction(np.full(324, 9.0 * MEAN_PARTS)))
    assert far is not None
    assert np.linalg.norm(far.mean[:260]) <= 0.5
    assert np.linalg.norm(far.mean[kernel]) <= point.longest
    assert point.corrected(np.where(np.arange(324) < 260, 0, 9 * MEAN_PARTS)) is None


def test_the_plan_says_from_where_rows_are_measured() -> None:
    plan = InsecureToyPlan("mean", BINARY, features=4, key_bits=768)
    assert plan.centre is Centre.MEAN
    assert replace(plan, centre="idf").centre is Centre.IDF
    with pytest.raises(InputError, match="centre to be one of mean, idf, found 'median'"):
        replace(plan, centre="median")
