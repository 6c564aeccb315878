"""The last check of S.Solve lets good solutions pass, and stops those that ran away."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from harness.two_party import talk
from sottovoce.errors import BoundError, InputError, SottovoceError, ViolationError
from sottovoce.paillier import Plain, decrypt, encrypt
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.residual import (
    checked_stages,
    residual_is_small,
    residual_tolerance,
    solve_checked,
)
from sottovoce.protocols.two_party.solve import SolvePlan, solve

KEY = toy_key(bits=768)


def problem(spectrum, seed=1):
    rng = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(rng.normal(size=(len(spectrum), len(spectrum))))
    A = (basis * spectrum) @ basis.T
    theta = rng.uniform(-1, 1, len(spectrum))
    return (A + A.T) / 2, A @ theta, theta


def plan_for(size, upper, **more):
    more = {"reach": 1.0, "masking": Masking(40)} | more
    return SolvePlan(size, lower=1.0, upper=upper, **more)


def sealed(A, b, plan):
    seal = {"slots": plan.slots(KEY.public.plaintext_bits), "entropy": SeededEntropy(1)}
    return (
        encrypt(KEY.public, Plain.of(A, plan.matrix_scale(64.0)), **seal),
        encrypt(KEY.public, Plain.of(b, plan.vector_scale(64.0)), **seal),
    )


def run(A, b, plan, program=solve_checked):
    sealed_A, sealed_b = sealed(A, b, plan)
    return talk(
        KEY,
        program(sealed_A, sealed_b, plan, entropy=SeededEntropy(2)),
        checked_stages(KEY, plan, entropy=SeededEntropy(3)),
    )


@settings(max_examples=3)
@given(st.integers(1, 5), st.integers(0, 99))
def test_a_good_solution_passes(size, seed) -> None:
    A, b, theta = problem(np.geomspace(1.0, 12.0, size) if size > 1 else np.ones(1), seed)
    plan = plan_for(size, 12.0)
    outcome = run(A, b, plan)
    decrypted = decrypt(KEY, outcome.results[EVALUATOR].theta).floats()
    assert np.abs(decrypted - theta).max() < 1e-3
    assert outcome.traffic.trips(EVALUATOR, KEY_HOLDER) == 1 + plan.steps + 4 + 1  # the goodbye


@pytest.mark.parametrize(
    "spectrum",
    [
        pytest.param([1.0, 2.0, 5.0, 13.5], id="upper end a little below the spectrum"),
        pytest.param([1.0, 2.0, 5.0, 15.0], id="upper end below the spectrum"),
        pytest.param([-1.0, 2.0, 5.0, 12.0], id="not positive definite"),
        pytest.param([0.0, 2.0, 5.0, 12.0], id="singular"),
        pytest.param([0.2, 2.0, 5.0, 12.0], id="lower end above the spectrum"),
    ],
)
def test_an_interval_that_does_not_hold_the_spectrum_is_caught(spectrum) -> None:
    A, _, _ = problem(spectrum)
    b = A @ np.ones(4) + 3.0  # has a part in every direction, those that A does not reach too
    with pytest.raises(BoundError, match=r"from 1 to 12 does not hold the spectrum") as caught:
        run(A, b, plan_for(4, 12.0))
    assert any("largest eigenvalue" in hint for hint in caught.value.hints)


@pytest.mark.parametrize("top", [20.0, 40.0, 60.0])
def test_one_that_runs_away_is_stopped_by_the_check_or_by_the_key_holder(top) -> None:
    A, b, _ = problem([1.0, 2.0, 5.0, top])
    with pytest.raises(SottovoceError) as caught:
        run(A, b, plan_for(4, 12.0))
    assert isinstance(caught.value, BoundError | ViolationError)


def test_the_bit_follows_the_tolerance() -> None:
    A, b, theta = problem([1.0, 2.0, 5.0, 12.0])
    plan = plan_for(4, 12.0)

    def asking(tolerance):
        def program(sealed_A, sealed_b, plan, *, entropy):
            solved = yield from solve(sealed_A, sealed_b, plan, entropy=entropy)
            small = yield from residual_is_small(solved, plan, entropy=entropy, tolerance=tolerance)
            return solved, small

        return run(A, b, plan, program).results[EVALUATOR]

    solved, small = asking(residual_tolerance(plan))
    assert small
    plain_theta = decrypt(KEY, solved.theta).floats()
    norm = np.linalg.norm(b - A @ plain_theta)
    assert asking(norm * 1.2)[1]
    assert not asking(norm * 0.8)[1]
    assert norm < residual_tolerance(plan)
    assert np.abs(plain_theta - theta).max() < 1e-3


@pytest.mark.parametrize("tolerance", [0.0, -1.0, float("inf")])
def test_a_tolerance_that_says_nothing_is_refused(tolerance) -> None:
    A, b, _ = problem([1.0, 2.0])
    plan = plan_for(2, 2.0)

    def program(sealed_A, sealed_b, plan, *, entropy):
        solved = yield from solve(sealed_A, sealed_b, plan, entropy=entropy)
        yield from residual_is_small(solved, plan, entropy=entropy, tolerance=tolerance)

    with pytest.raises(InputError, match="residual: expected a tolerance above 0"):
        run(A, b, plan, program)
