"""Vectors cut and multiplied in one trip equal their ideals, and show the key holder noise."""

import pytest
from hypothesis import given
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
from sottovoce.protocols.two_party.lines import (
    LineProducts,
    MaskedLine,
    MaskedLines,
    cut_and_multiply,
    line_rule,
)
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.truncation import Cut

KEY = toy_key()
MASKING = Masking(40)
WHOLE = Scale(20, 2**30)
OTHER = Scale(14, 2**26)
SLOTS = Slots.fit(2**42, plaintext_bits=KEY.public.plaintext_bits, mask_bits=40)
VALUES = st.integers(-(2**30), 2**30) | st.sampled_from([-(2**30), 2**30, 0, 1, -1, 2**12])
SMALL = st.integers(-(2**26), 2**26)


def run(program, *, budget=2, meddler=None):
    return talk(
        KEY, program, [[line_rule(KEY, budget=budget, entropy=SeededEntropy(5))]], meddler=meddler
    )


def cuts(first=12, second=7):
    return [Cut.of(WHOLE, first, MASKING), Cut.of(OTHER, second, MASKING)]


@given(
    st.lists(st.tuples(VALUES, SMALL), min_size=1, max_size=11),
    st.integers(1, 20),
    st.integers(1, 14),
)
def test_values_and_products_equal_the_ideal(pairs, first, second) -> None:
    x, y = ([pair[side] for pair in pairs] for side in (0, 1))
    lines = [sealed(x, WHOLE, slots=SLOTS), sealed(y, OTHER, slots=SLOTS, seed=2)]
    first = max(first, 10)  # products must fit the slots
    program = cut_and_multiply(lines, cuts(first, second), entropy=SeededEntropy(4))
    result = run(program).results[EVALUATOR]
    p, q = (opened(KEY, value) for value in result.values)
    for value, cut in zip(x, p, strict=True):
        assert cut - (value >> first) in {0, 1}
    for value, cut in zip(y, q, strict=True):
        assert cut - (value >> second) in {0, 1}
    assert opened(KEY, result.products[0]) == [a * a for a in p]
    assert opened(KEY, result.products[1]) == [a * b for a, b in zip(p, q, strict=True)]
    assert result.products[1].scale == Scale(
        34 - first - second, ((2**30 >> first) + 1) * ((2**26 >> second) + 1)
    )


def asked(message):
    return [line.values for line in message.lines] if isinstance(message, MaskedLines) else []


def test_the_key_holder_sees_noise_and_a_forgotten_mask_would_show() -> None:
    x = sealed([7] * 100, WHOLE, slots=SLOTS)
    reach = 2 ** (WHOLE.bits + 40)

    def seen(entropy):
        outcome = run(cut_and_multiply([x], cuts()[:1], entropy=entropy))
        return [value % reach for value in masked_slots(outcome, KEY, asked)]

    assert_looks_uniform(seen(SeededEntropy(7)), reach)
    forgetful = ForgetfulEntropy(7, bits=WHOLE.bits + 40)
    assert_shows_structure(seen(forgetful), reach)
    assert forgetful.forgot


def test_one_trip_whatever_the_number_of_lines() -> None:
    lines = [sealed([1, 2], WHOLE, slots=SLOTS)] * 3
    same = [Cut.of(WHOLE, 12, MASKING)] * 3
    outcome = run(cut_and_multiply(lines, same, entropy=SeededEntropy(1)))
    assert outcome.traffic.trips(EVALUATOR, KEY_HOLDER) == 1 + 1  # and the goodbye


@pytest.mark.parametrize(
    ("lines", "error", "words"),
    [
        ([sealed([1], WHOLE)], MismatchError, "expected packed vectors"),
        ([sealed([[1]], WHOLE, slots=SLOTS)], MismatchError, "expected packed vectors"),
        ([], MismatchError, "there is no line to multiply"),
        (
            [sealed([1], WHOLE, slots=SLOTS), sealed([1, 2], WHOLE, slots=SLOTS)],
            MismatchError,
            "shapes differ",
        ),
        ([sealed([1], WHOLE, slots=Slots(60, 4))], BoundError, "over-full slot"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_sent(lines, error, words) -> None:
    program = cut_and_multiply(
        lines, [Cut.of(WHOLE, 12, MASKING)] * len(lines), entropy=SeededEntropy(1)
    )
    with pytest.raises(error, match=words):
        next(program)


def test_products_that_would_not_fit_are_refused_before_anything_is_sent() -> None:
    wide = Cut.of(Scale(20, 2**60), 1, MASKING)
    slots = Slots.fit(2**60, plaintext_bits=KEY.public.plaintext_bits, mask_bits=40)
    x = sealed([1], Scale(20, 2**60), slots=slots)
    with pytest.raises(BoundError, match=r"S\.Mult: over-full slot"):
        next(cut_and_multiply([x], [wide], entropy=SeededEntropy(1)))


@pytest.mark.parametrize(
    "question",
    [
        MaskedLines(()),
        MaskedLines((MaskedLine(addressed([1], WHOLE), 12),)),
        MaskedLines((MaskedLine(addressed([1], WHOLE, slots=SLOTS), 21),)),
        MaskedLines((MaskedLine(addressed([1], WHOLE, slots=SLOTS), 0),)),
        MaskedLines(
            (
                MaskedLine(addressed([1], WHOLE, slots=SLOTS), 12),
                MaskedLine(addressed([1, 2], WHOLE, slots=SLOTS), 12),
            )
        ),
    ],
)
def test_wrong_questions_are_refused_naming_the_asker(question) -> None:
    def program():
        yield from ask(KEY_HOLDER, question)

    with pytest.raises(ViolationError, match="evaluator: MaskedLines out of range"):
        run(program())


@pytest.mark.parametrize(
    "edit",
    [
        lambda a: LineProducts(a.spread[:1], a.products),
        lambda a: LineProducts(a.spread, a.products[:1]),
        lambda a: LineProducts(a.products, a.spread),
        lambda a: LineProducts((a.spread[0][:1], a.spread[1]), a.products),
        lambda a: LineProducts(a.spread, (a.products[1], a.products[0])),
    ],
)
def test_wrong_answers_are_refused_naming_the_key_holder(edit) -> None:
    lines = [sealed([1, 2], WHOLE, slots=SLOTS), sealed([3, 4], OTHER, slots=SLOTS)]
    program = cut_and_multiply(lines, cuts(), entropy=SeededEntropy(1))
    meddler = rewriting(lambda p: is_kind(p, LineProducts), LineProducts, edit, codec_for(KEY))
    with pytest.raises(ViolationError, match="key holder: "):
        run(program, meddler=meddler)
    assert meddler.done == 1
