"""Sums over all peers in engine `quorum`: shared among the members, opened as the card says.

    peer p                                 member i                    coordinator C
      │ shares of its integers ───────────────▶│   adds up                 │
      │                                        │ share of the sum ────────▶│   opens it

Who learns what: C learns the sum, where it is one that the study card lists, and nobody learns
anything of a single peer. A sum is opened once in a study: over another set of peers, the
difference of two of them would be somebody's part. Assuming that at most t members pool, with or
without C.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sottovoce.numbers.residues import Base, Planes
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import Opener
from sottovoce.protocols.quorum.sums import Summand, collect, contribute, give_sum, take_sum
from sottovoce.study.party_context import PartyContext

# Counts of all peers together stay far below 2^41.
COUNT_BASE = Base(2)
# The rounds of one-time material of these sums; those of solves and queries are elsewhere.
_SUM_ROUND = 2**20


def quorum_of(party: PartyContext) -> Quorum:
    """The members that are there in this attempt, with the points of their shares."""
    return party.study.quorum.among(party.peers)


def summand(
    party: PartyContext, name: str, peers: Sequence[str], length: int, base: Base
) -> Summand:
    """What every peer brings: bound to the attempt, the peers, and what each was shown."""
    context = party.context(peers, round=_SUM_ROUND)
    return Summand(f"{name}/{party.shown.hex()}", context, length, base)


def shared_sum(
    party: PartyContext,
    what: Summand,
    values: NDArray[np.int64],
    peers: Sequence[str],
    quorum: Quorum,
) -> Party[Planes | None]:
    """At a peer: its integers into the sum; a member has its share of the sum afterwards."""
    own = yield from contribute(quorum, what, values, name=party.name, entropy=party.entropy)
    if party.name not in quorum.members:
        return None
    total = np.zeros((what.base.count, what.length), np.uint32)
    for peer in peers:
        share = yield from collect(quorum, what, peer, name=party.name, own=own)
        for plane, prime in enumerate(what.base.primes):
            total[plane] += share[plane]
            np.minimum(total[plane], total[plane] - np.uint32(prime), out=total[plane])
    return total


def add_to_sum(
    party: PartyContext,
    name: str,
    values: NDArray[np.int64],
    peers: Sequence[str],
    *,
    series: str = "",
) -> Party[None]:
    """At a peer: its counts into a sum that the coordinator opens, once in this study."""
    quorum = party.study.quorum.among(peers)
    what = summand(party, name, peers, len(values), COUNT_BASE)
    total = yield from shared_sum(party, what, values, peers, quorum)
    note_opened(party, name, peers, series)
    if total is not None:
        yield from give_sum(quorum, COUNT_BASE, total)


def open_sum(
    party: PartyContext, name: str, length: int, peers: Sequence[str], *, series: str = ""
) -> Party[NDArray[np.int64]]:
    """At the coordinator: the sum over these peers."""
    opener = Opener(party.study.quorum.among(peers))
    sums = yield from take_sum(opener, COUNT_BASE, length)
    note_opened(party, name, peers, series)
    return sums.astype(np.int64)


def note_opened(party: PartyContext, name: str, peers: Sequence[str], series: str = "") -> None:
    """Note that this sum is opened over these peers, and refuse a second time."""
    this = party.round(name, peers, series=series)
    party.book.begin(this)
    party.book.spend(this, tuple(peers))
