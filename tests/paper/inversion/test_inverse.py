"""S.Inv equals its iteration in the clear, which is numpy's inverse to within the stated bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.conversations.two_party_ideals import plain_inverse
from harness.entropy import SeededEntropy
from harness.keys import toy_key
from harness.two_party import talk
from sottovoce.errors import BoundError, InputError, MismatchError, SottovoceError, ViolationError
from sottovoce.paillier import Plain, decrypt, encrypt
from sottovoce.paper.inversion.crossed import MaskedMatrices
from sottovoce.paper.inversion.hyperpower import InvPlan
from sottovoce.paper.inversion.inverse import (
    check_inverse,
    checked_stages,
    invert,
    invert_rule,
)
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER
from sottovoce.protocols.two_party.masks import Masking

KEY = toy_key(bits=768)
ORDERS = pytest.mark.parametrize("order", [2, 3, 7])


def matrix(spectrum, seed=1):
    rng = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(rng.normal(size=(len(spectrum), len(spectrum))))
    A = (basis * spectrum) @ basis.T
    return (A + A.T) / 2


def plan_for(size, upper=20.0, **more):
    return InvPlan(size, 1.0, upper, **{"masking": Masking(40)} | more)


def seal(A, plan):
    plain = Plain.of(A, plan.matrix_scale(128.0))
    slots = plan.slots(KEY.public.plaintext_bits)
    return plain, encrypt(KEY.public, plain, slots=slots, entropy=SeededEntropy(1))


def run(A, plan, *, entropy=None):
    program = invert(A, plan, entropy=entropy or SeededEntropy(2))
    return talk(KEY, program, [[invert_rule(KEY, plan, entropy=SeededEntropy(3))]])


@ORDERS
@settings(max_examples=4)
@given(size=st.integers(1, 5), seed=st.integers(0, 99))
def test_sealed_equals_plain_equals_numpy(order, size, seed) -> None:
    plan = plan_for(size, order=order)
    spectrum = np.geomspace(1.0, 20.0, size) if size > 1 else np.array([5.0])
    plain, A = seal(matrix(spectrum, seed), plan)
    outcome = run(A, plan)
    result = outcome.results[EVALUATOR]
    assert result.scale == plan.result_scale
    ideal, exact = plain_inverse(plain, plan).floats(), np.linalg.inv(plain.floats())
    for inverse in (decrypt(KEY, result).floats(), ideal):
        assert np.linalg.norm(inverse - exact, 2) <= plan.error_bound()
    # Relative to the largest inverse that the interval allows.
    assert plan.error_bound() * plan.lower <= 1.01 * plan.tolerance
    assert np.abs(decrypt(KEY, result).floats() - ideal).max() < 2.0**-28
    assert outcome.traffic.trips(EVALUATOR, KEY_HOLDER) == plan.trips + 1  # and the goodbye
    questions = outcome.views[KEY_HOLDER].of(MaskedMatrices)
    assert sum(len(question.products) for question in questions) == plan.products


@ORDERS
def test_masks_never_reach_further_than_the_plan_says(order) -> None:
    plan = plan_for(4, 3.0, order=order, tolerance=2.0**-18)
    assert plan.steps >= 2
    _, A = seal(matrix(np.geomspace(1.0, 3.0, 4)), plan)
    questions = run(A, plan).views[KEY_HOLDER].of(MaskedMatrices)
    widest = plan.fraction_bits + (10 if order == 2 else 0)
    largest = max(plan.small.refined(widest).bits, plan.large.refined(widest).bits)
    assert {m.reach for q in questions for m in q.matrices if m.reach > largest + 41} == set()
    room = plan.slots(KEY.public.plaintext_bits).width
    parts = [part.scale.bits for q in questions for m in q.matrices for part in m.parts]
    assert max(parts) < room


@ORDERS
@given(st.floats(1, 5000), st.integers(2, 12), st.sampled_from([2.0**-10, 2.0**-20]))
def test_every_plan_keeps_its_bound_in_the_clear(order, upper, size, tolerance) -> None:
    plan = InvPlan(size, 1.0, upper, order=order, tolerance=tolerance, fraction_bits=48)
    A = Plain.of(matrix(np.geomspace(1.0, upper, size)), plan.matrix_scale(1e4))
    spectrum = np.linalg.eigvalsh(A.floats())
    if spectrum[0] >= 1 - 1e-6 and spectrum[-1] <= upper * (1 + 1e-6):
        error = np.linalg.norm(plain_inverse(A, plan).floats() - np.linalg.inv(A.floats()), 2)
        assert error <= plan.error_bound() * 1.001


def test_newton_needs_few_steps_on_a_wide_spectrum() -> None:
    wide = {"upper": 4000.0, "tolerance": 2.0**-14, "fraction_bits": 48}
    steps = {order: plan_for(35, order=order, **wide).steps for order in (2, 3, 7)}
    assert steps == {2: 9, 3: 10, 7: 6}
    # Without the factors α, from X = I/c, it takes twice as many until the spectrum is narrow.
    low, unscaled = 1 / 4000, 0
    while (1 - low) > 2.0**-15:
        low, unscaled = low * (2 - low), unscaled + 1
    assert unscaled == 16


def test_more_fraction_bits_give_more_exact_inverses() -> None:
    A = matrix(np.geomspace(1.0, 200.0, 6))
    errors = []
    for bits in (30, 40, 50):
        plan = plan_for(6, 200.0, fraction_bits=bits, tolerance=2.0 ** (15 - bits), matrix_bits=48)
        plain = Plain.of(A, plan.matrix_scale(256.0))
        errors.append(np.abs(plain_inverse(plain, plan).floats() - np.linalg.inv(A)).max())
    assert errors[0] < 2e-5
    assert errors[1] < 2e-8
    assert errors[2] < 2e-11


# What is refused, and what is caught.


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"lower": 0.0}, "0 < lower <= upper"),
        ({"lower": -1.0}, "0 < lower <= upper"),
        ({"upper": 0.5}, "0 < lower <= upper"),
        ({"size": 0}, "a size of at least 1"),
        ({"order": 4}, "an order of 2, 3 or 7, found 4"),
        ({"tolerance": 0.0}, "0 < tolerance < 1"),
        ({"start": 0.1}, r"below 2/upper = 0\.1, outside of which the iteration runs away"),
        ({"start": 0.0}, "a start above 0"),
        ({"fraction_bits": 20}, "at least 23 fraction bits for this interval"),
    ],
)
def test_plans_that_cannot_work_are_refused(fields, words) -> None:
    with pytest.raises(InputError, match=words):
        InvPlan(**{"size": 3, "lower": 1.0, "upper": 20.0} | fields)


def test_a_start_inside_the_region_is_taken() -> None:
    plan = plan_for(3, start=1 / 60)  # 1/trace
    plain, A = seal(matrix([1.0, 4.0, 20.0]), plan)
    decrypted = decrypt(KEY, run(A, plan).results[EVALUATOR]).floats()
    assert np.abs(decrypted - np.linalg.inv(plain.floats())).max() < 1e-4


def checked(A, plan):
    _, sealed_A = seal(A, plan)

    def program():
        inverse = yield from invert(sealed_A, plan, entropy=SeededEntropy(2))
        return (yield from check_inverse(sealed_A, inverse, plan, entropy=SeededEntropy(4)))

    return talk(KEY, program(), checked_stages(KEY, plan, entropy=SeededEntropy(3)))


@ORDERS
def test_a_good_inverse_passes_its_check(order) -> None:
    A, plan = matrix([1.0, 4.0, 20.0]), plan_for(3, order=order)
    decrypted = decrypt(KEY, checked(A, plan).results[EVALUATOR]).floats()
    assert np.abs(decrypted - np.linalg.inv(A)).max() < 1e-4


@ORDERS
@pytest.mark.parametrize("spectrum", [[1.0, 4.0, 46.0], [-2.0, 4.0, 20.0], [0.05, 4.0, 20.0]])
def test_a_spectrum_outside_the_interval_is_caught(order, spectrum) -> None:
    with pytest.raises(SottovoceError) as caught:
        checked(matrix(spectrum), plan_for(3, order=order))
    assert isinstance(caught.value, BoundError | ViolationError)
    if spectrum[0] == 0.05:
        assert "started outside its region" in str(caught.value)


def test_a_matrix_of_another_plan_is_refused_before_anything_is_sent() -> None:
    _, A = seal(matrix([1.0, 2.0]), plan_for(2))
    with pytest.raises(MismatchError, match=r"S\.Inv: expected A as 2 × 2 in"):
        next(invert(A, plan_for(2, matrix_bits=25), entropy=SeededEntropy(1)))


def test_more_trips_than_planned_are_refused_naming_the_asker() -> None:
    long, short = plan_for(2), plan_for(2, tolerance=0.4)
    assert short.trips < long.trips
    _, A = seal(matrix([1.0, 20.0]), long)
    with pytest.raises(ViolationError, match=f"evaluator: expected at most {short.trips}"):
        talk(
            KEY,
            invert(A, long, entropy=SeededEntropy(1)),
            [[invert_rule(KEY, short, entropy=SeededEntropy(3))]],
        )
