"""Learner `rado-descent` in a study: gradient descent on rados that were added up encrypted.

    peers                          evaluator E                          coordinator C (key)
      │ ⟨⟨π_p⟩⟩ by rado and by feature, in a blind sum ══▶│ ⟨⟨π⟩⟩ = Σ_p ⟨⟨π_p⟩⟩      │
      │                             │── protocols/rado_descent, for every class ──▶│
      │                             │◀────────────────── encrypted answers ────────│

It minimises the paper's exponential rado loss, with θ encrypted throughout. Who learns what: C sees
noise; E holds ciphertexts, and learns one bit for each step and class: whether exponents are in
range (if not, the study stops). Assuming that C and E do not pool what they saw.
"""

from collections.abc import Sequence
from typing import Any

from sottovoce.entropy import Entropy
from sottovoce.paillier import SecretKey, SparseRows, Unsent, stack
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.rado_descent import sealed_theta
from sottovoce.protocols.rado_descent.steps import EncryptedRados
from sottovoce.study.stages.encrypted.descent_numbers import MOST_DOCUMENTS, DescentNumbers
from sottovoce.study.stages.encrypted.model_folding import CUTS, folded, model_of
from sottovoce.study.stages.encrypted.uploads import SealedRows


def descend_classes(
    sums: Sequence[Unsent], numbers: DescentNumbers, *, entropy: Entropy
) -> Party[list[Unsent]]:
    """Return ⟨⟨θ⟩⟩ of every class from the sums of all peers' rados in both forms."""
    plan, thetas = numbers.descent, []
    for number in range(0, len(sums), 2):
        # The bounds are those of the sum over all peers.
        rados = EncryptedRados(
            sums[number].within(plan.rado_scale), sums[number + 1].within(plan.column_scale)
        )
        theta = yield from sealed_theta.descend_sealed(rados, plan, entropy=entropy)
        # The same integers, read as the weights of rows.
        thetas.append(Unsent(theta.key, theta.residues, theta.layout, numbers.theta_scale))
    return thetas


def descent_model(
    sums: Sequence[Unsent], numbers: DescentNumbers, *, entropy: Entropy
) -> Party[Unsent]:
    """Return the encrypted model, folded for labels."""
    thetas = yield from descend_classes(sums, numbers, entropy=entropy)
    masking, columns = numbers.descent.masking, []
    for theta in thetas:
        column = yield from folded(theta, numbers.scores, masking, entropy=entropy)
        columns.append(column)
    return model_of(columns, numbers.scores)


def descent_stages(
    key: SecretKey, numbers: DescentNumbers, *, entropy: Entropy, folds: bool
) -> list[list[AnswerRule[Any]]]:
    """Return the key holder's stages: a descent for each class, then two cuts of each θ."""
    classes = numbers.scores.classes
    cuts = [0] * (classes - 1) + [CUTS * classes if folds else 0]
    return [
        stage
        for after in cuts
        for stage in sealed_theta.stages(key, numbers.descent, entropy=entropy, cuts=after)
    ]


def built_rados(
    parts: Sequence[SealedRows], numbers: DescentNumbers, *, entropy: Entropy
) -> list[Unsent]:
    """At the intermediary: return both forms for every class; its signatures are not kept.

    A rado is the product of a few ciphertexts, so the key holder is not asked.
    """
    plan, width = numbers.descent, numbers.width
    edges = stack([row for part in parts for row in part.rows])
    bits = edges.key.plaintext_bits
    by_rado, by_feature = plan.feature_slots(bits), plan.rado_slots(bits)
    taken = numbers.taken(len(edges), seed=entropy.seed())
    drawn = SparseRows.of(taken, reach=MOST_DOCUMENTS) @ edges
    built = []
    for number in range(numbers.study.plan.labels.width):
        own = drawn[:, number * width : (number + 1) * width].within(plan.rado_scale)
        centred = (own * plan.rados - _repeated_sum(own)).divided(plan.centring_bits)
        columns = centred.within(plan.column_scale).T
        built += [own.packed(by_rado), columns.packed(by_feature)]
    return built


def _repeated_sum(rados: Unsent) -> Unsent:
    return stack([rados.sum(axis=0)] * len(rados))
