"""S.Solve equals the same iteration in the clear, which equals numpy's answer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.conversations.two_party_ideals import plain_solution
from harness.entropy import SeededEntropy
from harness.keys import toy_key
from harness.noise import assert_looks_uniform, assert_shows_structure
from harness.two_party import talk
from sottovoce.errors import InputError, MismatchError, ViolationError
from sottovoce.paillier import Plain, decrypt, encrypt
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER
from sottovoce.protocols.two_party.directions import MaskedDirection
from sottovoce.protocols.two_party.solve import (
    SolvePlan,
    solve,
    solve_stages,
)
from sottovoce.protocols.two_party.truncation import TruncationMask

KEY = toy_key(bits=768)


def problem(size, seed, condition=20.0):
    rng = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(rng.normal(size=(size, size)))
    spectrum = np.geomspace(1.0, condition, size) if size > 1 else np.ones(1)
    A = (basis * spectrum) @ basis.T
    A = (A + A.T) / 2
    theta = rng.uniform(-1, 1, size)
    return A, A @ theta, theta


def plan_for(size, condition=20.0, **more):
    return SolvePlan(size, lower=1.0, upper=max(condition, 1.0), reach=1.0, **more)


def sealed_problem(A, b, plan):
    slots = plan.slots(KEY.public.plaintext_bits)
    plain_A = Plain.of(A, plan.matrix_scale(64.0))
    plain_b = Plain.of(b, plan.vector_scale(64.0))
    seal = {"slots": slots, "entropy": SeededEntropy(1)}
    return (
        plain_A,
        plain_b,
        encrypt(KEY.public, plain_A, **seal),
        encrypt(KEY.public, plain_b, **seal),
    )


def run(A, b, plan, *, seed=2):
    plain_A, plain_b, sealed_A, sealed_b = sealed_problem(A, b, plan)
    outcome = talk(
        KEY,
        solve(sealed_A, sealed_b, plan, entropy=SeededEntropy(seed)),
        solve_stages(KEY, plan, entropy=SeededEntropy(3)),
    )
    theta = decrypt(KEY, outcome.results[EVALUATOR].theta).floats()
    return theta, plain_solution(plain_A, plain_b, plan).floats(), outcome


@settings(max_examples=4)
@given(st.integers(1, 6), st.integers(0, 1000))
def test_sealed_equals_plain_equals_numpy(size, seed) -> None:
    A, b, theta = problem(size, seed)
    plan = plan_for(size)
    sealed_theta, plain_theta, _ = run(A, b, plan, seed=seed)
    # One unit of truncation a step, amplified by at most the condition.
    assert np.abs(sealed_theta - plain_theta).max() < 20 * plan.steps * 2.0**-32
    error = np.linalg.norm(plain_theta - theta) / np.linalg.norm(theta)
    assert error < plan.error_bound() + 1e-5
    assert plan.error_bound() <= plan.tolerance


def test_one_trip_a_step_and_one_for_the_matrix() -> None:
    A, b, _ = problem(3, 1)
    plan = plan_for(3)
    _, _, outcome = run(A, b, plan)
    assert outcome.traffic.trips(EVALUATOR, KEY_HOLDER) == 1 + plan.steps + 1  # and the goodbye


def test_steps_depend_on_public_numbers_alone() -> None:
    assert plan_for(3, 20.0).steps == plan_for(30, 20.0).steps
    assert plan_for(3, 80.0).steps > plan_for(3, 20.0).steps
    assert plan_for(3, 1.0).steps == 1


def directions(outcome, plan):
    """Every masked slot that the key holder saw, without the lift."""
    collected = []
    for item in outcome.views[KEY_HOLDER].received:
        if isinstance(item.message, MaskedDirection):
            collected += decrypt(KEY, item.message.direction).integers.tolist()
    reach = 2 ** (plan.untruncated_scale.bits + plan.masking.kappa)
    return [value % reach for value in collected], reach


def test_the_key_holder_sees_noise_and_a_forgotten_mask_would_show(monkeypatch) -> None:
    A, b, _ = problem(6, 3)
    plan = plan_for(6)
    _, _, outcome = run(A, b, plan)
    assert_looks_uniform(*directions(outcome, plan))

    draw = TruncationMask.draw.__func__

    def forgetful(cls, hidden, shape, **more):
        mask = draw(cls, hidden, shape, **more)
        lift = 1 << hidden.bits
        over, left = mask.over.integers.copy(), mask.left.integers.copy()
        over[2], left[2] = lift, lift >> more["bits"]
        return cls(Plain(over, mask.over.scale), Plain(left, mask.left.scale))

    monkeypatch.setattr(TruncationMask, "draw", classmethod(forgetful))
    theta, plain, outcome = run(A, b, plan)
    assert np.abs(theta - plain).max() < 1e-6  # right, and yet it leaks
    assert_shows_structure(*directions(outcome, plan))


def test_the_residual_is_exact() -> None:
    A, b, _ = problem(4, 7)
    plan = plan_for(4)
    plain_A, plain_b, *_ = sealed_problem(A, b, plan)
    theta, _, outcome = run(A, b, plan)
    units = [round(value * 2**plan.fraction_bits) for value in theta]
    left = plain_b.integers.astype(object) - plain_A.integers.astype(object) @ units
    result = outcome.results[EVALUATOR].residual
    assert decrypt(KEY, result).integers.tolist() == left.tolist()


def test_an_upper_bound_below_the_spectrum_shows_in_the_residual() -> None:
    A, b, _ = problem(4, 5, condition=40.0)
    plan = plan_for(4, condition=12.0)
    _, _, sealed_A, sealed_b = sealed_problem(A, b, plan)
    outcome = talk(
        KEY,
        solve(sealed_A, sealed_b, plan, entropy=SeededEntropy(2)),
        solve_stages(KEY, plan, entropy=SeededEntropy(3)),
    )
    residual = KEY.residues(outcome.results[EVALUATOR].residual.residues)
    assert max(min(value, KEY.public.modulus - value) for value in residual) > 2**200


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lower": 0.0}, "0 < lower <= upper"),
        ({"lower": -1.0}, "0 < lower <= upper"),
        ({"upper": 0.5}, "0 < lower <= upper"),
        ({"size": 0}, "a size of at least 1"),
        ({"tolerance": 0.0}, "0 < tolerance < 1"),
        ({"reach": 0.0}, "a reach above 0"),
    ],
)
def test_plans_that_cannot_work_are_refused(change, words) -> None:
    with pytest.raises(InputError, match=words):
        SolvePlan(**{"size": 2, "lower": 1.0, "upper": 2.0, "reach": 1.0} | change)


def test_operands_of_another_plan_are_refused_before_anything_is_sent() -> None:
    A, b, _ = problem(3, 1)
    _, _, sealed_A, sealed_b = sealed_problem(A, b, plan_for(3))
    with pytest.raises(MismatchError, match=r"S\.Solve: expected A as"):
        next(solve(sealed_A, sealed_b, plan_for(3, fraction_bits=20), entropy=SeededEntropy(1)))


def test_more_steps_than_planned_are_refused_naming_the_asker() -> None:
    A, b, _ = problem(3, 1)
    plan, short = plan_for(3), plan_for(3, tolerance=0.1)
    assert short.steps < plan.steps
    _, _, sealed_A, sealed_b = sealed_problem(A, b, plan)
    with pytest.raises(ViolationError, match="evaluator: expected at most"):
        talk(
            KEY,
            solve(sealed_A, sealed_b, plan, entropy=SeededEntropy(2)),
            solve_stages(KEY, short, entropy=SeededEntropy(3)),
        )
