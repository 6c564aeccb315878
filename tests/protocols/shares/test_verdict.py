import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from harness.conversations.opened import opened_words
from harness.entropy import SeededEntropy
from harness.meddling import is_kind, rewriting
from harness.noise import assert_looks_uniform
from sottovoce import wire
from sottovoce.errors import BoundError, InputError, MismatchError, MisuseError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.ring import share, to_ring
from sottovoce.protocols.runner import Meddler, Outcome
from sottovoce.protocols.shares.holders import HolderPrograms, Trio
from sottovoce.protocols.shares.holders import run as run_trio
from sottovoce.protocols.shares.labels.verdict import (
    VerdictPlan,
    VerdictShare,
    ask_verdict,
    deal_verdict,
    give_verdict,
    run,
)
from sottovoce.protocols.shares.material import Context

TRIO = Trio("coordinator", "alice", "dealer")
HERE = Context.among("flu", ["alice", "bob"], round=9)


def ask(
    scores: NDArray[np.int64], bound: int, seed: int = 1, meddler: Meddler | None = None
) -> Outcome:
    entropy = SeededEntropy(seed)
    plan = VerdictPlan(*scores.shape, Scale(0, bound))
    shares = share(to_ring(scores), entropy)
    return run(plan, shares, TRIO, HERE, entropy=entropy, meddler=meddler)


@pytest.mark.parametrize("classes", range(2, 13))
def test_the_winner_of_a_tournament_is_the_first_of_the_largest(classes: int) -> None:
    rng = np.random.default_rng(classes)
    # Few different scores: most rows have a tie.
    scores = rng.integers(-2, 3, size=(60, classes))
    scores[:2] = 0
    assert (ask(scores, bound=2).results["alice"] == scores.argmax(axis=1)).all()


@given(
    st.lists(st.lists(st.integers(-(2**61), 2**61), min_size=3, max_size=3), min_size=1, max_size=4)
)
def test_three_classes_with_scores_of_61_bits(rows: list[list[int]]) -> None:
    scores = np.array(rows)
    assert (ask(scores, bound=2**61).results["alice"] == scores.argmax(axis=1)).all()


@given(st.lists(st.integers(-(2**62) + 1, 2**62 - 1), min_size=1, max_size=6))
def test_one_score_is_judged_by_its_sign(values: list[int]) -> None:
    scores = np.array([*values, 0, -1, 1])[:, None]
    assert (ask(scores, bound=2**62 - 1).results["alice"] == (scores[:, 0] >= 0)).all()


def test_words_are_as_short_as_the_bound_allows() -> None:
    assert VerdictPlan(5, 1, Scale(20, 2**30 - 1)).ring.bits == 31
    assert VerdictPlan(5, 3, Scale(20, 2**30 - 1)).ring.bits == 32
    assert VerdictPlan(5, 12, Scale(0, 1)).ring.bits == 5
    assert VerdictPlan(5, 12, Scale(0, 1)).levels() == [12, 6, 3, 2]
    short, long = (
        ask(np.ones((40, 1), np.int64), bound).traffic.total_bytes for bound in (2**20, 2**62 - 1)
    )
    assert long > 2.5 * short


def test_the_coordinator_sees_noise_and_no_label_the_asker_labels_the_dealer_nothing() -> None:
    scores = np.tile([[1, 9, -4]], (300, 1))
    bound = 2**61 - 1
    outcome = ask(scores, bound)
    assert outcome.results["coordinator"] is None
    assert outcome.views["dealer"].received == []
    assert outcome.views["coordinator"].of(VerdictShare) == []
    modulus = 2 ** VerdictPlan(300, 3, Scale(0, bound)).ring.bits
    assert_looks_uniform(opened_words(outcome, second="alice") & np.uint64(modulus - 1), modulus)
    assert_looks_uniform(outcome.views["alice"].of(VerdictShare)[0].words.array(), modulus)


def test_two_different_documents_look_the_same_to_the_coordinator() -> None:
    sizes = [
        [(item.sender, type(item.message), item.size) for item in view.received]
        for view in (
            ask(np.full((5, 4), value), bound=2**20).views["coordinator"] for value in (0, 99)
        )
    ]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("dealer", ["coordinator", "alice"])
def test_the_dealer_is_neither_coordinator_nor_asker(dealer: str) -> None:
    with pytest.raises(InputError, match=f"holds no share, found '{dealer}'"):
        Trio("coordinator", "alice", dealer)


def test_scores_outside_the_agreed_shape_or_bound_are_refused() -> None:
    with pytest.raises(BoundError, match="verdict"):
        VerdictPlan(5, 1, Scale(0, 2**62))
    with pytest.raises(InputError, match="at least 1 document and 1 score each, found 0 and 3"):
        VerdictPlan(0, 3, Scale(0, 5))
    plan = VerdictPlan(2, 3, Scale(0, 5))
    wrong = np.zeros((3, 2), np.uint64)
    with pytest.raises(MismatchError, match=r"shape \(2, 3\), found \(3, 2\)"):
        run(plan, (wrong, wrong), TRIO, HERE, entropy=SeededEntropy())


def test_coordinator_and_asker_do_not_change_places() -> None:
    plan = VerdictPlan(1, 1, Scale(0, 5))
    zero = np.zeros((1, 1), np.uint64)
    for programs in (
        HolderPrograms(
            lambda holder: ask_verdict(holder, plan, zero),
            lambda holder: ask_verdict(holder, plan, zero),
            lambda dealer: deal_verdict(dealer, plan),
        ),
        HolderPrograms(
            lambda holder: give_verdict(holder, plan, zero),
            lambda holder: give_verdict(holder, plan, zero),
            lambda dealer: deal_verdict(dealer, plan),
        ),
    ):
        with pytest.raises(MisuseError, match="the coordinator is the first holder"):
            run_trio(programs, TRIO, HERE, entropy=SeededEntropy())


@pytest.mark.parametrize(
    ("words", "what"),
    [(np.zeros(3, np.uint64), r"expected \(2,\) labels"), (None, "expected labels below 2")],
)
def test_a_label_that_cannot_be_is_refused_naming_the_coordinator(
    words: NDArray[np.uint64] | None, what: str
) -> None:
    def edit(message: VerdictShare) -> VerdictShare:
        sent = message.words.array() + np.uint64(2) if words is None else words
        return VerdictShare(wire.Words.of(sent))

    meddler = rewriting(lambda packet: is_kind(packet, VerdictShare), VerdictShare, edit)  # type: ignore[arg-type]
    with pytest.raises(ViolationError, match=what) as error:
        ask(np.array([[1], [-1]]), bound=5, meddler=meddler)
    assert error.value.party == "coordinator"
