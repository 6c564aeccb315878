"""Engine paillier for a whole study: moments and solve on ciphertexts, without a dealer.

    peer p                          coordinator C (key)                   evaluator E
      │ upper end of its spectrum, in a blind sum ══▶│══════════════════════▶│
      │◀──────── AgreedCeiling ──────────────────────│                       │
      │ ⟨⟨A_p⟩⟩, ⟨⟨b_p⟩⟩ under masks, in a blind sum ═══════════════════════▶│ adds λΓ
      │                                 │◀── two_party/moment_check.py ───── │ once
      │                                 │◀── two_party/solve.py, residual.py │ every class
      │                                 │◀── two_party/truncation.py, twice  │ θ times idf
      │◀─────────────────────────────── EncryptedModel ──────────────────────│

E has a key pair of its own for the masks of the solve (two_party/own_masks.py). Who learns
what: C sees noise, the totals and c; E sees noise, ciphertexts that it cannot open, the totals,
c, one bit that is true unless the moments weigh more than the published rows can, and one bit a
class that is true unless c was wrong. Assuming that C and E do not
pool: together they could rebuild text of the union of all peers.
"""

from collections.abc import Sequence
from math import ceil, sqrt
from typing import Any, ClassVar

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.errors import ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.rounding import rounded_up
from sottovoce.paillier import (
    Ciphertext,
    ForKeyHolder,
    Layout,
    PublicKey,
    SecretKey,
    Unsent,
    decrypt_residues,
)
from sottovoce.protocols.blind_sum import SummedVector, WordSpace, pairwise
from sottovoce.protocols.blind_sum.plan import Plan
from sottovoce.protocols.casting import Cast, agreed_from
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import BY_PEERS_AND_EVALUATOR, TWO_DO_NOT_POOL
from sottovoce.protocols.guard import AnswerGuard, AnswerRule, serve
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.sealed_model import closing
from sottovoce.protocols.shares.moment_check import heavier_than_rows
from sottovoce.protocols.two_party.comparison import sign_rules
from sottovoce.protocols.two_party.matrices import FixedFactors, matrix_product
from sottovoce.protocols.two_party.moment_check import (
    moment_check_stage,
    moments_are_plausible,
)
from sottovoce.protocols.two_party.products import MaskedVectors, answer_vectors
from sottovoce.protocols.two_party.residual import solve_checked
from sottovoce.protocols.two_party.solve import SolvePlan, own_stages
from sottovoce.protocols.two_party.truncation import truncation_rule
from sottovoce.rados.moments import Moments
from sottovoce.study.choices import Contribution
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.model import (
    EncryptedModel,
    PeerModel,
    release_share,
    take_model,
)
from sottovoce.study.queries.scoring import ScorePlan, half_slots, slots_of
from sottovoce.study.release import Opens
from sottovoce.study.stages.agreement import Agreement
from sottovoce.study.stages.blocks import compare_counts, own_blocks, show_counts
from sottovoce.study.stages.centring import WHOLE
from sottovoce.study.stages.contributions import (
    check_weight,
    drawn_moments,
    end_parts,
)
from sottovoce.study.stages.encrypted.ciphertext_sum import add_ciphertexts, carry_sum, take_sum
from sottovoce.study.stages.encrypted.descent_numbers import DescentNumbers
from sottovoce.study.stages.encrypted.encrypted_numbers import (
    MATRIX_BITS,
    EncryptedNumbers,
    LearnerNumbers,
    Own,
    numbers_of,
)
from sottovoce.study.stages.encrypted.intermediary import (
    answer_intermediaries,
    through_intermediary,
)
from sottovoce.study.stages.encrypted.model_folding import CUTS, class_slots, folded, model_of
from sottovoce.study.stages.encrypted.rado_descent import descent_model, descent_stages
from sottovoce.study.stages.encrypted.uploads import own_rows
from sottovoce.study.stages.listing import Lists, completed, own_columns, part_of
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.study import Study
from sottovoce.text.documents import Document

# A spectrum of sampled rados exceeds its agreed end with a probability of about e^-24.
_RARE = 14.0


class AgreedCeiling(Message, frozen=True):
    """The upper end of the joint spectrum, in units of 1/256, rounded up to two digits."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_PEERS_AND_EVALUATOR,
        reveals="how strongly all rows together point in one direction, rounded up",
        assuming="it is over at least as many peers as the plan asks for",
    )
    parts: int
    peers: tuple[str, ...]


class CoveredModel(Message, frozen=True):
    """The model under masks uniform in Z_N, where the plan releases it to the peers."""

    discloses: ClassVar = Disclosure(
        seen_by="the coordinator, who can decrypt it",
        reveals="nothing: the masks are uniform, used once, and the evaluator's own",
        assuming=TWO_DO_NOT_POOL,
    )
    weights: ForKeyHolder


def _own(party: PartyContext, prepared: Prepared, training: Sequence[Document]) -> Party[Own]:
    """At a peer: return what it computes in the clear, before anything is encrypted."""
    if party.study.plan.arrangement.by_features:
        joint = own_blocks(party, prepared, training)
        yield from show_counts(party, joint)
        return Own(joint.moments, joint.rows)
    helped = party.study.roster.intermediary(party.name) is not None
    if helped or party.study.plan.descends:
        mine = own_rows(party.study, prepared, training)
        moments = Moments.of(mine.rows, np.zeros(len(mine.rows)))
        check_weight(party.name, moments, prepared.totals)
        return Own(moments, brought=mine if helped else None, edges=mine.edges)
    return Own(drawn_moments(party, prepared, training))


def told_end(study: Study, own: Own) -> int:
    """Return an upper end of the peer's spectrum, also if an intermediary will sample rados.

    n random signs of m rows increase a spectrum by a factor of at most (1 + √(m/n) + t/√n)², except
    with a probability of about e^(−t²/8). If it happens, the residual's check stops the study.
    """
    kind = study.plan.contribution
    if study.plan.descends:
        kind = Contribution.EXACT
    if own.brought is None or kind is Contribution.EXACT:
        return end_parts(own.moments, fraction_bits=MATRIX_BITS, contribution=kind)
    end = end_parts(own.moments, fraction_bits=MATRIX_BITS, contribution=Contribution.EXACT)
    stretch = 1 + (sqrt(own.moments.count) + _RARE) / sqrt(study.plan.rados)
    return rounded_up(ceil(end * stretch**2))


def contribute_encrypted(
    party: PartyContext, agreement: Agreement, prepared: Prepared, training: Sequence[Document]
) -> Party[tuple[list[PeerModel], tuple[str, ...]] | None]:
    """At a peer: send its moments under K and under masks, and return encrypted models."""
    study, key = party.study, agreement.paillier_key
    own = yield from _own(party, prepared, training)
    end = np.array([told_end(study, own)], np.uint64)
    plan = _ceiling_plan(party)
    summed = yield from pairwise.peer(
        plan, [end, end], who=party.member, book=party.book, entropy=party.entropy
    )
    if summed is None:
        return None
    ceiling = yield from receive(study.roster.coordinator, AgreedCeiling)
    numbers = numbers_of(study, prepared, ceiling.parts)
    if own.brought is None:
        sealed = _sealed(numbers, own, key, entropy=party.entropy)
    else:
        sealed = yield from through_intermediary(
            party, agreement, prepared, own.brought, numbers=numbers, parts=ceiling.parts
        )
    plan = numbers.sum_plan(party, key, ceiling.peers)
    added = yield from add_ciphertexts(party, plan, sealed)
    if added is None:
        return None
    models = []
    columns = own_columns(party, prepared, training)
    for candidate in study.plan.candidates:
        model = yield from receive(study.roster.evaluator, EncryptedModel)
        weights = completed(party, model.weights, numbers.scores, columns)
        model = EncryptedModel(weights, model.ceiling_parts, model.floor_share)
        kept = take_model(study, prepared, model, scores=numbers.scores, candidate=candidate)
        models.append(kept)
    return models, added.peers


def _sealed(
    numbers: LearnerNumbers, own: Own, key: PublicKey, *, entropy: Entropy
) -> list[Ciphertext]:
    """At a peer: return what it adds to the blind sum."""
    if isinstance(numbers, DescentNumbers):
        return numbers.sealed(own.edges, key, seed=entropy.seed(), entropy=entropy)
    return numbers.sealed(own, key, entropy=entropy)


def answer_encrypted(
    party: PartyContext, prepared: Prepared, key: SecretKey
) -> Party[tuple[ScorePlan, tuple[str, ...]]]:
    """At the coordinator: carry both sums, and answer the evaluator's masked questions."""
    study = party.study
    if study.plan.arrangement.by_features:
        yield from compare_counts(study)
    plan = _ceiling_plan(party)
    summed = yield from pairwise.coordinator(plan, who=party.member, book=party.book)
    parts = rounded_up(int(summed.sums[0][0]))
    for name in (*summed.peers, study.roster.evaluator):
        yield Send(name, AgreedCeiling(parts, summed.peers))
    numbers = numbers_of(study, prepared, parts)
    yield from answer_intermediaries(party, prepared, key, numbers, summed.peers)
    added = yield from carry_sum(party, numbers.sum_plan(party, key.public, summed.peers))
    stages = _learner_stages(key, numbers, entropy=party.entropy)
    yield from serve(AnswerGuard(study.roster.evaluator, stages, codec=study.codec(key.public)))
    return numbers.scores, added.peers


def _learner_stages(
    key: SecretKey, numbers: LearnerNumbers, *, entropy: Entropy
) -> list[list[AnswerRule[Any]]]:
    """Return the key holder's stages for all models."""
    if isinstance(numbers, DescentNumbers):
        return descent_stages(key, numbers, entropy=entropy, folds=True)
    stages = _joining_stages(key, numbers.study, entropy=entropy)
    stages.append(moment_check_stage(key, entropy=entropy))
    return stages + [
        stage
        for _ in range(numbers.scores.classes * len(numbers.study.plan.candidates))
        for stage in _stages(key, numbers.solve, entropy=entropy)
    ]


def _joining_stages(
    key: SecretKey, study: Study, *, entropy: Entropy
) -> list[list[AnswerRule[Any]]]:
    """Return the key holder's stages before the solves: the product of block columns."""
    if not study.plan.arrangement.by_features:
        return []
    return FixedFactors(key).stages(budget=1, entropy=entropy)


def open_covered(
    party: PartyContext, scores: ScorePlan, key: SecretKey, peers: Sequence[str]
) -> Party[None]:
    """At the coordinator: open noise, its share of the model, and send it to the peers."""
    study, model = party.study, scores.model
    if study.plan.release.opens is not Opens.WEIGHTS:
        return
    covered_model = yield from receive(study.roster.evaluator, CoveredModel)
    layout = Layout(model.shape, class_slots(scores)).cover()
    scale = Scale(model.scale.fraction_bits, key.public.plaintext_bound)
    covered = agreed_from(study.roster.evaluator, covered_model.weights, layout, scale)
    share = slots_of(decrypt_residues(key, covered), class_slots(scores), model.ring)
    yield from release_share(study, peers, share.reshape(model.shape))


def _stages(key: SecretKey, plan: SolvePlan, *, entropy: Entropy) -> list[list[AnswerRule[Any]]]:
    """Return the key holder's stages for one class: the solve, its check, and two cuts of θ."""
    return [
        *own_stages(key, plan, entropy=entropy),
        [
            truncation_rule(key, budget=1 + CUTS, entropy=entropy),
            AnswerRule(MaskedVectors, lambda q: answer_vectors(key, q, entropy=entropy), 1),
            *sign_rules(key, budget=1, numbers=1, entropy=entropy),
        ],
    ]


def solve_encrypted(
    party: PartyContext, agreement: Agreement, prepared: Prepared, lists: Lists
) -> Party[tuple[ScorePlan, list[Unsent], tuple[str, ...]]]:
    """At the evaluator: add up the sealed moments, solve with the key holder, send ⟨⟨θ⟩⟩."""
    study, key = party.study, agreement.paillier_key
    plan = _ceiling_plan(party)
    summed = yield from pairwise.evaluator(
        plan, who=party.member, book=party.book, entropy=party.entropy
    )
    ceiling = yield from receive(study.roster.coordinator, AgreedCeiling)
    if (ceiling.parts, ceiling.peers) != (rounded_up(int(summed.sums[0][0])), summed.peers):
        raise ViolationError(
            "the upper end is not the one that we opened ourselves",
            party=study.roster.coordinator,
        )
    numbers = numbers_of(study, prepared, ceiling.parts)
    added = yield from take_sum(party, numbers.sum_plan(party, key, ceiling.peers))
    cast = Cast(added.peers, study.roster.coordinator, study.roster.evaluator)
    program = _models(numbers, added.sums, peers=len(added.peers), entropy=party.entropy)
    models = yield from cast.seated(closing(program))
    for model in models:
        sent = model.fresh(entropy=party.entropy)
        for name in added.peers:
            yield Send(name, EncryptedModel(part_of(sent, lists, name), ceiling.parts, WHOLE))
    return numbers.scores, models, added.peers


def _models(
    numbers: LearnerNumbers, sums: Sequence[Unsent], *, peers: int, entropy: Entropy
) -> Party[list[Unsent]]:
    """Return a model for every penalty, after checking the weight of the moments."""
    if isinstance(numbers, DescentNumbers):
        return [(yield from descent_model(sums, numbers, entropy=entropy))]
    # The evaluator's own key pair, for this study only: see two_party/own_masks.py.
    own = numbers.study.plan.generate(entropy=entropy)
    models = []
    if numbers.study.plan.arrangement.by_features:
        sums = (yield from _joined(numbers, sums[0], entropy=entropy)), *sums[1:]
    # The bounds are those of the sum over all peers.
    second = sums[0].within(numbers.matrix_scale)
    vectors = [vector.within(numbers.vector_scale) for vector in sums[1:]]
    yield from _check(numbers, second, vectors, peers=peers, entropy=entropy)
    for index in range(len(numbers.penalties)):
        model = yield from _model(numbers, second, vectors, index, own=own, entropy=entropy)
        models.append(model)
    return models


def _check(
    numbers: EncryptedNumbers,
    second: Unsent,
    vectors: Sequence[Unsent],
    *,
    peers: int,
    entropy: Entropy,
) -> Party[None]:
    """Raise unless the joint moments are possible for the published rows."""
    bounds = numbers.heaviest(peers)
    masking = numbers.solve.masking
    plausible = yield from moments_are_plausible(
        second, vectors, bounds, masking=masking, entropy=entropy
    )
    if not plausible:
        raise heavier_than_rows()


def _joined(numbers: EncryptedNumbers, columns: Unsent, *, entropy: Entropy) -> Party[Unsent]:
    """Return ⟨⟨Σ_blocks u uᵀ⟩⟩ from joined columns."""
    columns = columns.within(numbers.column_scale)
    rows = columns.packed(numbers.solve.slots(columns.key.plaintext_bits))
    masking = numbers.solve.masking
    return (yield from matrix_product(columns.T, rows, entropy=entropy, masking=masking))


def _model(
    numbers: EncryptedNumbers,
    second: Unsent,
    vectors: Sequence[Unsent],
    index: int,
    *,
    own: SecretKey,
    entropy: Entropy,
) -> Party[Unsent]:
    """Return folded ⟨⟨θ⟩⟩, all classes of a word in one ciphertext."""
    scores, plan = numbers.scores, numbers.solve
    A = second + numbers.penalty(index)
    columns = []
    for b in vectors:
        solved = yield from solve_checked(A, b, plan, entropy=entropy, own=own)
        theta = solved.theta.within(scores.solution)
        columns.append((yield from folded(theta, scores, plan.masking, entropy=entropy)))
    return model_of(columns, scores)


def cover(
    party: PartyContext, scores: ScorePlan, model: Unsent, peers: Sequence[str]
) -> Party[None]:
    """At the evaluator: send the coordinator the masked model, and peers the masks."""
    study, plan, modulus = party.study, scores.model, model.key.modulus
    if study.plan.release.opens is not Opens.WEIGHTS:
        return
    slots = class_slots(scores)
    secrets = [party.entropy.below(modulus) for _ in model.residues]
    masks = [(secret + half_slots(slots)) % modulus for secret in secrets]
    covered = model.cover(masks).for_key_holder(entropy=party.entropy)
    yield Send(study.roster.coordinator, CoveredModel(covered))
    share = plan.ring.reduce(np.negative(slots_of(secrets, slots, plan.ring)))
    yield from release_share(study, peers, share.reshape(plan.shape))


def _ceiling_plan(party: PartyContext) -> Plan:
    roster = party.study.roster
    parts = tuple(
        SummedVector(name, "spectrum", WordSpace((1,)))
        for name in (roster.coordinator, roster.evaluator)
    )
    return Plan(party.round("spectrum", party.peers), parts)
