"""A site that lost its disk: new keys, and the model again from another peer.

    coordinator            the site, with new keys           another peer
      │ Reseated ────────────▶│  its person compares the words  │
      │◀────────── Rejoined ──│                                 │
      │ Rejoining ─────────────────────────────────────────────▶│  its person compares them, too
      │                       │◀──── HandedModel, in a box ─────│

A peer's part holds the key that hashes words and, with labels on ciphertexts, the model under the
coordinator's Paillier key. So the coordinator must never see it in the open, nor must it be sealed
to a key that the coordinator made up: a peer hands it over only after a person heard the same words
at the other end. The site gets everybody's earlier consent with its signatures, so it knows the
others' keys.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path

from sottovoce.course.control import (
    COORDINATOR,
    HandedModel,
    Rejoined,
    Rejoining,
    Reseated,
)
from sottovoce.errors import InputError, MisuseError, WithdrawnError
from sottovoce.keyfiles import storage
from sottovoce.keyfiles.models import read_part, write_model
from sottovoce.ledger import LineKind
from sottovoce.node.api import Consent, ConsentQuestion
from sottovoce.node.phone_words import in_words
from sottovoce.node.seat.after_training import AfterTraining, proof_notes, reseated_study
from sottovoce.node.seat.deciders import Effect
from sottovoce.node.seat.letter_audit import LetterAudit
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.protocols.seat import Packet
from sottovoce.storage.records import Outgoing
from sottovoce.storage.seat_keys import SeatKeys
from sottovoce.study.card.card import StudyCard
from sottovoce.study.queries.model import PeerModel
from sottovoce.study.relay import Relay
from sottovoce.study.stages.agreement import checked, signed
from sottovoce.study.study import Study
from sottovoce.wire import Codec
from sottovoce.wire.codec import tag_of

_LARGEST = 2**30
_CONSENT = "rejoin/consent"

Asked = Callable[[Study], Awaitable[bool]]


def handover_session(study: Study, seat: str) -> bytes:
    """The session in which a model is handed to a seat."""
    return study.session("handover", seat)


async def rejoin(
    agent: SeatRuntime, keys: SeatKeys, invitation: Reseated, *, before: Study, consents: Asked
) -> AfterTraining:
    """At the site: agree again with the new keys, if the others' keys did not change."""
    seat = agent.name
    agreement = checked(before, invitation.proof)
    study = reseated_study(before, invitation.now, seat)
    if await agent.do(agent.journal.note, _CONSENT) is None:
        if not await consents(study):
            raise WithdrawnError("this site did not consent to the study")
        standing = AfterTraining(study, keys, agreement)
        consent = signed(standing.party(standing.drawn))
        note = {_CONSENT: Codec().encode(consent), **proof_notes(invitation.proof)}
        await agent.commit(Effect(note, [(COORDINATOR, Rejoined(consent))]))
    return await agent.do(AfterTraining.again, agent.journal, invitation, before, keys)


async def take_model(
    agent: SeatRuntime, standing: AfterTraining, audit: LetterAudit, *, before: Study, path: Path
) -> None:
    """At the site: take the model from another peer, under the site's own name."""
    letter = await agent.next_letter(handover_session(standing.study, agent.name))
    relay = Relay(standing.party(standing.drawn), standing.agreement)
    packet = relay.unpack(letter)
    await agent.do(audit.came, letter, tag_of(packet.body), "handover")
    handed = standing.study.codec().decode(packet.body, HandedModel)
    part = path.with_name("handed")
    await agent.do(
        lambda: storage.write_whole(part, handed.part, mode=storage.SECRET_MODE, replace=True)
    )
    try:
        giver, model = await agent.do(read_part, part, before)
    finally:
        await agent.do(lambda: part.unlink(missing_ok=True))
    sealed = model.paillier if isinstance(model, PeerModel) else None
    if giver != letter.sender or sealed != standing.agreement.key:
        raise InputError(f"model: expected the part of {letter.sender!r} under the study's key")
    identity = standing.keys.identity
    await agent.do(
        lambda: write_model(path, model, standing.study, identity=identity, replace=True)
    )


async def hand_over(
    agent: SeatRuntime,
    audit: LetterAudit,
    standing: AfterTraining,
    invitation: Rejoining,
    *,
    model: Path,
    confirm: Consent,
) -> None:
    """At another peer: hand the model to a seat with new keys, once a person compared the words."""
    seat = invitation.consent.name
    if seat not in standing.study.roster.peers or seat == agent.name:
        raise MisuseError(f"model: expected another peer that enrolled again, found {seat!r}")
    if standing.study.plan.arrangement.brings_rados:
        raise MisuseError(
            f"model: the part of {agent.name!r} holds stand-ins for the columns of others, and "
            f"{seat!r} cannot use it",
            hints=("make a new study",),
        )
    new = standing.with_new_keys(invitation.now, invitation.consent)
    key = f"handed/{handover_session(new.study, seat).hex()}"
    if await agent.do(agent.journal.note, key) is not None:
        raise MisuseError(f"{seat} already has the model")
    card, words = StudyCard(new.study), in_words(new.study.digest)
    if not await confirm(ConsentQuestion(new.study, card, words, (seat,))):
        raise WithdrawnError(f"the model was not handed to {seat!r}: the words were not confirmed")
    data = await agent.do(lambda: storage.read_whole(model, limit=_LARGEST).data)
    body = new.study.codec().encode(HandedModel(data))
    session = handover_session(new.study, seat)
    packet = Packet(session, agent.name, seat, 0, body)
    relay = Relay(new.party(new.drawn), new.agreement)
    letter = await agent.do(lambda: relay.pack(packet, entropy=new.drawn))
    outgoing = Outgoing(letter, tag_of(body))
    await agent.do(lambda: agent.journal.commit(letters=[outgoing], notes={key: b""}))
    await agent.do(audit.note, LineKind.CONSENT, f"the words of {seat} were compared")
    await agent.drained()
