"""The part of a score that other peers hold, in partition `features`: added up, never opened.

    peer a                              who answers, q (chosen by the plan)
                                         q ── PairSeed ──▶ q'   for every pair of them
      ◀── RemoteScores ⟨⟨θ_qᵀx_q + masks⟩⟩ ──
     adds them up: the masks cancel

There are three ways to score a row of which the asker has only some features. `zero`: nothing is
added. `normalised`: each peer adds the score of its mean edge vector Σ y x / m, which is the
paper's common extra rado divided by the number of its documents; all peers get it once, at the end
of the training (`take_remotes`), and keep it with the model. `full`: every peer that answers looks
up the same entity and adds the score of its own features of it (entities.py).

Who learns what. `normalised` and `zero`: nobody learns anything, not even that somebody asks. The
asker holds ciphertexts that it cannot open. If it pooled with the coordinator, both would see the
sum of the remote parts and no single part, unless only one peer answers. Assuming that messages
between peers are sealed against the coordinator.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy import sparse

from sottovoce.entropy import SEED_BYTES, Expansion
from sottovoce.errors import InputError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Ciphertext, Encrypted, Layout, SparseRows, Unsent
from sottovoce.protocols.casting import agreed_from
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.shares.material import Context
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.model import PeerModel, model_scale
from sottovoce.study.queries.scoring import ScorePlan
from sottovoce.study.stages.holdings import integer_rows, own_reach
from sottovoce.study.study import Study
from sottovoce.text.documents import Document, digest_of

_MASKS = "roles/remote/v1"
_ANSWERED = "study/answered/v1"


class PairSeed(Message, frozen=True):
    """The seed of the cancelling masks of two answering peers, for one answer."""

    discloses: ClassVar = Disclosure(
        seen_by="one other answering peer, sealed end to end against everybody else",
        reveals="nothing: random bytes, used once",
        assuming="neither of the two gives it to the asker",
    )
    seed: bytes


class RemoteScores(Message, frozen=True):
    """Encrypted scores of one peer's own features, under masks that cancel among those asked."""

    discloses: ClassVar = Disclosure(
        seen_by="the asker, who cannot decrypt them; sealed against the coordinator",
        reveals="nothing by itself: ciphertexts, of sums that only the key holder could open",
        assuming="Paillier hides, and the asker does not pool with the coordinator",
    )
    scores: Ciphertext


@dataclass(frozen=True)
class RemoteQuestion:
    """One question for a remote part: its asker, the peers that answer, and its number."""

    asker: str
    answering: tuple[str, ...]
    number: int


def take_remotes(
    party: PartyContext, models: Sequence[PeerModel], training: Sequence[Document]
) -> Party[list[PeerModel]]:
    """At every peer, after the solve: add to every model what stands for others' columns.

    Peers take turns in the plan's order; the peer whose turn it is adds up what the others send.
    """
    arrangement = party.study.plan.arrangement
    if not arrangement.brings_rados:
        return list(models)
    parts = []
    for index, model in enumerate(models):
        number = (party.attempt.number - 1) * len(models) + index
        for asker in (holding.peer for holding in arrangement.own):
            answering = arrangement.answering_to(asker)
            if asker == party.name and not answering:
                parts.append(model)
            elif asker == party.name:
                remotes = {}
                for name in answering:
                    remotes[name] = yield from receive(name, RemoteScores)
                part = added(party, model, remotes, rows=1)
                parts.append(replace(model, remote=part.fresh(entropy=party.entropy)))
            elif party.name in answering:
                asked = RemoteQuestion(asker, answering, number)
                yield from _answer_rado(party, model, training, asked)
    return parts


def _answer_rado(
    party: PartyContext, model: PeerModel, training: Sequence[Document], asked: RemoteQuestion
) -> Party[None]:
    """At an answering peer: send the masked score of its mean edge vector."""
    party = party.drawing(_ANSWERED, digest_of(training))
    masks = yield from cancelling_masks(party, model, asked, 1)
    rado = normalised_rado(party, model, training)
    yield Send(asked.asker, RemoteScores(covered(party, model, rado, masks)))


def own_rows(
    party: PartyContext, model: PeerModel, documents: Sequence[Document]
) -> sparse.csr_array:
    """Return integer rows of a peer's own features; shared ones count at the asker alone."""
    peer = party.study.roster.peer_at(party.name)
    return integer_rows(party.study, model.space, peer, documents, key=model.key, common=False)


def normalised_rado(
    party: PartyContext, model: PeerModel, training: Sequence[Document]
) -> sparse.csr_array:
    """Return Σ y x / m over a peer's own features, rounded to the grid of rows."""
    labels = party.study.plan.labels
    signs = labels.targets(labels.membership([labels.classes(document) for document in training]))[
        :, 0
    ]
    rows = own_rows(party, model, training)
    mean = np.rint((signs @ rows) / len(training)).astype(np.int64)
    return sparse.csr_array(mean[np.newaxis, :])


def added(
    party: PartyContext,
    model: PeerModel,
    answers: Mapping[str, RemoteScores],
    *,
    rows: int,
) -> Unsent:
    """At the asker: return the sum of all answers, in which the masks cancel."""
    if not answers:
        raise InputError(f"{party.name}: no peer answers")
    key, weights = model.paillier, model.ciphertext
    layout = Layout((rows, model.scores.classes), weights.slots).cover()
    scale = Scale(weights.scale.fraction_bits, key.plaintext_bound)
    total: Encrypted | None = None
    for name, answer in answers.items():
        ciphertext = agreed_from(name, answer.scores, layout, scale)
        total = ciphertext if total is None else total + ciphertext
    assert total is not None
    _, reached = _form(party.study, model.scores, tuple(answers), rows)
    return total.uncover(scale=reached)


def remote_form(study: Study, scores: ScorePlan, peer: str) -> tuple[Layout, Scale]:
    """Return the layout and the scale of the remote part that a peer keeps."""
    return _form(study, scores, study.plan.arrangement.answering_to(peer), 1)


def _form(
    study: Study, scores: ScorePlan, answering: Sequence[str], rows: int
) -> tuple[Layout, Scale]:
    reach = sum(own_reach(study, study.roster.peer_at(name)) for name in answering)
    layout = Layout((rows, scores.classes), scores.model.slots)
    return layout, model_scale(scores).times_integer(reach)


def covered(
    party: PartyContext, model: PeerModel, rows: sparse.csr_array, masks: Sequence[int]
) -> Ciphertext:
    """Return fresh encrypted scores of rows, under masks."""
    reach = own_reach(party.study, party.study.roster.peer_at(party.name))
    scores = SparseRows.of(rows, reach=reach) @ model.ciphertext
    return scores.cover(masks).fresh(entropy=party.entropy)


def cancelling_masks(
    party: PartyContext, model: PeerModel, asked: RemoteQuestion, count: int
) -> Party[list[int]]:
    """Return masks of one answer; they cancel in the sum over all answering peers."""
    study, weights, answering = party.study, model.ciphertext, asked.answering
    if party.name not in answering:
        raise ViolationError(
            f"asks {party.name!r}, whom the plan does not let answer", party=asked.asker
        )
    context = Context.among(f"{study.digest.hex()} remote", [asked.asker], round=asked.number)
    party.ledger.spend(context, f"remote part of {party.name}")
    layout = Layout((count, model.scores.classes), weights.slots)
    modulus = weights.key.modulus
    masks = [0] * layout.ciphertexts
    place = answering.index(party.name)
    for index, name in enumerate(answering):
        if index == place:
            continue
        if index > place:
            seed = party.entropy.seed()
            yield Send(name, PairSeed(seed))
        else:
            pair_seed = yield from receive(name, PairSeed)
            if len(pair_seed.seed) != SEED_BYTES:
                raise ViolationError(f"expected a seed of {SEED_BYTES} bytes", party=name)
            seed = pair_seed.seed
        stream = Expansion(seed, _MASKS, context.encode())
        sign = 1 if index > place else -1
        masks = [(mask + sign * stream.below(modulus)) % modulus for mask in masks]
    return masks
