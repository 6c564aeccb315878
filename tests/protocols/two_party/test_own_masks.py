"""Masks under the evaluator's own key: the same product, and noise on both sides."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from harness.meddling import is_kind, rewriting
from harness.noise import assert_looks_uniform, assert_shows_structure
from harness.two_party import addressed, codec_for, opened, sealed, talk
from sottovoce.errors import MalformedError, MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import (
    Ciphertext,
    Plain,
    decrypt,
    decrypt_residues,
    encrypt,
    generate_insecure_for_tests,
    prove_key,
)
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER
from sottovoce.protocols.two_party import own_masks
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.own_masks import (
    OwnDirection,
    OwnFactor,
    OwnFactors,
    OwnStep,
    cut_times_own,
    fix_own,
)
from sottovoce.protocols.two_party.residual import check_stage, solve_checked
from sottovoce.protocols.two_party.solve import SolvePlan, own_stages
from sottovoce.protocols.two_party.truncation import Cut

KEY = toy_key(bits=768)
OWN = generate_insecure_for_tests(768, entropy=SeededEntropy(90))
MASKING = Masking(40)
WHOLE = Scale(20, 2**30)
MATRIX = Scale(6, 2**12)
PRODUCT = Scale(14, 2**40)
CUT = Cut.of(WHOLE, 12, MASKING)
BITS = KEY.public.plaintext_bits
SLOTS = Slots.fit(2**36, plaintext_bits=BITS, mask_bits=40)
ROWS = Slots.fit(2**40, plaintext_bits=BITS, mask_bits=40)


def stages(budget=1, masking=MASKING):
    held = OwnFactors(KEY, masking, uses=budget)
    return held.stages(budget=budget, entropy=SeededEntropy(5))


def product(u, matrix, *, times=1, own=OWN):
    operand = yield from fix_own(matrix, own, CUT, WHOLE, uses=times, entropy=SeededEntropy(3))
    for turn in range(times):
        result = yield from cut_times_own(
            u, operand, CUT, product=PRODUCT, entropy=SeededEntropy(4 + turn)
        )
    return result


@settings(max_examples=6, deadline=None)
@given(st.data(), st.integers(1, 6), st.integers(1, 9))
def test_direction_and_product_equal_the_ideal(data, height, width) -> None:
    value = st.integers(-(2**30), 2**30) | st.sampled_from([-(2**30), 2**30, 0, -1])
    values = data.draw(st.lists(value, min_size=height, max_size=height))
    line = st.lists(st.integers(-(2**12), 2**12), min_size=width, max_size=width)
    matrix = data.draw(st.lists(line, min_size=height, max_size=height))
    u = sealed(values, WHOLE, key=KEY, slots=SLOTS)
    B = sealed(matrix, MATRIX, key=KEY, slots=ROWS)
    outcome = talk(KEY, product(u, B, times=2), stages(budget=2))
    result = outcome.results[EVALUATOR]
    p = opened(KEY, result.direction)
    for whole, cut in zip(values, p, strict=True):
        assert cut - (whole >> 12) in {0, 1}
    assert opened(KEY, result.product) == (np.array(p, dtype=object) @ matrix).tolist()
    assert (result.direction.slots, result.product.slots) == (SLOTS, ROWS)
    assert outcome.traffic.trips(EVALUATOR, KEY_HOLDER) == 3 + 1  # and the goodbye


class Forgotten(Masking):
    def draw(self, hidden, shape, *, entropy):
        drawn = super().draw(hidden, shape, entropy=entropy)
        return Plain(drawn.integers * 0, drawn.scale)


def views(masking=MASKING):
    """What the evaluator opens with its own key, and what the key holder gets of the operand."""
    u = sealed([77] * 40, WHOLE, key=KEY, slots=SLOTS)
    B = sealed([[1] * 90] * 40, MATRIX, key=KEY, slots=ROWS)
    outcome = talk(KEY, product(u, B), stages(masking=masking))
    (step,) = outcome.views[EVALUATOR].of(OwnStep)
    hidden = decrypt(OWN, Ciphertext.from_bytes(step.hidden, key=OWN.public))
    (factor,) = outcome.views[KEY_HOLDER].of(OwnFactor)
    return hidden, factor


def top_words(values, bits):
    """The highest 64 of so many bits."""
    return np.array([int(value) >> bits - 64 for value in values], np.uint64)


def test_what_the_evaluator_opens_is_noise_and_a_forgotten_mask_would_show() -> None:
    hidden, _ = views()
    bits = hidden.scale.bits - 1  # the bound is that of mask and product together
    assert_looks_uniform(top_words(hidden.integers.tolist(), bits))
    bare, _ = views(Forgotten(40))
    assert_shows_structure(top_words(bare.integers.tolist(), bits))


def test_the_key_holder_gets_masks_that_it_cannot_open() -> None:
    _, factor = views()
    public = type(KEY.public).from_bytes(factor.public)
    assert public == OWN.public != KEY.public
    masks = Ciphertext.from_bytes(factor.masks, key=public)
    with pytest.raises(MismatchError, match="keys differ"):
        decrypt(KEY, masks)
    shown = decrypt_residues(KEY, factor.matrix)
    assert len(set(shown)) == len(shown)


def test_a_key_that_is_not_the_askers_own_is_refused() -> None:
    u = sealed([1, 2], WHOLE, key=KEY, slots=SLOTS)
    B = sealed([[1, 2], [3, 4]], MATRIX, key=KEY, slots=ROWS)
    with pytest.raises(ViolationError, match="under the asker's own key"):
        talk(KEY, product(u, B, own=KEY), stages())


def test_a_key_of_the_askers_own_without_its_proof_is_refused(monkeypatch) -> None:
    u = sealed([1, 2], WHOLE, key=KEY, slots=SLOTS)
    B = sealed([[1, 2], [3, 4]], MATRIX, key=KEY, slots=ROWS)
    monkeypatch.setattr(own_masks, "prove_key", lambda key: bytes(len(prove_key(key))))
    with pytest.raises(MalformedError, match="key proof: expected roots"):
        talk(KEY, product(u, B), stages())


@pytest.mark.parametrize(
    ("hidden", "error", "match"),
    [
        (b"", MalformedError, "key holder"),
        (
            lambda: sealed([1, 2, 3], PRODUCT, key=OWN, slots=ROWS).to_bytes(),
            ViolationError,
            "key holder: ciphertext",
        ),
    ],
    ids=["no ciphertext", "another shape"],
)
def test_an_answer_that_is_not_as_agreed_names_the_key_holder(hidden, error, match) -> None:
    u = sealed([1, 2], WHOLE, key=KEY, slots=SLOTS)
    B = sealed([[1, 2], [3, 4]], MATRIX, key=KEY, slots=ROWS)
    data = hidden() if callable(hidden) else hidden

    def changed(step):
        return OwnStep(step.packed, step.product, data)

    meddler = rewriting(lambda p: is_kind(p, OwnStep), OwnStep, changed, codec_for(KEY))
    with pytest.raises(error, match=match):
        talk(KEY, product(u, B), stages(), meddler=meddler)


def test_a_direction_without_an_operand_or_of_another_length_is_refused() -> None:
    held = OwnFactors(KEY, MASKING, uses=1)
    question = OwnDirection(addressed([1, 2], WHOLE, key=KEY, slots=SLOTS), 12)
    with pytest.raises(MismatchError, match="the operand must come first"):
        held.answer(question, entropy=SeededEntropy(1))
    u = sealed([1, 2, 3], WHOLE, key=KEY, slots=SLOTS)
    B = sealed([[1, 2], [3, 4]], MATRIX, key=KEY, slots=ROWS)
    with pytest.raises(ViolationError, match="shapes do not meet"):
        talk(KEY, product(u, B), stages())
    with pytest.raises(MismatchError, match="expected a matrix by packed rows"):
        talk(KEY, product(u, sealed([[1]], MATRIX, key=KEY)), stages())


def test_a_whole_solve_equals_the_plain_one() -> None:
    rng = np.random.default_rng(2)
    basis, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    A = (basis * np.geomspace(1.0, 8.0, 5)) @ basis.T
    theta = rng.uniform(-1, 1, 5)
    plan = SolvePlan(5, 1.0, 8.0, 2.0, 2.0**-12, 20, 14, 12, masking=MASKING)
    slots = plan.slots(BITS)
    sealed_A = encrypt(
        KEY, Plain.of(A, plan.matrix_scale(8)), slots=slots, entropy=SeededEntropy(1)
    )
    b = Plain.of(A @ theta, plan.vector_scale(40))
    sealed_b = encrypt(KEY, b, slots=slots, entropy=SeededEntropy(2))

    def program():
        return (
            yield from solve_checked(sealed_A, sealed_b, plan, entropy=SeededEntropy(3), own=OWN)
        )

    answers = [
        *own_stages(KEY, plan, entropy=SeededEntropy(4)),
        check_stage(KEY, entropy=SeededEntropy(5)),
    ]
    result = talk(KEY, program(), answers).results[EVALUATOR].theta
    np.testing.assert_allclose(decrypt(KEY, result).floats(), theta, atol=1e-3)
