"""Scores of masked rows: right to the last bit, and noise to everybody who holds a share."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from harness.entropy import SeededEntropy
from harness.meddling import is_kind, rewriting
from harness.noise import assert_looks_uniform, assert_shows_structure
from sottovoce import wire
from sottovoce.entropy import Expansion
from sottovoce.errors import InputError, MismatchError, ViolationError
from sottovoce.numbers.ring import share, to_ring
from sottovoce.protocols.runner import Meddler, Outcome
from sottovoce.protocols.shares.holders import Trio
from sottovoce.protocols.shares.labels.row_scores import (
    AskedRows,
    DealtScores,
    MaskedModel,
    RowPlan,
    RowSeeds,
    run,
)
from sottovoce.protocols.shares.material import Context
from sottovoce.protocols.shares.rings import Ring

TRIO = Trio("coordinator", "evaluator", "dealer")
HERE = Context.among("flu", ["alice"], round=3)


def rows_of(documents: int, columns: int, seed: int = 1) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 4, (documents, columns)) * (rng.random((documents, columns)) < 0.2)
    return sparse.csr_array(table.astype(np.int64))


def scored(
    plan: RowPlan,
    model: NDArray[np.int64],
    rows: sparse.csr_array,
    seed: int = 2,
    meddler: Meddler | None = None,
) -> Outcome:
    entropy = SeededEntropy(seed)
    shares = share(to_ring(model), entropy)
    return run(plan, shares, rows, TRIO, HERE, entropy=entropy, meddler=meddler)


def together(plan: RowPlan, outcome: Outcome, what: str) -> NDArray[np.int64]:
    halves = (getattr(outcome.results[name], what) for name in ("coordinator", "evaluator"))
    return plan.ring.signed(plan.ring.reduce(np.add(*halves)))


@pytest.mark.parametrize("bits", [31, 32, 33, 64])
@pytest.mark.parametrize("classes", [1, 3, 8])
def test_scores_are_exact_and_so_are_the_last_columns(bits: int, classes: int) -> None:
    documents, columns = 70, 50
    plan = RowPlan(documents, columns, classes, Ring(bits))
    model = np.random.default_rng(bits).integers(-(2**20), 2**20, (columns, classes))
    rows = rows_of(documents, columns)
    outcome = scored(plan, model, rows)
    assert (together(plan, outcome, "scores") == rows @ model).all()
    assert (together(plan, outcome, "tails") == rows[:, -2:].toarray()).all()
    assert plan.word_bytes == (4 if bits <= 32 else 8)


def test_rows_that_need_several_messages_are_scored_like_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sottovoce.protocols.shares.labels.row_scores._MESSAGE_BYTES", 4 * 40 * 7)
    monkeypatch.setattr("sottovoce.protocols.shares.labels.row_scores._CACHE_BYTES", 4 * 40 * 3)
    plan = RowPlan(45, 40, 1, Ring(32))
    model = np.random.default_rng(5).integers(-(2**15), 2**15, (40, 1))
    outcome = scored(plan, model, rows_of(45, 40))
    assert len(outcome.views["coordinator"].of(AskedRows)) == 7
    assert (together(plan, outcome, "scores") == rows_of(45, 40) @ model).all()


def test_what_anybody_sees_is_noise() -> None:
    """Rows, the masked model, what is dealt, and what is opened of the model."""
    plan, model = RowPlan(64, 40, 2, Ring(32)), np.zeros((40, 2), np.int64)
    outcome = scored(plan, model, sparse.csr_array((64, 40), dtype=np.int64))
    for name in ("coordinator", "evaluator"):
        for message in outcome.views[name].of(AskedRows):
            assert_looks_uniform(message.words.array().ravel().astype(np.uint64), 2**32)
    opened = sum(
        outcome.views[name].of(MaskedModel)[0].words.array().astype(np.uint64)
        for name in ("coordinator", "evaluator")
    )
    assert_looks_uniform(plan.ring.reduce(opened).ravel(), 2**32)
    (dealt,) = outcome.views["coordinator"].of(DealtScores)
    assert_looks_uniform(dealt.words.array().ravel().astype(np.uint64), 2**32)
    assert not outcome.views["dealer"].received
    assert [type(packet.message) for packet in outcome.views["asker"].received] == [RowSeeds]


def test_a_holder_and_the_dealer_together_read_the_rows() -> None:
    """So the test above could fail: seeds of both halves take the masks away."""
    plan, rows = RowPlan(64, 40, 1, Ring(32)), rows_of(64, 40)
    outcome = scored(plan, np.ones((40, 1), np.int64), rows)
    (seeds,) = outcome.views["asker"].of(RowSeeds)
    halves = [
        Expansion(seed, "shares/rows/v1", HERE.encode()).short_words(64, 40)
        for seed in (seeds.first, seeds.second)
    ]
    (seen,) = outcome.views["coordinator"].of(AskedRows)
    read = seen.words.array() + halves[0] + halves[1]
    assert (read.astype(np.int64) == rows.toarray()).all()
    assert_shows_structure(read.ravel().astype(np.uint64), 2**32)


@pytest.mark.parametrize("kind", [AskedRows, MaskedModel, DealtScores])
def test_other_words_than_agreed_are_refused_by_name(kind: type) -> None:
    plan, model = RowPlan(3, 10, 1, Ring(32)), np.ones((10, 1), np.int64)
    for wrong in (wire.ShortWords((1,), bytes(4)), wire.Words((3, 10), bytes(240))):
        meddler = rewriting(lambda packet: is_kind(packet, kind), kind, lambda _, w=wrong: kind(w))
        with pytest.raises(ViolationError, match=f"{kind.__name__}: expected ShortWords of shape"):
            scored(plan, model, rows_of(3, 10), meddler=meddler)


def test_seeds_that_are_too_short_are_refused_by_name() -> None:
    meddler = rewriting(
        lambda packet: is_kind(packet, RowSeeds), RowSeeds, lambda _: RowSeeds(bytes(31), bytes(32))
    )
    plan = RowPlan(3, 10, 1, Ring(32))
    with pytest.raises(ViolationError, match="dealer: expected seeds of 32 bytes"):
        scored(plan, np.ones((10, 1), np.int64), rows_of(3, 10), meddler=meddler)


def test_bad_shapes_are_refused_before_anything_is_sent() -> None:
    with pytest.raises(InputError, match="at least 1 document, 2 columns and 1 class"):
        RowPlan(0, 10, 1, Ring(32))
    plan = RowPlan(3, 10, 1, Ring(32))
    with pytest.raises(MismatchError, match=r"expected a model of shape \(10, 1\)"):
        scored(plan, np.ones((9, 1), np.int64), rows_of(3, 10))
    with pytest.raises(MismatchError, match=r"expected shape \(3, 10\)"):
        scored(plan, np.ones((10, 1), np.int64), rows_of(4, 10))
