"""A centred descent equals its twin, checks every step beforehand, and shows nobody anything."""

import numpy as np
import pytest

from harness.entropy import ForgetfulEntropy, SeededEntropy
from harness.keys import toy_key
from harness.two_party import talk
from harness.views import assert_sees_noise, assert_sees_structure
from sottovoce.errors import BoundError, InputError
from sottovoce.paillier import Plain, decrypt, encrypt
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER
from sottovoce.protocols.rado_descent import sealed_theta
from sottovoce.protocols.rado_descent.plan import Bits, DescentPlan, Ranges, furthest
from sottovoce.protocols.rado_descent.range_check import keeps_range
from sottovoce.protocols.rado_descent.steps import EncryptedRados
from sottovoce.protocols.rado_descent.twin import columns_of, plain_descent
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.rados import Schedule, descend_on_schedule

KEY = toy_key(bits=768)
SHRINK = 60 / 64


def plan_for(*, steps=4, rados=8, bound=6.0, reach=4.0):
    schedule = Schedule(steps=steps, rate=1.0, bound=bound, squarings=6, momentum_bits=6)
    ranges = Ranges(reach, theta=furthest(schedule, SHRINK) * reach, floor=0.0, ceiling=bound)
    return DescentPlan(
        3,
        rados,
        schedule,
        (1 - SHRINK) / 2,
        ranges,
        bits=Bits(rado=10, theta=14, weight=26, inverse=18, pull=24),
        masking=Masking(40),
        centred=True,
    )


def rados_for(plan, *, seed=0, size=0.5):
    rng = np.random.default_rng(seed)
    mean = size * rng.uniform(0.5, 1, plan.features)
    return Plain.of(mean + rng.normal(0, size, (plan.rados, plan.features)), plan.rado_scale)


def descend(rados, plan, *, door=None):
    bits, entropy = KEY.public.plaintext_bits, SeededEntropy(1)
    columns = Plain(columns_of(rados.integers.astype(object), plan), plan.column_scale)
    both = EncryptedRados(
        encrypt(KEY.public, rados, slots=plan.feature_slots(bits), entropy=entropy),
        encrypt(KEY.public, columns, slots=plan.rado_slots(bits), entropy=entropy),
    )
    program = sealed_theta.descend_sealed(both, plan, entropy=door or SeededEntropy(2))
    return talk(KEY, program, sealed_theta.stages(KEY, plan, entropy=SeededEntropy(3)))


@pytest.mark.parametrize("seed", [0, 1])
def test_it_equals_its_twin_and_the_schedule_on_rados_that_are_not_centred(seed) -> None:
    plan = plan_for()
    rados = rados_for(plan, seed=seed)
    theta = decrypt(KEY, descend(rados, plan).results[EVALUATOR]).floats()
    assert np.abs(theta - plain_descent(rados, plan).floats()).max() < 2.0**-10
    # Counting exponents from their mean changes no pull, but for the polynomial.
    wide = Schedule(steps=4, rate=1.0, bound=30.0, squarings=30, momentum_bits=6)
    exact = descend_on_schedule(rados.floats(), penalty=plan.penalty, schedule=wide).theta
    assert np.abs(theta - exact).max() < 0.1 * np.abs(exact).max()


def test_exponents_beyond_the_range_stop_it_before_anything_is_raised_to_a_power() -> None:
    plan = plan_for(steps=8, bound=6.0)
    rados = rados_for(plan, size=1.5)
    with pytest.raises(BoundError, match="exponents within ±6"):
        plain_descent(rados, plan)
    with pytest.raises(BoundError, match=r"expected exponents within ±6, found larger") as error:
        descend(rados, plan)
    assert any("closed-form" in hint for hint in error.value.hints)


def test_whatever_the_rados_are_theta_keeps_to_what_the_schedule_allows() -> None:
    schedule = Schedule(steps=12, rate=1.0, bound=12.0, squarings=10, momentum_bits=6)
    rng = np.random.default_rng(1)
    for _ in range(20):
        theta = ahead = longest = 0.0
        for step in range(schedule.steps):
            following = SHRINK * ahead + schedule.rate * rng.choice([-1.0, 1.0])
            ahead = following + schedule.momentum(step) * (following - theta)
            theta = following
            longest = max(longest, abs(theta), abs(ahead))
        assert longest <= furthest(schedule, SHRINK)


def test_a_check_that_passes_holds_every_exponent_within_the_bound() -> None:
    check = plan_for().range_check
    for largest in (5.5, 5.9, 6.1, 7.0, 160.0):
        x = np.zeros(8)
        x[3] = -largest
        assert keeps_range(Plain.of(x, check.exponents), check) <= (largest <= 6)
    assert keeps_range(Plain.of(np.full(8, 4.0), check.exponents), check)


def test_the_key_holder_sees_noise_and_a_forgotten_mask_would_show() -> None:
    plan = plan_for()
    rados = rados_for(plan)
    kappa = plan.masking.kappa
    fixed = [plan.rado_scale.bits + kappa, plan.column_scale.bits + kappa]
    assert_sees_noise(descend(rados, plan).views[KEY_HOLDER], KEY, fixed=fixed)
    check = plan.range_check
    squares = [cut.scale.times(cut.scale) for cut in check.cuts()]
    for hidden in (check.exponents, *squares[:2], check.eighth):
        door = ForgetfulEntropy(1, bits=hidden.bits + kappa, which=2)
        outcome = descend(rados, plan, door=door)
        assert door.forgot
        assert_sees_structure(outcome.views[KEY_HOLDER], KEY, fixed=fixed)


def test_bits_and_trips_depend_on_public_numbers_alone() -> None:
    plan = plan_for()
    first, other = (descend(rados_for(plan, seed=seed), plan) for seed in (1, 2))
    assert first.traffic.bytes == other.traffic.bytes


def test_centring_needs_a_power_of_two() -> None:
    with pytest.raises(InputError, match="power of 2 of rados"):
        plan_for(rados=9)
