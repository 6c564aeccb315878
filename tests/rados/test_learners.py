"""RadoBoost and RadoLearn: they learn, they stop, and the sampled loss cannot run away."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.tables import part
from sottovoce.errors import BoundError, InputError
from sottovoce.rados import (
    Halt,
    Part,
    Schedule,
    boost,
    descend,
    descend_on_schedule,
    exponential,
    polynomial_exp,
    random_rados,
    ridge_penalty,
)

seeds = st.integers(0, 2**32)


def rados_of(own: Part, count: int = 300, seed: int = 0) -> np.ndarray:
    return random_rados(own, count=count, rng=np.random.default_rng(seed))


def accuracy(own: Part, theta: np.ndarray) -> float:
    return float(np.mean(np.sign(own.rows @ theta) == own.labels))


def easy(seed: int, rows: int = 200) -> Part:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    return Part.of(X, np.where(X @ [2, -1, 0.5, 0] + 0.3 * rng.normal(size=rows) > 0, 1.0, -1.0))


@pytest.mark.parametrize("seed", range(3))
def test_every_learner_finds_an_easy_rule(seed: int) -> None:
    own = easy(seed, rows=40)
    rados = rados_of(own)
    assert accuracy(own, boost(rados).theta) >= 0.8
    assert accuracy(own, descend(rados, penalty=1).theta) >= 0.9
    plan = Schedule(rate=2.0**-7)
    assert accuracy(own, descend_on_schedule(rados, penalty=1, schedule=plan).theta) >= 0.9


def test_the_first_round_of_boosting_is_as_written() -> None:
    rados = np.array([[2.0, -1.0], [4.0, 3.0]])
    r = (2 / 4 + 4 / 4) / 2
    result = boost(rados, rounds=1)
    assert result.rounds == 1
    np.testing.assert_allclose(result.theta, [np.log((1 + r) / (1 - r)) / 8, 0])


def test_boosting_clips_an_edge_that_is_too_good() -> None:
    np.testing.assert_allclose(boost(np.ones((3, 1)), rounds=1).theta, [np.log(1.8 / 0.2) / 2])


def test_boosting_stops_where_nothing_is_left_to_learn() -> None:
    assert boost(np.zeros((5, 2))).rounds == 0
    symmetric = np.array([[1.0], [-1.0]])
    assert boost(symmetric).rounds == 0
    one_rado = boost(np.array([[1.0, 0.0]]), rounds=50)
    assert one_rado.rounds == 1


def test_a_constant_column_gets_no_weight() -> None:
    own = easy(1)
    own = Part.of(np.column_stack([own.rows, np.zeros(200)]), own.labels)
    rados = rados_of(own)
    for theta in (boost(rados).theta, descend(rados, penalty=1).theta):
        assert theta[4] == 0
        assert np.isfinite(theta).all()


@given(seeds)
def test_descent_ends_where_the_regularised_loss_is_flat(seed: int) -> None:
    rados = rados_of(part(seed, 40, 3), count=200)
    result = descend(rados, penalty=200.0, tolerance=1e-6, steps=2000)
    assert not result.at_edge
    slope = exponential(result.theta, rados) + ridge_penalty(result.theta, 200.0)
    first = exponential(np.zeros(3), rados)
    assert np.linalg.norm(slope.gradient) <= 1e-3 * np.linalg.norm(first.gradient)


@given(seeds, st.sampled_from([0.0, 1e-3, 1.0]), st.floats(1e-4, 1e4))
def test_the_sampled_loss_cannot_run_away(seed: int, penalty: float, scale: float) -> None:
    rados = scale * rados_of(part(seed, 60, 5), count=100)
    result = descend(rados, penalty=penalty * scale**2)
    assert np.isfinite(result.theta).all()
    assert np.var(rados @ result.theta) <= np.log(101) * (1 + 1e-6)


def test_without_the_edge_the_loss_would_fall_without_end() -> None:
    rados = rados_of(easy(0))
    result = descend(rados, penalty=0)
    assert result.at_edge
    farther = [exponential(k * result.theta, rados).value for k in (1, 10, 100, 1000)]
    assert farther == sorted(farther, reverse=True)
    assert farther[-1] < 500 * farther[0]


def test_one_rado_without_a_penalty_gives_its_own_direction() -> None:
    result = descend(np.array([[3.0, 4.0]]), penalty=0)
    assert np.isfinite(result.theta).all()
    np.testing.assert_allclose(result.theta / np.linalg.norm(result.theta), [0.6, 0.8])


def test_descent_says_why_it_ended() -> None:
    rados = rados_of(easy(0))
    settled = descend(rados, penalty=1e5)
    assert settled.halt is Halt.STILL
    assert settled.steps < 30
    assert descend(rados, penalty=1, steps=2).halt is Halt.STEPS
    assert descend(rados, penalty=1, steps=2).steps == 2
    nothing = descend(np.zeros((3, 2)), penalty=0)
    assert nothing.halt is Halt.STILL
    assert (nothing.theta == 0).all()


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=20))
def test_the_polynomial_is_exp_up_to_one_factor(values: list[float]) -> None:
    x = np.array(values)
    result = polynomial_exp(x, Schedule(bound=10, squarings=15))
    assert (result <= 1 + 1e-9).all()
    np.testing.assert_allclose(result * np.exp(10), np.exp(x), rtol=0.01)


def test_the_schedule_is_gradient_descent_with_public_momentum() -> None:
    rados = rados_of(easy(2))
    plan = Schedule(steps=6, rate=1e-4, bound=40, squarings=30)
    theta = ahead = np.zeros(4)
    for step in range(6):
        slope = exponential(ahead, rados) + ridge_penalty(ahead, 1.0)
        following = ahead - 1e-4 * slope.gradient
        ahead = following + step / (step + 3) * (following - theta)
        theta = following
    result = descend_on_schedule(rados, penalty=1, schedule=plan)
    np.testing.assert_allclose(result.theta, theta, rtol=1e-5)
    assert 0 < result.largest_exponent <= 40


def test_a_schedule_may_have_a_centre_and_momentum_of_few_bits() -> None:
    rados = rados_of(easy(2))
    plan = Schedule(steps=6, rate=1e-4, bound=40, squarings=30)
    whole = descend_on_schedule(rados, penalty=1, schedule=plan)
    around = replace(plan, centre=-30.0, bound=31.0)
    shifted = descend_on_schedule(rados, penalty=1, schedule=around)
    np.testing.assert_allclose(shifted.theta, whole.theta, rtol=1e-6)
    np.testing.assert_allclose(shifted.losses, whole.losses, atol=1e-5)
    assert around.top == 1.0
    assert whole.losses[0] == pytest.approx(0, abs=1e-5)
    assert (np.diff(whole.losses) < 0).all()
    coarse = replace(plan, momentum_bits=6)
    assert [64 * coarse.momentum(step) for step in range(4)] == [0, 16, 26, 32]
    with pytest.raises(BoundError, match=r"exponents within ±1 of -5, found"):
        descend_on_schedule(rados, penalty=1, schedule=replace(plan, centre=-5.0, bound=1.0))


def test_the_first_step_shows_the_mean_of_the_rados_to_whoever_sees_theta() -> None:
    rados = rados_of(easy(2))
    plan = Schedule(steps=1)
    theta = descend_on_schedule(rados, penalty=1, schedule=plan).theta
    np.testing.assert_allclose(theta / plan.rate, rados.mean(axis=0))


def test_boosting_weighs_rados_as_written() -> None:
    rados = np.array([[2.0, -1.0], [4.0, 3.0], [-1.0, 3.0]])
    edges = rados / [4.0, 3.0]
    weights, theta = np.full(3, 1 / 3), np.zeros(2)
    for _ in range(7):
        r = weights @ edges
        k = np.argmax(np.abs(r))
        theta[k] += np.log((1 + r[k]) / (1 - r[k])) / (2 * [4.0, 3.0][k])
        weights = weights * (1 - r[k] * edges[:, k]) / (1 - r[k] ** 2)
        weights /= weights.sum()
    np.testing.assert_allclose(boost(rados, rounds=7).theta, theta)


def test_bad_input_is_named() -> None:
    rados = rados_of(easy(0), count=20)
    empty = np.empty((0, 4))
    for learner in (
        boost,
        lambda r: descend(r, penalty=1),
        lambda r: descend_on_schedule(r, penalty=1),
    ):
        with pytest.raises(InputError, match="rados: expected at least 1 row, found 0"):
            learner(empty)
        with pytest.raises(InputError, match="rados: expected finite numbers, found NaN"):
            learner(np.full((2, 2), np.nan))
    with pytest.raises(InputError, match="at least 1 round, found 0"):
        boost(rados, rounds=0)
    with pytest.raises(InputError, match="at least 1 step, found 0"):
        descend(rados, penalty=1, steps=0)
    with pytest.raises(InputError, match="tolerance above 0, found 0"):
        descend(rados, penalty=1, tolerance=0)
    with pytest.raises(BoundError, match=r"exponents within ±1, found .* in step 2"):
        descend_on_schedule(rados, penalty=1, schedule=Schedule(bound=1))
    plan = Schedule()
    with pytest.raises(InputError, match="1 step and 1 squaring, found 0 and 16"):
        replace(plan, steps=0)
    with pytest.raises(InputError, match="step size and a bound above 0, found 0 and 40"):
        replace(plan, rate=0)
    with pytest.raises(InputError, match=r"bound below 2\^2"):
        replace(plan, squarings=4)
