"""Whatever a plan says, its own slots have room for everything that is masked, and it is right."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from harness.two_party import talk
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Plain, decrypt, encrypt
from sottovoce.paper.inversion.hyperpower import InvPlan
from sottovoce.paper.inversion.inverse import invert, invert_rule
from sottovoce.paper.logarithm import LogPlan, logarithm, logarithm_rules
from sottovoce.protocols.conversation import EVALUATOR
from sottovoce.protocols.two_party.division import DivPlan, divide, division_rule
from sottovoce.protocols.two_party.exponential import ExpPlan, exponential, exponential_rule
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.residual import checked_stages, solve_checked
from sottovoce.protocols.two_party.solve import SolvePlan

KEY = toy_key(bits=1024)
BITS = KEY.public.plaintext_bits
KAPPAS = st.sampled_from([40, 64])
FEW = settings(max_examples=3)
MANY = settings(max_examples=300)


def seal(values, scale, slots=None):
    plain = Plain.of(values, scale)
    return plain, encrypt(KEY.public, plain, slots=slots, entropy=SeededEntropy(1))


def converse(program, stages):
    return decrypt(KEY, talk(KEY, program, stages).results[EVALUATOR]).floats()


def check_exponential(bound, tolerance, kappa):
    plan = ExpPlan.of(bound, tolerance=tolerance, masking=Masking(kappa))
    plain, x = seal([-bound, 0, bound], plan.input_scale, plan.slots(BITS))
    rule = exponential_rule(KEY, plan, entropy=SeededEntropy(3))
    values = converse(exponential(x, plan, entropy=SeededEntropy(2)), [[rule]])
    error = np.abs(values - np.exp(plain.floats() - bound))
    assert np.all(error <= plan.error_bound(plain.floats()))


def check_division(lower, ratio, tolerance, kappa):
    plan = DivPlan(lower, lower * ratio, 40, Scale(12, 2**16), 20, tolerance, Masking(kappa))
    slots = plan.slots(BITS)
    n, N = seal([-16.0, 0.25, 16.0], plan.numerator, slots)
    ends = [lower * (1 + 1e-5), lower * np.sqrt(ratio) * (1 + 1e-6), lower * ratio]
    d, D = seal(np.clip(ends, None, plan.upper), plan.divisor, slots)
    rule = division_rule(KEY, plan, entropy=SeededEntropy(3))
    quotients = converse(divide(N, D, plan, entropy=SeededEntropy(2)), [[rule]])
    exact = n.floats() / d.floats()
    assert np.all(np.abs(quotients - exact) <= plan.error_bound(exact) * (1 + 1e-9))


def check_logarithm(lower, ratio, tolerance, kappa):
    plan = LogPlan(lower, lower * ratio, 40, tolerance, Masking(kappa))
    ends = np.clip([lower * (1 + 1e-5), lower * ratio], None, plan.upper)
    plain, x = seal(ends, plan.input_scale)
    rules = logarithm_rules(KEY, plan, entropy=SeededEntropy(3))
    values = converse(logarithm(x, plan, entropy=SeededEntropy(2)), [rules])
    assert np.abs(values - np.log(plain.floats())).max() <= plan.error_bound()


def system(size, lower, ratio, seed):
    rng = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(rng.normal(size=(size, size)))
    inner = np.geomspace(lower * 1.001, lower * max(ratio, 1.01) * 0.999, size)
    A = (basis * inner) @ basis.T
    return (A + A.T) / 2


def check_inverse(size, lower, ratio, order, kappa):
    plan = InvPlan(
        size, lower, lower * max(ratio, 1.01), order=order, matrix_bits=34, masking=Masking(kappa)
    )
    plain, A = seal(system(size, lower, ratio, 1), plan.matrix_scale(plan.upper), plan.slots(BITS))
    rule = invert_rule(KEY, plan, entropy=SeededEntropy(3))
    inverse = converse(invert(A, plan, entropy=SeededEntropy(2)), [[rule]])
    error = np.linalg.norm(inverse - np.linalg.inv(plain.floats()), 2)
    assert error <= plan.error_bound()


def check_solve(size, lower, ratio, kappa):
    plan = SolvePlan(size, lower, lower * max(ratio, 1.01), 1.0, masking=Masking(kappa))
    slots = plan.slots(BITS)
    theta = np.random.default_rng(2).uniform(-1, 1, size)
    A = system(size, lower, ratio, 1)
    _, sealed_A = seal(A, plan.matrix_scale(plan.upper), slots)
    _, b = seal(A @ theta, plan.vector_scale(plan.upper * size), slots)
    outcome = talk(
        KEY,
        solve_checked(sealed_A, b, plan, entropy=SeededEntropy(2)),
        checked_stages(KEY, plan, entropy=SeededEntropy(3)),
    )
    error = decrypt(KEY, outcome.results[EVALUATOR].theta).floats() - theta
    assert np.linalg.norm(error) <= 2 * plan.tolerance * ratio * np.linalg.norm(theta) + 1e-6


EXP = (st.integers(1, 40), st.sampled_from([0.3, 0.01, 1e-4]), KAPPAS)
DIV = (st.floats(1e-3, 1e3), st.floats(1, 1e6), st.sampled_from([2.0**-6, 2.0**-20]), KAPPAS)
LOG = (st.floats(1e-3, 1e3), st.floats(1, 100), st.sampled_from([2.0**-6, 2.0**-16]), KAPPAS)
INV = (
    st.integers(1, 5),
    st.floats(0.5, 40),
    st.floats(1.05, 60),
    st.sampled_from([2, 3, 7]),
    KAPPAS,
)
SOLVE = (st.integers(1, 5), st.floats(0.5, 40), st.floats(1.05, 20), KAPPAS)

test_exponentials = FEW(given(*EXP)(check_exponential))
test_divisions = FEW(given(*DIV)(check_division))
test_logarithms = FEW(given(*LOG)(check_logarithm))
test_inverses = FEW(given(*INV)(check_inverse))
test_solutions = FEW(given(*SOLVE)(check_solve))

test_many_exponentials = pytest.mark.soak(MANY(given(*EXP)(check_exponential)))
test_many_divisions = pytest.mark.soak(MANY(given(*DIV)(check_division)))
test_many_logarithms = pytest.mark.soak(MANY(given(*LOG)(check_logarithm)))
test_many_inverses = pytest.mark.soak(MANY(given(*INV)(check_inverse)))
test_many_solutions = pytest.mark.soak(MANY(given(*SOLVE)(check_solve)))
