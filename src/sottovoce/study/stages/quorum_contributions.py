"""The contributions of a study in engine `quorum`: every peer's moments, added up in shares.

    peer p                                member i                        coordinator C
      │ moments, in shares ──────────────────▶│                               │
      │ both ends of its spectrum, in shares ▶│ SharesHeld ──────────────────▶│   of every peer
      │◀──────────────── AddUp ───────────────│◀──────────────── AddUp ───────│
      │                                       │ share of the sums of ends ───▶│
      │◀────────────── JointEnds ─────────────│◀────────── OpenedValues ──────│

Each member keeps its share of the joint moments: a training that a member left is tried again
from these, and nothing is added up or opened a second time. Who learns what: everybody learns the
ends of the joint spectrum, rounded up, and who is in the sum. Assuming that at most t
members pool, with or without C.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from sottovoce.errors import ViolationError
from sottovoce.numbers.residues import Base, Planes
from sottovoce.numbers.ring import from_ring
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import Opening, OpeningShare, opened
from sottovoce.protocols.quorum.sums import Summand
from sottovoce.study.party_context import PartyContext
from sottovoce.study.stages.centring import Reference, ToldSpectrum
from sottovoce.study.stages.contributions import MomentPlan, drawn_moments, told_parts
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.stages.quorum_sums import (
    COUNT_BASE,
    collect_shares,
    let_add,
    share_out,
    summand,
    wait_to_add,
)
from sottovoce.text.documents import Document

_SUM = "ends"


class SpectrumShare(OpeningShare, frozen=True):
    """A share of the sum of what all peers tell of their spectra."""

    discloses: ClassVar = Disclosure(
        seen_by="the coordinator, and with its answer every member",
        reveals="ends of the joint spectrum: two sums over all peers of rounded numbers",
        assuming="no more members than the threshold pool with each other and the coordinator",
    )


class JointEnds(Message, frozen=True):
    """The ends of the spectrum, from which every peer works out how scores are written."""

    discloses: ClassVar = Disclosure(
        seen_by="every peer of the study",
        reveals="the sums of what all peers told of their spectra, rounded up: on the card",
        assuming="at least three peers are in the sum",
    )
    largest: int
    apart: int


@dataclass(frozen=True)
class JointSums:
    """What a seat keeps of the contributions: over whom, and at a member its share of moments."""

    peers: tuple[str, ...]
    spectrum: ToldSpectrum
    share: Planes | None = field(default=None, repr=False)


def contribute_moments(
    party: PartyContext, prepared: Prepared, training: Sequence[Document]
) -> Party[JointSums]:
    """At a peer: its moments and the end of its spectrum, in shares to the members."""
    layout = MomentPlan.of(party.study.plan, prepared.totals)
    words, mine = _own_words(party, prepared, layout, training)
    yield from share_out(party, _moments(party, layout), words)
    del words
    ends = summand(party, _SUM, party.peers, 2)
    yield from share_out(party, ends, from_ring(mine.words))
    yield from wait_to_add(party, _SUM, ends, party.peers)
    told = yield from receive(party.study.roster.coordinator, JointEnds)
    if min(told.largest, told.apart) < 0:
        raise ViolationError(
            f"expected the ends of a spectrum, found {told.largest} and {told.apart}",
            party=party.study.roster.coordinator,
        )
    return JointSums(party.peers, ToldSpectrum(told.largest, told.apart))


def _moments(party: PartyContext, layout: MomentPlan) -> Summand:
    return summand(party, "moments", party.peers, layout.length, Base())


def _own_words(
    party: PartyContext, prepared: Prepared, layout: MomentPlan, training: Sequence[Document]
) -> tuple[np.ndarray, ToldSpectrum]:
    """A peer's moments as integers, and what it tells of its spectrum."""
    study = party.study
    moments = drawn_moments(party, prepared, training)
    reference = Reference.of(study.plan, prepared.idf_halves)
    if reference is not None:
        reference.move(moments)
    words, bits = layout.write(moments), layout.scales.matrix.fraction_bits
    return from_ring(words), told_parts(study.plan, moments, reference, fraction_bits=bits)


def collect_moments(party: PartyContext, prepared: Prepared) -> Party[JointSums]:
    """At a member: its share of the moments of all peers, and the sum of their ends."""
    layout = MomentPlan.of(party.study.plan, prepared.totals)
    share = yield from collect_shares(party, _moments(party, layout), party.peers)
    what = summand(party, _SUM, party.peers, 2)
    ends = yield from collect_shares(party, what, party.peers)
    yield from wait_to_add(party, _SUM, what, party.peers)
    quorum = party.study.quorum_of(party.peers)
    spectrum = _spectrum_of((yield from opened(quorum, _spectrum_opening(quorum), ends)))
    return JointSums(party.peers, spectrum, share)


def add_up(party: PartyContext) -> Party[JointSums]:
    """At the coordinator: it opens the sums of ends, and nothing else."""
    what = summand(party, _SUM, party.peers, 2)
    opener = yield from let_add(party, _SUM, what, party.peers)
    spectrum = _spectrum_of((yield from opener.open(_spectrum_opening(opener.quorum))))
    for name in party.peers:
        yield Send(name, JointEnds(spectrum.largest, spectrum.apart))
    return JointSums(party.peers, spectrum)


def _spectrum_opening(quorum: Quorum) -> Opening:
    return Opening(SpectrumShare, quorum.threshold, COUNT_BASE, (2,))


def _spectrum_of(value: Planes) -> ToldSpectrum:
    return ToldSpectrum.opened(COUNT_BASE.integers(value).tolist())
