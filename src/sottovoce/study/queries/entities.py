"""Queries about entities that several peers hold: each adds its own part (remote = `full`).

    asker a                             seats q that look up entities (chosen by the plan)
      ── EntityQuestion ────────────────▶  q ── PairSeed ──▶ q'   for every pair of them
      ◀── RemoteScores ⟨⟨θ_qᵀx_q + masks⟩⟩ ──  or EntityUnknown
     adds them up (remote.py)

A peer that answers has a separate seat for it, so that its people can ask at the same time.

Who learns what: the seats that answer learn which entities are asked about, and when. The asker
learns if a seat does not hold one of the entities, and receives ciphertexts that it cannot open.
Assuming that messages between these seats are sealed against the coordinator.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import ClassVar

from sottovoce.errors import InputError, MisuseError, ViolationError
from sottovoce.hints import Hint, PlanSetting
from sottovoce.paillier import Encrypted, Unsent, stack
from sottovoce.protocols.conversation import Party, Receive, Send, receive
from sottovoce.protocols.disclosures import CONSENT_TO_LOOKUPS
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.classification import RemotePart
from sottovoce.study.queries.model import PeerModel
from sottovoce.study.queries.remote import (
    RemoteQuestion,
    RemoteScores,
    added,
    cancelling_masks,
    covered,
    own_rows,
)
from sottovoce.study.queries.score_shares import RowOrder
from sottovoce.study.stages.holdings import EntityTable
from sottovoce.text.documents import Document, digest_of

_ANSWERED = "study/answered/v1"


class EntityQuestion(Message, frozen=True):
    """The entities of a query, for the peers that add their own part (remote = full)."""

    discloses: ClassVar = Disclosure(
        seen_by="the seats that the plan lets answer, sealed against everybody else",
        reveals="which entities the asker asks about, and when",
        assuming=CONSENT_TO_LOOKUPS,
    )
    number: int
    entities: tuple[str, ...]


class EntityUnknown(Message, frozen=True):
    """The answering peer has no such entity."""

    discloses: ClassVar = Disclosure(
        seen_by="the asker, sealed against everybody else",
        reveals="that the answering peer does not hold the entity at this place of the query",
        assuming=CONSENT_TO_LOOKUPS,
    )
    place: int


@dataclass(frozen=True)
class HeldEntities:
    """The encrypted model and the rows of a seat that answers others' queries."""

    peer: str
    model: PeerModel
    documents: Sequence[Document] = field(repr=False)

    @cached_property
    def table(self) -> EntityTable:
        """The rows by entity."""
        return EntityTable.of(self.peer, self.documents)


def remote_part(
    party: PartyContext,
    model: PeerModel,
    entities: Sequence[str],
    *,
    number: int,
    answering: tuple[str, ...],
) -> RemotePart | None:
    """Return the program that brings a query's remote part; None if nothing is added.

    `answering` are the seats that look entities up, if the plan has any.
    """
    arrangement = party.study.plan.arrangement
    if not arrangement.by_features or not arrangement.answering_to(party.name):
        return None
    if arrangement.brings_rados:
        return partial(_kept, model)
    if not arrangement.asks_holders:
        return None

    def bring(order: RowOrder) -> Party[Encrypted]:
        # Queries are padded to whole ciphertexts with the last entity; its extra scores are
        # dropped.
        last = len(entities) - 1
        places = [min(place, last) for place in order.places.tolist()]
        question = RemoteQuestion(party.name, answering, number)
        return (yield from _ask_entities(party, model, entities, places, question))

    return bring


def _kept(model: PeerModel, order: RowOrder) -> Party[Encrypted]:
    """Return the remote part that the asker keeps since the training, for every row of a query."""
    yield from ()
    if model.remote is None:
        raise MisuseError("model: the remote part beside the weights is missing")
    return stack([model.remote[0]] * len(order.places))


def _ask_entities(
    party: PartyContext,
    model: PeerModel,
    entities: Sequence[str],
    places: Sequence[int],
    asked: RemoteQuestion,
) -> Party[Unsent]:
    """At the asker: return ⟨⟨remote part⟩⟩ of the entities at these places, in this order."""
    named = tuple(entities[place] for place in places)
    for name in asked.answering:
        yield Send(name, EntityQuestion(asked.number, named))
    answers, unknown = {}, []
    for name in asked.answering:
        answer = yield Receive(name, (RemoteScores, EntityUnknown))
        if isinstance(answer, RemoteScores):
            answers[name] = answer
            continue
        if not 0 <= answer.place < len(named):
            raise ViolationError("names an entity that was not asked about", party=name)
        unknown.append((party.study.roster.peer_at(name), places[answer.place] + 1))
    if unknown:
        peer, place = unknown[0]
        raise InputError(
            f"{party.name}: expected entities that {peer!r} holds, too, found that it has none "
            f"for number {place} of those asked about",
            hints=(
                "leave that row out",
                Hint(
                    "or ask in a study with ",
                    PlanSetting("remote", "zero"),
                    " or ",
                    PlanSetting("remote", "normalised"),
                    ", which looks nobody up",
                ),
            ),
        )
    return added(party, model, answers, rows=len(named))


def answer_entities(
    party: PartyContext, held: HeldEntities, *, asker: str, answering: tuple[str, ...]
) -> Party[None]:
    """At the answering peer: send masked scores of its own features of the entities."""
    model, table = held.model, held.table
    question_sent = yield from receive(asker, EntityQuestion)
    asked = (table.documents[name] for name in question_sent.entities if name in table.documents)
    party = party.drawing(_ANSWERED, digest_of(asked))
    question = RemoteQuestion(asker, answering, question_sent.number)
    masks = yield from cancelling_masks(party, model, question, len(question_sent.entities))
    unknown = next(
        (place for place, name in enumerate(question_sent.entities) if name not in table.documents),
        None,
    )
    if unknown is not None:
        yield Send(asker, EntityUnknown(unknown))
        return
    documents = [table.documents[name] for name in question_sent.entities]
    rows = own_rows(party, model, documents)
    yield Send(asker, RemoteScores(covered(party, model, rows, masks)))
