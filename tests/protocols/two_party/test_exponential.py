"""S.Exp equals its polynomial in the clear, which is exp to within the stated bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.entropy import ForgetfulEntropy, SeededEntropy
from harness.keys import toy_key
from harness.noise import assert_looks_uniform, assert_shows_structure
from harness.two_party import masked_slots, sealed, talk
from sottovoce.errors import BoundError, InputError, MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Plain, decrypt, encrypt
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER
from sottovoce.protocols.two_party.exponential import (
    ExpPlan,
    exponential,
    exponential_rule,
    plain_exponential,
)
from sottovoce.protocols.two_party.lines import MaskedLines
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.rados import Schedule, polynomial_exp

KEY = toy_key()
PLAN = ExpPlan.of(4, masking=Masking(40))


def exponents(values, plan=PLAN):
    plain = Plain.of(values, plan.input_scale)
    slots = plan.slots(KEY.public.plaintext_bits)
    return plain, encrypt(KEY.public, plain, slots=slots, entropy=SeededEntropy(1))


def run(x, plan=PLAN, *, entropy=None, vectors=1):
    program = exponential(x, plan, entropy=entropy or SeededEntropy(2))
    rule = exponential_rule(KEY, plan, vectors=vectors, entropy=SeededEntropy(3))
    return talk(KEY, program, [[rule]])


INSIDE = st.floats(-4, 4) | st.sampled_from([-4.0, 4.0, 0.0, 2.0**-31, -(2.0**-31)])


@settings(max_examples=6)
@given(st.lists(INSIDE, min_size=1, max_size=7))
def test_sealed_equals_plain_equals_exp(values) -> None:
    plain, x = exponents(values)
    result = run(x).results[EVALUATOR]
    assert result.scale == PLAN.result_scale
    assert result.layout == x.layout
    sealed_exp = decrypt(KEY, result).floats()
    plain_exp = plain_exponential(plain, PLAN).floats()
    exact = np.exp(plain.floats() - PLAN.bound)
    assert np.all(np.abs(sealed_exp - exact) <= PLAN.error_bound(plain.floats()))
    assert np.all(np.abs(plain_exp - exact) <= PLAN.error_bound(plain.floats()))
    # The two differ by the roundings alone, which the bound of a finer polynomial contains.
    assert np.all(np.abs(sealed_exp - plain_exp) < 2.0 ** (PLAN.squarings + 2 - PLAN.fraction_bits))


@given(st.integers(1, 40), st.sampled_from([0.3, 0.01, 1e-4]))
def test_the_plain_twin_keeps_its_bound_for_every_plan(bound, tolerance) -> None:
    plan = ExpPlan.of(bound, tolerance=tolerance)
    x = Plain.of(np.linspace(-bound, bound, 41), plan.input_scale)
    computed, exact = plain_exponential(x, plan).floats(), np.exp(x.floats() - bound)
    assert np.all(np.abs(computed - exact) <= plan.error_bound(x.floats()))
    # Relatively: the polynomial's own error, at its worst at −bound, and the roundings' at 0.
    middle = len(computed) // 2
    assert abs(computed[middle] / exact[middle] - 1) < tolerance / 4 + 2.0**-14
    assert np.all(plan.error_bound(0.0) <= tolerance * np.exp(-bound))


def test_it_is_the_polynomial_of_the_plain_learner() -> None:
    schedule = Schedule(bound=float(PLAN.bound), squarings=PLAN.squarings)
    plain, _ = exponents(np.linspace(-4, 4, 33))
    theirs = polynomial_exp(plain.floats(), schedule)
    ours = plain_exponential(plain, PLAN).floats()
    assert np.abs(ours - theirs).max() < 2.0 ** (PLAN.squarings + 2 - PLAN.fraction_bits)


def test_one_percent_needs_a_third_fewer_squarings_than_the_polynomial_of_first_order() -> None:
    for bound in (5, 10, 40):
        # (1 + z)^(2^k) is below exp by (2·bound)²/2^(k + 1).
        assert 2 ** (1.5 * (ExpPlan.of(bound).squarings - 2)) < 200 * bound**2
    assert (ExpPlan.of(10).squarings, ExpPlan.of(10).fraction_bits) == (10, 35)


def test_one_trip_a_squaring() -> None:
    _, x = exponents([1.0, 2.0])
    outcome = run(x)
    assert outcome.traffic.trips(EVALUATOR, KEY_HOLDER) == PLAN.squarings + 1  # and the goodbye


def seen(entropy):
    """Every slot that the key holder saw, by the squarings' mask (the first one's is shorter)."""
    _, x = exponents([-4.0] * 5 + [4.0] * 5)
    outcome = run(x, entropy=entropy)
    later = iter(range(PLAN.squarings))

    def asked(message):
        first = isinstance(message, MaskedLines) and next(later) == 0
        return () if first or not isinstance(message, MaskedLines) else [message.lines[0].values]

    return [value % REACH for value in masked_slots(outcome, KEY, asked)]


REACH = 2 ** (PLAN.result_scale.bits + 40)


def test_the_key_holder_sees_noise_and_a_forgotten_mask_would_show() -> None:
    assert_looks_uniform(seen(SeededEntropy(7)), REACH)
    forgetful = ForgetfulEntropy(7, bits=PLAN.result_scale.bits + 40, which=17)
    assert_shows_structure(seen(forgetful), REACH)
    assert forgetful.forgot


def test_exponents_outside_their_range_are_refused_before_anything_is_sent() -> None:
    slots = PLAN.slots(KEY.public.plaintext_bits)
    for scale, error, words in (
        (Scale(32, (4 << 32) + 1), BoundError, r"S\.Exp: expected exponents within ±4, found"),
        (Scale(31, 4 << 31), MismatchError, "expected exponents with 32 fraction bits, found 31"),
    ):
        with pytest.raises(error, match=words):
            next(exponential(sealed([1], scale, slots=slots), PLAN, entropy=SeededEntropy(1)))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"bound": 0}, "a bound of at least 1"),
        ({"squarings": 0}, "below a quarter of 2\\^squarings"),
        ({"bound": 1024}, "below a quarter of 2\\^squarings"),
        ({"fraction_bits": 31}, "at least 32 fraction bits for 12 squarings, found 31"),
        ({"input_bits": 20}, "more than 21 fraction bits, found 20"),
    ],
)
def test_plans_that_cannot_work_are_refused(fields, words) -> None:
    with pytest.raises(InputError, match=words):
        ExpPlan(**{"bound": 4, "squarings": 12, "fraction_bits": 32} | fields)
    with pytest.raises(InputError, match="0 < tolerance < 1"):
        ExpPlan.of(4, tolerance=1.0)


def test_more_squarings_than_planned_are_refused_naming_the_asker() -> None:
    _, x = exponents([1.0])

    def program():
        yield from exponential(x, PLAN, entropy=SeededEntropy(1))
        yield from exponential(x, PLAN, entropy=SeededEntropy(2))

    rule = exponential_rule(KEY, PLAN, vectors=1, entropy=SeededEntropy(3))
    with pytest.raises(ViolationError, match=f"evaluator: expected at most {PLAN.squarings}"):
        talk(KEY, program(), [[rule]])
