"""Comparisons without a dealer: equal to the ideal, and noise to the key holder."""

import json
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from harness.meddling import is_kind, repeating, rewriting
from harness.noise import assert_looks_uniform
from sottovoce.errors import BoundError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.modular import INT
from sottovoce.numbers.ring import Words, to_ring
from sottovoce.paillier import Layout, Plain, SecretKey, Unsent, decrypt_residues, encrypt
from sottovoce.protocols.ciphertexts import ciphertexts_under
from sottovoce.protocols.runner import Meddler, Outcome, converse
from sottovoce.protocols.shares.labels.carries import (
    AskSide,
    CarryPlan,
    DigitTests,
    KeySide,
    ShareDigits,
    ask_signs,
    give_signs,
    most_together,
    slices,
)
from sottovoce.protocols.shares.rings import Ring
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.wire import Codec

KEY = toy_key()
MASKING = Masking(40)
CODEC = Codec(ciphertexts_under(KEY.public))
PLAIN_BITS = KEY.public.plaintext_bits


def compare(
    first: Words,
    second: Words,
    ring: Ring,
    *,
    key: SecretKey = KEY,
    meddler: Meddler | None = None,
) -> Outcome:
    entropy = SeededEntropy(1)
    programs: dict[str, Any] = {
        "coordinator": give_signs(
            KeySide(key, "alice", MASKING, entropy), first, ring=ring, columns=second.shape[1]
        ),
        "alice": ask_signs(AskSide(key.public, "coordinator", MASKING, entropy), second, ring=ring),
    }
    codec = Codec(ciphertexts_under(key.public))
    return converse(programs, codec=codec, meddler=meddler)


def negative(outcome: Outcome) -> Words:
    bits: Words = outcome.results["coordinator"] ^ outcome.results["alice"]
    return bits


def real_key() -> SecretKey:
    vectors = Path(__file__).parents[2] / "vectors" / "paillier.json"
    keys = json.loads(vectors.read_text(encoding="utf-8"))["keys"]
    return SecretKey.from_bytes(bytes.fromhex(keys["short 3072"]["secret"]))


def shared(values: list[int], ring: Ring, seed: int = 2) -> tuple[Words, Words]:
    first = ring.draw(SeededEntropy(seed), len(values))
    return first, ring.reduce(to_ring(np.array(values)) - first)[:, np.newaxis]


def test_all_pairs_of_shares_in_a_small_ring() -> None:
    ring = Ring(5)
    pairs = np.array(list(product(range(32), repeat=2)), np.uint64)
    result = negative(compare(pairs[:, 0], pairs[:, 1:], ring))[:, 0]
    assert (result == ring.top(ring.reduce(pairs[:, 0] + pairs[:, 1]))).all()


@given(st.data(), st.sampled_from([3, 8, 36, 63, 64]))
def test_shares_of_any_ring_extremes_included(data: st.DataObject, bits: int) -> None:
    ring, end = Ring(bits), 2**bits - 1
    half = 2 ** (bits - 1)
    word = st.sampled_from([0, 1, half - 1, half, half + 1, end]) | st.integers(0, end)
    first = np.array(data.draw(st.lists(word, min_size=1, max_size=3)), np.uint64)
    rows = data.draw(
        st.lists(st.lists(word, min_size=2, max_size=2), min_size=len(first), max_size=len(first))
    )
    second = np.array(rows, np.uint64)
    result = negative(compare(first, second, ring))
    assert (result == ring.top(ring.reduce(first[:, np.newaxis] + second))).all()


def test_more_numbers_than_fit_into_one_ciphertext_go_in_even_parts() -> None:
    ring = Ring(36)
    most = most_together(35, MASKING, plaintext_bits=PLAIN_BITS)
    values = list(range(-most, most + 1))
    outcome = compare(*shared(values, ring), ring)
    assert (negative(outcome)[:, 0] == (np.array(values) < 0)).all()
    assert len(outcome.views["coordinator"].of(DigitTests)) == 3


@pytest.mark.parametrize("key", [toy_key(arithmetic=INT), real_key()], ids=["plain twin", "3072"])
def test_under_the_plain_twin_and_under_a_key_of_full_size(key: SecretKey) -> None:
    values, ring = [0, -1, 1, 2**34 - 1, -(2**34), 77], Ring(36)
    result = negative(compare(*shared(values, ring), ring, key=key))[:, 0]
    assert (result == (np.array(values) < 0)).all()


def opened(outcome: Outcome, plan: CarryPlan) -> list[int]:
    """The blinded tests as the key holder reads them."""
    slots = plan.slots(PLAIN_BITS)
    return [
        test
        for message in outcome.views["coordinator"].of(DigitTests)
        for test in slices(decrypt_residues(KEY, message.tests), slots, plan.tests)
    ]


def zero_places(values: list[int], plan: CarryPlan) -> list[int]:
    """Where the key holder finds a zero, for all numbers that have one."""
    return [
        place
        for start in range(0, len(values), plan.tests)
        for prime in plan.primes
        for place, value in enumerate(values[start : start + plan.tests])
        if value % prime == 0
    ]


@pytest.mark.parametrize("value", [0, -(2**34), 12345])
def test_the_key_holder_sees_a_fair_coin_and_noise(value: int) -> None:
    """Whatever the number is, and although it is always the same."""
    ring = Ring(36)
    most = most_together(35, MASKING, plaintext_bits=PLAIN_BITS)
    count, plan = 8 * most, CarryPlan(35, most, MASKING)
    outcome = compare(*shared([value] * count, ring), ring)
    seen = opened(outcome, plan)
    zeros = zero_places(seen, plan)
    assert 0.4 < len(zeros) / count < 0.6
    places = Counter(zeros)
    assert len(places) == plan.tests
    assert max(places.values()) < 3 * len(zeros) / plan.tests
    remainders = Counter(number % 11 for number in seen if number % 11)
    assert len(remainders) == 10
    assert_looks_uniform([number % 2**plan.drown_bits for number in seen], 2**plan.drown_bits)
    assert 0.4 < outcome.results["coordinator"].mean() < 0.6


def test_tests_in_their_own_order_would_tell_how_large_a_number_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The proof that the test above could have failed."""
    monkeypatch.setattr(SeededEntropy, "shuffled", lambda self, items: list(items))
    ring, most = Ring(36), most_together(35, MASKING, plaintext_bits=PLAIN_BITS)
    plan = CarryPlan(35, most, MASKING)
    first = np.full(8 * most, 5, np.uint64)
    outcome = compare(first, ring.reduce(to_ring(np.array([3])) - first)[:, np.newaxis], ring)
    assert len(Counter(zero_places(opened(outcome, plan), plan))) < 3


def test_a_key_holder_that_sends_no_digits_reads_a_bit_of_every_share() -> None:
    """Why it is assumed that it sends digits; what is dealt has no such message."""
    ring, most = Ring(36), most_together(35, MASKING, plaintext_bits=PLAIN_BITS)
    plan, entropy = CarryPlan(35, most, MASKING), SeededEntropy(3)
    lie = [0] * (plan.places * 16)
    lie[-16:] = [2 if value < 4 else 0 for value in range(16)]  # of the top digit of three bits

    def edit(message: Any) -> Any:
        plain = Plain(np.array(lie), plan.digits)
        return ShareDigits(encrypt(KEY, plain, entropy=entropy))

    meddler = rewriting(lambda packet: is_kind(packet, ShareDigits), ShareDigits, edit, CODEC)
    second = ring.draw(entropy, most)
    outcome = compare(np.zeros(most, np.uint64), second[:, np.newaxis], ring, meddler=meddler)
    read = [any(test % prime == 0 for test in opened(outcome, plan)) for prime in plan.primes]
    assert read == [not word >> 34 & 1 for word in second.tolist()]


def test_the_asker_receives_ciphertexts_alone() -> None:
    ring = Ring(36)
    outcome = compare(*shared([1, -1], ring), ring)
    assert [type(message.message) for message in outcome.views["alice"].received] == [ShareDigits]


def test_any_two_numbers_look_the_same_from_outside() -> None:
    ring = Ring(36)
    first, other = (
        [
            (message.sender, type(message.message), message.size)
            for name in ("coordinator", "alice")
            for message in compare(*shared([value] * 3, ring), ring).views[name].received
        ]
        for value in (0, -(2**33))
    )
    assert first == other


def test_a_key_too_short_for_one_comparison_is_refused() -> None:
    with pytest.raises(BoundError, match="a number of 60 bits does not fit into 60 bits"):
        most_together(60, MASKING, plaintext_bits=60)


def lying(tests: int) -> Any:
    """An asker that sends so many tests of another size than agreed."""

    def edit(message: Any) -> Any:
        plain = Plain(np.zeros(tests, np.int64), Scale(0, 1))
        sealed = encrypt(KEY, plain, entropy=SeededEntropy())
        return DigitTests(sealed.for_key_holder(entropy=SeededEntropy()))

    return rewriting(lambda packet: is_kind(packet, DigitTests), DigitTests, edit, CODEC)


@pytest.mark.parametrize("tests", [1, 10, 500])
def test_any_other_number_or_size_of_tests_is_refused(tests: int) -> None:
    ring = Ring(36)
    with pytest.raises(ViolationError, match="ciphertext: expected layout") as error:
        compare(*shared([1, 2], ring), ring, meddler=lying(tests))
    assert error.value.party == "alice"


def test_a_key_holder_that_sends_other_digits_is_named() -> None:
    def edit(message: Any) -> Any:
        plain = Plain(np.zeros(3, np.int64), Scale(0, 1))
        return ShareDigits(encrypt(KEY, plain, entropy=SeededEntropy()))

    meddler = rewriting(lambda packet: is_kind(packet, ShareDigits), ShareDigits, edit, CODEC)
    ring = Ring(36)
    with pytest.raises(ViolationError, match="ciphertext: expected layout") as error:
        compare(*shared([1, 2], ring), ring, meddler=meddler)
    assert error.value.party == "coordinator"


def test_tests_that_overflow_their_slots_are_read_without_a_word_about_it() -> None:
    """An error over what was found would tell the asker about it."""
    ring, plan = Ring(36), CarryPlan(35, 2, MASKING)
    slots = plan.slots(PLAIN_BITS)
    layout = Layout((plan.tests,), slots)

    def edit(message: Any) -> Any:
        count = layout.ciphertexts
        huge = Plain(np.full(count, KEY.public.plaintext_bound, dtype=object), Scale(0, 2**600))
        residues = KEY.public.embedded(huge.flat())
        tests = Unsent(KEY.public, tuple(residues), layout, plan.scale)
        return DigitTests(tests.for_key_holder(entropy=SeededEntropy()))

    meddler = rewriting(lambda packet: is_kind(packet, DigitTests), DigitTests, edit, CODEC)
    bits = compare(*shared([1, 2], ring), ring, meddler=meddler).results["coordinator"]
    assert set(bits.ravel().tolist()) <= {0, 1}


def test_a_second_set_of_tests_is_answered_by_nobody() -> None:
    ring = Ring(36)
    meddler = repeating(lambda packet: is_kind(packet, DigitTests))
    outcome = compare(*shared([1, -2], ring), ring, meddler=meddler)
    assert (negative(outcome)[:, 0] == [0, 1]).all()
    assert meddler.done == 1
    assert len(outcome.views["coordinator"].of(DigitTests)) == 1
