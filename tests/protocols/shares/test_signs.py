import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from harness.conversations.opened import opened_words
from harness.entropy import SeededEntropy
from harness.meddling import is_kind, rewriting
from harness.noise import assert_looks_uniform, assert_shows_structure
from sottovoce import wire
from sottovoce.entropy import Entropy
from sottovoce.errors import ViolationError
from sottovoce.numbers.ring import share, to_ring
from sottovoce.protocols.runner import Meddler, Outcome
from sottovoce.protocols.shares import signs
from sottovoce.protocols.shares.comparison import hash_key
from sottovoce.protocols.shares.holders import HolderPrograms, Trio, run
from sottovoce.protocols.shares.material import Context
from sottovoce.protocols.shares.rings import RING64, Ring
from sottovoce.protocols.shares.signs import (
    ComparandShare,
    DealtComparisons,
    deal_signs,
    negative,
)

TRIO = Trio("coordinator", "evaluator", "dealer")
HERE = Context.among("flu", ["alice", "bob"])


def compare(
    values: NDArray[np.int64],
    ring: Ring = RING64,
    meddler: Meddler | None = None,
    here: Context = HERE,
) -> Outcome:
    entropy = SeededEntropy(1)
    shares = [ring.reduce(part) for part in share(to_ring(values), entropy)]
    programs = HolderPrograms(
        lambda holder: negative(holder, shares[0], purpose="test", ring=ring),
        lambda holder: negative(holder, shares[1], purpose="test", ring=ring),
        lambda dealer: deal_signs(dealer, values.size, purpose="test", ring=ring),
    )
    return run(programs, TRIO, here, entropy=entropy, meddler=meddler)


def bits(outcome: Outcome, ring: Ring = RING64) -> NDArray[np.uint64]:
    return ring.reduce(outcome.results["coordinator"] + outcome.results["evaluator"])


@pytest.mark.parametrize("width", [3, 4, 8])
def test_every_value_of_a_small_ring_under_many_masks(width: int) -> None:
    ring = Ring(width)
    values = np.tile(np.arange(-(1 << (width - 1)), 1 << (width - 1)), (64, 1))
    assert (bits(compare(values, ring), ring) == (values < 0)).all()


class EveryMask(Entropy):
    """Word i of the first draw is i: in a small ring every mask comes up equally often."""

    def __init__(self) -> None:
        self._drawn = False

    def read(self, count: int) -> bytes:
        if self._drawn:
            return SeededEntropy(count).read(count)
        self._drawn = True
        return np.arange(count // 8, dtype="<u8").tobytes()


def test_exhaustively_every_value_under_every_mask_and_what_is_opened_is_uniform(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ring = Ring(5)
    monkeypatch.setattr(
        "sottovoce.protocols.shares.material.Expansion",
        lambda seed, purpose, context: (
            EveryMask() if "second" in purpose else SeededEntropy(len(purpose))
        ),
    )
    values = np.repeat(np.arange(-16, 16), 32)
    outcome = compare(values, ring)
    assert (bits(outcome, ring) == (values < 0)).all()
    opened = opened_words(outcome, ComparandShare) & np.uint64(31)
    first = SeededEntropy(len("shares/first/signs of test/0/v1")).words(values.size)
    given_value = (opened - first) & np.uint64(31)
    for value in range(-16, 16):
        assert sorted(given_value[values == value]) == list(range(32))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8))
def test_at_64_bits(values: list[int]) -> None:
    edge = [*values, 0, -1, 1, -(2**63), 2**63 - 1]
    assert bits(compare(np.array(edge))).tolist() == [int(value < 0) for value in edge]


def test_keys_come_in_several_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "_KEYS_PER_MESSAGE", 3)
    values = np.array([[5, -5, 0, -1], [7, -9, 3, -2]])
    outcome = compare(values, Ring(6))
    assert (bits(outcome, Ring(6)) == (values < 0)).all()
    assert len(outcome.views["evaluator"].of(DealtComparisons)) == 3


def test_what_everybody_sees_is_noise_and_the_dealer_sees_nothing() -> None:
    outcome = compare(np.full(300, -12_345))
    assert_looks_uniform(opened_words(outcome))
    for name in ("coordinator", "evaluator"):
        keys = outcome.views[name].of(DealtComparisons)[0]
        assert_looks_uniform(keys.values.array().ravel()[:4000], what=name)
        assert_looks_uniform(outcome.results[name], what=f"{name}'s shares of the bits")
    assert outcome.views["dealer"].received == []


def test_a_forgotten_mask_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ring, "draw", lambda self, entropy, *shape: np.zeros(shape, np.uint64))
    assert_shows_structure(opened_words(compare(np.full(300, -12_345))))


def test_keys_of_another_depth_are_refused_naming_the_dealer() -> None:
    def shallow(message: DealtComparisons) -> DealtComparisons:
        return DealtComparisons(
            wire.Words.of(message.seeds.array()[1:]), message.values, message.last
        )

    meddler = rewriting(
        lambda packet: is_kind(packet, DealtComparisons) and packet.recipient == "evaluator",
        DealtComparisons,
        shallow,  # type: ignore[arg-type]
    )
    with pytest.raises(ViolationError, match=r"DealtComparisons: expected words of shape") as error:
        compare(np.arange(3), meddler=meddler)
    assert error.value.party == "dealer"


def test_dealt_signs_take_the_key_of_their_own_study(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    def remember(context: bytes) -> bytes:
        asked.append(context)
        return hash_key(context)

    monkeypatch.setattr(signs, "hash_key", remember)
    for study in ("one", "two"):
        compare(np.array([-1, 0, 1]), here=Context.among(study, ["alice", "bob"]))
    assert len(set(asked)) == 2
    assert len(asked) == 6  # the dealer and both holders, once in each study
