"""RadoLearn with rados and θ both encrypted: nobody sees where the descent goes.

    peers                         evaluator                             key holder
      ── SealedRados ⟨⟨π⟩⟩ ──▶     masks the rados once, in both forms ── FixedFactor ──▶
                                  ⟨⟨θ⟩⟩ = rate ⊗ ⟨⟨mean of π⟩⟩: no trip
                                  every further step:
                                    ⟨⟨x⟩⟩ = −⟨⟨π·ahead⟩⟩ ◀── S.MatProd: a trip ──▶
                                    ⟨⟨w⟩⟩ = exp(x) ◀── S.Exp: k trips ──▶
                                    ⟨⟨Σwπ⟩⟩, ⟨⟨Σw⟩⟩ ◀── S.MatProd: a trip ──▶
                                    ⟨⟨1/Σw⟩⟩ ◀── S.Div, S.Trunc: a few trips ──▶
                                    ⟨⟨pull⟩⟩ = ⟨⟨Σwπ/Σw⟩⟩ ◀── S.Mult: a trip ──▶
                                    ⟨⟨θ⟩⟩, ⟨⟨ahead⟩⟩: public multiples, no trip

Nobody learns anything: the evaluator holds ciphertexts, the key holder sees shapes,
the number of steps (public) and noise within 2^−κ. Assumption: both follow the
protocol and do not pool what they saw; with the key, the evaluator's ciphertexts are
the rados and θ.

Whether exponents, θ and the loss keep to the plan's ranges nobody can see either: the
schedule must be chosen so that they do (on public data, or with margins), and beyond
them the result is wrong.
"""

from dataclasses import dataclass
from typing import Any

from sottovoce.entropy import Entropy
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Encrypted, Layout, SecretKey, Unsent
from sottovoce.paper.rado_learn.contribution import EncryptedRados
from sottovoce.paper.rado_learn.plan import COEFFICIENT_BITS, DescentPlan
from sottovoce.paper.rado_learn.steps import (
    BY_FEATURE,
    BY_RADO,
    WeightedSums,
    exponents_of,
    first_pull,
    weigh,
)
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.two_party.directions import cut_times_fixed, direction_rule
from sottovoce.protocols.two_party.division import DivPlan, reciprocal
from sottovoce.protocols.two_party.lines import cut_and_multiply, line_rule
from sottovoce.protocols.two_party.matrices import FixedFactor, FixedFactors, FixedOperand, fix
from sottovoce.protocols.two_party.truncation import Cut, truncate, truncation_rule

# 1/Σw keeps so many bits more until it is multiplied, which cuts them.
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
        before, theta = theta, (yield from descent.step(ahead, entropy=entropy))
    return theta


@dataclass(frozen=True)
class _Descent:
    """One descent at the evaluator: the rados, masked at the key holder, and the plan."""

    rows: FixedOperand
    columns: FixedOperand
    plan: DescentPlan

    def step(self, ahead: Unsent, *, entropy: Entropy) -> Party[Unsent]:
        """⟨⟨θ⟩⟩ after one more step."""
        plan = self.plan
        inputs = plan.exponentials.input_scale
        reach = inputs.plus(
            Scale.covering(abs(plan.schedule.centre), fraction_bits=inputs.fraction_bits)
        )
        cut = yield from cut_times_fixed(
            ahead, self.columns, plan.ahead_cut, product=reach, entropy=entropy
        )
        exponents = exponents_of(cut.product, plan)
        weighted = yield from weigh(exponents, self.rows, plan, entropy=entropy)
        pull = yield from _pull(weighted, plan, entropy=entropy)
        shift = plan.pull_bits - plan.bits.theta
        kept = (cut.direction * (plan.shrink << shift)).divided(shift + COEFFICIENT_BITS)
        moved = (pull * plan.rate).divided(COEFFICIENT_BITS)
        return (kept + moved).within(plan.following_scale)


def _pull(weighted: WeightedSums, plan: DescentPlan, *, entropy: Entropy) -> Party[Unsent]:
    """⟨⟨Σwπ / Σw⟩⟩: one inverse, which is then repeated for every feature."""
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
    """One encrypted value in every slot of a packed vector: a power for each ciphertext."""
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


def stages(key: SecretKey, plan: DescentPlan, *, entropy: Entropy) -> list[list[AnswerRule[Any]]]:
    """What a key holder answers: the rados once in both forms, then every step after the first."""
    held = FixedFactors(key, places=2)
    steps = max(1, plan.schedule.steps - 1)
    lines = plan.schedule.squarings + division_plan(plan).steps + 1
    return [
        [AnswerRule(FixedFactor, held.keep, 2)],
        [
            direction_rule(held, budget=2 * steps, entropy=entropy),
            line_rule(key, budget=steps * lines, entropy=entropy),
            truncation_rule(key, budget=steps, entropy=entropy),
        ],
    ]
