"""The part of a score that other peers hold, in partition `features`.

    asker a                             answering peers q (chosen by the plan)
      ── EntityQuestion, or RadoQuestion ──▶  q ── PairSeed ──▶ q'   for every pair of them
      ◀── RemoteScores ⟨⟨θ_qᵀx_q + masks⟩⟩ ──  or EntityUnknown
     adds them up: the masks cancel

Three ways to score a row of which the asker has some features only. `full`: every answering
peer looks up the same entity and adds the score of its own features. `normalised`: each adds
the score of its mean edge vector Σ y x / m, the paper's common extra rado divided by the number
of its documents; it is asked for once. `zero`: nothing is added, and nobody is asked.

Who learns what. `full`: the answering peers learn which entities are asked about, and when; the
asker learns of an entity that somebody does not hold. `normalised`: that a peer asks. The asker
holds ciphertexts that it cannot open; were it to pool with the coordinator, both would see the
sum of the remote parts and no single one, unless one peer alone answers. Assuming that messages
between peers are sealed against the coordinator.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from scipy import sparse

from sottovoce.entropy import SEED_BYTES, Expansion
from sottovoce.errors import InputError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Ciphertext, Encrypted, Layout, SparseRows, Unsent, stack
from sottovoce.protocols.casting import agreed_from
from sottovoce.protocols.conversation import Party, Receive, Send, receive
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.shares.material import Context
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.model import PeerModel
from sottovoce.study.stages.holdings import EntityTable, integer_rows, own_reach
from sottovoce.text.documents import Document, digest_of

_MASKS = "roles/remote/v1"
_ANSWERED = "study/answered/v1"


class EntityQuestion(Message, frozen=True):
    """The entities of a query, for the peers that add their own part (remote = full)."""

    discloses: ClassVar = Disclosure(
        seen_by="the peers that the plan lets answer, sealed against everybody else",
        reveals="which entities the asker asks about, and when",
        assuming="every peer consented to remote = full",
    )
    number: int
    entities: tuple[str, ...]


class RadoQuestion(Message, frozen=True):
    """A peer asks for the score of the others' normalised rados, once."""

    discloses: ClassVar = Disclosure(
        seen_by="the peers that the plan lets answer",
        reveals="that this peer is about to classify something",
        assuming="it is asked before the first query, whatever that is about",
    )
    number: int


class PairSeed(Message, frozen=True):
    """What two answering peers draw cancelling masks from, for one answer."""

    discloses: ClassVar = Disclosure(
        seen_by="one other answering peer, sealed end to end against everybody else",
        reveals="nothing: random bytes, used once",
        assuming="neither of the two gives it to the asker",
    )
    seed: bytes


class EntityUnknown(Message, frozen=True):
    """The answering peer has no such entity."""

    discloses: ClassVar = Disclosure(
        seen_by="the asker, sealed against everybody else",
        reveals="that the answering peer does not hold the entity at this place of the query",
        assuming="every peer consented to remote = full",
    )
    place: int


class RemoteScores(Message, frozen=True):
    """Encrypted scores of one peer's own features, under masks that cancel among those asked."""

    discloses: ClassVar = Disclosure(
        seen_by="the asker, who cannot decrypt them; sealed against the coordinator",
        reveals="nothing by itself: ciphertexts, of sums that only the key holder could open",
        assuming="Paillier hides, and the asker does not pool with the coordinator",
    )
    scores: Ciphertext


def ask_entities(
    party: PartyContext, model: PeerModel, entities: Sequence[str], *, number: int
) -> Party[Unsent]:
    """At the asker: ⟨⟨remote part⟩⟩ of every entity."""
    answering = party.study.plan.arrangement.answering_to(party.name)
    for name in answering:
        yield Send(name, EntityQuestion(number, tuple(entities)))
    return (yield from _added(party, model, answering, entities))


def ask_rado(party: PartyContext, model: PeerModel, *, number: int) -> Party[Unsent]:
    """At the asker: ⟨⟨remote part⟩⟩ that stands for any entity."""
    answering = party.study.plan.arrangement.answering_to(party.name)
    for name in answering:
        yield Send(name, RadoQuestion(number))
    return (yield from _added(party, model, answering, [""]))


def answer_entities(
    party: PartyContext, model: PeerModel, table: EntityTable, *, asker: str
) -> Party[None]:
    """At an answering peer: the scores of its own features of the entities, masked."""
    told = yield from receive(asker, EntityQuestion)
    asked = (table.documents[name] for name in told.entities if name in table.documents)
    party = party.drawing(_ANSWERED, digest_of(asked))
    masks = yield from _masks(party, model, asker, told.number, len(told.entities))
    unknown = next(
        (place for place, name in enumerate(told.entities) if name not in table.documents), None
    )
    if unknown is not None:
        yield Send(asker, EntityUnknown(unknown))
        return
    documents = [table.documents[name] for name in told.entities]
    rows = own_rows(party, model, documents)
    yield Send(asker, RemoteScores(_covered(party, model, rows, masks)))


def answer_rado(
    party: PartyContext, model: PeerModel, training: Sequence[Document], *, asker: str
) -> Party[None]:
    """At an answering peer: the score of its mean edge vector, masked."""
    told = yield from receive(asker, RadoQuestion)
    party = party.drawing(_ANSWERED, digest_of(training))
    masks = yield from _masks(party, model, asker, told.number, 1)
    rado = normalised_rado(party, model, training)
    yield Send(asker, RemoteScores(_covered(party, model, rado, masks)))


def own_rows(
    party: PartyContext, model: PeerModel, documents: Sequence[Document]
) -> sparse.csr_array:
    """A peer's own features alone, as integers: what is shared counts once, at the asker."""
    return integer_rows(
        party.study, model.space, party.name, documents, key=model.key, common=False
    )


def normalised_rado(
    party: PartyContext, model: PeerModel, training: Sequence[Document]
) -> sparse.csr_array:
    """Σ y x / m over a peer's own features, rounded to the grid of rows."""
    labels = party.study.plan.labels
    signs = labels.targets(labels.membership([labels.classes(one) for one in training]))[:, 0]
    rows = own_rows(party, model, training)
    mean = np.rint((signs @ rows) / len(training)).astype(np.int64)
    return sparse.csr_array(mean[np.newaxis, :])


def repeated(part: Encrypted, count: int) -> Unsent:
    """One remote part for every row of a query."""
    return stack([part[0]] * count)


def _added(
    party: PartyContext, model: PeerModel, answering: Sequence[str], entities: Sequence[str]
) -> Party[Unsent]:
    """The sum of all answers; what somebody does not hold is an error that names both."""
    key, weights = model.paillier, model.ciphertext
    layout = Layout((len(entities), model.scores.classes), weights.slots).cover()
    scale = Scale(weights.scale.fraction_bits, key.plaintext_bound)
    unknown: list[tuple[str, str]] = []
    total: Encrypted | None = None
    for name in answering:
        told = yield Receive(name, (RemoteScores, EntityUnknown))
        if isinstance(told, EntityUnknown):
            if not 0 <= told.place < len(entities):
                raise ViolationError("names an entity that was not asked about", party=name)
            unknown.append((name, entities[told.place]))
            continue
        found = agreed_from(name, told.scores, layout, scale)
        total = found if total is None else total + found
    if unknown:
        peer, entity = unknown[0]
        raise InputError(
            f"{party.name}: expected an entity that {peer!r} holds, too, found {entity!r}",
            hints=('ask with remote="zero" or remote="normalised" in a study of its own',),
        )
    if total is None:
        raise InputError(f"{party.name}: expected a peer that answers, found none")
    reach = sum(own_reach(party.study, name) for name in answering)
    return total.uncover(scale=weights.scale.times_integer(reach))


def _covered(
    party: PartyContext, model: PeerModel, rows: sparse.csr_array, masks: Sequence[int]
) -> Ciphertext:
    reach = own_reach(party.study, party.name)
    scores = SparseRows.of(rows, reach=reach) @ model.ciphertext
    return scores.cover(masks).fresh(entropy=party.entropy)


def _masks(
    party: PartyContext, model: PeerModel, asker: str, number: int, count: int
) -> Party[list[int]]:
    """Masks of one answer that cancel in the sum over all answering peers."""
    study, weights = party.study, model.ciphertext
    answering = study.plan.arrangement.answering_to(asker)
    if party.name not in answering:
        raise ViolationError(f"asks {party.name!r}, whom the plan does not let answer", party=asker)
    context = Context.among(f"{study.digest.hex()} remote", [asker], round=number)
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
            told = yield from receive(name, PairSeed)
            if len(told.seed) != SEED_BYTES:
                raise ViolationError(f"expected a seed of {SEED_BYTES} bytes", party=name)
            seed = told.seed
        stream = Expansion(seed, _MASKS, context.encode())
        sign = 1 if index > place else -1
        masks = [(mask + sign * stream.below(modulus)) % modulus for mask in masks]
    return masks
