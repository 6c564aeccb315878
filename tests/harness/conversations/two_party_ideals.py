"""What two-party protocols compute, in the clear: the same steps on the same integers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.paillier import Plain
from sottovoce.paper.inversion.hyperpower import InvPlan
from sottovoce.paper.logarithm import LogPlan
from sottovoce.protocols.two_party.division import DivPlan
from sottovoce.protocols.two_party.goldschmidt import FACTOR_BITS, GoldschmidtSteps
from sottovoce.protocols.two_party.solve import SolvePlan


def plain_settled(D: Plain, N: Plain, course: GoldschmidtSteps) -> Plain:
    """The ideal: the same steps in the clear, on the same integers, rounding down."""
    two = 2 << course.fraction_bits
    for move in course.moves:
        cuts = course.cuts(D.scale, N.scale)
        d, n = (x.integers.astype(object) >> cut.bits for x, cut in zip((D, N), cuts, strict=True))
        D = Plain((two * d - d * d) * move.factor, course.whole(course.divisor_scale))
        N = Plain((two * n - d * n) * move.factor, course.whole(course.numerator_scale))
    return N


def plain_quotients(numerators: Plain, divisors: Plain, plan: DivPlan) -> Plain:
    """The ideal: the same steps in the clear, on the same integers, rounding down."""
    D, N = (
        Plain(x.integers.astype(object) * plan.start, scale)
        for x, scale in zip((divisors, numerators), plan.start_scales, strict=True)
    )
    return plain_settled(D, N, plan.course)


def plain_inverse(A: Plain, plan: InvPlan) -> Plain:
    """The ideal: the same iteration in the clear, on the same integers, rounding down."""
    hat = A.integers.astype(object) * plan.start_factor
    hat >>= plan.matrix_bits + plan.start_bits - plan.fraction_bits
    X = _plain_coupled(hat, plan) if plan.order == 2 else _plain_uncoupled(hat, plan)
    return Plain(X * plan.start_factor, plan.result_scale)


def _plain_coupled(M: NDArray[Any], plan: InvPlan) -> NDArray[Any]:
    f = plan.fraction_bits
    two = plan.identity(f, 2).integers
    X = plan.identity(f).integers
    for move in plan.moves:
        X = (X @ (two - M)) * move.factor >> f + FACTOR_BITS
        M = (M @ (two - M)) * move.factor >> f + FACTOR_BITS
    return X


def _plain_uncoupled(hat: NDArray[Any], plan: InvPlan) -> NDArray[Any]:
    f = plan.fraction_bits
    identity = plan.identity(f).integers
    X = identity
    for _ in range(plan.steps):
        E = identity - (hat @ X >> f)
        square = E @ E >> f
        series = identity + E + square
        if plan.order == 7:
            series = identity + ((E + square) @ (identity + square + (square @ square >> f)) >> f)
        X = X @ series >> f
    return X


def plain_logarithms(x: Plain, plan: LogPlan) -> Plain:
    """The ideal: the same steps in the clear, on the same integers, rounding down."""
    ats, slopes, weights = (
        np.array(part, dtype=object) for part in zip(*plan.coefficients(), strict=True)
    )
    divisor, numerator = plan.start_scales
    D = Plain(np.multiply.outer(x.integers.astype(object), slopes) + ats, divisor)
    N = Plain(np.broadcast_to(weights, D.shape).copy(), numerator)
    settled = plain_settled(D, N, plan.course)
    cut = settled.integers >> settled.scale.fraction_bits - plan.result_bits
    return Plain(plan.offset - cut.sum(axis=1), plan.result_scale)


def plain_solution(A: Plain, b: Plain, plan: SolvePlan) -> Plain:
    """The ideal: the same iteration in the clear, on the same integers, rounding down."""
    matrix = A.integers.astype(object)
    residual = b.integers.astype(object)
    direction = residual * 0
    solution = residual * 0
    for alpha, beta in plan.coefficients():
        u = residual * beta + direction * (alpha << plan.matrix_fraction)
        direction = u >> plan.cut
        solution = solution + direction
        residual = residual - direction @ matrix
    return Plain(solution, plan.direction_scale)
