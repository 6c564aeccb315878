"""Writes docs/costs.md from the cost model in the code: python -m docs.make_costs.

The table of arrangements is measured: docs/arrangement_costs.json is what
`python -m benchmarks arrangements --bits 2048 --json` printed.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.arithmetic import learner_costs
from benchmarks.arithmetic.learner_costs import LearnerCost
from benchmarks.studies.arrangements import ASKED, USUAL_ROWS
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier.uniform_powers import FACTORS, SPARE_FACTORS
from sottovoce.paper.central.printed_terms import PrintedTerms
from sottovoce.paper.central.terms import CentralTerms, Precision, RoundedTotals
from sottovoce.paper.rado_solver import SolverPlan
from sottovoce.paper.table1 import RIDGE
from sottovoce.paper.table1_encrypted import CAST, KAPPA, descent_plan_of
from sottovoce.protocols.casting import Cast
from sottovoce.protocols.two_party.masks import Masking

KEY_BITS = 2048
PLAINTEXT_BITS = KEY_BITS - 1
MASKING = Masking(KAPPA)

HEAD = f"""# What computing on ciphertexts costs

Made from the code by `docs/make_costs.py`; a test compares. The model is in
`benchmarks/arithmetic/costs.py` (blocks) and
`benchmarks/arithmetic/learner_costs.py` (learners), and tests compare it, number for number,
with what counting arithmetic and the wire count in real runs.

The evaluator re-randomises every ciphertext that it asks with, and the key holder decrypts it;
the key holder encrypts every ciphertext of its answer. What goes to the key holder is
re-randomised by a uniform N-th power, which nothing that the key's maker chose limits. The first
{FACTORS + SPARE_FACTORS} of a training are r^N of a uniform r, with an exponent as long as N;
the others are products of random powers of these, within 2^−65 of uniform and much less work
(`src/sottovoce/paillier/uniform_powers.py` says why). The key's own base has a table of short
powers (`python -m benchmarks randomisers`, CPU time of one ciphertext: r^N 26 ms, a product 2.6
and a short power 0.8 at 3072 bits; 8.0, 1.1 and 0.4 ms at 2048, on a busy machine of two cores). So
per trip *asked* = re-randomisations = decryptions, and *answered* = encryptions. A *power* is a
ciphertext to a plaintext exponent, or one term of a product of such powers. A value is
*shifted* into its slot by as many squarings as a slot has bits. A ciphertext
of a {KEY_BITS}-bit key takes {KEY_BITS // 4} bytes, heads and tags a few dozen more a message.

Engine `quorum` has no ciphertexts. Its check that all signs are bits before a label is told costs a
query of 32 rows 7 ms of everybody's CPU time together at three members and 23 at five
(`python -m benchmarks classify --words 100 --documents 64`, `check_ms_per_query`, where a query of
64 rows takes 141 and 268 ms; busy machine of two cores).

Notation: v values, d features, n rados, P peers, T steps, k squarings, g divisions' steps; b(v) =
⌈v/s⌉ ciphertexts for v values in slots of which s fit a plaintext (s follows from bounds and κ).

## Blocks

| block | trips | asked | answered | powers |
|---|---|---|---|---|
"""

# Each formula is evaluated by a test, with v, d, n, T, k, g and b as Python knows them.
BLOCKS = (
    ("S.Mult of v values", "1", "2*v", "v", "2*v"),
    ("S.InnerProd of length v", "1", "2*v", "1", "2*v"),
    ("S.OuterProd, d by d", "1", "2*d", "d*d", "2*d*d"),
    ("masking a fixed operand, n by d", "1", "n*b(d)", "0", "0"),
    ("S.MatProd of v rows with it", "1", "v*n", "v*b(d)", "2*v*n*b(d)"),
    ("S.Trunc of v packed values", "1", "b(v)", "v", "0"),
    ("S.MatProd of a packed vector, cut on its way", "1", "b(n)", "n + b(n) + b(d)", "2*n*b(d)"),
    ("S.Exp of v packed values", "k", "k*b(v)", "k*(v + b(v))", "k*v"),
    ("S.Div of v packed values", "g", "2*g*b(v)", "2*g*(v + b(v))", "3*g*v + (4*g + 2)*b(v)"),
    (
        "S.Solve, d by d",
        "1 + T",
        "d*b(d) + T*b(d)",
        "T*(d + 2*b(d))",
        "2*T*d*b(d) + (2*T - 1)*b(d)",
    ),
)

LEARNERS = """
S.Inv, S.Log and S.Sign follow their plans' steps and bits; see the functions of the same names.

## Learners

What peers seal, what is re-randomised on its way outside of questions (contributions under blind
masks, models), and the questions between evaluator and key holder (of the printed learner: the
peers' too). Blind sums exchange keys, shares and signatures beside these ciphertexts:
[blind-sum.md](blind-sum.md).

| learner | sealed by peers | freshened | trips |
|---|---|---|---|
| central, the short way | P·(d + 1)·b(d) | P·(d + 1)·b(d) + P·b(d) | 1 + T + 4 |
| radoLearn, θ plain | n·b(d) + P·d·b(n) | 0 | 2 + (T − 1)(k + 2) |
| radoLearn, θ encrypted | n·b(d) + P·d·b(n) | P·b(d) | 2 + (T − 1)(k + g + 4) |
| central, as printed | n·d | P·(2d + d² + b(d)) | n + S.Inv + 8 |

In numbers, at {bits} bits and κ = {kappa}:

| learner | d | n | P | trips | sealed | asked | answered | powers | shifted | MB |
|---|---|---|---|---|---|---|---|---|---|---|
"""


ARRANGEMENTS = """
## Arrangements

What a whole study costs in each of the [arrangements](arrangements.md), measured by
`python -m benchmarks arrangements --bits {bits}`: a training on {rows} rows of all peers together,
then {asked} labels, at κ = 40, in memory, by the programs that run between machines. Tables have 2
columns of numbers, or with `features` a ward and 3 columns at 3 peers; texts have 4 words, or 8
with two label levels; descents have 32 rados and 12 steps. Trips are those between the evaluator
and who has the key, MB and CPU seconds those of all parties on a quiet machine of two cores; the
last columns are for one label. The ratio is to rows at three peers with the same engine, in the
same run. Trips and bytes are the same in every run, because everything is drawn from one public
seed; which rados are sampled makes a few trips more or less. Who learns from exported rados labels
at home.

| arrangement | trips | MB | CPU s | ratio | kB a label | CPU s a label |
|---|---|---|---|---|---|---|
"""
MEASURED = Path(__file__).with_name("arrangement_costs.json")


def arrangements() -> str:
    """The measured table."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    head = ARRANGEMENTS.format(bits=measured["bits"], rows=USUAL_ROWS, asked=ASKED)
    return head + "".join(
        line(
            [
                row["arrangement"],
                f"{row['trips']:,}",
                f"{row['megabytes']:.2f}",
                f"{row['seconds']:.1f}",
                f"{row['ratio']:.1f}",
                *(
                    None if row[name] is None else f"{row[name]:.{digits}f}"
                    for name, digits in (("label kilobytes", 1), ("label seconds", 3))
                ),
            ]
        )
        for row in measured["rows"]
    )


def central_cost(features: int, peers: int) -> LearnerCost:
    """The sealed closed form of the paper's table, at other sizes too."""
    cast = Cast(tuple(f"peer {number}" for number in range(peers)))
    precision = Precision(tolerance=5e-4, masking=MASKING)
    terms = CentralTerms("costs", cast, (RIDGE,) * features, precision=precision)
    totals = RoundedTotals(200, 1400.0)
    return learner_costs.central(terms, totals, plaintext_bits=PLAINTEXT_BITS)


def printed_cost(features: int, each: int) -> LearnerCost:
    """The printed learner, with rados up to 4."""
    scale = Scale.covering(4.0, fraction_bits=10)
    terms = PrintedTerms(
        "costs", CAST, (1.0,) * features, each, scale, 16.0 * features, masking=MASKING
    )
    return learner_costs.printed(terms, plaintext_bits=PLAINTEXT_BITS)


def solver_cost(features: int, rados: int) -> LearnerCost:
    """The Secure Rado Solver, with rados up to 4."""
    scale = Scale.covering(4.0, fraction_bits=10)
    ceiling = 16.0 * features * rados
    plan = SolverPlan(rados, (1.0,) * features, scale, ceiling, masking=MASKING)
    cost = learner_costs.rado_solver(plan, plaintext_bits=PLAINTEXT_BITS)
    return LearnerCost(rados * features, 0, cost)


def numbers() -> list[tuple[str, int, int | None, int, LearnerCost]]:
    """Learner, d, n, P and cost of every line."""
    rows: list[tuple[str, int, int | None, int, LearnerCost]] = [
        ("central, the short way", d, None, peers, central_cost(d, peers))
        for d, peers in ((35, 4), (35, 40), (100, 4), (200, 4))
    ]
    for d, n in ((35, 100), (35, 1000), (100, 100)):
        plan = descent_plan_of(d, n)
        for name, model in (
            ("radoLearn, θ plain", learner_costs.plain_descent),
            ("radoLearn, θ encrypted", learner_costs.sealed_descent),
        ):
            rows.append((name, d, n, 4, model(plan, 4, plaintext_bits=PLAINTEXT_BITS)))
    rows += [("central, as printed", d, 100, 4, printed_cost(d, 25)) for d in (5, 35)]
    rows += [("Secure Rado Solver", d, 100, 1, solver_cost(d, 100)) for d in (5, 35)]
    return rows


def line(cells: Sequence[object]) -> str:
    """One line of a table."""
    return "| " + " | ".join("" if cell is None else str(cell) for cell in cells) + " |\n"


def shown(formula: str) -> str:
    """A formula as people write it."""
    return formula.replace("*", "·").replace(" - ", " − ")


def page() -> str:
    """The whole page."""
    blocks = "".join(line([name, *map(shown, formulas)]) for name, *formulas in BLOCKS)
    rows = ""
    for name, d, n, peers, cost in numbers():
        asked = cost.questions
        ciphertexts = cost.sealed + asked.asked + asked.answered
        rows += line(
            [
                name,
                d,
                n,
                peers,
                f"{asked.trips:,}",
                f"{cost.sealed:,}",
                f"{asked.asked:,}",
                f"{asked.answered:,}",
                f"{asked.powers:,}",
                f"{asked.shifted:,}",
                f"{ciphertexts * KEY_BITS / 4 / 1e6:.1f}",
            ]
        )
    learners = LEARNERS.format(bits=KEY_BITS, kappa=KAPPA) + rows
    return HEAD + blocks + learners + arrangements()


if __name__ == "__main__":
    Path(__file__).with_name("costs.md").write_text(page(), encoding="utf-8")
