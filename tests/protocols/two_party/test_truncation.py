"""S.Trunc: floor or one more, never else; the key holder sees noise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from harness.noise import assert_looks_uniform, assert_shows_structure
from harness.two_party import addressed, masked_values, opened, sealed, talk
from sottovoce.errors import BoundError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER, ask
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.truncation import (
    MaskedTruncation,
    TruncationMask,
    truncate,
    truncation_rule,
)

KEY = toy_key()
BOUND = 2**40
SCALE = Scale(24, BOUND)
VALUES = st.integers(-BOUND, BOUND) | st.sampled_from([-BOUND, BOUND, 0, 1, -1, 2**24, -(2**24)])


def run(program, *, budget=2):
    stages = [[truncation_rule(KEY, budget=budget, entropy=SeededEntropy(5))]]
    return talk(KEY, program, stages)


@given(st.lists(VALUES, min_size=1, max_size=8), st.integers(1, 24), st.booleans())
def test_the_result_is_the_floor_or_one_more(values, bits, packed) -> None:
    slots = Slots.fit(BOUND, plaintext_bits=KEY.public.plaintext_bits, mask_bits=65)
    x = sealed(values, SCALE, slots=slots if packed else None)
    result = run(truncate(x, bits, entropy=SeededEntropy(2))).results[EVALUATOR]
    for value, cut in zip(values, opened(KEY, result), strict=True):
        assert cut - (value >> bits) in {0, 1}
    assert result.scale == Scale(24 - bits, (BOUND >> bits) + 1)


def test_both_outcomes_happen_in_proportion_to_what_is_cut_off() -> None:
    quarter = sealed([2**22] * 400, SCALE)  # a quarter of 2^24: one more in a quarter of cases
    result = run(truncate(quarter, 24, entropy=SeededEntropy(3))).results[EVALUATOR]
    assert 60 < sum(opened(KEY, result)) < 140


def asked(message):
    return message.values if isinstance(message, MaskedTruncation) else None


def test_the_key_holder_sees_noise_and_a_forgotten_mask_would_show(monkeypatch) -> None:
    x = sealed([12345] * 100, SCALE)
    reach = 2 ** (SCALE.bits + 64)
    outcome = run(truncate(x, 24, entropy=SeededEntropy(4)))
    assert_looks_uniform([v % reach for v in masked_values(outcome, KEY, asked)], reach)

    class Forgetful(SeededEntropy):
        def bits(self, count):
            drawn = super().bits(count)
            return 0 if count > 64 and not self.drawn % 7 else drawn

    outcome = run(truncate(x, 24, entropy=Forgetful(4)))
    assert_shows_structure([v % reach for v in masked_values(outcome, KEY, asked)], reach)


@pytest.mark.parametrize("bits", [0, 25, -1])
def test_cutting_more_than_there_is_raises_before_anything_is_sent(bits) -> None:
    with pytest.raises(BoundError, match=f"expected 1 to 24 bits to cut, found {bits}"):
        next(truncate(sealed([1], SCALE), bits, entropy=SeededEntropy(1)))


def test_slots_without_room_for_masks_raise_before_anything_is_sent() -> None:
    slots = Slots.fit(BOUND, plaintext_bits=KEY.public.plaintext_bits)
    with pytest.raises(BoundError, match="over-full slot"):
        next(truncate(sealed([1], SCALE, slots=slots), 24, entropy=SeededEntropy(1)))


def test_a_question_that_cuts_too_much_is_refused_naming_the_asker() -> None:
    def program():
        yield from ask(KEY_HOLDER, MaskedTruncation(addressed([1], SCALE), 99))

    with pytest.raises(ViolationError, match="evaluator: MaskedTruncation out of range"):
        run(program())


def test_a_question_under_masks_of_whole_ciphertexts_is_refused_naming_the_asker() -> None:
    def program():
        covered = sealed([1], SCALE).cover([5]).for_key_holder(entropy=SeededEntropy(1))
        yield from ask(KEY_HOLDER, MaskedTruncation(covered, 24))

    with pytest.raises(ViolationError, match="evaluator: MaskedTruncation out of range"):
        run(program())


def test_masks_of_multiples_would_show_the_low_bits() -> None:
    """Why ρ has low bits of its own: without them the key holder reads x mod 2^t."""
    mask = TruncationMask.draw(SCALE, (50,), bits=24, masking=Masking(), entropy=SeededEntropy(1))
    low = {int(value) % 2**24 for value in mask.over.integers}
    assert len(low) == 50
