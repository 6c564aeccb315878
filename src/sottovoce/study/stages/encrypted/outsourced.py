"""A study of one owner: it holds data and key, and an evaluator learns on ciphertexts only.

    owner: peer (documents)            coordinator (key)                evaluator
      ── OwnersTotals ────────────────────▶ ────────────────────────────────▶
      ── TableNumbers ────────────────────▶ ────────────────────────────────▶
      ── SealedRows ⟨⟨xᵢ⟩⟩, ⟨⟨yᵢxᵢ⟩⟩ ────────────────────────────────────────▶  ⟨⟨A⟩⟩, ⟨⟨b⟩⟩
                                        ◀── masked questions, answers ─────▶  two_party/solve.py
                                        ◀── OwnersModel ⟨⟨θ⟩⟩ ───────────────
      ◀── OpenedModel θ ───────────────── decrypts θ
      ── OwnersChoice ────────────────────▶
     classifies at home

The owner has two seats: a peer with the documents, and the coordinator with the key. With several
penalties the evaluator solves for each, and the owner chooses the θ that is right most often on
documents that it held back. Nobody else learns which θ it was.

This is the paper's single-party case: the owner gives the work to a machine that it does not trust.
Who learns what. The owner: θ, and noise from the questions. The evaluator: rounded numbers of rows
and features, the upper end of the spectrum, and ciphertexts; it deletes the signatures that it
draws. Nobody else could pool with it: only the owner can decrypt, and everything to decrypt belongs
to the owner. The owner is never the evaluator. Assuming that both follow the protocol.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.entropy import Entropy
from sottovoce.errors import InputError, ViolationError
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import (
    ForKeyHolder,
    Plain,
    PublicKey,
    SecretKey,
    Unsent,
    decrypt,
    encrypt,
)
from sottovoce.protocols.casting import Cast, agreed_from
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import NUMBERS_ARE_NAMED_ON_THE_CARD, SEATS_OF_ONE_ORGANISATION
from sottovoce.protocols.guard import AnswerGuard, AnswerRule, serve
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.sealed_model import closing
from sottovoce.protocols.two_party.residual import checked_stages, solve_checked
from sottovoce.rados.moments import Moments
from sottovoce.study.candidates import Candidate
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.model import PeerModel, Trained, model_scale
from sottovoce.study.stages.agreement import Agreement
from sottovoce.study.stages.encrypted.descent_numbers import DescentNumbers
from sottovoce.study.stages.encrypted.encrypted_numbers import LearnerNumbers, Own, numbers_of
from sottovoce.study.stages.encrypted.encrypted_training import told_end
from sottovoce.study.stages.encrypted.intermediary import TableNumbers, told_totals
from sottovoce.study.stages.encrypted.rado_descent import (
    built_rados,
    descend_classes,
    descent_stages,
)
from sottovoce.study.stages.encrypted.uploads import (
    SealedRows,
    TablePlan,
    own_rows,
    product_stages,
    sealed_products,
    sealed_second,
    take_rows,
    upload_rows,
)
from sottovoce.study.stages.preparation import Prepared, prepare_alone
from sottovoce.study.stages.training import held_back_side, training_side
from sottovoce.study.study import Study
from sottovoce.study.totals import Totals
from sottovoce.text.documents import Document, digest_of
from sottovoce.text.features import FeatureReader

_OWNED = "study/owned/v1"


class OwnersTotals(Message, frozen=True):
    """The rounded numbers of rows and columns of a lone owner."""

    discloses: ClassVar = Disclosure(
        seen_by="the owner's own coordinator, and its evaluator",
        reveals="rounded numbers of rows and columns; of the classes nothing, unless they weigh",
        assuming=NUMBERS_ARE_NAMED_ON_THE_CARD,
    )
    totals: wire.Words


class OwnersModel(Message, frozen=True):
    """The model under the owner's own key: θ of every class, for every penalty."""

    discloses: ClassVar = Disclosure(
        seen_by="the owner of data and key, who decrypts it",
        reveals="the model, which is the owner's own",
        assuming="the evaluator follows the protocol",
    )
    thetas: tuple[ForKeyHolder, ...]


class OpenedModel(Message, frozen=True):
    """The model in the clear, from the owner's coordinator to the owner's peer."""

    discloses: ClassVar = Disclosure(
        seen_by="the owner's own peer, sealed against everybody else",
        reveals="the model in the clear, to the owner that has its key",
        assuming=SEATS_OF_ONE_ORGANISATION,
    )
    thetas: wire.Words


class OwnersChoice(Message, frozen=True):
    """The penalty that an owner chose, for its own coordinator."""

    discloses: ClassVar = Disclosure(
        seen_by="the owner's own coordinator",
        reveals="which of the agreed penalties was best on documents that were held back",
        assuming=SEATS_OF_ONE_ORGANISATION,
    )
    index: int


def prepare_owner(party: PartyContext, documents: Sequence[Document]) -> Party[Prepared]:
    """At the owner's peer: return dictionary and totals; send the others rounded numbers."""
    study = party.study
    party = party.drawing(_OWNED, digest_of(documents))
    prepared = prepare_alone(party, training_side(party, documents))
    totals = OwnersTotals(_shown(study, prepared.totals).written)
    for name in (study.roster.coordinator, study.roster.evaluator):
        yield Send(name, totals)
    return prepared


def hear_owner(party: PartyContext) -> Party[Prepared]:
    """At the owner's coordinator and at its evaluator: receive the numbers."""
    (owner,) = party.study.roster.peers
    received = yield from receive(owner, OwnersTotals)
    totals = Totals.read(party.study, received.totals, (owner,), sender=owner)
    return Prepared(totals, _halves(party.study, totals))


def train_owner(
    party: PartyContext, agreement: Agreement, prepared: Prepared, documents: Sequence[Document]
) -> Party[PeerModel]:
    """At the owner's peer: send the encrypted rows, and return the model."""
    study, roster, key = party.study, party.study.roster, agreement.paillier_key
    party = party.drawing(_OWNED, digest_of(documents))
    mine = own_rows(study, prepared, training_side(party, documents))
    own = Own(Moments.of(mine.rows, np.zeros(len(mine.rows))), brought=mine)
    totals, parts = _shown(study, prepared.totals), told_end(study, own)
    numbers = numbers_of(study, prepared, parts)
    for name in (roster.coordinator, roster.evaluator):
        yield Send(name, TableNumbers(totals.written, parts, totals.rows))
    table, slots = numbers.table(totals, totals.rows), numbers.row_slots(key.plaintext_bits)
    to, sent = roster.evaluator, numbers.uploaded(mine)
    yield from upload_rows(sent, table, to=to, slots=slots, key=key, entropy=party.entropy)
    thetas = _read(party, numbers, (yield from receive(roster.coordinator, OpenedModel)))
    best = _best(party, prepared, held_back_side(party, documents), thetas)
    yield Send(roster.coordinator, OwnersChoice(best))
    candidate = study.plan.candidates[best]
    return _model(party, prepared, numbers, thetas[best], key=key, candidate=candidate)


def hold_key(party: PartyContext, key: SecretKey) -> Party[Trained]:
    """At the owner's coordinator: answer masked questions, and open the model."""
    study, evaluator = party.study, party.study.roster.evaluator
    (owner,) = study.roster.peers
    table_numbers = yield from receive(owner, TableNumbers)
    totals = told_totals(study, table_numbers, owner)
    prepared = Prepared(totals, _halves(study, totals))
    numbers = numbers_of(study, prepared, table_numbers.ceiling_parts)
    table = numbers.table(totals, table_numbers.rows)
    stages = _learner_stages(key, numbers, table, entropy=party.entropy)
    yield from serve(AnswerGuard(evaluator, stages, codec=study.codec(key.public)))
    sealed = yield from receive(evaluator, OwnersModel)
    opened = opened_thetas(numbers, sealed, key=key, sender=evaluator)
    yield Send(owner, OpenedModel(wire.Words.of(np.ascontiguousarray(opened).view(np.uint64))))
    chosen = yield from receive(owner, OwnersChoice)
    if not 0 <= chosen.index < len(study.plan.candidates):
        expected = f"expected one of {len(study.plan.candidates)} penalties, found {chosen.index}"
        raise ViolationError(expected, party=owner)
    candidate = study.plan.candidates[chosen.index]
    return Trained(numbers.scores, totals, (owner,), key, candidate)


def _learner_stages(
    key: SecretKey, numbers: LearnerNumbers, table: TablePlan, *, entropy: Entropy
) -> list[list[AnswerRule[Any]]]:
    """Return the owner's stages as key holder, for every class and penalty."""
    if isinstance(numbers, DescentNumbers):
        return descent_stages(key, numbers, entropy=entropy, folds=False)
    stages = product_stages(key, table, entropy=entropy)
    for _ in range(numbers.scores.classes * len(numbers.study.plan.candidates)):
        stages += checked_stages(key, numbers.solve, entropy=entropy)
    return stages


def _halves(study: Study, totals: Totals) -> tuple[int, ...]:
    """Return placeholders: idf matters only for scores, which only the owner's peer computes."""
    return (4,) * (study.plan.features - totals.absent)


def _shown(study: Study, totals: Totals) -> Totals:
    """Return the totals for the evaluator, without classes unless these have weights."""
    if study.plan.class_weight is not None:
        return totals
    return replace(totals, by_class=(totals.rows,) * len(totals.by_class))


def opened_thetas(
    numbers: LearnerNumbers, received: OwnersModel, *, key: SecretKey, sender: str
) -> NDArray[np.float64]:
    """At the key holder: return θ of every class for every penalty, in the clear."""
    scores = numbers.scores
    penalties = len(numbers.study.plan.candidates)
    if len(received.thetas) != scores.classes * penalties:
        raise ViolationError(
            f"expected θ of {scores.classes} classes for {penalties} penalties, "
            f"found {len(received.thetas)}",
            party=sender,
        )
    layout = numbers.theta_layout(key.public.plaintext_bits)
    thetas = [agreed_from(sender, theta, layout, numbers.theta_scale) for theta in received.thetas]
    return np.column_stack([decrypt(key, part).floats() for part in thetas])


def _read(
    party: PartyContext, numbers: LearnerNumbers, received: OpenedModel
) -> list[NDArray[np.float64]]:
    """At the owner's peer: return θ for every penalty."""
    penalties = len(party.study.plan.candidates)
    expected = (numbers.width, numbers.scores.classes * penalties)
    if received.thetas.shape != expected:
        raise ViolationError(
            f"expected weights of shape {expected}, found {received.thetas.shape}",
            party=party.study.roster.coordinator,
        )
    return np.split(received.thetas.array().view(np.float64), penalties, axis=1)


def _best(
    party: PartyContext,
    prepared: Prepared,
    held_back: Sequence[Document],
    thetas: Sequence[NDArray[np.float64]],
) -> int:
    """At the owner: return the penalty that is right most often; among equals the largest."""
    plan = party.study.plan
    if len(thetas) == 1:
        return 0
    if not held_back:
        raise InputError(f"{party.name}: it has no documents to choose a penalty with")
    assert prepared.space is not None
    rows = FeatureReader(prepared.space, prepared.key).read(held_back)
    places = zip(held_back, rows.places, strict=True)
    true = [classes for each in places for classes in plan.labelled.classes(*each)]
    right = [
        sum(a == b for a, b in zip(true, plan.labels.decide(rows.unit() @ theta), strict=True))
        for theta in thetas
    ]
    return max(
        range(len(thetas)), key=lambda place: (right[place], plan.candidates[place].preference)
    )


def _model(
    party: PartyContext,
    prepared: Prepared,
    numbers: LearnerNumbers,
    theta: NDArray[np.float64],
    *,
    key: PublicKey,
    candidate: Candidate,
) -> PeerModel:
    """At the owner: return its model, in the clear and encrypted as sealed models are stored."""
    assert prepared.space is not None
    scores = numbers.scores
    plain, slots = Plain(scores.folded(theta), model_scale(scores)), scores.model.slots
    return PeerModel(
        prepared.space,
        scores,
        encrypt(key, plain, slots=slots, entropy=party.entropy),
        candidate,
        prepared.key,
        released=prepared.space.factors[:, np.newaxis] * theta,
        operating_point=party.study.plan.operating_point,
    )


def train_for_owner(party: PartyContext, agreement: Agreement) -> Party[None]:
    """At the evaluator: build moments and solve on ciphertexts; keep nothing."""
    study, holder = party.study, party.study.roster.coordinator
    (owner,) = study.roster.peers
    table_numbers = yield from receive(owner, TableNumbers)
    totals = told_totals(study, table_numbers, owner)
    prepared = Prepared(totals, _halves(study, totals))
    numbers = numbers_of(study, prepared, table_numbers.ceiling_parts)
    table = numbers.table(totals, table_numbers.rows)
    slots = numbers.row_slots(agreement.paillier_key.plaintext_bits)
    parts = yield from take_rows(owner, table, slots=slots)
    program = closing(_solved(parts, table, numbers, slots=slots, entropy=party.entropy))
    thetas = yield from Cast((), holder, party.name).seated(program)
    sent = tuple(theta.for_key_holder(entropy=party.entropy) for theta in thetas)
    yield Send(holder, OwnersModel(sent))


def _solved(
    parts: Sequence[SealedRows],
    table: TablePlan,
    numbers: LearnerNumbers,
    *,
    slots: Slots,
    entropy: Entropy,
) -> Party[list[Unsent]]:
    """Return ⟨⟨θ⟩⟩ of every class for every penalty, with the owner's answers."""
    if isinstance(numbers, DescentNumbers):
        rados = built_rados(parts, numbers, entropy=entropy)
        return (yield from descend_classes(rados, numbers, entropy=entropy))
    plan = numbers.solve
    second = yield from sealed_second(
        parts, table, slots=slots, masking=plan.masking, entropy=entropy
    )
    vectors = [product.within(numbers.vector_scale) for product in sealed_products(parts)]
    thetas = []
    for index in range(len(numbers.penalties)):
        A = second.within(numbers.matrix_scale) + numbers.penalty(index)
        for b in vectors:
            solved = yield from solve_checked(A, b, plan, entropy=entropy)
            thetas.append(solved.theta)
    return thetas
