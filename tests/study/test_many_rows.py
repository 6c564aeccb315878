"""Any number of rows fits a sealed solve: each counts less where there are many."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.studies import BINARY, Case, notes
from sottovoce.estimators.plain_text import PlainText
from sottovoce.paillier import SecretKey
from sottovoce.protocols.quorum.moment_check import WeightBounds
from sottovoce.study import InsecureToyPlan, StudyPlan
from sottovoce.study import totals as totals_module
from sottovoce.study.stages.centring import END_PARTS, Ends, moved_norm
from sottovoce.study.stages.contributions import MomentPlan, bounds_of, scales_of, solve_plan
from sottovoce.study.totals import FULL_ROWS, Totals, row_weight
from sottovoce.text.splits import Side

DEFAULT = StudyPlan("large", BINARY, features=5_120)
ROWS = st.integers(1, 10**13)


def counted(rows: int) -> Totals:
    return Totals(rows, (rows // 2, rows - rows // 2), ("north", "harbour", "valley"))


@given(rows=ROWS)
def test_rows_count_no_more_than_the_most_together_and_no_less_than_half_of_it(rows: int) -> None:
    weight = row_weight(rows)
    assert weight == 1 or FULL_ROWS / 2 < weight * rows <= FULL_ROWS < rows
    # A power of two: sums of scaled rows have the digits of the sums.
    assert np.frexp(weight)[0] == 0.5


@settings(max_examples=12)
@given(rows=ROWS, share=st.floats(1e-4, 0.5))
def test_no_number_of_rows_is_refused_wherever_their_spectrum_ends(rows: int, share: float) -> None:
    totals = counted(rows)
    scales = scales_of(DEFAULT, rows)
    # What rounding does to the matrix of three peers is far below the penalty.
    rounding = 2 * np.sqrt(3 * DEFAULT.width / 12) * 2.0**-scales.matrix.fraction_bits
    assert rounding < 0.5 * DEFAULT.alphas[0]
    top = rows * row_weight(rows) * moved_norm(DEFAULT) ** 2
    solve = solve_plan(
        DEFAULT, totals, DEFAULT.candidates[0], ends=Ends(int(share * top * END_PARTS))
    )
    assert solve.lift >= 0
    bounds_of(DEFAULT, totals, peers=3)
    layout = MomentPlan.of(DEFAULT, totals)
    shape = (layout.width, layout.classes)
    assert WeightBounds.of(layout.scales, shape, [1.0], rows=rows, checks=9).comparison


@pytest.mark.parametrize("engine", ["shares", "quorum", "paillier"])
@pytest.mark.parametrize("more", [{}, {"class_weight": "balanced"}], ids=["alike", "balanced"])
def test_sealed_is_plain_with_a_penalty_that_grew(
    engine: str, more: dict[str, Any], toy_key: SecretKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(totals_module, "FULL_ROWS", 16)
    plan = InsecureToyPlan(
        "many",
        BINARY,
        features=8,
        key_bits=768,
        bucket_bits=10,
        engine=engine,
        release="peers",
        **more,
    )
    seats = {"with_dealer": engine == "shares", "with_evaluator": engine != "quorum"}
    case = Case(notes(150), plan, toy_key, seats)
    outcome = case.outcome
    grown = 1 / row_weight(outcome.trained.totals.rows)
    model = outcome.models["north"]
    assert grown >= 8
    assert model.released is not None
    exact = model.scores.folded(case.theta(alpha=grown)).astype(np.float64)[: len(model.released)]
    released = np.ldexp(model.released, model.scores.weights.fraction_bits)
    assert np.abs(released - exact).max() < 5e-3 * np.abs(exact).max()
    alone = model.scores.folded(case.theta(alpha=1.0)).astype(np.float64)[: len(exact)]
    assert np.abs(alone - exact).max() > 0.05 * np.abs(exact).max()


def test_the_plain_twin_has_the_same_penalty(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [*notes(150).values()]
    plan = StudyPlan("many", BINARY, features=8, bucket_bits=10, alpha=8.0)
    grown = PlainText.learn(plan, documents).theta
    rows = sum(len(plan.split.part(part, Side.TRAIN)) for part in documents)
    monkeypatch.setattr(totals_module, "FULL_ROWS", 2 ** ((rows - 1).bit_length() - 3))
    same = PlainText.learn(StudyPlan("many", BINARY, features=8, bucket_bits=10), documents).theta
    assert np.array_equal(grown, same)
