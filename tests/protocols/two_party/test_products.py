"""S.Mult, S.InnerProd, S.OuterProd, S.MatProd equal their ideals, and show the key holder noise."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.entropy import ForgetfulEntropy, SeededEntropy
from harness.keys import toy_key
from harness.noise import assert_looks_uniform, assert_shows_structure
from harness.two_party import addressed, masked_values, opened, sealed, talk
from sottovoce.errors import BoundError, InputError, MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER, ask
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.matrices import (
    FixedFactor,
    FixedFactors,
    FixedOperand,
    MaskedRows,
    fix,
    matrix_product,
    times_fixed,
)
from sottovoce.protocols.two_party.products import (
    MaskedFactors,
    inner_product,
    multiply,
    outer_product,
    product_rules,
)

KEY = toy_key()
BOUND = 2**20
SCALE = Scale(8, BOUND)
VALUES = st.integers(-BOUND, BOUND) | st.sampled_from([-BOUND, BOUND, 0, 1, -1])


def rules(budget=4, key=KEY):
    return [product_rules(key, budget=budget, entropy=SeededEntropy(5))]


def run(program, *, stages=None, key=KEY):
    return talk(key, program, stages or rules(key=key))


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=6), st.integers(0, 99))
def test_multiply_and_inner_product_equal_the_ideal(pairs, seed) -> None:
    x, y = ([pair[side] for pair in pairs] for side in (0, 1))
    entropy = SeededEntropy(seed)
    a, b = sealed(x, SCALE), sealed(y, SCALE, seed=2)
    values = run(multiply(a, b, entropy=entropy)).results[EVALUATOR]
    assert opened(KEY, values) == [p * q for p, q in pairs]
    assert values.scale == SCALE.times(SCALE)
    inner = run(inner_product(a, b, entropy=entropy)).results[EVALUATOR]
    assert opened(KEY, inner) == sum(p * q for p, q in pairs)


@given(
    st.lists(VALUES, min_size=1, max_size=4),
    st.lists(VALUES, min_size=1, max_size=4),
)
def test_outer_product_equals_the_ideal(x, y) -> None:
    program = outer_product(sealed(x, SCALE), sealed(y, SCALE, seed=2), entropy=SeededEntropy(3))
    assert opened(KEY, run(program).results[EVALUATOR]) == [[p * q for q in y] for p in x]


@given(st.data(), st.booleans(), st.integers(1, 3), st.integers(1, 4), st.integers(1, 5))
def test_matrix_product_equals_the_ideal(data, packed, rows, inner, columns) -> None:
    def matrix(height, width):
        line = st.lists(VALUES, min_size=width, max_size=width)
        return data.draw(st.lists(line, min_size=height, max_size=height))

    left, right = matrix(rows, inner), matrix(inner, columns)
    slots = Slots.fit(inner * BOUND**2, plaintext_bits=KEY.public.plaintext_bits)
    a, b = sealed(left, SCALE), sealed(right, SCALE, slots=slots if packed else None)
    held = FixedFactors(KEY)
    program = matrix_product(a, b, entropy=SeededEntropy(4))
    outcome = run(program, stages=[held.rules(budget=1, entropy=SeededEntropy(5))])
    ideal = np.array(left, dtype=object) @ np.array(right, dtype=object)
    assert opened(KEY, outcome.results[EVALUATOR]) == ideal.tolist()
    assert outcome.results[EVALUATOR].slots == (slots if packed else None)


def test_a_fixed_operand_serves_many_products_in_one_trip_each() -> None:
    slots = Slots.fit(3 * BOUND**2, plaintext_bits=KEY.public.plaintext_bits)
    matrix = [[1, 2, 3], [-4, 5, -6], [7, -8, BOUND]]
    vectors = [[1, 0, 0], [0, -BOUND, 2], [3, 3, 3]]

    def program():
        entropy = SeededEntropy(6)
        operand = yield from fix(sealed(matrix, SCALE, slots=slots), entropy=entropy)
        collected = []
        for vector in vectors:
            product = yield from times_fixed(sealed(vector, SCALE), operand, entropy=entropy)
            collected += [product]
        return collected

    held = FixedFactors(KEY)
    outcome = run(program(), stages=[held.rules(budget=3, entropy=SeededEntropy(5))])
    for vector, product in zip(vectors, outcome.results[EVALUATOR], strict=True):
        assert opened(KEY, product) == (np.array(vector) @ np.array(matrix)).tolist()
    assert outcome.traffic.trips(EVALUATOR, KEY_HOLDER) == 1 + len(vectors) + 1  # and the goodbye


def left_of(message):
    return message.left if isinstance(message, MaskedFactors) else None


def test_the_key_holder_sees_noise_and_a_forgotten_mask_would_show(monkeypatch) -> None:
    x = sealed([7] * 80, SCALE)
    reach = 2 ** (SCALE.bits + 64)
    outcome = run(multiply(x, x, entropy=SeededEntropy(7)))
    assert_looks_uniform(masked_values(outcome, KEY, left_of), reach)

    def forgetful(self, hidden, shape, *, entropy):
        masks = draw(self, hidden, shape, entropy=entropy)
        kept = masks.integers.copy()
        kept[3] = 0
        return replace(masks, integers=kept)

    draw = Masking.draw
    monkeypatch.setattr(Masking, "draw", forgetful)
    outcome = run(multiply(x, x, entropy=SeededEntropy(7)))
    assert_shows_structure(masked_values(outcome, KEY, left_of), reach)


def test_a_fixed_operand_is_uniform_in_z_n() -> None:
    matrix = sealed([[1] * 10] * 10, SCALE)

    def program():
        operand = yield from fix(matrix, entropy=SeededEntropy(8))
        yield from times_fixed(sealed([1] * 10, SCALE), operand, entropy=SeededEntropy(9))

    held = FixedFactors(KEY)
    outcome = run(program(), stages=[held.rules(budget=1, entropy=SeededEntropy(5))])
    seen = masked_values(outcome, KEY, lambda m: m.matrix if isinstance(m, FixedFactor) else None)
    assert_looks_uniform(seen, KEY.public.modulus)


def fixed_by_value(entropy):
    """The slots of a fixed operand that was masked value by value, as the key holder sees them."""
    slots = Slots.fit(3 * BOUND**2, plaintext_bits=KEY.public.plaintext_bits, mask_bits=40)
    matrix = sealed([[5, -7, BOUND]] * 30, SCALE, slots=slots)
    vector = sealed([1] * 30, SCALE)

    def program():
        operand = yield from fix(matrix, entropy=entropy, masking=Masking(40))
        return (yield from times_fixed(vector, operand, entropy=SeededEntropy(9)))

    outcome = run(program(), stages=[FixedFactors(KEY).rules(budget=1, entropy=SeededEntropy(5))])
    assert opened(KEY, outcome.results[EVALUATOR]) == [150, -210, 30 * BOUND]
    seen = masked_values(outcome, KEY, lambda m: m.matrix if isinstance(m, FixedFactor) else None)
    return [value % REACH for packed in seen for value in slots.unpack(packed, 3)]


REACH = 2 ** (SCALE.bits + 40)


def test_a_fixed_operand_masked_value_by_value_is_noise_too() -> None:
    assert_looks_uniform(fixed_by_value(SeededEntropy(8)), REACH)
    forgetful = ForgetfulEntropy(8, bits=SCALE.bits + 40)
    assert_shows_structure(fixed_by_value(forgetful), REACH)
    assert forgetful.forgot


def test_a_fixed_operand_without_room_for_masks_is_refused_before_anything_is_sent() -> None:
    slots = Slots.fit(BOUND, plaintext_bits=KEY.public.plaintext_bits)
    matrix = sealed([[1]], SCALE, slots=slots)
    with pytest.raises(BoundError, match="fixed factor: over-full slot"):
        next(fix(matrix, entropy=SeededEntropy(1), masking=Masking(40)))


def test_several_fixed_operands_keep_their_places() -> None:
    def program():
        entropy = SeededEntropy(6)
        first = yield from fix(sealed([[2]], SCALE), entropy=entropy)
        second = yield from fix(sealed([[5]], SCALE), entropy=entropy, place=1)
        x = sealed([3], SCALE)
        product = yield from times_fixed(x, first, entropy=entropy)
        other = yield from times_fixed(x, second, entropy=entropy)
        return product, other

    held = FixedFactors(KEY, places=2)
    product, other = run(
        program(), stages=[held.rules(budget=2, entropy=SeededEntropy(5))]
    ).results[EVALUATOR]
    assert (opened(KEY, product), opened(KEY, other)) == ([6], [15])


def test_a_place_that_is_not_there_is_refused_naming_the_asker() -> None:
    held = FixedFactors(KEY)
    program = fix(sealed([[2]], SCALE), entropy=SeededEntropy(1), place=1)
    with pytest.raises(
        ViolationError, match=r"evaluator: FixedFactor out of range.*below 1, found 1"
    ):
        run(program, stages=[held.rules(budget=2, entropy=SeededEntropy(5))])


def test_answers_are_pure_functions_of_the_question() -> None:
    held = FixedFactors(KEY)
    stage = held.rules(budget=2, entropy=SeededEntropy(5))
    by_kind = {rule.kind: rule for rule in stage}
    matrix = sealed([[3, 0], [0, 5]], SCALE).cover([0] * 4).for_key_holder(entropy=SeededEntropy(1))
    by_kind[FixedFactor].answer(FixedFactor(matrix))
    rows = addressed([2, 2], SCALE)
    first, second = (by_kind[MaskedRows].answer(MaskedRows(rows)).rows for _ in range(2))
    assert KEY.residues(first.residues) == KEY.residues(second.residues) == [6, 10]
    assert first.residues != second.residues  # each under randomisers of its own


def test_masks_without_room_raise_before_anything_is_sent() -> None:
    wide = Scale(0, 2**200)
    program = multiply(sealed([1], wide), sealed([1], wide), entropy=SeededEntropy(1))
    with pytest.raises(BoundError, match="masked product"):
        next(program)  # the first thing that it would send


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (lambda a, b: multiply(a, b[:2], entropy=SeededEntropy(1)), "S.Mult: shapes differ"),
        (lambda a, b: inner_product(a, b[:2], entropy=SeededEntropy(1)), "S.InnerProd: shapes"),
        (
            lambda a, b: outer_product(a, b.reshaped(3, 1), entropy=SeededEntropy(1)),
            "S.OuterProd: expected vectors",
        ),
        (
            lambda a, b: matrix_product(a, b.reshaped(1, 3), entropy=SeededEntropy(1)),
            "S.MatProd: shapes do not meet",
        ),
        (lambda a, b: matrix_product(a, b, entropy=SeededEntropy(1)), "expected a matrix by rows"),
    ],
)
def test_shapes_that_do_not_meet_are_named(program, words) -> None:
    a, b = sealed([1, 2, 3], SCALE), sealed([4, 5, 6], SCALE)
    held = FixedFactors(KEY)
    stages = [rules()[0] + held.rules(budget=2, entropy=SeededEntropy(5))]
    with pytest.raises(MismatchError, match=words):
        run(program(a, b), stages=stages)


def test_operands_under_another_key_are_refused() -> None:
    other = toy_key(seed=1)
    a, b = sealed([1], SCALE), sealed([1], SCALE, key=other)
    with pytest.raises(MismatchError, match="keys differ"):
        run(multiply(a, b, entropy=SeededEntropy(1)))


def test_kappa_below_forty_is_refused() -> None:
    with pytest.raises(InputError, match="at least 40 bits of κ, found 39"):
        Masking(kappa=39)


def test_questions_over_budget_are_refused_naming_the_asker() -> None:
    x = sealed([1], SCALE)

    def program():
        for seed in range(3):
            yield from multiply(x, x, entropy=SeededEntropy(seed))

    with pytest.raises(ViolationError, match="evaluator: expected at most 2 questions"):
        run(program(), stages=rules(budget=2))


def test_a_question_whose_shapes_differ_is_the_askers_fault() -> None:
    def program():
        yield from ask(KEY_HOLDER, MaskedFactors(addressed([1, 2], SCALE), addressed([1], SCALE)))

    with pytest.raises(ViolationError, match="evaluator: MaskedFactors out of range"):
        run(program())


def test_a_product_before_its_operand_is_refused() -> None:
    def program():
        yield from ask(KEY_HOLDER, MaskedRows(addressed([1, 2], SCALE)))

    held = FixedFactors(KEY)
    with pytest.raises(
        ViolationError, match=r"evaluator: MaskedRows out of range.*fixed operand must come first"
    ):
        run(program(), stages=held.stages(budget=1, entropy=SeededEntropy(5)))


def test_masks_stay_out_of_repr() -> None:
    masks = Masking().draw(SCALE, (1,), entropy=SeededEntropy(1))
    assert str(masks.integers[0]) not in repr(masks)
    operand = FixedOperand(sealed([[1]], SCALE), [[123456789]])
    assert "123456789" not in repr(operand)
