"""The Secure Rado Solver equals the plaintext closed form: the row sum, not the first row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.entropy import ForgetfulEntropy, SeededEntropy
from harness.keys import toy_key
from harness.two_party import talk
from harness.views import assert_sees_noise, assert_sees_structure, readable
from sottovoce.attacks.everything import attack_everything
from sottovoce.errors import BoundError, InputError, MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Plain, decrypt, encrypt
from sottovoce.paper.rado_solver import SolverPlan, ideal, solve_encrypted, stages
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.rados import gamma

KEY = toy_key(bits=768)
SCALE = Scale(8, 2**10)


def plan_for(rados=6, features=3, *, penalties=None, ceiling=None, **more):
    reach = SCALE.bound / 2**SCALE.fraction_bits
    return SolverPlan(
        rados,
        penalties or (1.0,) * features,
        SCALE,
        ceiling or rados * features * reach**2,
        masking=Masking(40),
        **more,
    )


def rados_for(plan, seed=0):
    rng = np.random.default_rng(seed)
    return Plain.of(rng.uniform(-1, 2, (plan.rados, plan.features)), SCALE)


def run(rados, plan, *, entropy=None):
    sealed = encrypt(KEY.public, rados, entropy=SeededEntropy(1))
    program = solve_encrypted(sealed, plan, entropy=entropy or SeededEntropy(2))
    return talk(KEY, program, stages(KEY, plan, entropy=SeededEntropy(3)))


def theta_of(outcome):
    return decrypt(KEY, outcome.results[EVALUATOR]).floats()


@settings(max_examples=4)
@given(st.integers(1, 6), st.integers(1, 3), st.integers(0, 999))
def test_it_equals_the_closed_form(rados, features, seed) -> None:
    plan = plan_for(rados, features)
    plain = rados_for(plan, seed)
    assert np.abs(theta_of(run(plain, plan)) - ideal(plain, plan)).max() < 1e-3


@pytest.mark.parametrize("order", [2, 3, 7])
def test_gamma_and_every_order(order) -> None:
    plan = plan_for(penalties=tuple(2 * gamma(3, distrusted=(1,), epsilon=0.25)), order=order)
    plain = rados_for(plan, 4)
    theta = theta_of(run(plain, plan))
    B = plain.floats().T
    direct = np.linalg.solve(B @ B.T + 6 * np.diag(plan.penalties), B.sum(axis=1))
    assert np.abs(theta - direct).max() < 1e-3


def test_it_is_the_row_sum_and_not_the_first_row() -> None:
    plan = plan_for()
    plain = rados_for(plan, 2)
    B = plain.floats().T
    V = np.linalg.inv(B @ B.T + plan.rados * np.diag(plan.penalties)) @ B
    theta = theta_of(run(plain, plan))
    assert np.abs(theta - V.sum(axis=1)).max() < 1e-3
    assert V[0].shape != theta.shape  # a row has a number for every rado, θ one for every feature
    assert np.abs(theta - V[:, 0]).max() > 1e-2


def test_the_key_holder_sees_noise_and_a_forgotten_mask_would_show() -> None:
    plan = plan_for()
    plain = rados_for(plan)
    view = run(plain, plan).views[KEY_HOLDER]
    whole = plan.inversion.matrix_scale(plan.ceiling).plus(plan.penalty().scale)
    fixed = [0, whole.bits + plan.masking.kappa]
    assert_sees_noise(view, KEY, fixed=fixed)
    assert not attack_everything(
        list(readable(view, key=KEY)), modulus=KEY.public.modulus
    ).documents
    door = ForgetfulEntropy(2, bits=SCALE.bits + plan.masking.kappa, which=5)
    assert_sees_structure(run(plain, plan, entropy=door).views[KEY_HOLDER], KEY, fixed=fixed)
    assert door.forgot


def test_a_ceiling_below_the_spectrum_is_caught() -> None:
    plan = plan_for(ceiling=1.5)
    with pytest.raises((BoundError, ViolationError), match=r"does not hold the spectrum|over its"):
        run(Plain.of(np.full((6, 3), 1.0), SCALE), plan)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rados": 0}, "at least 1 rado, 1 feature and a ceiling above 0, found 0, 3"),
        ({"penalties": ()}, "found 6, 0 and"),
        ({"ceiling": -1.0}, "a ceiling above 0"),
        ({"penalties": (1.0, 0.0)}, "a penalty above 0 on every feature, found 0"),
    ],
)
def test_plans_that_cannot_work_are_refused(change, words) -> None:
    fields = {"rados": 6, "penalties": (1.0,) * 3, "rado_scale": SCALE, "ceiling": 4.0}
    with pytest.raises(InputError, match=words):
        SolverPlan(**fields | change)


def test_rados_of_another_shape_or_scale_are_refused_before_anything_is_sent() -> None:
    plan = plan_for()
    for values, scale, words in (
        (np.zeros((5, 3)), SCALE, "expected 6 × 3, one value a ciphertext, found 5 × 3"),
        (np.zeros((6, 3)), Scale(9, 2**10), "expected rados on"),
    ):
        sealed = encrypt(KEY.public, Plain.of(values, scale), entropy=SeededEntropy(1))
        with pytest.raises(MismatchError, match=words):
            next(solve_encrypted(sealed, plan, entropy=SeededEntropy(2)))
