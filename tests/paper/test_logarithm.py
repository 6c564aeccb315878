"""S.Log equals its sum in the clear, which is the logarithm to within the stated bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.conversations.two_party_ideals import plain_logarithms
from harness.entropy import ForgetfulEntropy, SeededEntropy
from harness.keys import toy_key
from harness.noise import assert_looks_uniform, assert_shows_structure
from harness.two_party import masked_slots, sealed, talk
from sottovoce.errors import BoundError, InputError, MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import Plain, decrypt, encrypt
from sottovoce.paper.logarithm import (
    LogPlan,
    logarithm,
    logarithm_rules,
)
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.truncation import MaskedTruncation

KEY = toy_key()
PLAN = LogPlan(0.25, 9.0, 20, masking=Masking(40))


def numbers(values, plan=PLAN):
    plain = Plain.of(values, plan.input_scale)
    return plain, encrypt(KEY.public, plain, entropy=SeededEntropy(1))


def run(x, *, entropy=None, plan=PLAN):
    program = logarithm(x, plan, entropy=entropy or SeededEntropy(2))
    return talk(KEY, program, [logarithm_rules(KEY, plan, entropy=SeededEntropy(3))])


INSIDE = st.floats(0.25, 9.0) | st.sampled_from([0.25, 1.0, 9.0])


@settings(max_examples=10)
@given(st.lists(INSIDE, min_size=1, max_size=4))
def test_sealed_equals_plain_equals_the_logarithm(values) -> None:
    plain, x = numbers(values)
    outcome = run(x)
    result = outcome.results[EVALUATOR]
    assert result.scale == PLAN.result_scale
    exact = np.log(plain.floats())
    for logarithms in (decrypt(KEY, result).floats(), plain_logarithms(plain, PLAN).floats()):
        assert np.abs(logarithms - exact).max() <= PLAN.error_bound()
    assert PLAN.error_bound() <= PLAN.tolerance
    assert outcome.traffic.trips(EVALUATOR, KEY_HOLDER) == PLAN.steps + 1  # and the goodbye


@settings(max_examples=25)
@given(st.floats(1e-6, 1e6), st.floats(1, 1e4), st.sampled_from([2.0**-8, 2.0**-12, 2.0**-20]))
def test_every_plan_keeps_its_promise_in_the_clear(lower, ratio, tolerance) -> None:
    plan = LogPlan(lower, lower * ratio, 44, tolerance=tolerance)
    values = np.clip(np.geomspace(lower, lower * ratio, 7), lower * (1 + 1e-6), plan.upper)
    x = Plain.of(values, plan.input_scale)
    result = plain_logarithms(x, plan).floats()
    assert np.abs(result - np.log(x.floats())).max() <= plan.error_bound()
    assert plan.error_bound() <= tolerance


def test_wider_ranges_take_more_nodes_and_few_more_trips() -> None:
    narrow, wide = LogPlan(1.0, 2.0, 32), LogPlan(1.0, 1e6, 32)
    assert len(narrow.nodes) < 5 < len(wide.nodes) < 100
    assert narrow.steps < wide.steps <= 14


def cut_seen(entropy):
    """What is cut in the last trip: every quotient, masked."""
    _, x = numbers([0.25] * 12)
    outcome = run(x, entropy=entropy)

    def asked(message):
        return [message.values] if isinstance(message, MaskedTruncation) else ()

    return [value % REACH for value in masked_slots(outcome, KEY, asked)]


WHOLE = PLAN.course.whole(PLAN.course.numerator_scale)
REACH = 2 ** (WHOLE.bits + 40)


def test_the_key_holder_sees_noise_and_a_forgotten_mask_would_show() -> None:
    assert_looks_uniform(cut_seen(SeededEntropy(7)), REACH)
    # Goldschmidt's lines draw masks of this length too, before the last trip does.
    counting = ForgetfulEntropy(7, bits=WHOLE.bits + 40, which=10**9)
    cut_seen(counting)
    forgetful = ForgetfulEntropy(7, bits=WHOLE.bits + 40, which=counting.draws - 3)
    assert_shows_structure(cut_seen(forgetful), REACH)
    assert forgetful.forgot


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 1.0), (-1.0, 1.0), (2.0, 1.0)])
def test_ranges_that_hold_zero_are_refused(lower, upper) -> None:
    with pytest.raises(InputError, match=r"S\.Log: expected numbers in a range above 0"):
        LogPlan(lower, upper, 20)


def test_plans_that_cannot_work_are_refused() -> None:
    with pytest.raises(InputError, match="0 < tolerance < 1"):
        LogPlan(1.0, 2.0, 20, tolerance=0.0)
    with pytest.raises(InputError, match="a range that 256 nodes are enough for"):
        LogPlan(1e-9, 1e9, 20)


def test_numbers_of_another_plan_are_refused_before_anything_is_sent() -> None:
    for x, error, words in (
        (sealed([1], Scale(19, 9 << 19)), MismatchError, "with 20 fraction bits, found"),
        (sealed([1], Scale(20, 10 << 20)), BoundError, "up to 9, found a bound of 10"),
        (
            sealed([1], PLAN.input_scale, slots=Slots(90, 2)),
            MismatchError,
            "one value a ciphertext",
        ),
        (sealed([[1]], PLAN.input_scale), MismatchError, "expected a vector"),
    ):
        with pytest.raises(error, match=words):
            next(logarithm(x, PLAN, entropy=SeededEntropy(1)))


def test_more_trips_than_planned_are_refused_naming_the_asker() -> None:
    _, x = numbers([1.0])

    def program():
        for seed in range(2):
            yield from logarithm(x, PLAN, entropy=SeededEntropy(seed))

    with pytest.raises(ViolationError, match="evaluator: expected at most"):
        talk(KEY, program(), [logarithm_rules(KEY, PLAN, entropy=SeededEntropy(3))])
