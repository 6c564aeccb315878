"""The contributions of a study in engine `quorum`: every peer's moments, added up in shares.

    peer p                                member i                        coordinator C
      │ joint_mean.py: how far its mean lies from the guess, in shares ──────▶│
      │◀─────────────── JointMean ────────────│◀──────────────────────────────│
      │ moments and rows, in shares ─────────▶│                               │
      │ both ends of its spectrum, in shares ▶│   quorum/moment_check.py: no more than its rows can
      │                                       │ SharesHeld ──────────────────▶│   of every peer
      │◀──────────────── AddUp ───────────────│◀──────────────── AddUp ───────│
      │                                       │ share of the sums of ends ───▶│
      │◀────────────── JointEnds ─────────────│◀────────── OpenedValues ──────│
      │                                       │   quorum/told_check.py: was this what was opened?

Each member keeps its share of the joint moments. If a member leaves a training, the training is
tried again from these shares, and nothing is added up or opened a second time. Before anything is
added, every peer's moments are compared with the rows that it claimed with the totals. If a check
fails, the error names the peer, and the study stops. Who learns what: everybody learns the joint
mean, rounded, the ends of the joint spectrum, rounded up, and who is in the sum. Assuming that at
most t members pool, with or without C.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from sottovoce.errors import ViolationError
from sottovoce.numbers.residues import Base, Planes
from sottovoce.numbers.ring import from_ring
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import BY_EVERY_PEER
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.quorum.dealing import QuorumMember, opened, seated
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.moment_check import (
    CheckedPart,
    WeightBounds,
    check_weights,
    open_weights,
)
from sottovoce.protocols.quorum.opening import Opener, Opening, OpeningShare
from sottovoce.protocols.quorum.sums import COUNT_BASE, Summand
from sottovoce.protocols.quorum.told_check import check_told, keeping_told, tell_who_is_there
from sottovoce.rados.moments import Moments
from sottovoce.study.attempts import MOST_ATTEMPTS
from sottovoce.study.party_context import PartyContext
from sottovoce.study.stages.centring import Reference, ToldSpectrum
from sottovoce.study.stages.contributions import MomentPlan, drawn_moments, told_parts
from sottovoce.study.stages.joint_mean import (
    help_mean,
    measuring_from,
    open_shared_mean,
    share_mean,
)
from sottovoce.study.stages.preparation import Prepared, claims_of
from sottovoce.study.stages.quorum_sums import (
    collect_shares,
    let_add,
    share_out,
    summand,
    wait_to_add,
)
from sottovoce.study.stages.row_limits import RowLimits
from sottovoce.study.study import Study
from sottovoce.study.totals import row_weight
from sottovoce.text.documents import Document

_SUM = "ends"
_HELD = "study/contributions at a member/v1"
# The round number of the check's one-time material; sums, solves and queries have others.
_CHECK_ROUND = 2**21


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
        seen_by=BY_EVERY_PEER,
        reveals="the sums of what all peers told of their spectra, rounded up",
        assuming="at least three peers are in the sum",
    )
    largest: int
    apart: int


@dataclass(frozen=True)
class JointSums:
    """A seat's record of the contributions: the peers, and a member's share of the moments."""

    peers: tuple[str, ...]
    spectrum: ToldSpectrum
    share: Planes | None = field(default=None, repr=False)
    reference: Reference | None = None


def contribute_moments(
    party: PartyContext, prepared: Prepared, training: Sequence[Document]
) -> Party[JointSums]:
    """At a peer: share its moments and the ends of its spectrum among the members."""
    layout = MomentPlan.of(party.study.plan, prepared.totals)
    moments = drawn_moments(party, prepared, training)
    moments.scale(row_weight(prepared.totals.rows))
    reference = yield from share_mean(party, prepared, moments)
    party = measuring_from(party, reference)
    words, mine = _own_words(party.study, layout, moments, reference)
    del moments
    words = np.concatenate([words, np.array(prepared.claimed, np.int64)])
    yield from share_out(party, _moments(party, layout), words)
    del words
    ends = summand(party, _SUM, party.peers, 2)
    yield from share_out(party, ends, from_ring(mine.words))
    yield from wait_to_add(party, _SUM, ends, party.peers)
    joint_ends = yield from receive(party.study.roster.coordinator, JointEnds)
    if min(joint_ends.largest, joint_ends.apart) < 0:
        raise ViolationError(
            f"expected the ends of a spectrum, found {joint_ends.largest} and {joint_ends.apart}",
            party=party.study.roster.coordinator,
        )
    spectrum = ToldSpectrum(joint_ends.largest, joint_ends.apart)
    return JointSums(party.peers, spectrum, reference=reference)


def _moments(party: PartyContext, layout: MomentPlan) -> Summand:
    length = layout.length + claims_of(party.study)
    return summand(party, "moments", party.peers, length, Base())


def _bounds(party: PartyContext, prepared: Prepared) -> WeightBounds:
    """Return upper bounds on each peer's moments, from its claims and public numbers."""
    plan, totals = party.study.plan, prepared.totals
    layout, limits = MomentPlan.of(plan, totals), RowLimits.of(plan)
    weighted = plan.class_weight is not None
    weights = (
        totals.weights(plan.class_weight).tolist() if weighted else [0.0] * len(totals.by_class)
    )
    return WeightBounds.of(
        layout.scales,
        (layout.width, layout.classes),
        [float(not weighted), *weights],
        rows=totals.rows,
        checks=MOST_ATTEMPTS * len(party.peers),
        heavier=(limits.trace, limits.length),
    )


def _own_words(
    study: Study, layout: MomentPlan, moments: Moments, reference: Reference | None
) -> tuple[np.ndarray, ToldSpectrum]:
    """Return a peer's moments as integers, and its bounds of its spectrum."""
    if reference is not None:
        reference.move(moments)
    words, bits = layout.write(moments), layout.scales.matrix.fraction_bits
    return from_ring(words), told_parts(study.plan, moments, reference, fraction_bits=bits)


def collect_moments(party: PartyContext, prepared: Prepared) -> Party[JointSums]:
    """At a member: return its share of all peers' moments, and the sum of their ends."""
    reference = yield from help_mean(party, prepared)
    party = measuring_from(party, reference)
    layout = MomentPlan.of(party.study.plan, prepared.totals)
    bounds, parts = _bounds(party, prepared), dict[str, CheckedPart]()

    def keep(peer: str, share: Planes) -> None:
        parts[peer] = CheckedPart.of(bounds, share, prepared.claims[peer])

    share = yield from collect_shares(party, _moments(party, layout), party.peers, keep=keep)
    what = summand(party, _SUM, party.peers, 2)
    ends = yield from collect_shares(party, what, party.peers)
    quorum = party.study.quorum_of(party.peers)
    drawn = party.drawing(_HELD, ends.tobytes(), *_held(parts))
    member = yield from _check(drawn, quorum, bounds, parts)
    yield from wait_to_add(party, _SUM, what, party.peers)
    answer = yield from opened(member, _spectrum_opening(quorum), ends)
    # An end that is too low lets the numbers of a solve grow out of their masks.
    yield from check_told(member, purpose="contributions")
    spectrum = _spectrum_of(answer)
    return JointSums(party.peers, spectrum, share[:, : layout.length], reference)


def _held(parts: Mapping[str, CheckedPart]) -> Iterator[bytes]:
    """Yield what a member masks in the checks of all peers' moments."""
    for part in parts.values():
        yield from (each.tobytes() for each in (part.trace, part.vectors, part.rows, part.before))


def _check(
    party: PartyContext, quorum: Quorum, bounds: WeightBounds, parts: Mapping[str, CheckedPart]
) -> Party[QuorumMember]:
    """At a member: compare every peer's moments with its claimed rows; it keeps what it is told."""
    member = yield from seated(
        quorum,
        party.name,
        party.context(party.peers, round=_CHECK_ROUND),
        entropy=party.entropy,
        ledger=party.ledger,
    )
    member = keeping_told(member)
    yield from check_weights(member, bounds, parts)
    return member


def add_up(party: PartyContext, prepared: Prepared) -> Party[JointSums]:
    """At the coordinator: open the mean, the checks of moments, and the sums of ends."""
    reference = yield from open_shared_mean(party, prepared)
    party = measuring_from(party, reference)
    opener = Opener(party.study.quorum_of(party.peers))
    yield from open_weights(opener, _bounds(party, prepared), party.peers, fields=COUNT_BASE)
    what = summand(party, _SUM, party.peers, 2)
    opener = yield from let_add(party, _SUM, what, party.peers)
    spectrum = _spectrum_of((yield from opener.open(_spectrum_opening(opener.quorum))))
    yield from tell_who_is_there(opener.quorum, opener.present)
    for name in party.peers:
        yield Send(name, JointEnds(spectrum.largest, spectrum.apart))
    return JointSums(party.peers, spectrum, reference=reference)


def _spectrum_opening(quorum: Quorum) -> Opening:
    return Opening(SpectrumShare, quorum.threshold, COUNT_BASE, (2,))


def _spectrum_of(value: Planes) -> ToldSpectrum:
    return ToldSpectrum.opened(COUNT_BASE.integers(value).tolist())
