"""The page about costs says what the code says, and its formulas are the model's."""

import importlib.util
from pathlib import Path

import pytest

from benchmarks.arithmetic import costs
from benchmarks.arithmetic.costs import Cost
from benchmarks.arithmetic.learner_costs import LearnerCost
from sottovoce.numbers.packing import Slots
from sottovoce.protocols.rado_descent.sealed_theta import division_plan
from sottovoce.protocols.two_party.division import DivPlan
from sottovoce.protocols.two_party.exponential import ExpPlan
from sottovoce.protocols.two_party.solve import SolvePlan

DOCS = Path(__file__).parents[2] / "docs"

spec = importlib.util.spec_from_file_location("make_costs", DOCS / "make_costs.py")
assert spec is not None
assert spec.loader is not None
MADE = importlib.util.module_from_spec(spec)
spec.loader.exec_module(MADE)


def test_the_page_is_up_to_date() -> None:
    written = (DOCS / "costs.md").read_text(encoding="utf-8")
    assert written == MADE.page(), "run: python -m docs.make_costs"


EXP = ExpPlan.of(4)
DIV = DivPlan(0.5, 8.0, divisor_bits=20)


def model(name, *, v, d, n, slots):
    solve = SolvePlan(d, lower=1.0, upper=20.0, reach=1.0)
    return {
        "S.Mult of v values": costs.multiply(v),
        "S.InnerProd of length v": costs.inner_product(v),
        "S.OuterProd, d by d": costs.outer_product(d, d),
        "masking a fixed operand, n by d": costs.fix(n, d, slots),
        "S.MatProd of v rows with it": costs.times_fixed(v, n, d, slots),
        "S.Trunc of v packed values": costs.truncate(v, slots),
        "S.MatProd of a packed vector, cut on its way": costs.cut_times_fixed(n, slots, d, slots),
        "S.Exp of v packed values": costs.exponential(v, EXP, slots),
        "S.Div of v packed values": costs.divide(v, DIV, slots),
        "S.Solve, d by d": costs.solve(solve, slots),
    }[name], solve.steps


@pytest.mark.parametrize("block", MADE.BLOCKS, ids=lambda block: block[0])
@pytest.mark.parametrize(("v", "d", "n", "count"), [(1, 1, 1, 4), (7, 5, 11, 3), (40, 35, 100, 19)])
def test_the_formulas_of_blocks_are_the_models(block, v, d, n, count) -> None:
    name, *formulas = block
    slots = Slots(100, count)
    cost, steps = model(name, v=v, d=d, n=n, slots=slots)
    sizes = {"v": v, "d": d, "n": n, "T": steps, "k": EXP.squarings, "g": DIV.steps}
    results = [eval(formula, {"b": slots.plaintexts_for}, sizes) for formula in formulas]  # noqa: S307 - our own page
    assert Cost(*results) == cost


def test_the_formulas_of_learners_are_the_models() -> None:
    d, n, peers = 35, 100, 4
    plan = MADE.descent_plan_of(d, n)
    features, rados = plan.feature_slots(2047), plan.rado_slots(2047)
    wide, long = features.plaintexts_for(d), rados.plaintexts_for(n)
    later, k = plan.schedule.steps - 1, plan.schedule.squarings
    g = division_plan(plan).steps
    by_name = {name: cost for name, *sizes, cost in MADE.numbers() if sizes == [d, n, peers]}
    sealed = n * wide + peers * d * long

    def facts(cost: LearnerCost) -> tuple[int, int, int]:
        return cost.sealed, cost.freshened, cost.questions.trips

    plain, both = by_name["radoLearn, θ plain"], by_name["radoLearn, θ encrypted"]
    assert facts(plain) == (sealed, 0, 2 + later * (k + 2))
    assert facts(both) == (sealed, peers * wide, 2 + later * (k + g + 4))
    central = MADE.central_cost(d, peers)
    wide = 2
    contributed = peers * (d + 1) * wide
    steps = central.questions.trips - 5
    assert facts(central) == (contributed, contributed + peers * wide, 1 + steps + 4)
    assert 20 < steps < 40
    printed = by_name["central, as printed"]
    assert printed.sealed == n * d
    assert printed.questions.trips > n + 8
