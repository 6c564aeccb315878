"""RadoLearn with encrypted rados and θ in the clear, for a row of the paper's table only.

    peers                         evaluator                             key holder
      ── SealedRados ⟨⟨π⟩⟩ ──▶     θ = 0
                                  masks the rados once ── FixedFactor ──▶
                                  every step:
                                    ⟨⟨x⟩⟩ = −θ ⊗ ⟨⟨π⟩⟩: no trip
                                    ⟨⟨w⟩⟩ = exp(x) ◀── S.Exp: k trips ──▶
                                    ⟨⟨Σwπ⟩⟩, ⟨⟨Σw⟩⟩ ◀── S.MatProd: a trip ──▶
                                    Σwπ, Σw ◀── opened: a trip ──▶
                                    θ ← θ + rate·(Σwπ/Σw − 2γθ), accelerated

What θ shows. The evaluator sees Σwπ and Σw in every step. From θ = 0 all weights are equal, so the
first sum is the mean b of all rados, up to a public factor. Each further step shows one more
weighted mean of them and the value of the loss. With weights that the evaluator can compute from θ,
enough of these are linear equations for the rados themselves, and documents can be recovered from
rados of sparse text. So this is only for comparison with the paper on public data, never for a
study: `sealed_theta` costs little more and shows nothing.

The key holder learns nothing: shapes, the number of steps, and noise. Assumption:
both follow the protocol and do not pool what they saw.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.paillier import Plain, PublicKey, SecretKey
from sottovoce.paper.rado_learn.learner import (
    DescentTerms,
    check_rados,
    collect,
    contributor,
    coordinator,
)
from sottovoce.paper.rado_learn.opening import open_sums, opening_rule
from sottovoce.protocols.ciphertexts import ciphertexts_under
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.rado_descent.plan import DescentPlan
from sottovoce.protocols.rado_descent.steps import (
    BY_RADO,
    EncryptedRados,
    exponents_of,
    first_sums,
    weigh,
)
from sottovoce.protocols.rado_descent.twin import Wide, accelerated, mean_factor, moved, quotient
from sottovoce.protocols.runner import Outcome, converse
from sottovoce.protocols.sealed_model import closing
from sottovoce.protocols.two_party.directions import direction_rule
from sottovoce.protocols.two_party.lines import line_rule
from sottovoce.protocols.two_party.matrices import FixedFactor, FixedFactors, FixedOperand, fix
from sottovoce.wire import Codec


def descend_in_plain(rados: EncryptedRados, plan: DescentPlan, *, entropy: Entropy) -> Party[Plain]:
    """At the evaluator: θ after all steps, in plain, from rados that stay encrypted."""
    rows = yield from fix(rados.by_rado, entropy=entropy, place=BY_RADO, masking=plan.masking)
    ahead, theta = (np.zeros(plan.features, dtype=object) for _ in range(2))
    for step in range(plan.schedule.steps):
        if step == 0:
            (sums,) = yield from open_sums([first_sums(rados.by_rado)], entropy=entropy)
            pull = sums.integers.astype(object) * mean_factor(plan)
        else:
            pull = yield from _pull(rados, rows, ahead, plan, entropy=entropy)
        following = moved(ahead, pull, plan)
        ahead = accelerated(following, theta, plan, step) >> plan.ahead_cut.bits
        theta = following
    return Plain(theta, plan.following_scale)


def _pull(
    rados: EncryptedRados, rows: FixedOperand, ahead: Wide, plan: DescentPlan, *, entropy: Entropy
) -> Party[Wide]:
    product = Plain(ahead, plan.theta_scale) @ rados.by_feature
    exponents = exponents_of(product, plan)
    weighted = yield from weigh(exponents, rows, plan, entropy=entropy)
    sums, total = yield from open_sums([weighted.sums, weighted.total], entropy=entropy)
    return quotient(sums.integers.astype(object), int(total.integers), plan)


def stages(key: SecretKey, plan: DescentPlan, *, entropy: Entropy) -> list[list[AnswerRule[Any]]]:
    """The key holder's stages: the rados once, then every step after the first."""
    held = FixedFactors(key)
    steps = max(1, plan.schedule.steps - 1)
    return [
        [AnswerRule(FixedFactor, held.keep, 1)],
        [
            direction_rule(held, budget=steps, entropy=entropy),
            line_rule(key, budget=steps * plan.schedule.squarings, entropy=entropy),
            opening_rule(key, budget=plan.schedule.steps),
        ],
    ]


def evaluator_who_sees_theta(
    terms: DescentTerms, *, key: PublicKey, entropy: Entropy
) -> Party[Plain]:
    """At the evaluator of the paper's table: θ in plain."""
    rados = yield from collect(terms, key=key)
    return (
        yield from terms.cast.seated(closing(descend_in_plain(rados, terms.plan, entropy=entropy)))
    )


def run_showing_theta(
    terms: DescentTerms, rados: Mapping[str, Plain], *, key: SecretKey, entropy: Entropy
) -> Outcome:
    """The whole story in memory, for the paper's table: the evaluator ends with θ in plain."""
    check_rados(terms, rados)
    cast, public = terms.cast, key.public
    programs: dict[str, Party[Any]] = {
        name: contributor(terms, name, rados[name], key=public, entropy=entropy)
        for name in cast.peers
    }
    answers = stages(key, terms.plan, entropy=entropy)
    programs[cast.coordinator] = coordinator(terms, answers, key=key)
    programs[cast.evaluator] = evaluator_who_sees_theta(terms, key=public, entropy=entropy)
    return converse(programs, codec=Codec(ciphertexts_under(public)))
