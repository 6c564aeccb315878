"""S.Inv: the inverse of an encrypted matrix by one hyperpower iteration of order 2, 3 or 7.

    evaluator                                                     key holder
    Â = A·c with a public c that brings the spectrum around 1: no trip
    order 2, coupled (Newton and Schulz): X = I, M = Â, and one trip a step
      ── MaskedMatrices ⟨⟨X⟩⟩, ⟨⟨M⟩⟩ masked ─────────────────▶     cuts, multiplies
      ◀── MatrixProducts ⟨⟨X·M⟩⟩, ⟨⟨M²⟩⟩ ─────────────────────
      X ← α(2X − X·M), M ← α(2M − M²): M goes to I, X to Â⁻¹
    order 3 (Chebyshev), three trips a step: Â·X, E = I − Â·X, E², X ← X(I + E + E²)
    order 7 (Soleymani), five trips a step: Â·X, E², E⁴, (E + E²)(I + E² + E⁴), X ← X(I + ·)
    then X·c = A⁻¹, turned upright in one trip more

The interval that holds the spectrum of A, 0 < lower ≤ upper, is public; the trace bounds it
from above. With it come the number of steps and, in order 2, the factors α, which centre the
spectrum of M around 1 again after every step: a wide one shrinks fourfold instead of twofold.
The first step needs no product with X = I. Higher orders save steps, not products; they work
out Â·X anew each time, so errors of cutting do not add up.

The evaluator learns nothing; the key holder sees the size, the number of steps and noise within
2^−κ. Both follow the protocol and do not pool what they saw. If it starts outside of its region (a
spectrum beyond `upper`), the iteration diverges: a plan that starts there is refused, and
`check_inverse` detects a matrix that is not within its interval. If only A⁻¹b is wanted, S.Solve is
far cheaper.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any

from sottovoce.entropy import Entropy
from sottovoce.errors import BoundError, MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Encrypted, Layout, Plain, SecretKey, Unsent
from sottovoce.paper.inversion.crossed import (
    Crossed,
    CutMatrices,
    Factors,
    MatrixCut,
    cut_and_multiply_matrices,
    matrix_rule,
)
from sottovoce.paper.inversion.hyperpower import InvPlan
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.two_party.directions import cut_times_fixed, direction_rule
from sottovoce.protocols.two_party.goldschmidt import FACTOR_BITS, Move
from sottovoce.protocols.two_party.masks import filled
from sottovoce.protocols.two_party.matrices import FixedFactor, FixedFactors, fix
from sottovoce.protocols.two_party.residual import check_stage, is_small
from sottovoce.protocols.two_party.truncation import Cut

# Entries of the random vector that tests an inverse lie within ±2^PROBE_BITS.
PROBE_BITS = 12


def invert(A: Encrypted, plan: InvPlan, *, entropy: Entropy) -> Party[Unsent]:
    """S.Inv at the evaluator: ⟨⟨A⁻¹⟩⟩ by rows, for A by rows in the plan's slots."""
    _check(A, plan)
    bits = plan.matrix_bits + plan.start_bits
    hat = (A * plan.start_factor).divided(plan.start_bits).within(Scale(bits, 2 << bits))
    work = _Work(plan, entropy)
    method = work.coupled if plan.order == 2 else work.uncoupled
    X = yield from method(Crossed.of(hat))
    cut = yield from work.trip([work.cut(X, plan.large)], [])
    upright = cut.values[0].upright * plan.start_factor
    return upright.divided(plan.start_bits).within(plan.result_scale)


def invert_rule(key: SecretKey, plan: InvPlan, *, entropy: Entropy) -> AnswerRule[Any]:
    """The rule for a key holder: the trips of one inversion."""
    return matrix_rule(key, budget=plan.trips, entropy=entropy)


def check_inverse(
    A: Encrypted, inverse: Encrypted, plan: InvPlan, *, entropy: Entropy
) -> Party[Encrypted]:
    """The inverse, if it is one; else `BoundError`.

    A random vector v, times the inverse, times A, must give v again. An iteration
    that ran away passes with a probability of about 2^−PROBE_BITS.
    """
    probe = Scale(0, 1 << PROBE_BITS)
    values = [entropy.below(2 * probe.bound + 1) - probe.bound for _ in range(plan.size)]
    v = Plain(filled(values, (plan.size,)), probe)
    operand = yield from fix(A, entropy=entropy, masking=plan.masking)
    w = v @ inverse
    cut = Cut.of(w.scale, w.scale.fraction_bits - plan.fraction_bits, plan.masking)
    bits = plan.fraction_bits + plan.matrix_bits
    scale = Scale(bits, probe.bound * plan.size << bits + 1)
    product = yield from cut_times_fixed(w, operand, cut, product=scale, entropy=entropy)
    lifted = Plain(v.integers.astype(object) << bits, Scale(bits, probe.bound << bits))
    gap = 2 * plan.upper * (plan.error_bound() + 2.0**-plan.fraction_bits)
    limit = gap * probe.bound * sqrt(plan.size)
    residual = lifted - product.product
    small = yield from is_small(residual, limit, masking=plan.masking, entropy=entropy)
    if not small:
        raise BoundError(
            f"S.Inv: the interval from {plan.lower:g} to {plan.upper:g} does not hold the "
            "spectrum, so the iteration was started outside its region: A⁻¹·A is not I",
            hints=("the upper end must be at least the largest eigenvalue of A, as its trace is",),
        )
    return inverse


def checked_stages(
    key: SecretKey, plan: InvPlan, *, entropy: Entropy
) -> list[list[AnswerRule[Any]]]:
    """The key holder's stages of one inversion and its check."""
    held = FixedFactors(key)
    return [
        [invert_rule(key, plan, entropy=entropy)],
        [AnswerRule(FixedFactor, held.keep, 1)],
        [direction_rule(held, budget=1, entropy=entropy)],
        check_stage(key, entropy=entropy),
    ]


@dataclass(frozen=True)
class _Work:
    """The iterations at the evaluator. Cut matrices have f fraction bits, their products 2f."""

    plan: InvPlan
    entropy: Entropy

    def trip(self, cuts: list[MatrixCut], products: list[Factors]) -> Party[CutMatrices]:
        """One trip."""
        masking = self.plan.masking
        return (
            yield from cut_and_multiply_matrices(
                cuts, products, masking=masking, entropy=self.entropy
            )
        )

    def cut(self, matrix: Crossed, scale: Scale) -> MatrixCut:
        """A matrix on its way to f fraction bits."""
        return MatrixCut(matrix, matrix.scale.fraction_bits - self.plan.fraction_bits, scale)

    def coupled(self, M: Crossed) -> Party[Crossed]:
        """Newton and Schulz: X ← α(2X − X·M), M ← α(2M − M²)."""
        plan, X = self.plan, None
        for number, move in enumerate(plan.moves, start=1):
            cuts, products = [self.cut(M, plan.small)], [Factors(0, 0)]
            if number == plan.steps:
                products = []
            if X is not None:
                cuts.append(self.cut(X, plan.large))
                products.append(Factors(1, 0))
            answered = yield from self.trip(cuts, products)
            m = answered.values[0]
            if X is None:
                X = self._two_minus(m, move)
            else:
                X = self._moved(answered.values[1], answered.products[-1], move)
            if number < plan.steps:
                M = self._moved(m, answered.products[0], move)
        assert X is not None
        return X

    def _moved(self, value: Crossed, product: Crossed, move: Move) -> Crossed:
        """The next X or M: α(2·value − product)."""
        f = self.plan.fraction_bits
        difference = self._lifted(value, 2).plus(product.negated(), value.scale.refined(f))
        whole = value.scale.refined(f + FACTOR_BITS)
        return difference.times(move.factor, FACTOR_BITS, whole)

    def _two_minus(self, m: Crossed, move: Move) -> Crossed:
        """The first X, from X = I: α(2I − M)."""
        f, large = self.plan.fraction_bits, self.plan.large
        difference = m.negated().plus_plain(self.plan.identity(f, 2), large)
        return difference.times(move.factor, FACTOR_BITS, large.refined(FACTOR_BITS))

    def uncoupled(self, hat: Crossed) -> Party[Crossed]:
        """Chebyshev and Soleymani: X ← X(I + E + E² + …), with E = I − Â·X worked out anew."""
        plan, f = self.plan, self.plan.fraction_bits
        answered = yield from self.trip([self.cut(hat, plan.small)], [Factors(0, 0)])
        a = answered.values[0]
        # From X = I: E = I − Â and E² = I − 2Â + Â² take no further product.
        e = a.negated().plus_plain(plan.identity(f), plan.small)
        square = self._plus_one(answered.products[0].plus(self._lifted(a, -2), self._whole))
        X = yield from self._series(e, square)
        for _ in range(plan.steps - 1):
            answered = yield from self.trip(
                [self.cut(self._lifted(a), plan.small), self.cut(X, plan.large)], [Factors(0, 1)]
            )
            x, E = answered.values[1], self._plus_one(answered.products[0].negated())
            answered = yield from self.trip([self.cut(E, plan.small)], [Factors(0, 0)])
            series = yield from self._series(answered.values[0], answered.products[0])
            answered = yield from self.trip(
                [self.cut(self._lifted(x), plan.large), self.cut(series, plan.small)],
                [Factors(0, 1)],
            )
            X = answered.products[0].within(plan.large.refined(f))
        return X

    def _series(self, e: Crossed, square: Crossed) -> Party[Crossed]:
        """I + E + E² for order 3, I + E + … + E⁶ = I + (E + E²)(I + E² + E⁴) for order 7."""
        small = self.plan.small
        if self.plan.order == 3:
            return self._plus_one(square.plus(self._lifted(e), self._whole))
        square = square.within(self._whole)
        answered = yield from self.trip([self.cut(square, small)], [Factors(0, 0)])
        s, fourth = answered.values[0], answered.products[0]
        left = self._lifted(e.plus(s, small))
        right = self._plus_one(fourth.plus(self._lifted(s), self._whole))
        answered = yield from self.trip(
            [self.cut(left, small), self.cut(right, small)], [Factors(0, 1)]
        )
        return self._plus_one(answered.products[0])

    @property
    def _whole(self) -> Scale:
        """Small matrices before they are cut."""
        return self.plan.small.refined(self.plan.fraction_bits)

    def _lifted(self, value: Crossed, times: int = 1) -> Crossed:
        """A cut matrix, or a multiple of it, on the grid of products."""
        f = self.plan.fraction_bits
        return value.times(times << f, f, value.scale.refined(f))

    def _plus_one(self, whole: Crossed) -> Crossed:
        """A small matrix on the grid of products, and the identity."""
        return whole.plus_plain(self.plan.identity(2 * self.plan.fraction_bits), self._whole)


def _check(A: Encrypted, plan: InvPlan) -> None:
    """Refuse a matrix that does not fit the plan, before anything is sent."""
    layout = Layout((plan.size, plan.size), plan.slots(A.key.plaintext_bits))
    if A.layout != layout or A.scale.fraction_bits != plan.matrix_bits:
        raise MismatchError(
            f"S.Inv: expected A as {layout} with {plan.matrix_bits} fraction bits, found "
            f"{A.layout} with {A.scale.fraction_bits}"
        )
