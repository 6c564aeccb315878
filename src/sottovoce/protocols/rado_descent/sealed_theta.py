"""RadoLearn with rados and θ both encrypted: nobody sees where the descent goes.

    peers                         evaluator                             key holder
      ── SealedRados ⟨⟨π⟩⟩ ──▶     masks the rados once, in both forms ── FixedFactor ──▶
                                  ⟨⟨θ⟩⟩ = rate ⊗ ⟨⟨mean of π⟩⟩: no trip
                                  every further step:
                                    ⟨⟨x⟩⟩ = −⟨⟨π·ahead⟩⟩ ◀── S.MatProd: a trip ──▶
                                    is x in range? ◀── range_check.py, if centred ──▶
                                    ⟨⟨w⟩⟩ = exp(x) ◀── S.Exp: k trips ──▶
                                    ⟨⟨Σwπ⟩⟩, ⟨⟨Σw⟩⟩ ◀── S.MatProd: a trip ──▶
                                    ⟨⟨1/Σw⟩⟩ ◀── S.Div, S.Trunc: a few trips ──▶
                                    ⟨⟨pull⟩⟩ = ⟨⟨Σwπ/Σw⟩⟩ ◀── S.Mult: a trip ──▶
                                    ⟨⟨θ⟩⟩, ⟨⟨ahead⟩⟩: public multiples, no trip

Nobody learns anything: the evaluator holds ciphertexts, the key holder sees shapes,
the number of steps (public) and noise within 2^−κ. Assumption: both follow the
protocol and do not pool what they saw; with the key, the evaluator's ciphertexts are
the rados and θ.

A plan that is not `centred` is for public data: nobody can see whether exponents, θ and the loss
stay within its ranges; outside them the result is wrong and the masks no longer hide. In a centred
plan the evaluator learns, before every exponential, that exponents are in range.
"""

from dataclasses import dataclass
from typing import Any

from sottovoce.entropy import Entropy
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Encrypted, Layout, SecretKey, Unsent
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.rado_descent.plan import COEFFICIENT_BITS, DescentPlan
from sottovoce.protocols.rado_descent.range_check import LINES, check_range, range_rules
from sottovoce.protocols.rado_descent.steps import (
    BY_FEATURE,
    BY_RADO,
    EncryptedRados,
    WeightedSums,
    exponents_of,
    first_pull,
    weigh,
)
from sottovoce.protocols.two_party.directions import cut_times_fixed, direction_rule
from sottovoce.protocols.two_party.division import DivPlan, reciprocal
from sottovoce.protocols.two_party.lines import cut_and_multiply, line_rule
from sottovoce.protocols.two_party.matrices import FixedFactor, FixedFactors, FixedOperand, fix
from sottovoce.protocols.two_party.truncation import Cut, truncate, truncation_rule

# Additional fraction bits of 1/Σw; the multiplication cuts them off again.
_GUARD_BITS = 1


def descend_sealed(rados: EncryptedRados, plan: DescentPlan, *, entropy: Entropy) -> Party[Unsent]:
    """At the evaluator: ⟨⟨θ⟩⟩ after all steps, packed, on the grid of `plan.following_scale`."""
    rows = yield from fix(rados.by_rado, entropy=entropy, place=BY_RADO, masking=plan.masking)
    columns = yield from fix(
        rados.by_feature, entropy=entropy, place=BY_FEATURE, masking=plan.masking
    )
    descent = _Descent(rows, columns, plan)
    theta = (first_pull(rados.by_rado, plan) * plan.rate).divided(COEFFICIENT_BITS)
    theta = theta.within(plan.following_scale)
    before: Unsent | None = None
    for step in range(1, plan.schedule.steps):
        ahead = _accelerated(theta, before, plan, step - 1)
        before, theta = theta, (yield from descent.step(ahead, step, entropy=entropy))
    return theta


@dataclass(frozen=True)
class _Descent:
    """One descent at the evaluator: the rados, masked at the key holder, and the plan."""

    rows: FixedOperand
    columns: FixedOperand
    plan: DescentPlan

    def step(self, ahead: Unsent, step: int, *, entropy: Entropy) -> Party[Unsent]:
        """⟨⟨θ⟩⟩ after one more step."""
        plan = self.plan
        cut = yield from cut_times_fixed(
            ahead, self.columns, plan.ahead_cut, product=self._reach, entropy=entropy
        )
        exponents = yield from self._exponents(cut.product, step, entropy=entropy)
        weighted = yield from weigh(exponents, self.rows, plan, entropy=entropy)
        pull = yield from _pull(weighted, plan, entropy=entropy)
        shift = plan.pull_bits - plan.bits.theta
        kept = (cut.direction * (plan.shrink << shift)).divided(shift + COEFFICIENT_BITS)
        moved = (pull * plan.rate).divided(COEFFICIENT_BITS)
        return (kept + moved).within(plan.following_scale)

    @property
    def _reach(self) -> Scale:
        """The scale of products of rados and θ; the bound is an assumption if it is not checked."""
        plan, inputs = self.plan, self.plan.exponentials.input_scale
        if plan.centred:
            return plan.range_check.exponents
        centre = Scale.covering(abs(plan.schedule.centre), fraction_bits=inputs.fraction_bits)
        return inputs.plus(centre)

    def _exponents(self, product: Encrypted, step: int, *, entropy: Entropy) -> Party[Unsent]:
        plan = self.plan
        if not plan.centred:
            return exponents_of(product, plan)
        within = plan.exponentials.input_scale
        return (
            yield from check_range(
                -product, plan.range_check, within=within, entropy=entropy, step=step
            )
        )


def _pull(weighted: WeightedSums, plan: DescentPlan, *, entropy: Entropy) -> Party[Unsent]:
    """Return ⟨⟨Σwπ / Σw⟩⟩, from one inverse that is repeated for every feature."""
    division = division_plan(plan)
    key, layout = weighted.sums.key, weighted.sums.layout
    total = weighted.total.reshaped(1).packed(division.slots(key.plaintext_bits))
    inverse = yield from reciprocal(total, division, entropy=entropy)
    spare = inverse.scale.fraction_bits - plan.bits.inverse - _GUARD_BITS
    short = yield from truncate(inverse, spare, entropy=entropy, masking=plan.masking)
    factors = _repeated(short, layout)
    lines = yield from cut_and_multiply(
        [factors, weighted.sums], _product_cuts(factors.scale, plan), entropy=entropy
    )
    return lines.products[1].within(plan.pull_scale)


def division_plan(plan: DescentPlan) -> DivPlan:
    """The division by Σw: from public numbers alone."""
    low, high = plan.total_range
    return DivPlan(
        low,
        high,
        divisor_bits=plan.bits.weight,
        quotient_bits=plan.bits.inverse + _GUARD_BITS,
        tolerance=2.0**-18,
        masking=plan.masking,
    )


def _product_cuts(inverse: Scale, plan: DescentPlan) -> list[Cut]:
    sums = plan.sum_scale
    return [
        Cut.of(inverse, _GUARD_BITS, plan.masking),
        Cut.of(sums, sums.fraction_bits - plan.bits.pull, plan.masking),
    ]


def _repeated(value: Encrypted, layout: Layout) -> Unsent:
    """Repeat one encrypted value in every slot of a packed vector: a power for each ciphertext."""
    slots = layout.slots
    assert slots is not None
    key, left = value.key, layout.line_values
    ones = []
    while left > 0:
        ones.append(sum(1 << slots.width * place for place in range(min(left, slots.count))))
        left -= slots.count
    residues = key.square.powers([value.residues[0]] * len(ones), ones)
    return Unsent(key, tuple(residues), layout, value.scale)


def _accelerated(theta: Unsent, before: Unsent | None, plan: DescentPlan, step: int) -> Unsent:
    """⟨⟨θ + momentum·(θ − the θ before)⟩⟩, where the first one before was 0."""
    momentum = plan.momentum(step)
    ahead = theta * ((1 << COEFFICIENT_BITS) + momentum)
    if before is not None and momentum:
        ahead = ahead - before * momentum
    return ahead.divided(COEFFICIENT_BITS).within(plan.ahead_scale)


def stages(
    key: SecretKey, plan: DescentPlan, *, entropy: Entropy, cuts: int = 0
) -> list[list[AnswerRule[Any]]]:
    """Return the key holder's stages: the rados once in both forms, then all steps but the first.

    `cuts` are truncations that come after the last step.
    """
    held = FixedFactors(key, places=2)
    steps = max(1, plan.schedule.steps - 1)
    lines = plan.schedule.squarings + division_plan(plan).steps + 1 + LINES * plan.centred
    checks = range_rules(key, budget=steps, entropy=entropy) if plan.centred else []
    return [
        [AnswerRule(FixedFactor, held.keep, 2)],
        [
            direction_rule(held, budget=2 * steps, entropy=entropy),
            line_rule(key, budget=steps * lines, entropy=entropy),
            truncation_rule(key, budget=steps * (1 + plan.centred) + cuts, entropy=entropy),
            *checks,
        ],
    ]
