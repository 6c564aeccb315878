"""Every two-party block once, small: for tests of all of them (costs, vectors, wrong messages).

A block has its inputs sealed before it starts, so that what is counted or
recorded is the conversation alone; each knows its ideal and its cost.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.arithmetic import costs
from benchmarks.arithmetic.costs import Cost
from harness.entropy import SeededEntropy
from harness.keys import toy_key
from sottovoce.entropy import Entropy
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import Ciphertext, Encrypted, Plain, SecretKey, decrypt, encrypt
from sottovoce.paper.inversion.hyperpower import InvPlan
from sottovoce.paper.inversion.inverse import invert, invert_rule
from sottovoce.paper.logarithm import LogPlan, logarithm, logarithm_rules
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.two_party.comparison import SignPlan, sealed_signs, sign_rules, signs
from sottovoce.protocols.two_party.directions import cut_times_fixed, direction_rule
from sottovoce.protocols.two_party.division import DivPlan, divide, division_rule, reciprocal
from sottovoce.protocols.two_party.exponential import ExpPlan, exponential, exponential_rule
from sottovoce.protocols.two_party.lines import cut_and_multiply, line_rule
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.matrices import FixedFactor, FixedFactors, fix, matrix_product
from sottovoce.protocols.two_party.products import (
    inner_product,
    multiply,
    outer_product,
    product_rules,
)
from sottovoce.protocols.two_party.residual import check_residual, checked_stages
from sottovoce.protocols.two_party.solve import SolvePlan, solve, solve_stages
from sottovoce.protocols.two_party.truncation import Cut, truncate, truncation_rule

MASKING = Masking(40)
WIDE = 767  # plaintext bits of a key of 768

Stages = Sequence[Sequence[AnswerRule[Any]]]
Start = Callable[[Entropy], Party[Any]]


@dataclass(frozen=True)
class Block:
    """One block: how it starts, what the key holder answers, what it costs and should give."""

    name: str
    start: Callable[[SecretKey], Start]
    stages: Callable[[SecretKey, Entropy], Stages]
    cost: Cost
    ideal: list[Any]
    exact: float = 0.0
    bits: int = 768

    @property
    def key(self) -> SecretKey:
        return toy_key(bits=self.bits)

    def outcome_of(self, key: SecretKey, result: Any) -> Any:
        """What came out, as real numbers (or truth values)."""
        return decrypt(key, result).floats().tolist() if isinstance(result, Encrypted) else result


def seal(
    key: SecretKey, values: Any, scale: Scale, *, slots: Slots | None = None, seed: int = 1
) -> Ciphertext:
    plain = Plain.of(np.asarray(values, dtype=float), scale)
    return encrypt(key.public, plain, slots=slots, entropy=SeededEntropy(seed))


SCALE = Scale(8, 2**20)
X, Y = [1.5, -2.0, 0.25], [4.0, 3.0, -8.0]
MATRIX = [[1.0, 2.0, 3.0], [-4.0, 5.0, -6.0], [7.0, -8.0, 9.0]]
ROWS = Slots.fit(3 * SCALE.bound**2, plaintext_bits=WIDE)
ROOMY = Slots.fit(3 * SCALE.bound**2, plaintext_bits=WIDE, mask_bits=40)


def _products(protocol: Callable[..., Party[Any]]) -> Callable[[SecretKey], Start]:
    def start(key: SecretKey) -> Start:
        x, y = seal(key, X, SCALE), seal(key, Y, SCALE, seed=2)
        return lambda entropy: protocol(x, y, entropy=entropy, masking=MASKING)

    return start


def _product_stages(key: SecretKey, entropy: Entropy) -> Stages:
    return [product_rules(key, budget=1, entropy=entropy)]


def _matrix_product(key: SecretKey) -> Start:
    x, matrix = seal(key, [X, Y], SCALE), seal(key, MATRIX, SCALE, slots=ROWS, seed=2)
    return lambda entropy: matrix_product(x, matrix, entropy=entropy, masking=MASKING)


def _direction(key: SecretKey) -> Start:
    u, matrix = seal(key, X, SCALE, slots=ROOMY), seal(key, MATRIX, SCALE, slots=ROOMY, seed=2)

    def program(entropy: Entropy) -> Party[Any]:
        operand = yield from fix(matrix, entropy=entropy, masking=MASKING)
        cut = Cut.of(SCALE, 4, MASKING)
        result = yield from cut_times_fixed(u, operand, cut, entropy=entropy)
        return result.product

    return program


def _direction_stages(key: SecretKey, entropy: Entropy) -> Stages:
    held = FixedFactors(key)
    rule = direction_rule(held, budget=1, entropy=entropy)
    return [[AnswerRule(FixedFactor, held.keep, 1)], [rule]]


def _truncate(slots: Slots | None) -> Callable[[SecretKey], Start]:
    def start(key: SecretKey) -> Start:
        x = seal(key, X, SCALE, slots=slots)
        return lambda entropy: truncate(x, 4, entropy=entropy, masking=MASKING)

    return start


def _lines(key: SecretKey) -> Start:
    lines = [seal(key, X, SCALE, slots=ROOMY), seal(key, Y, SCALE, slots=ROOMY, seed=2)]

    def program(entropy: Entropy) -> Party[Any]:
        cuts = [Cut.of(SCALE, 4, MASKING)] * 2
        result = yield from cut_and_multiply(lines, cuts, entropy=entropy)
        return result.products[1]

    return program


EXP = ExpPlan(2, 6, 26, 24, MASKING)
EXP_SLOTS = EXP.slots(WIDE)
DIV = DivPlan(2.0, 9.0, 12, SCALE, 10, 2.0**-8, MASKING)
DIV_SLOTS = DIV.slots(WIDE)
ONE = DivPlan(2.0, 9.0, 12, quotient_bits=10, tolerance=2.0**-8, masking=MASKING)
ONE_SLOTS = ONE.slots(WIDE)
LOG = LogPlan(0.5, 4.0, 12, 2.0**-6, MASKING)
SIGN = SignPlan(SCALE.bits, MASKING)
SOLVE = SolvePlan(3, 1.0, 2.0, 1.0, tolerance=2.0**-6, masking=MASKING)
SOLVE_SLOTS = SOLVE.slots(WIDE)
GRAM = [[1.5, 0.3, 0.1], [0.3, 1.4, 0.2], [0.1, 0.2, 1.6]]
RIGHT = [1.0, -0.5, 0.75]


def _exponential(key: SecretKey) -> Start:
    x = seal(key, [-2.0, 0.5, 2.0], EXP.input_scale, slots=EXP_SLOTS)
    return lambda entropy: exponential(x, EXP, entropy=entropy)


def _divide(key: SecretKey) -> Start:
    n = seal(key, X, SCALE, slots=DIV_SLOTS)
    d = seal(key, [2.0, 4.0, 9.0], DIV.divisor, slots=DIV_SLOTS, seed=2)
    return lambda entropy: divide(n, d, DIV, entropy=entropy)


def _reciprocal(key: SecretKey) -> Start:
    d = seal(key, [2.0, 4.0, 9.0], ONE.divisor, slots=ONE_SLOTS)
    return lambda entropy: reciprocal(d, ONE, entropy=entropy)


def _logarithm(key: SecretKey) -> Start:
    x = seal(key, [0.5, 4.0], LOG.input_scale)
    return lambda entropy: logarithm(x, LOG, entropy=entropy)


def _signs(protocol: Callable[..., Party[Any]]) -> Callable[[SecretKey], Start]:
    def start(key: SecretKey) -> Start:
        x = seal(key, X, SCALE)
        return lambda entropy: protocol(x, entropy=entropy, masking=MASKING)

    return start


def _sign_stages(key: SecretKey, entropy: Entropy) -> Stages:
    return [sign_rules(key, budget=1, numbers=3, entropy=entropy)]


def _system(key: SecretKey) -> tuple[Ciphertext, Ciphertext]:
    return (
        seal(key, GRAM, SOLVE.matrix_scale(2.0), slots=SOLVE_SLOTS),
        seal(key, RIGHT, SOLVE.vector_scale(2.0), slots=SOLVE_SLOTS, seed=2),
    )


def _solve(key: SecretKey, *, checked: bool) -> Start:
    A, b = _system(key)

    def program(entropy: Entropy) -> Party[Any]:
        solved = yield from solve(A, b, SOLVE, entropy=entropy)
        if checked:
            yield from check_residual(solved, SOLVE, entropy=entropy, tolerance=0.25)
        return solved.theta

    return program


def _inverse(order: int, upper: float) -> Block:
    plan = InvPlan(3, 1.0, upper, order=order, tolerance=0.02, fraction_bits=30, masking=MASKING)
    slots = plan.slots(WIDE)

    def start(key: SecretKey) -> Start:
        A = seal(key, GRAM, plan.matrix_scale(2.0), slots=slots)
        return lambda entropy: invert(A, plan, entropy=entropy)

    return Block(
        f"inverse of order {order} in {plan.steps} steps",
        start,
        lambda key, entropy: [[invert_rule(key, plan, entropy=entropy)]],
        costs.invert(plan, slots),
        np.linalg.inv(GRAM).tolist(),
        0.02,
    )


def _check_cost() -> Cost:
    # The last number's bits: three squares of what a slot can hold, at the bits that are kept.
    kept = int(np.ceil(np.log2(np.sqrt(3) / (0.25 / 2**SOLVE.shift)))) + 6
    cut = SOLVE_SLOTS.width - (SOLVE.residual_scale.fraction_bits - kept)
    limit = int((0.25 / 2**SOLVE.shift) ** 2 * 4**kept)
    sign = SignPlan((3 * (1 << cut) ** 2 + limit).bit_length(), MASKING)
    return costs.check_residual(SOLVE, SOLVE_SLOTS, sign, WIDE)


BLOCKS = [
    Block(
        "multiply",
        _products(multiply),
        _product_stages,
        costs.multiply(3),
        [6.0, -6.0, -2.0],
    ),
    Block("inner product", _products(inner_product), _product_stages, costs.inner_product(3), -2.0),
    Block(
        "outer product",
        _products(outer_product),
        _product_stages,
        costs.outer_product(3, 3),
        np.outer(X, Y).tolist(),
    ),
    Block(
        "matrix product",
        _matrix_product,
        lambda key, entropy: FixedFactors(key).stages(budget=1, entropy=entropy),
        costs.fix(3, 3, ROWS) + costs.times_fixed(2, 3, 3, ROWS),
        (np.array([X, Y]) @ MATRIX).tolist(),
    ),
    Block(
        "cut vector times fixed matrix",
        _direction,
        _direction_stages,
        costs.fix(3, 3, ROOMY) + costs.cut_times_fixed(3, ROOMY, 3, ROOMY),
        (np.array(X) @ MATRIX).tolist(),
        1.0,
    ),
    Block(
        "truncate",
        _truncate(None),
        lambda key, entropy: [[truncation_rule(key, budget=1, entropy=entropy)]],
        costs.truncate(3, None),
        X,
        2.0**-4,
    ),
    Block(
        "truncate packed",
        _truncate(ROOMY),
        lambda key, entropy: [[truncation_rule(key, budget=1, entropy=entropy)]],
        costs.truncate(3, ROOMY),
        X,
        2.0**-4,
    ),
    Block(
        "cut and multiply lines",
        _lines,
        lambda key, entropy: [[line_rule(key, budget=1, entropy=entropy)]],
        costs.cut_and_multiply(2, 3, ROOMY),
        [6.0, -6.0, -2.0],
        1.0,
    ),
    Block(
        "exponential",
        _exponential,
        lambda key, entropy: [[exponential_rule(key, EXP, entropy=entropy)]],
        costs.exponential(3, EXP, EXP_SLOTS),
        np.exp([-4.0, -1.5, 0.0]).tolist(),
        0.05,
    ),
    Block(
        "divide",
        _divide,
        lambda key, entropy: [[division_rule(key, DIV, entropy=entropy)]],
        costs.divide(3, DIV, DIV_SLOTS),
        [0.75, -0.5, 0.25 / 9],
        0.01,
    ),
    Block(
        "reciprocal",
        _reciprocal,
        lambda key, entropy: [[division_rule(key, ONE, entropy=entropy)]],
        costs.divide(3, ONE, ONE_SLOTS),
        [0.5, 0.25, 1 / 9],
        0.01,
    ),
    Block(
        "logarithm",
        _logarithm,
        lambda key, entropy: [logarithm_rules(key, LOG, entropy=entropy)],
        costs.logarithm(2, LOG, LOG.slots(WIDE)),
        np.log([0.5, 4.0]).tolist(),
        0.02,
    ),
    Block("signs", _signs(signs), _sign_stages, costs.signs(3, SIGN, WIDE), (True, False, True)),
    Block(
        "sealed signs",
        _signs(sealed_signs),
        _sign_stages,
        costs.sealed_signs(3, SIGN, WIDE),
        [1.0, 0.0, 1.0],
    ),
    Block(
        "solve",
        lambda key: _solve(key, checked=False),
        lambda key, entropy: solve_stages(key, SOLVE, entropy=entropy),
        costs.solve(SOLVE, SOLVE_SLOTS),
        np.linalg.solve(GRAM, RIGHT).tolist(),
        0.03,
    ),
    Block(
        "solve with its check",
        lambda key: _solve(key, checked=True),
        lambda key, entropy: checked_stages(key, SOLVE, entropy=entropy),
        costs.solve(SOLVE, SOLVE_SLOTS) + _check_cost(),
        np.linalg.solve(GRAM, RIGHT).tolist(),
        0.03,
    ),
    _inverse(2, 1.9),
    _inverse(2, 4.0),
    _inverse(3, 1.9),
    _inverse(3, 4.0),
    _inverse(7, 1.9),
    _inverse(7, 12.0),
]
