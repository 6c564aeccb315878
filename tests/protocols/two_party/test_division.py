"""S.Div equals its steps in the clear, which give quotients to within the stated bound."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.conversations.two_party_ideals import plain_quotients
from harness.entropy import ForgetfulEntropy, SeededEntropy
from harness.keys import toy_key
from harness.noise import assert_looks_uniform, assert_shows_structure
from harness.two_party import masked_slots, talk
from sottovoce.errors import BoundError, InputError, MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Plain, decrypt, encrypt
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER
from sottovoce.protocols.two_party.division import (
    DivPlan,
    divide,
    division_rule,
    reciprocal,
)
from sottovoce.protocols.two_party.lines import MaskedLines
from sottovoce.protocols.two_party.masks import Masking

KEY = toy_key()
MASKING = Masking(40)
PLAN = DivPlan(0.5, 20.0, 24, Scale(20, 3 << 20), masking=MASKING)


def seal(values, scale, plan):
    plain = Plain.of(values, scale)
    slots = plan.slots(KEY.public.plaintext_bits)
    return plain, encrypt(KEY.public, plain, slots=slots, entropy=SeededEntropy(1))


def run(program, plan, *, vectors=1):
    rule = division_rule(KEY, plan, vectors=vectors, entropy=SeededEntropy(3))
    return talk(KEY, program, [[rule]])


DIVISORS = st.floats(0.5, 20.0) | st.sampled_from([0.5, 20.0, 1.0])
NUMERATORS = st.floats(-3, 3) | st.sampled_from([-3.0, 3.0, 0.0, 2.0**-20])


@settings(max_examples=6)
@given(st.lists(st.tuples(NUMERATORS, DIVISORS), min_size=1, max_size=6))
def test_sealed_equals_plain_equals_the_quotient(pairs) -> None:
    n, N = seal([pair[0] for pair in pairs], PLAN.numerator, PLAN)
    d, D = seal([pair[1] for pair in pairs], PLAN.divisor, PLAN)
    result = run(divide(N, D, PLAN, entropy=SeededEntropy(2)), PLAN).results[EVALUATOR]
    assert result.scale == PLAN.result_scale
    exact = n.floats() / d.floats()
    for quotients in (decrypt(KEY, result).floats(), plain_quotients(n, d, PLAN).floats()):
        assert np.all(np.abs(quotients - exact) <= PLAN.error_bound(exact))
    # The bound keeps what the plan promised.
    promised = np.abs(exact) * PLAN.tolerance + 2.0**-PLAN.quotient_bits
    assert np.all(PLAN.error_bound(exact) <= promised)


@given(st.floats(1e-6, 1e6), st.floats(1, 2.0**30), st.sampled_from([2.0**-10, 2.0**-16, 2.0**-24]))
def test_every_plan_keeps_its_promise_in_the_clear(lower, ratio, tolerance) -> None:
    plan = DivPlan(lower, lower * ratio, 40, Scale(8, 2**12), tolerance=tolerance)
    values = np.minimum(np.geomspace(lower, lower * ratio, 9), plan.upper)
    d = Plain.of(values, plan.divisor)
    inside = (d.integers >= lower * 2.0**40) & (d.integers > 0)  # rounding may have left the range
    n = Plain.of(np.linspace(-16, 16, 9), plan.numerator)
    result = plain_quotients(n, d, plan).floats()
    exact = [
        float(Fraction(int(a) << 40, int(b) << 8)) if b else 0.0
        for a, b in zip(n.flat(), d.flat(), strict=True)
    ]
    assert np.all((np.abs(result - exact) <= plan.error_bound(exact) * (1 + 1e-9))[inside])
    promised = np.abs(exact) * tolerance + 2.0**-plan.quotient_bits
    assert np.all(plan.error_bound(exact) <= promised * (1 + 1e-9))


def test_reciprocals_need_no_numerators() -> None:
    plan = DivPlan(0.5, 20.0, 24, masking=MASKING)
    d, D = seal([0.5, 1.0, 3.0, 20.0], plan.divisor, plan)
    result = run(reciprocal(D, plan, entropy=SeededEntropy(2)), plan).results[EVALUATOR]
    assert np.abs(decrypt(KEY, result).floats() - 1 / d.floats()).max() < 2.0**-15


def test_one_trip_a_step_and_half_as_many_as_newtons() -> None:
    _, N = seal([1.0], PLAN.numerator, PLAN)
    _, D = seal([2.0], PLAN.divisor, PLAN)
    outcome = run(divide(N, D, PLAN, entropy=SeededEntropy(2)), PLAN)
    assert outcome.traffic.trips(EVALUATOR, KEY_HOLDER) == PLAN.steps + 1  # and the goodbye
    wide = DivPlan(1.0, 2.0**29, 32)
    assert wide.steps <= 29 // 2 + 5


def seen(entropy):
    _, N = seal([3.0] * 24, PLAN.numerator, PLAN)
    _, D = seal([0.5] * 24, PLAN.divisor, PLAN)
    outcome = run(divide(N, D, PLAN, entropy=entropy), PLAN)
    trips = iter(range(PLAN.steps))

    def line(number):
        def asked(message):
            if not isinstance(message, MaskedLines) or next(trips) == 0:
                return ()
            return [message.lines[number].values]

        return asked

    divisors = [value % REACH[0] for value in masked_slots(outcome, KEY, line(0))]
    trips = iter(range(PLAN.steps))
    numerators = [value % REACH[1] for value in masked_slots(outcome, KEY, line(1))]
    return divisors, numerators


SCALES = (
    PLAN.course.whole(PLAN.course.divisor_scale),
    PLAN.course.whole(PLAN.course.numerator_scale),
)
REACH = tuple(2 ** (scale.bits + 40) for scale in SCALES)


def test_the_key_holder_sees_noise_and_a_forgotten_mask_would_show() -> None:
    for line, reach in zip(seen(SeededEntropy(7)), REACH, strict=True):
        assert_looks_uniform(line, reach)
    for number, scale in enumerate(SCALES):
        forgetful = ForgetfulEntropy(7, bits=scale.bits + 40, which=5)
        assert_shows_structure(seen(forgetful)[number], REACH[number])
        assert forgetful.forgot


@pytest.mark.parametrize(
    ("lower", "upper"), [(0.0, 1.0), (-1.0, 1.0), (2.0, 1.0), (1.0, float("inf")), (-2.0, -1.0)]
)
def test_ranges_that_hold_zero_are_refused(lower, upper) -> None:
    with pytest.raises(InputError, match=r"S\.Div: expected divisors in a range above 0, found"):
        DivPlan(lower, upper, 24)


def test_a_tolerance_that_nothing_keeps_is_refused() -> None:
    with pytest.raises(InputError, match="0 < tolerance < 1"):
        DivPlan(1.0, 2.0, 24, tolerance=0.0)


def test_operands_of_another_plan_are_refused_before_anything_is_sent() -> None:
    _, N = seal([1.0], PLAN.numerator, PLAN)
    _, D = seal([1.0], PLAN.divisor, PLAN)
    narrow = DivPlan(0.5, 10.0, 24, Scale(20, 1 << 20))
    finer = DivPlan(0.5, 20.0, 25, Scale(20, 3 << 20))
    for plan, error, words in (
        (narrow, BoundError, "expected divisors within 10, found a bound of 20"),
        (finer, MismatchError, "expected divisors with 25 fraction bits, found 24"),
    ):
        with pytest.raises(error, match=words):
            next(divide(N, D, plan, entropy=SeededEntropy(1)))
    weak = DivPlan(0.5, 20.0, 24, Scale(20, 1 << 20))
    with pytest.raises(BoundError, match="expected numerators within 1, found a bound of 3"):
        next(divide(N, D, weak, entropy=SeededEntropy(1)))


def test_more_steps_than_planned_are_refused_naming_the_asker() -> None:
    _, N = seal([1.0], PLAN.numerator, PLAN)
    _, D = seal([1.0], PLAN.divisor, PLAN)

    def program():
        for seed in range(2):
            yield from divide(N, D, PLAN, entropy=SeededEntropy(seed))

    with pytest.raises(ViolationError, match=f"evaluator: expected at most {PLAN.steps} questions"):
        run(program(), PLAN)
