"""Every two-party block once at full key size: CPU time of both parties, trips, bytes, operations.

Keys, and the tables that belong to a key, are made beforehand; inputs are sealed before the clock
starts. Every answer is checked against its ideal.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from benchmarks.arithmetic import costs
from benchmarks.arithmetic.costs import Cost
from sottovoce.cli.terminal.measurements import Row
from sottovoce.entropy import Entropy, SystemEntropy
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import Ciphertext, Encrypted, Plain, SecretKey, decrypt, encrypt, generate
from sottovoce.paper.inversion.hyperpower import InvPlan
from sottovoce.paper.inversion.inverse import invert, invert_rule
from sottovoce.paper.logarithm import LogPlan, logarithm, logarithm_rules
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER, Party
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.two_party.comparison import SignPlan, sign_rules, signs
from sottovoce.protocols.two_party.division import DivPlan, division_rule, reciprocal
from sottovoce.protocols.two_party.exponential import ExpPlan, exponential, exponential_rule
from sottovoce.protocols.two_party.in_memory import run
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.matrices import FixedFactors, matrix_product
from sottovoce.protocols.two_party.products import (
    inner_product,
    multiply,
    outer_product,
    product_rules,
)
from sottovoce.protocols.two_party.solve import SolvePlan, solve, solve_stages
from sottovoce.protocols.two_party.truncation import truncate, truncation_rule

# What a terminal shows; `--json` has the operations too.
SHOWN = ("block", "size", "cpu_ms", "wall_ms", "trips", "kib")
VALUE = Scale(20, 2**40 - 1)
LOWER, UPPER = 30.0, 1500.0
TABLE_USES = 50_000

Stages = Callable[[], Sequence[Sequence[AnswerRule[Any]]]]
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Sizes:
    """How long vectors are, and how large matrices, and matrices to invert.

    An inverse takes the third power of its size, all else the second at most.
    """

    values: int = 100
    features: int = 35
    inverse: int = 12


@dataclass(frozen=True)
class TwoPartySetting:
    """A key, how far masks reach, and how large everything is."""

    key: SecretKey
    masking: Masking
    sizes: Sizes
    entropy: Entropy

    @property
    def plaintext_bits(self) -> int:
        """What a ciphertext holds."""
        return self.key.public.plaintext_bits

    def seal(self, numbers: Any, scale: Scale, slots: Slots | None = None) -> Ciphertext:
        """Numbers under the key."""
        return encrypt(self.key, Plain.of(numbers, scale), slots=slots, entropy=self.entropy)

    def vector(self, seed: int = 0) -> Any:
        """As many numbers as a vector has."""
        return np.random.default_rng(seed).uniform(-1, 1, self.sizes.values)

    def gram(self, size: int) -> Any:
        """A matrix whose spectrum fills the interval."""
        rng = np.random.default_rng(1)
        basis, _ = np.linalg.qr(rng.normal(size=(size, size)))
        matrix = (basis * np.geomspace(LOWER, UPPER, size)) @ basis.T
        return (matrix + matrix.T) / 2


@dataclass(frozen=True)
class TwoPartyTask:
    """One block on inputs of one size, with what it should give and cost."""

    block: str
    size: str
    program: Callable[[], Party[Any]]
    stages: Stages
    ideal: Any
    exact: float
    cost: Cost


def measure(sizes: Sizes, *, bits: int, kappa: int, rounds: int, progress: Progress) -> list[Row]:
    """One row a block."""
    progress("making keys")
    entropy = SystemEntropy()
    key = generate(bits, entropy=entropy)
    return measure_setting(
        TwoPartySetting(key, Masking(kappa), sizes, entropy), rounds=rounds, progress=progress
    )


def measure_setting(setting: TwoPartySetting, *, rounds: int, progress: Progress) -> list[Row]:
    """The same for a key that is there already."""
    setting.key.prepare(TABLE_USES)
    setting.key.public.prepare(TABLE_USES)
    rows: list[Row] = []
    for make in (_products, _linear, _functions, _signs, _systems):
        for task in make(setting):
            progress(f"{task.block}, {task.size}")
            rows.append(_row(task, setting, rounds))
    return rows


def _row(task: TwoPartyTask, setting: TwoPartySetting, rounds: int) -> Row:
    cpu, wall = [], []
    for _ in range(rounds):
        start_cpu, start = time.process_time(), time.perf_counter()
        outcome = run(task.program(), task.stages(), key=setting.key)
        cpu.append(time.process_time() - start_cpu)
        wall.append(time.perf_counter() - start)
    result = outcome.results[EVALUATOR]
    opened = decrypt(setting.key, result).floats() if isinstance(result, Encrypted) else result
    if not np.allclose(opened, task.ideal, rtol=0, atol=task.exact):
        raise AssertionError(f"{task.block}: wrong answer")
    return {
        "block": task.block,
        "size": task.size,
        "cpu_ms": 1000 * median(cpu),
        "wall_ms": 1000 * median(wall),
        "trips": outcome.traffic.trips(EVALUATOR, KEY_HOLDER) - 1,  # the goodbye
        "kib": outcome.traffic.total_bytes / 1024,
        "asked": task.cost.asked,
        "answered": task.cost.answered,
        "powers": task.cost.powers,
        "shifted": task.cost.shifted,
    }


def _products(s: TwoPartySetting) -> list[TwoPartyTask]:
    a, b = s.vector(0), s.vector(1)
    x, y = s.seal(a, VALUE), s.seal(b, VALUE)
    few = min(10, s.sizes.values)

    def stages() -> Sequence[Sequence[AnswerRule[Any]]]:
        return [product_rules(s.key, budget=1, entropy=s.entropy)]

    more: dict[str, Any] = {"entropy": s.entropy, "masking": s.masking}
    return [
        TwoPartyTask(
            "S.Mult",
            f"{s.sizes.values}",
            lambda: multiply(x, y, **more),
            stages,
            a * b,
            1e-5,
            costs.multiply(s.sizes.values),
        ),
        TwoPartyTask(
            "S.InnerProd",
            f"{s.sizes.values}",
            lambda: inner_product(x, y, **more),
            stages,
            a @ b,
            1e-3,
            costs.inner_product(s.sizes.values),
        ),
        TwoPartyTask(
            "S.OuterProd",
            f"{few} × {few}",
            lambda: outer_product(x[:few], y[:few], **more),
            stages,
            np.outer(a[:few], b[:few]),
            1e-5,
            costs.outer_product(few, few),
        ),
    ]


def _linear(s: TwoPartySetting) -> list[TwoPartyTask]:
    d = s.sizes.features
    slots = Slots.fit(d * VALUE.bound**2, plaintext_bits=s.plaintext_bits)
    roomy = Slots.fit(VALUE.bound, plaintext_bits=s.plaintext_bits, mask_bits=s.masking.kappa)
    vector, matrix = np.resize(s.vector(), d), s.gram(d) / UPPER
    left, right = s.seal(vector, VALUE), s.seal(matrix, VALUE, slots)
    packed = s.seal(s.vector(), VALUE, roomy)
    more: dict[str, Any] = {"entropy": s.entropy, "masking": s.masking}
    return [
        TwoPartyTask(
            "S.MatProd",
            f"{d} × {d}",
            lambda: matrix_product(left, right, **more),
            lambda: FixedFactors(s.key).stages(budget=1, entropy=s.entropy),
            vector @ matrix,
            1e-3,
            costs.fix(d, d, slots) + costs.times_fixed(1, d, d, slots),
        ),
        TwoPartyTask(
            "S.Trunc",
            f"{s.sizes.values}",
            lambda: truncate(packed, 10, **more),
            lambda: [[truncation_rule(s.key, budget=1, entropy=s.entropy)]],
            s.vector(),
            2.0**-9,
            costs.truncate(s.sizes.values, roomy),
        ),
    ]


def _functions(s: TwoPartySetting) -> list[TwoPartyTask]:
    exp = ExpPlan.of(8, masking=s.masking)
    exponents = 8 * s.vector()
    exp_slots = exp.slots(s.plaintext_bits)
    x = s.seal(exponents, exp.input_scale, exp_slots)
    div = DivPlan(2.0**-12, 2.0**8, 32, masking=s.masking)
    div_slots = div.slots(s.plaintext_bits)
    d = s.seal([3.0], div.divisor, div_slots)
    log = LogPlan(1.0, 1000.0, 20, masking=s.masking)
    number = s.seal([42.0], log.input_scale)
    return [
        TwoPartyTask(
            "S.Exp",
            f"{s.sizes.values}, k = {exp.squarings}",
            lambda: exponential(x, exp, entropy=s.entropy),
            lambda: [[exponential_rule(s.key, exp, entropy=s.entropy)]],
            np.exp(exponents - exp.bound),
            float(exp.error_bound(exponents).max()),
            costs.exponential(s.sizes.values, exp, exp_slots),
        ),
        TwoPartyTask(
            "S.Div",
            "1, range 1 : 2^20",
            lambda: reciprocal(d, div, entropy=s.entropy),
            lambda: [[division_rule(s.key, div, entropy=s.entropy)]],
            [1 / 3],
            1e-4,
            costs.divide(1, div, div_slots),
        ),
        TwoPartyTask(
            "S.Log",
            "1, range 1 : 1000",
            lambda: logarithm(number, log, entropy=s.entropy),
            lambda: [logarithm_rules(s.key, log, entropy=s.entropy)],
            [np.log(42.0)],
            log.error_bound(),
            costs.logarithm(1, log, log.slots(s.plaintext_bits)),
        ),
    ]


def _signs(s: TwoPartySetting) -> list[TwoPartyTask]:
    plan = SignPlan(VALUE.bits, s.masking)

    def task(count: int) -> TwoPartyTask:
        numbers = np.resize(s.vector(), count)
        x = s.seal(numbers, VALUE)
        return TwoPartyTask(
            "S.Sign",
            f"{count}, {plan.bits} bits",
            lambda: signs(x, entropy=s.entropy, masking=s.masking),
            lambda: [sign_rules(s.key, budget=1, numbers=count, entropy=s.entropy)],
            numbers >= 0,
            0.0,
            costs.signs(count, plan, s.plaintext_bits),
        )

    return [task(1), task(10)]


def _systems(s: TwoPartySetting) -> list[TwoPartyTask]:
    d = s.sizes.features
    A = s.gram(d)
    theta = np.random.default_rng(2).uniform(-1, 1, d)
    plan = SolvePlan(d, LOWER, UPPER, 1.0, masking=s.masking)
    slots = plan.slots(s.plaintext_bits)
    sealed = s.seal(A, plan.matrix_scale(2 * UPPER), slots)
    b = s.seal(A @ theta, plan.vector_scale(2 * UPPER * d), slots)

    def solution() -> Party[Any]:
        solved = yield from solve(sealed, b, plan, entropy=s.entropy)
        return solved.theta

    tasks = [
        TwoPartyTask(
            "S.Solve",
            f"{d} × {d}, {plan.steps} steps",
            solution,
            lambda: solve_stages(s.key, plan, entropy=s.entropy),
            theta,
            1e-3 * float(np.linalg.norm(theta)),
            costs.solve(plan, slots),
        )
    ]
    for order in (2, 3, 7):
        size = s.sizes.inverse
        plan_of = InvPlan(size, LOWER, UPPER, order=order, fraction_bits=36, masking=s.masking)
        tasks.append(_inverse(s, plan_of))
    return tasks


def _inverse(s: TwoPartySetting, plan: InvPlan) -> TwoPartyTask:
    A = s.gram(plan.size)
    slots = plan.slots(s.plaintext_bits)
    sealed = s.seal(A, plan.matrix_scale(2 * UPPER), slots)
    return TwoPartyTask(
        f"S.Inv, order {plan.order}",
        f"{plan.size} × {plan.size}, {plan.products} products",
        lambda: invert(sealed, plan, entropy=s.entropy),
        lambda: [[invert_rule(s.key, plan, entropy=s.entropy)]],
        np.linalg.inv(A),
        plan.error_bound() + 1e-8,
        costs.invert(plan, slots),
    )
