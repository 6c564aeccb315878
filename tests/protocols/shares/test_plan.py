import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.errors import BoundError, InputError
from sottovoce.protocols.shares import course
from sottovoce.protocols.shares.course import System
from sottovoce.protocols.shares.plan import ShareSolvePlan


def plan_for(
    *, ceiling: float = 500.0, penalty: float = 1.0, documents: float = 4000, matrix_bits: int = 21
) -> ShareSolvePlan:
    system = System(64, 2, documents, penalty, ceiling)
    return ShareSolvePlan.fit(system, matrix_bits=matrix_bits, vector_bits=24)


@pytest.mark.parametrize("condition", [1, 10, 120, 1400, 10_000])
def test_about_as_many_steps_as_chebyshev_needs(condition: float) -> None:
    steps = len(plan_for(ceiling=float(condition), documents=20_000, matrix_bits=14).steps)
    ideal = math.sqrt(condition) * math.log(2 / 2**-15) / 2
    assert steps <= 1.08 * ideal + 4


@given(st.floats(1.5, 2000), st.floats(0.2, 1.0), st.floats(10, 1e5))
def test_in_real_numbers_the_steps_keep_their_promises(
    ceiling: float, penalty: float, documents: float
) -> None:
    """One feature of any eigenvalue in the interval: its direction, solution and residual."""
    bits = 10 - math.frexp(ceiling)[1] + 16
    system = System(1, 1, documents, penalty, ceiling)
    plan = ShareSolvePlan.fit(system, matrix_bits=bits, vector_bits=bits)
    t = np.geomspace(penalty, ceiling, 301)
    # b = √(t − λ)·√documents is as large as the b of documents can be.
    scale = 2.0 ** (plan.matrix_bits + plan.solution.fraction_bits)
    scale /= 2.0 ** sum(step.doublings for step in plan.steps)
    b = np.sqrt((t - penalty) * documents)
    r = b * scale
    theta, d = np.zeros_like(t), np.zeros_like(t)
    for step in plan.steps:
        dividend = d * step.momentum * 2.0**plan.scale_bits + r * step.gain
        assert np.abs(dividend).max() < 2.0**61.01
        d = dividend / 2.0**plan.shift
        theta, r = theta + d, r - t * 2.0**plan.matrix_bits * d
        theta, d, r = (part * 2.0**step.doublings for part in (theta, d, r))
    solution = theta / 2.0**plan.solution.fraction_bits
    assert np.allclose(solution, b / t, rtol=2**-14)
    assert np.abs(r).max() / 2.0**plan.residual_shift < plan.residual_bound
    assert np.abs(theta).max() < plan.solution.bound


def test_the_three_parties_can_compare_plans() -> None:
    assert plan_for().digest() == plan_for().digest()
    assert plan_for().digest() != plan_for(ceiling=510.0).digest()


@pytest.mark.parametrize("penalty", [0.0, -1.0, float("nan"), float("inf")])
def test_a_penalty_that_is_not_above_zero_is_refused(penalty: float) -> None:
    with pytest.raises(InputError, match="expected a penalty above 0, found") as error:
        plan_for(penalty=penalty)
    assert "alpha" in error.value.hints[0]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"features": 0}, "at least 1 feature and 1 class, found 0 and 1"),
        ({"classes": 0}, "at least 1 feature and 1 class, found 1 and 0"),
        ({"weight": 0.0}, "expected documents to solve for, found 0"),
        ({"ceiling": 0.5}, "at least the penalty 1.0, found 0.5"),
        ({"ceiling": float("nan")}, "at least the penalty 1.0, found nan"),
    ],
)
def test_a_system_that_cannot_be_is_refused(change: dict[str, float], what: str) -> None:
    numbers = {
        "features": 1, "classes": 1, "weight": 10.0, "penalty": 1.0, "ceiling": 5.0, **change
    }  # fmt: skip
    with pytest.raises(InputError, match=what):
        System(**numbers)  # type: ignore[arg-type]


def test_words_too_short_for_the_matrix_are_refused_before_anything_is_sent() -> None:
    with pytest.raises(BoundError, match=r"leave 9 bits for the direction, expected") as error:
        plan_for(matrix_bits=34)
    assert "fewer" in error.value.hints[0]
    with pytest.raises(BoundError, match="has no digits left"):
        plan_for(matrix_bits=-9)


def test_a_right_hand_side_that_is_too_fine_is_refused() -> None:
    system = System(64, 2, 4000, 1.0, 500.0)
    finest = 24 + ShareSolvePlan.fit(system, matrix_bits=21, vector_bits=24).lift
    assert ShareSolvePlan.fit(system, matrix_bits=21, vector_bits=finest).lift == 0
    with pytest.raises(BoundError, match=f"{finest + 1} fraction bits, expected at most {finest}"):
        ShareSolvePlan.fit(system, matrix_bits=21, vector_bits=finest + 1)


def test_a_condition_beyond_reason_is_refused() -> None:
    with pytest.raises(BoundError, match=r"takes about \d+ iterations") as error:
        plan_for(penalty=1e-6)
    assert "column means" in error.value.hints[1]


@pytest.mark.parametrize("precision", [0.0, 1.0, 2.0**-50])
def test_a_precision_out_of_range_is_refused(precision: float) -> None:
    system = System(64, 2, 4000, 1.0, 500.0)
    with pytest.raises(InputError, match=r"precision from 2\^-40 to 1"):
        ShareSolvePlan.fit(system, matrix_bits=21, vector_bits=24, precision=precision)


def test_finer_precision_takes_more_steps_and_gives_more_digits() -> None:
    system = System(64, 2, 4000, 1.0, 100.0)
    coarse, fine = (
        ShareSolvePlan.fit(system, matrix_bits=21, vector_bits=24, precision=precision)
        for precision in (2.0**-10, 2.0**-20)
    )
    assert len(fine.steps) > len(coarse.steps)
    assert fine.solution.fraction_bits > coarse.solution.fraction_bits + 8


STORED = json.loads((Path(__file__).parents[2] / "vectors" / "solve_plan.json").read_text())


@pytest.mark.parametrize("stored", STORED["systems"])
def test_constants_are_those_of_exact_arithmetic(stored: dict[str, Any]) -> None:
    system = System(64, 2, 4000, stored["penalty"], stored["ceiling"])
    plan = ShareSolvePlan.fit(system, matrix_bits=21, vector_bits=24)
    assert plan.constant_bits == stored["constant_bits"]
    constants = [[step.momentum, step.gain] for step in plan.steps]
    known = min(len(constants), len(stored["constants"]))
    assert known >= 5
    assert constants[:known] == stored["constants"][:known]


@pytest.mark.parametrize("condition", [26159, 52247, 60000])
def test_where_rounding_falls_badly_another_bit_is_taken(condition: float) -> None:
    """With 12 bits the momentum of a condition of 52,247 is such that the iteration crawls."""
    iteration = course.ExactIteration.of(
        System(35, 1, 200, 1.0, float(condition)), course.PRECISION
    )
    assert iteration.residuals[-1] <= course.PRECISION
    assert len(iteration.constants) <= course.expected_steps(condition, course.PRECISION)
    assert iteration.constant_bits - course.constant_bits(condition) in {0, 1, 2}


def test_a_bit_that_saves_one_step_in_twenty_is_taken_where_there_is_room() -> None:
    system = System(2049, 1, 10_000, 0.9472, 721.57)
    fewest = course.constant_bits(system.ceiling / system.penalty)
    wide, narrow = (
        course.ExactIteration.of(system, course.PRECISION, room=room)
        for room in (64, fewest + course.noise_bits(200))
    )
    assert narrow.constant_bits == fewest < wide.constant_bits
    assert len(wide.constants) < 0.95 * len(narrow.constants)


def test_constants_too_coarse_to_converge_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(course, "constant_bits", lambda condition: 2)
    with pytest.raises(BoundError, match="constants of 4 bits do not reach a precision"):
        plan_for(ceiling=1000.0)
