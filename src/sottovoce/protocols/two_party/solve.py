"""S.Solve: θ = A⁻¹b by Chebyshev iteration on matrix–vector products, one trip a step.

    evaluator                                              key holder
    masks A once: ── FixedFactor ⟨⟨A + R⟩⟩ ───────────▶     keeps A + R
    every step: the untruncated direction u, packed
      ── MaskedDirection ⟨⟨u + 2^ℓ + ρ⟩⟩ ─────────────▶     q = ⌊· / 2^t⌋
      ◀── Step ⟨⟨q⟩⟩, ⟨⟨q⟩⟩ packed, ⟨⟨(A + R)q⟩⟩ ──────
    r = ⌊(2^ℓ + ρ) / 2^t⌋, p = q − r: removes R ⊗ ⟨⟨p⟩⟩, r ⊗ ⟨⟨A⟩⟩, R·r
    x ← x + p, residual ← residual − A·p, next direction

Every step is exact but for one unit of truncation in every direction. The
coefficients need a public interval that holds the spectrum of A; no division is
done on anything secret. The evaluator learns nothing; the key holder sees the
size, the number of steps (public) and noise. Both follow the protocol and do not
pool what they saw. If the interval does not hold the spectrum, the iteration diverges; the residual
shows that, which is returned encrypted and exact.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import acosh, ceil, cosh, log2, sqrt
from typing import Any

from sottovoce.entropy import Entropy
from sottovoce.errors import InputError, MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import Encrypted, Layout, SecretKey, Unsent
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.two_party.directions import CutProduct, cut_times_fixed, direction_rule
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.matrices import FixedFactor, FixedFactors, FixedOperand, fix
from sottovoce.protocols.two_party.own_masks import (
    OwnFactors,
    OwnOperand,
    OwnProduct,
    cut_times_own,
    fix_own,
)
from sottovoce.protocols.two_party.truncation import Cut


@dataclass(frozen=True, slots=True)
class SolvePlan:
    """The public plan of one solve, checked before anything is sent.

    The spectrum of A lies in [lower, upper]. `reach` bounds every entry of A⁻¹b.
    """

    size: int
    lower: float
    upper: float
    reach: float
    tolerance: float = 2.0**-14
    fraction_bits: int = 32
    matrix_bits: int = 24
    coefficient_bits: int = 24
    masking: Masking = field(default_factory=Masking)

    def __post_init__(self) -> None:
        if self.size < 1 or not 0 < self.lower <= self.upper < float("inf"):
            raise InputError(
                "S.Solve: expected a size of at least 1 and 0 < lower <= upper, found "
                f"{self.size}, {self.lower} and {self.upper}",
                hints=("lower is the regularisation λ, which must be above 0",),
            )
        if not (0 < self.tolerance < 1 and self.reach > 0):
            raise InputError(
                f"S.Solve: expected 0 < tolerance < 1 and a reach above 0, found "
                f"{self.tolerance} and {self.reach}"
            )

    @property
    def shift(self) -> int:
        """A and b are read as 2^shift times smaller, so that the spectrum ends at or below 1."""
        return max(0, ceil(log2(self.upper)))

    @property
    def steps(self) -> int:
        """The number of steps for a relative error below the tolerance."""
        if self.upper == self.lower:
            return 1
        ratio = (self.upper + self.lower) / (self.upper - self.lower)
        return max(1, ceil(acosh(1 / self.tolerance) / acosh(ratio)))

    @property
    def matrix_fraction(self) -> int:
        """The fraction bits of A when it is used."""
        return self.matrix_bits + self.shift

    @property
    def cut(self) -> int:
        """The number of bits that every step cuts off a direction."""
        return self.matrix_fraction + self.coefficient_bits

    @property
    def whole_cut(self) -> Cut:
        """The cut of a direction."""
        return Cut(self.cut, self.direction_scale, self.masking)

    @property
    def direction_scale(self) -> Scale:
        """The scale of truncated directions, none of which is longer than 4·reach·√d.

        From 0, Chebyshev iterates never leave the ball of radius ‖θ‖ around θ,
        so no step is longer than 2‖θ‖; the other factor of 2 is for rounding.
        """
        return Scale.covering(4 * self.reach * sqrt(self.size), fraction_bits=self.fraction_bits)

    @property
    def untruncated_scale(self) -> Scale:
        """The scale of directions before truncation."""
        return self.direction_scale.refined(self.cut)

    @property
    def residual_scale(self) -> Scale:
        """The scale of residuals, and of products of the matrix with a direction."""
        return self.direction_scale.refined(self.matrix_fraction)

    def slots(self, plaintext_bits: int) -> Slots:
        """Return slots that hold a masked direction; everything else is smaller."""
        return Slots.fit(
            self.untruncated_scale.bound,
            plaintext_bits=plaintext_bits,
            mask_bits=self.masking.kappa + 1,
        )

    def matrix_scale(self, magnitude: float) -> Scale:
        """Return the scale in which contributions to A are encoded."""
        return Scale.covering(magnitude, fraction_bits=self.matrix_bits)

    def vector_scale(self, magnitude: float) -> Scale:
        """Return the scale in which contributions to b are encoded."""
        return Scale.covering(magnitude, fraction_bits=self.matrix_bits + self.fraction_bits)

    def coefficients(self) -> Iterator[tuple[int, int]]:
        """Yield for every step (α, β) of u = α·p + β·residual, in units of 2^−coefficient_bits."""
        scale = 2.0**self.shift
        upper, lower = self.upper / scale, self.lower / scale
        middle, half = (upper + lower) / 2, (upper - lower) / 2
        unit = 1 << self.coefficient_bits
        yield 0, round(unit / middle)
        before = half / middle
        for _ in range(self.steps - 1):
            now = 1 / (2 * middle / half - before)
            yield round(unit * now * before), round(unit * 2 * now / half)
            before = now

    def error_bound(self) -> float:
        """The largest error of θ, relative to ‖θ‖, after `steps` steps."""
        if self.upper == self.lower:
            return 0.0
        ratio = (self.upper + self.lower) / (self.upper - self.lower)
        return 1 / cosh(self.steps * acosh(ratio))


@dataclass(frozen=True)
class Solved:
    """⟨⟨θ⟩⟩, and the exact residual ⟨⟨b − A·θ⟩⟩ / 2^shift; both packed."""

    theta: Unsent
    residual: Unsent


@dataclass(frozen=True)
class _Steps:
    """Cut a direction and multiply it by A, one trip a step (directions.py)."""

    operand: FixedOperand
    plan: SolvePlan

    def __call__(self, u: Unsent, *, entropy: Entropy) -> Party[CutProduct | OwnProduct]:
        cut, product = self.plan.whole_cut, self.plan.residual_scale
        return cut_times_fixed(u, self.operand, cut, product=product, entropy=entropy)


@dataclass(frozen=True)
class _OwnSteps:
    """The steps of `_Steps`, with masks under the evaluator's own key (own_masks.py)."""

    operand: OwnOperand
    plan: SolvePlan

    def __call__(self, u: Unsent, *, entropy: Entropy) -> Party[CutProduct | OwnProduct]:
        cut, product = self.plan.whole_cut, self.plan.residual_scale
        return cut_times_own(u, self.operand, cut, product=product, entropy=entropy)


def _steps(
    matrix: Encrypted, plan: SolvePlan, own: SecretKey | None, *, entropy: Entropy
) -> Party[_Steps | _OwnSteps]:
    if own is None:
        fixed = yield from fix(matrix, entropy=entropy, masking=plan.masking)
        return _Steps(fixed, plan)
    sealed = yield from fix_own(
        matrix, own, plan.whole_cut, plan.untruncated_scale, uses=plan.steps, entropy=entropy
    )
    return _OwnSteps(sealed, plan)


def solve(
    A: Encrypted,
    b: Encrypted,
    plan: SolvePlan,
    *,
    entropy: Entropy,
    own: SecretKey | None = None,
) -> Party[Solved]:
    """S.Solve at the evaluator: return ⟨⟨θ⟩⟩ with A·θ = b.

    A is packed by rows and b as a vector, both in the plan's slots and scales. If the evaluator has
    a key pair of its `own`, it takes a fraction of the time; the key holder then answers
    `own_stages`.
    """
    _check(A, b, plan)
    matrix, residual = A.divided(plan.shift), b.divided(plan.shift).within(plan.residual_scale)
    times = yield from _steps(matrix, plan, own, entropy=entropy)
    direction: Unsent | None = None
    solution: Unsent | None = None
    for alpha, beta in plan.coefficients():
        u = (residual * beta).divided(plan.coefficient_bits)
        if direction is not None:
            lifted = (direction * (alpha << plan.matrix_fraction)).divided(plan.cut)
            u = (u + lifted).within(plan.untruncated_scale)
        step = yield from times(u.within(plan.untruncated_scale), entropy=entropy)
        direction = step.direction
        solution = direction if solution is None else solution + direction
        solution = solution.within(plan.direction_scale)
        residual = (residual - step.product).within(plan.residual_scale)
    assert solution is not None
    return Solved(solution, residual)


def solve_stages(
    key: SecretKey, plan: SolvePlan, *, entropy: Entropy
) -> list[list[AnswerRule[Any]]]:
    """The key holder's stages of one solve: the matrix once, then the plan's steps."""
    held = FixedFactors(key)
    return [
        [AnswerRule(FixedFactor, held.keep, 1)],
        [direction_rule(held, budget=plan.steps, entropy=entropy)],
    ]


def own_stages(key: SecretKey, plan: SolvePlan, *, entropy: Entropy) -> list[list[AnswerRule[Any]]]:
    """The key holder's stages of a solve whose evaluator has a key pair of its own."""
    held = OwnFactors(key, plan.masking, uses=plan.steps)
    return held.stages(budget=plan.steps, entropy=entropy)


def _check(A: Encrypted, b: Encrypted, plan: SolvePlan) -> None:
    slots = plan.slots(A.key.plaintext_bits)
    for name, tensor, layout, bits in (
        ("A", A, Layout((plan.size, plan.size), slots), plan.matrix_bits),
        ("b", b, Layout((plan.size,), slots), plan.matrix_bits + plan.fraction_bits),
    ):
        if tensor.layout != layout or tensor.scale.fraction_bits != bits:
            raise MismatchError(
                f"S.Solve: expected {name} as {layout} with {bits} fraction bits, found "
                f"{tensor.layout} with {tensor.scale.fraction_bits}"
            )
