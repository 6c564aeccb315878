"""A vector cut and multiplied with a fixed matrix in one trip equals its ideal, and shows noise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.entropy import ForgetfulEntropy, SeededEntropy
from harness.keys import toy_key
from harness.meddling import is_kind, rewriting
from harness.noise import assert_looks_uniform, assert_shows_structure
from harness.two_party import addressed, codec_for, masked_slots, opened, sealed, talk
from sottovoce.errors import BoundError, MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER, ask
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.two_party.directions import (
    MaskedDirection,
    Step,
    cut_times_fixed,
    direction_rule,
)
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.matrices import FixedFactor, FixedFactors, FixedOperand, fix
from sottovoce.protocols.two_party.truncation import Cut

KEY = toy_key(bits=768)
MASKING = Masking(40)
WHOLE = Scale(20, 2**30)
MATRIX = Scale(6, 2**12)
CUT = Cut.of(WHOLE, 12, MASKING)
BITS = KEY.public.plaintext_bits
SLOTS = Slots.fit(2**36, plaintext_bits=BITS, mask_bits=40)
OTHER = Slots.fit(8 * 2**31, plaintext_bits=BITS)


def stages(budget=1, places=1):
    held = FixedFactors(KEY, places=places)
    rule = direction_rule(held, budget=budget, entropy=SeededEntropy(5))
    return [[AnswerRule(FixedFactor, held.keep, places)], [rule]]


def product(u, matrix, *, entropy=None):
    entropy = entropy or SeededEntropy(4)
    operand = yield from fix(matrix, entropy=SeededEntropy(3))
    return (yield from cut_times_fixed(u, operand, CUT, entropy=entropy))


VALUES = st.integers(-(2**30), 2**30) | st.sampled_from([-(2**30), 2**30, 0, 1, -1])
ENTRIES = st.integers(-(2**12), 2**12)


@settings(max_examples=6)
@given(st.data(), st.integers(1, 6), st.integers(1, 6), st.booleans())
def test_direction_and_product_equal_the_ideal(data, height, width, packed) -> None:
    values = data.draw(st.lists(VALUES, min_size=height, max_size=height))
    line = st.lists(ENTRIES, min_size=width, max_size=width)
    matrix = data.draw(st.lists(line, min_size=height, max_size=height))
    u = sealed(values, WHOLE, key=KEY, slots=SLOTS)
    B = sealed(matrix, MATRIX, key=KEY, slots=OTHER if packed else None)
    outcome = talk(KEY, product(u, B), stages())
    result = outcome.results[EVALUATOR]
    p = opened(KEY, result.direction)
    for value, cut in zip(values, p, strict=True):
        assert cut - (value >> 12) in {0, 1}
    assert opened(KEY, result.product) == (np.array(p, dtype=object) @ matrix).tolist()
    assert (result.direction.slots, result.product.slots) == (SLOTS, OTHER if packed else None)
    assert outcome.traffic.trips(EVALUATOR, KEY_HOLDER) == 2 + 1  # and the goodbye


def test_the_key_holder_sees_noise_and_a_forgotten_mask_would_show() -> None:
    u = sealed([77] * 90, WHOLE, key=KEY, slots=SLOTS)
    B = sealed([[1]] * 90, MATRIX, key=KEY)
    reach = 2 ** (WHOLE.bits + 40)

    def seen(entropy):
        outcome = talk(KEY, product(u, B, entropy=entropy), stages())

        def asked(message):
            return [message.direction] if isinstance(message, MaskedDirection) else ()

        return [value % reach for value in masked_slots(outcome, KEY, asked)]

    assert_looks_uniform(seen(SeededEntropy(7)), reach)
    forgetful = ForgetfulEntropy(7, bits=WHOLE.bits + 40)
    assert_shows_structure(seen(forgetful), reach)
    assert forgetful.forgot


ONE = sealed([[1, 2]], MATRIX, key=KEY, slots=OTHER)


@pytest.mark.parametrize(
    ("u", "error", "words"),
    [
        (sealed([1], WHOLE, key=KEY), MismatchError, "expected a packed vector of 1"),
        (
            sealed([1, 2], WHOLE, key=KEY, slots=SLOTS),
            MismatchError,
            "a packed vector of 1, found 2",
        ),
        (sealed([1], WHOLE, key=KEY, slots=Slots(60, 4)), BoundError, "over-full slot"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_sent(u, error, words) -> None:
    operand = FixedOperand(ONE, [[0]])
    with pytest.raises(error, match=words):
        next(cut_times_fixed(u, operand, CUT, entropy=SeededEntropy(1)))


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (MaskedDirection(addressed([1], WHOLE, key=KEY), 12), "expected a packed vector"),
        (MaskedDirection(addressed([1], WHOLE, key=KEY, slots=SLOTS), 99), "bits to cut, found 99"),
        (MaskedDirection(addressed([1], WHOLE, key=KEY, slots=SLOTS), 12, 1), "a place below 1"),
        (MaskedDirection(addressed([1, 2], WHOLE, key=KEY, slots=SLOTS), 12), "shapes do not meet"),
    ],
)
def test_wrong_questions_are_refused_naming_the_asker(question, words) -> None:
    def program():
        yield from fix(ONE, entropy=SeededEntropy(3))
        yield from ask(KEY_HOLDER, question)

    with pytest.raises(ViolationError, match=f"evaluator: MaskedDirection out of range.*{words}"):
        talk(KEY, program(), stages())


def test_a_direction_before_its_matrix_is_refused_naming_the_asker() -> None:
    def program():
        yield from ask(KEY_HOLDER, MaskedDirection(addressed([1], WHOLE, key=KEY, slots=SLOTS), 12))

    with pytest.raises(ViolationError, match=r"evaluator: .*the fixed operand must come first"):
        talk(KEY, program(), stages())


@pytest.mark.parametrize(
    "edit",
    [
        lambda a: Step(a.packed, a.packed, a.product),
        lambda a: Step(a.direction, a.direction, a.product),
        lambda a: Step(a.direction, a.packed, a.packed),
        lambda a: Step(a.direction, a.packed.divided(1), a.product),
    ],
)
def test_wrong_answers_are_refused_naming_the_key_holder(edit) -> None:
    u = sealed([5], WHOLE, key=KEY, slots=SLOTS)
    meddler = rewriting(lambda p: is_kind(p, Step), Step, edit, codec_for(KEY))
    with pytest.raises(ViolationError, match="key holder: ciphertext: expected"):
        talk(KEY, product(u, ONE), stages(), meddler=meddler)
    assert meddler.done == 1
