"""The verdict without a dealer: equal to the dealt one, and to the ideal."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from harness.meddling import is_kind, rewriting
from harness.noise import assert_looks_uniform
from sottovoce import wire
from sottovoce.errors import MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.ring import Words, share, to_ring
from sottovoce.paillier import Layout, Plain, Unsent, decrypt_residues, encrypt
from sottovoce.protocols.ciphertexts import ciphertexts_under
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.runner import Meddler, Outcome, converse
from sottovoce.protocols.shares.holders import Trio
from sottovoce.protocols.shares.labels import tally as dealt_tally
from sottovoce.protocols.shares.labels import verdict as dealt_verdict
from sottovoce.protocols.shares.labels.carries import AskSide, KeySide, ask_signs, slices
from sottovoce.protocols.shares.labels.tally import TallyPlan
from sottovoce.protocols.shares.labels.undealt import (
    ChoicePlan,
    Choices,
    LabelShare,
    MaskedChoices,
    give_labels,
    run,
)
from sottovoce.protocols.shares.labels.undealt_tally import (
    MaskedCounts,
    TallyBits,
    ask_tally,
    give_tally,
)
from sottovoce.protocols.shares.labels.verdict import VerdictPlan
from sottovoce.protocols.shares.material import Context
from sottovoce.protocols.shares.rings import Ring
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.wire import Codec

KEY = toy_key()
MASKING = Masking(40)
CODEC = Codec(ciphertexts_under(KEY.public))
TRIO = Trio("coordinator", "alice", "dealer")
HERE = Context.among("flu", ["alice", "bob"], round=9)


def sides(seed: int = 1) -> tuple[KeySide, AskSide]:
    entropy = SeededEntropy(seed)
    return (
        KeySide(KEY, "alice", MASKING, entropy),
        AskSide(KEY.public, "coordinator", MASKING, entropy),
    )


def ask(scores: NDArray[np.int64], bound: int, meddler: Meddler | None = None) -> Outcome:
    plan = VerdictPlan(*scores.shape, Scale(0, bound))
    shares = share(to_ring(scores), SeededEntropy(5))
    return run(plan, shares, sides(), meddler=meddler)


@pytest.mark.parametrize("classes", range(2, 13))
def test_the_winner_is_the_first_of_the_largest_as_with_a_dealer(classes: int) -> None:
    rng = np.random.default_rng(classes)
    # Few different scores: most rows have a tie.
    scores = rng.integers(-2, 3, size=(9, classes))
    scores[:2] = 0
    result = ask(scores, bound=2).results["alice"]
    assert (result == scores.argmax(axis=1)).all()
    plan = VerdictPlan(*scores.shape, Scale(0, 2))
    shares, entropy = share(to_ring(scores), SeededEntropy(5)), SeededEntropy(6)
    dealt = dealt_verdict.run(plan, shares, TRIO, HERE, entropy=entropy)
    assert (result == dealt.results["alice"]).all()


@given(
    st.lists(st.lists(st.integers(-(2**61), 2**61), min_size=3, max_size=3), min_size=1, max_size=3)
)
def test_three_classes_with_scores_of_61_bits(rows: list[list[int]]) -> None:
    scores = np.array(rows)
    assert (ask(scores, bound=2**61).results["alice"] == scores.argmax(axis=1)).all()


@given(st.lists(st.integers(-(2**62) + 1, 2**62 - 1), min_size=1, max_size=4))
def test_one_score_is_judged_by_its_sign(values: list[int]) -> None:
    scores = np.array([*values, 0, -1, 1])[:, None]
    assert (ask(scores, bound=2**62 - 1).results["alice"] == (scores[:, 0] >= 0)).all()


def test_the_coordinator_sees_noise_and_no_label() -> None:
    scores = np.tile([[1, 9, -4]], (90, 1))
    outcome = ask(scores, bound=2**33)
    view = outcome.views["coordinator"]
    assert outcome.results["coordinator"] is None
    assert view.of(LabelShare) == []
    plan = ChoicePlan(VerdictPlan(90, 3, Scale(0, 2**33)), MASKING)
    slots = plan.slots(KEY.public.plaintext_bits)
    steps = [
        step
        for message in view.of(MaskedChoices)
        for step in slices(decrypt_residues(KEY, message.steps), slots, 90)
    ]
    values = [step % 2**plan.place for step in steps]
    assert_looks_uniform([value % plan.value_mask for value in values], plan.value_mask)
    indices = [step >> plan.place for step in steps]
    assert_looks_uniform([index % plan.index_mask for index in indices], plan.index_mask)


@pytest.mark.parametrize(("scores", "below"), [([1, 9, -4], 3), ([7], 2)])
def test_what_the_asker_is_told_is_below_the_number_of_classes(
    scores: list[int], below: int
) -> None:
    """Uniform by itself: only the asker's own share makes it a label."""
    outcome = ask(np.tile([scores], (120, 1)), bound=2**33)
    (message,) = outcome.views["alice"].of(LabelShare)
    counts = np.bincount(message.words.array().astype(np.int64), minlength=below)
    assert len(counts) == below
    assert counts.min() > 120 / below / 2
    assert len(set(outcome.results["alice"].tolist())) == 1


def test_a_deviating_asker_reads_a_number_below_the_classes_of_what_it_had_opened() -> None:
    """It puts a secret under the coordinator's key in the place of every step."""
    secret = 987_654_321_987
    verdict = VerdictPlan(4, 3, Scale(0, 2**40))
    plan = ChoicePlan(verdict, MASKING)
    slots = plan.slots(KEY.public.plaintext_bits)
    _, mine = sides()

    def thief() -> Party[Words]:
        for _ in verdict.levels():
            yield from ask_signs(mine, np.zeros((4, 1), np.uint64), ring=verdict.ring)
            message = yield from receive("coordinator", Choices)
            whole = Plain(np.full(4, secret << plan.place, dtype=object), Scale(0, 2**600))
            residues = KEY.public.embedded(whole.flat())
            stolen = Unsent(KEY.public, tuple(residues), Layout((4,)), plan.difference)
            packed = (stolen + message.kept).within(plan.scale).packed(slots)
            yield Send("coordinator", MaskedChoices(packed.for_key_holder(entropy=mine.entropy)))
        answer = yield from receive("coordinator", LabelShare)
        return answer.words.array()

    first, _ = sides()
    programs: dict[str, Any] = {
        "coordinator": give_labels(first, verdict, np.zeros((4, 3), np.uint64)),
        "alice": thief(),
    }
    labels = converse(programs, codec=CODEC).results["alice"]
    assert labels.max() < 3
    assert secret > 3


def test_scores_of_another_shape_are_refused() -> None:
    plan, wrong = VerdictPlan(2, 3, Scale(0, 5)), np.zeros((3, 2), np.uint64)
    with pytest.raises(MismatchError, match=r"shape \(2, 3\), found \(3, 2\)"):
        run(plan, (wrong, wrong), sides())


def other(kind: type[Any], *names: str) -> Meddler:
    """Ciphertexts of another size in the place of a message's own."""

    def edit(message: Any) -> Any:
        plain = Plain(np.zeros(2, np.int64), Scale(0, 1))
        sealed = encrypt(KEY, plain, entropy=SeededEntropy())
        asked = sealed.for_key_holder(entropy=SeededEntropy())
        to_key_holder = kind in {MaskedChoices, MaskedCounts}
        return kind(*(asked if to_key_holder else sealed for _ in names))

    return rewriting(lambda packet: is_kind(packet, kind), kind, edit, CODEC)


@pytest.mark.parametrize(
    ("kind", "fields", "party"),
    [
        (Choices, ("bits", "kept", "left"), "coordinator"),
        (MaskedChoices, ("steps",), "alice"),
    ],
)
def test_messages_of_another_size_are_refused(
    kind: type[Any], fields: tuple[str, ...], party: str
) -> None:
    with pytest.raises(ViolationError, match="ciphertext: expected layout") as error:
        ask(np.zeros((3, 3), np.int64), bound=9, meddler=other(kind, *fields))
    assert error.value.party == party


@pytest.mark.parametrize("words", [[0, 1], [0, 1, 3]])
def test_labels_that_cannot_be_are_refused(words: list[int]) -> None:
    def edit(message: Any) -> Any:
        return LabelShare(wire.Words.of(np.array(words, np.uint64)))

    meddler = rewriting(lambda packet: is_kind(packet, LabelShare), LabelShare, edit, CODEC)
    with pytest.raises(ViolationError, match="expected 3 labels below 3") as error:
        ask(np.zeros((3, 3), np.int64), bound=9, meddler=meddler)
    assert error.value.party == "coordinator"


# Counts at thresholds.

COUNTS = Ring(8)


def count(
    scores: NDArray[np.int64],
    thresholds: list[int],
    groups: Words,
    meddler: Meddler | None = None,
) -> Outcome:
    plan = TallyPlan(*scores.shape, len(thresholds), Ring(20))
    first, second = share(to_ring(scores), SeededEntropy(5))
    own = second[:, :, np.newaxis] - to_ring(np.array(thresholds))
    key_side, ask_side = sides()
    programs: dict[str, Any] = {
        "coordinator": give_tally(key_side, plan, first, counts=COUNTS),
        "alice": ask_tally(ask_side, plan, plan.ring.reduce(own), groups, counts=COUNTS),
    }
    return converse(programs, codec=CODEC, meddler=meddler)


def evaluated(documents: int, classes: int) -> tuple[NDArray[np.int64], Words]:
    rng = np.random.default_rng(documents + classes)
    scores = rng.integers(-50, 51, (documents, classes))
    groups = np.zeros((documents, classes, 2), np.uint64)
    side = rng.integers(0, 3, (documents, classes))
    groups[side == 0, 0] = 1
    groups[side == 1, 1] = 1
    return scores, groups


@pytest.mark.parametrize(("documents", "classes"), [(1, 1), (7, 1), (12, 3), (40, 2)])
def test_counts_equal_the_dealt_ones_and_the_ideal(documents: int, classes: int) -> None:
    scores, groups = evaluated(documents, classes)
    thresholds = [-30, -1, 0, 1, 49]
    outcome = count(scores, thresholds, groups)
    result = COUNTS.reduce(outcome.results["coordinator"] + outcome.results["alice"])
    above = scores[:, :, np.newaxis] >= np.array(thresholds)
    ideal = np.einsum("dct,dcg->cgt", above.astype(np.int64), groups.astype(np.int64))
    assert (result == ideal).all()
    plan = TallyPlan(*scores.shape, len(thresholds), Ring(20))
    first, second = share(to_ring(scores), SeededEntropy(5))
    values = tuple(
        plan.ring.reduce(piece)
        for piece in (
            np.repeat(first[:, :, np.newaxis], len(thresholds), axis=2),
            second[:, :, np.newaxis] - to_ring(np.array(thresholds)),
        )
    )
    dealt = dealt_tally.run(plan, values, groups, TRIO, HERE, entropy=SeededEntropy(6))  # type: ignore[arg-type]
    shares = dealt.results["coordinator"] + dealt.results["alice"]
    assert (COUNTS.reduce(shares) == result).all()


def test_counts_are_noise_to_both() -> None:
    scores, groups = evaluated(6, 2)
    outcome = count(np.full_like(scores, 9), list(range(-30, 2)), groups)
    assert_looks_uniform(outcome.results["coordinator"].ravel(), 2**COUNTS.bits)
    assert {type(message.message).__name__ for message in outcome.views["alice"].received} == {
        "ShareDigits",
        "TallyBits",
    }


@pytest.mark.parametrize(
    ("kind", "fields", "party"),
    [(TallyBits, ("bits",), "coordinator"), (MaskedCounts, ("counts",), "alice")],
)
def test_a_tally_of_another_size_is_refused(
    kind: type[Any], fields: tuple[str, ...], party: str
) -> None:
    with pytest.raises(ViolationError, match="ciphertext: expected layout") as error:
        count(*evaluated(3, 1)[:1], [0], evaluated(3, 1)[1], meddler=other(kind, *fields))
    assert error.value.party == party
    with pytest.raises(MismatchError, match="tally: expected values of shape"):
        count(evaluated(3, 1)[0], [0], evaluated(2, 1)[1])
