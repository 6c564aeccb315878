"""The joint mean of all rows, to the nearest 1/128, found by one sum over all peers.

    peer p                              coordinator C          evaluator E, or members
      │ rows · (mean − guess), in units of 1/128, in a sum ▶│            │
      │◀────────────────── JointMean ─────────│────── JointMean ────────▶│

Everybody uses it to correct the point that follows from idf (centring.py). Each peer rounds before
it sends, its number of rows up to two digits and its own mean to 1/128, so that the party that
opens the sum sees no more than a mean of rounded means. The sum is opened only in the first attempt
at a training. Later attempts, with other peers, measure from the guess, like plans with `centre =
"idf"`.

Who learns what: for every word of the dictionary and every other column of a row, everybody learns
by how many 1/128 its mean in all rows differs from the guess. Nobody learns that for a single peer:
a peer's numbers are hidden in the sum in the same way as its counts for the dictionary. Words that
too few documents have meet in the columns of the tail. A column that fewer than `min_documents` of
a peer's documents have is zero there, as in its rows. A peer of fewer than 128 rows, of which one
could move a mean by more than a unit, tells the means of its words alone.

A coordinator that sent peers different points could tell their contributions apart. So the one-time
keys of contributions depend on a digest of the point that each peer received.
"""

from collections.abc import Iterable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.errors import ViolationError
from sottovoce.numbers.ring import from_ring, to_ring
from sottovoce.numbers.rounding import rounded_up
from sottovoce.protocols.blind_sum import SummedVector, WordSpace, pairwise
from sottovoce.protocols.blind_sum.plan import Plan
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import BY_PEERS_AND_HOLDERS
from sottovoce.protocols.identities import digest
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.rados.moments import Moments
from sottovoce.study.party_context import PartyContext
from sottovoce.study.stages.centring import MEAN_PARTS, Reference, is_corrected
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.stages.quorum_sums import add_to_sum, help_sum, open_sum

_SUM = "mean"


class JointMean(Message, frozen=True):
    """How far the joint mean of every column is from the guess, in units of 1/128."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_PEERS_AND_HOLDERS,
        reveals="the mean weight of every chosen word, and the mean of every other column, in all "
        "rows of all peers, to 1/128",
        assuming="enough peers are in the sum that it says little of each: the card names it",
    )
    steps: wire.Words


def takes_mean(party: PartyContext, reference: Reference | None) -> bool:
    """Return whether this attempt opens the joint mean: only a first attempt does."""
    wanted = is_corrected(party.study.plan) and party.attempt.number == 1
    return wanted and reference is not None


def guess(party: PartyContext, prepared: Prepared) -> Reference | None:
    """Return the point that idf gives, if rows are measured from one."""
    return Reference.of(party.study.plan, prepared.idf_halves)


def measuring_from(party: PartyContext, reference: Reference | None) -> PartyContext:
    """Return the same party, with its sums bound to the point that it received, if any."""
    if reference is None:
        return party
    point = to_ring(np.array(reference.point, np.int64)).tobytes()
    return party.having(digest("roles/measured-from/v1", party.shown, point))


def own_apart(reference: Reference, moments: Moments) -> NDArray[np.int64]:
    """Return a peer's summand: rounded rows times its rounded distance, and those rows."""
    apart = reference.apart_from(moments.totals, weight=moments.weight)
    if moments.count < MEAN_PARTS:
        apart[reference.words :] = 0
    rows = rounded_up(moments.count)
    return np.append(apart * rows, rows)


def bring_mean(
    party: PartyContext, prepared: Prepared, moments: Moments
) -> Party[Reference | None]:
    """At a peer of engine shares: add its part, and return the corrected point, or None if late.

    Run it only if `takes_mean`.
    """
    reference = guess(party, prepared)
    assert reference is not None
    mine = to_ring(own_apart(reference, moments))
    summed = yield from pairwise.peer(
        _blind_plan(party, reference),
        [mine],
        who=party.member,
        book=party.book,
        entropy=party.entropy,
    )
    if summed is None:
        return None
    return (yield from hear_mean(party, reference))


def open_mean(party: PartyContext, reference: Reference | None) -> Party[Reference | None]:
    """At the coordinator of engine shares: open the sum, and send it to everybody."""
    if reference is None or not takes_mean(party, reference):
        return reference
    plan = _blind_plan(party, reference)
    summed = yield from pairwise.coordinator(plan, who=party.member, book=party.book)
    hearers = (party.study.roster.evaluator, *summed.peers)
    return (yield from _tell(reference, from_ring(summed.sums[0]), hearers))


def watch_mean(party: PartyContext, reference: Reference | None) -> Party[Reference | None]:
    """At the evaluator: sign the set of peers, and return the corrected point."""
    if reference is None or not takes_mean(party, reference):
        return reference
    yield from pairwise.evaluator(
        _blind_plan(party, reference), who=party.member, book=party.book, entropy=party.entropy
    )
    return (yield from hear_mean(party, reference))


def share_mean(
    party: PartyContext, prepared: Prepared, moments: Moments
) -> Party[Reference | None]:
    """At a peer of engine quorum: add its part in shares, and return the corrected point."""
    reference = guess(party, prepared)
    if reference is None or not takes_mean(party, reference):
        return reference
    yield from add_to_sum(party, _SUM, own_apart(reference, moments), party.peers)
    return (yield from hear_mean(party, reference))


def help_mean(party: PartyContext, prepared: Prepared) -> Party[Reference | None]:
    """At a member: give its share of the sum, and return the corrected point."""
    reference = guess(party, prepared)
    if reference is None or not takes_mean(party, reference):
        return reference
    yield from help_sum(party, _SUM, _length(reference), party.peers)
    return (yield from hear_mean(party, reference))


def open_shared_mean(party: PartyContext, prepared: Prepared) -> Party[Reference | None]:
    """At the coordinator of engine quorum: open the sum, and send it to everybody."""
    reference = guess(party, prepared)
    if reference is None or not takes_mean(party, reference):
        return reference
    sums = yield from open_sum(party, _SUM, _length(reference), party.peers)
    quorum = party.study.quorum_of(party.peers)
    return (yield from _tell(reference, sums, (*quorum.members, *party.peers)))


def hear_mean(party: PartyContext, reference: Reference) -> Party[Reference]:
    """Return the corrected point, after checking that moments fit the agreed scales with it."""
    teller = party.study.roster.coordinator
    received = yield from receive(teller, JointMean)
    if received.steps.shape != (len(reference.point),):
        raise ViolationError(
            f"joint mean: expected {len(reference.point)} numbers, found {received.steps.shape}",
            party=teller,
        )
    corrected = reference.corrected(from_ring(received.steps.array()))
    if corrected is None:
        raise ViolationError("joint mean: expected a point no longer than rows", party=teller)
    return corrected


def _tell(
    reference: Reference, sums: NDArray[np.int64], hearers: Iterable[str]
) -> Party[Reference | None]:
    steps = reference.correction(sums[:-1] / max(int(sums[-1]), 1))
    for name in hearers:
        yield Send(name, JointMean(wire.Words.of(to_ring(steps))))
    return reference.corrected(steps)


def _length(reference: Reference) -> int:
    """Return how many numbers a peer sends: one a column, and its rows."""
    return len(reference.point) + 1


def _blind_plan(party: PartyContext, reference: Reference) -> Plan:
    space = WordSpace((_length(reference),))
    part = SummedVector(party.study.roster.coordinator, _SUM, space)
    return Plan(party.round(_SUM, party.peers), (part,))
