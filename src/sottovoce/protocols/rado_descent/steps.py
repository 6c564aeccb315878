"""The common parts of both descents on encrypted rados: weights, their sums, the first pull."""

from dataclasses import dataclass

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Encrypted, Plain, Unsent
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.rado_descent.plan import DescentPlan
from sottovoce.protocols.rado_descent.twin import centre_units, mean_factor
from sottovoce.protocols.two_party.directions import cut_times_fixed
from sottovoce.protocols.two_party.exponential import exponential
from sottovoce.protocols.two_party.matrices import FixedOperand

# Where the key holder keeps the masked rados: by rado, and by feature.
BY_RADO, BY_FEATURE = 0, 1


@dataclass(frozen=True)
class WeightedSums:
    """⟨⟨Σwπ⟩⟩ packed, and ⟨⟨Σw⟩⟩ as one number."""

    sums: Unsent
    total: Unsent


@dataclass(frozen=True)
class EncryptedRados:
    """All peers' rados at the evaluator: a packed row for each rado, and one for each feature.

    Where exponents are counted from their mean, the rows for features are n·π − Σπ, at a scale n
    times smaller.
    """

    by_rado: Encrypted
    by_feature: Encrypted


def exponents_of(product: Encrypted, plan: DescentPlan) -> Unsent:
    """⟨⟨−π·ahead⟩⟩ from ⟨⟨π·ahead⟩⟩, counted from the schedule's centre."""
    scale = plan.exponentials.input_scale
    room = max(scale.bound, abs(centre_units(plan)))
    centre = Plain(
        np.full(product.shape, -centre_units(plan), dtype=object),
        Scale(scale.fraction_bits, room),
    )
    return (-product + centre).within(scale)


def weigh(
    exponents: Encrypted, rados: FixedOperand, plan: DescentPlan, *, entropy: Entropy
) -> Party[WeightedSums]:
    """Return both weighted sums; weights of the rados are S.Exp of their exponents, cut."""
    weights = yield from exponential(exponents, plan.exponentials, entropy=entropy)
    cut = yield from cut_times_fixed(
        weights, rados, plan.weight_cut, product=plan.sum_scale, entropy=entropy
    )
    return WeightedSums(cut.product, cut.values.sum().within(plan.total_scale))


def first_sums(by_rado: Encrypted) -> Unsent:
    """Return ⟨⟨Σπ⟩⟩: at θ = 0 all weights are equal, so no question to the key holder is needed."""
    return by_rado.sum(axis=0)


def first_pull(by_rado: Encrypted, plan: DescentPlan) -> Unsent:
    """The mean of all rados, on the grid of pulls."""
    bits = plan.pull_bits - plan.bits.rado
    return (first_sums(by_rado) * mean_factor(plan)).divided(bits).within(plan.pull_scale)
