"""Sums over all peers in engine `quorum`: shared among members, opened if the card lists them.

    peer p                                 member i                    coordinator C
      │ shares of its integers ───────────────▶│                           │
      │                                        │ SharesHeld ──────────────▶│   of every peer
      │◀─────────────────────── AddUp ─────────│◀───────────── AddUp ──────│
      │                          SumNoted ────▶│ SumNoted ────────────────▶│   of every member
      │                                        │ share of the sum ────────▶│   opens it

Nothing is opened before every member has the shares of every peer. If a share does not reach one
member, the attempt ends, and the next attempt runs without the party that kept the share back. Who
learns what: C learns the sum, if the study card lists it; nobody learns anything about a single
peer. A sum is opened once in a study, and every party records its set of peers before that: the
difference of two sums over different sets would be some peer's part. Shares of t + 1 members open a
sum, and only C tells them over which set. So where a set may be smaller than all peers, no member
gives its share before every other member has said, sealed from C, that it recorded the same set.
Assuming that at most t members pool, with or without C.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import ViolationError
from sottovoce.numbers.residues import Base, Planes
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import BY_COORDINATOR, ROSTER_IS_PUBLIC
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.quorum.opening import Opener
from sottovoce.protocols.quorum.sums import (
    COUNT_BASE,
    Summand,
    collect,
    contribute,
    give_sum,
    take_sum,
)
from sottovoce.study.party_context import PartyContext
from sottovoce.study.study import Study

# The round numbers of these sums' one-time material; solves and queries have others.
_SUM_ROUND = 2**20


class SharesHeld(Message, frozen=True):
    """Says that a member has the shares of every peer in a sum."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_COORDINATOR,
        reveals="that every peer's shares came, for this plan, attempt and set of peers",
        assuming=ROSTER_IS_PUBLIC,
    )
    context: bytes


class AddUp(Message, frozen=True):
    """Says that every member has all shares, and that the sum is opened now, once."""

    discloses: ClassVar = Disclosure(
        seen_by="every member and every peer in the sum",
        reveals="who is in a sum that is opened now",
        assuming=ROSTER_IS_PUBLIC,
    )
    context: bytes
    peers: tuple[str, ...]


class SumNoted(Message, frozen=True):
    """A member wrote down that this sum is opened over these peers, and over no others."""

    discloses: ClassVar = Disclosure(
        seen_by="every other member, and the coordinator",
        reveals="that this member agrees to open a sum, for this plan, attempt and set of peers",
        assuming=ROSTER_IS_PUBLIC,
    )
    context: bytes


def summand(
    party: PartyContext, name: str, peers: Sequence[str], length: int, base: Base = COUNT_BASE
) -> Summand:
    """Return every peer's summand, bound to the attempt, the peers, and what each was shown."""
    context = party.context(peers, round=_SUM_ROUND)
    return Summand(f"{name}/{party.shown.hex()}", context, length, base)


def share_out(party: PartyContext, what: Summand, values: NDArray[np.int64]) -> Party[None]:
    """At a peer: send every member its share of the integers."""
    quorum = party.study.quorum_of(party.peers)
    yield from contribute(quorum, what, values, name=party.name, entropy=party.entropy)


def _keep_nothing(peer: str, share: Planes) -> None:
    del peer, share


def collect_shares(
    party: PartyContext,
    what: Summand,
    peers: Sequence[str],
    *,
    keep: Callable[[str, Planes], None] = _keep_nothing,
) -> Party[Planes]:
    """At a member: return its share of the sum over these peers; `keep` gets each peer's."""
    quorum = party.study.quorum_of(peers)
    total = np.zeros((what.base.count, what.length), np.uint32)
    for peer in peers:
        share = yield from collect(quorum, what, peer, name=party.name)
        keep(peer, share)
        for plane, prime in enumerate(what.base.primes):
            total[plane] += share[plane]
            np.minimum(total[plane], total[plane] - np.uint32(prime), out=total[plane])
        # Else it would stay while the next one comes.
        del share
    return total


def wait_to_add(
    party: PartyContext, name: str, what: Summand, peers: Sequence[str], *, series: str = ""
) -> Party[None]:
    """At a peer or a member: wait until every member has all shares, and record the sum."""
    coordinator = party.study.roster.coordinator
    if party.name in party.study.roster.members:
        yield Send(coordinator, SharesHeld(what.bound()))
    add_up = yield from receive(coordinator, AddUp)
    if (add_up.context, add_up.peers) != (what.bound(), tuple(peers)):
        raise ViolationError(
            f"{name}: expected a sum over {', '.join(peers)} in this attempt, and this is not",
            party=coordinator,
        )
    note_opened(party, name, peers, series)
    if party.name in party.study.roster.members:
        yield from hear_of_all(party, what, peers)


def hear_of_all(party: PartyContext, what: Summand, peers: Sequence[str]) -> Party[None]:
    """At a member: every other member has written down the same sum, or nothing is given."""
    if not may_shrink(party.study):
        return
    others = [name for name in party.study.quorum_of(peers).members if name != party.name]
    for to in (*others, party.study.roster.coordinator):
        yield Send(to, SumNoted(what.bound()))
    for member in others:
        yield from _noted(what, member)


def _noted(what: Summand, member: str) -> Party[None]:
    noted = yield from receive(member, SumNoted)
    if noted.context != what.bound():
        raise ViolationError("the sum that it agreed to is another one", party=member)


def may_shrink(study: Study) -> bool:
    """Whether a sum over fewer peers than all has enough members: else no two sets differ."""
    return len(study.roster.peers) > study.quorum.needed


def let_add(
    party: PartyContext, name: str, what: Summand, peers: Sequence[str], *, series: str = ""
) -> Party[Opener]:
    """At the coordinator: once every member has all shares, record the sum and tell everybody."""
    quorum = party.study.quorum_of(peers)
    for member in quorum.members:
        held = yield from receive(member, SharesHeld)
        if held.context != what.bound():
            raise ViolationError(f"{name}: the shares are of another plan or attempt", party=member)
    note_opened(party, name, peers, series)
    for seat in (*quorum.members, *peers):
        yield Send(seat, AddUp(what.bound(), tuple(peers)))
    if may_shrink(party.study):
        for member in quorum.members:
            yield from _noted(what, member)
    return Opener(quorum)


def add_to_sum(
    party: PartyContext,
    name: str,
    values: NDArray[np.int64],
    peers: Sequence[str],
    *,
    series: str = "",
) -> Party[None]:
    """At a peer: add its counts to a sum that the coordinator opens, once in this study."""
    what = summand(party, name, peers, len(values))
    yield from share_out(party, what, values)
    yield from wait_to_add(party, name, what, peers, series=series)


def help_sum(
    party: PartyContext,
    name: str,
    length: int,
    peers: Sequence[str],
    *,
    series: str = "",
    keep: Callable[[str, Planes], None] = _keep_nothing,
) -> Party[None]:
    """At a member: give its share of a sum over these peers to the coordinator, who opens it."""
    what = summand(party, name, peers, length)
    total = yield from collect_shares(party, what, peers, keep=keep)
    yield from wait_to_add(party, name, what, peers, series=series)
    yield from give_sum(party.study.quorum_of(peers), what.base, total)


def open_sum(
    party: PartyContext, name: str, length: int, peers: Sequence[str], *, series: str = ""
) -> Party[NDArray[np.int64]]:
    """At the coordinator: open and return the sum over these peers."""
    what = summand(party, name, peers, length)
    opener = yield from let_add(party, name, what, peers, series=series)
    return (yield from take_sum(opener, what.base, length)).astype(np.int64)


def note_opened(party: PartyContext, name: str, peers: Sequence[str], series: str = "") -> None:
    """Record that this sum is opened over these peers; a second time raises."""
    this = party.round(name, peers, series=series)
    party.book.begin(this)
    party.book.spend(this, tuple(peers))
