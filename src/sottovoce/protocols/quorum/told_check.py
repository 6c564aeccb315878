"""The check that everybody was told what was opened, before it is used.

    member i                            every other member            opener (C)
      │◀──────────────────────────── who is there: ToldAmong ───────────│
      │ ToldPromise: a hash ────────────────▶│
      │ ToldSeed: what the hash is of ──────▶│   together: what is added up, 48 times over
      │ ToldShare: its shares of the sums ──▶│   sum − 2^f · (what was told) in [0, count · 2^f)

The opener tells members what it opened, and they go on from there. In the steps of a solve it tells
quotients of masked numbers: one that adds a number of its choice drives the next values out of
their masks, and reads columns of the joint moments there. It also tells the end of the joint
spectrum: with one that is too low, the steps grow by themselves until no mask covers them. And it
tells the bits that say that all is well. So what members are told in a training is kept
(told_record.py), and they add up random halves of all that was opened, from their own shares, and
of all that they were told. Where nothing was divided the two are the same; else the difference is
the sum of honest remainders; or the study stops. A number that is told wrong passes with a chance
of 2^-48; a quotient, if it is wrong by more than twice the count. Checked are: the contributions
(claimed rows, signs, both ends of the spectrum) before a solve begins, the steps of a solve with
its last bit, and the cuts that make a model of its result. Who learns what: members see sums of
shares that the opener saw one by one; nobody learns anything else. Assuming that at most t members
pool, with or without the opener: the check is against an opener alone; with a member that deals its
shares of the sums to fit, it passes.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from sottovoce import wire
from sottovoce.entropy import SEED_BYTES
from sottovoce.errors import MisuseError, ViolationError
from sottovoce.numbers.residues import Planes
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import (
    BY_EVERY_MEMBER,
    BY_ONE_MEMBER,
    ROSTER_IS_PUBLIC,
    THRESHOLD_HOLDS,
)
from sottovoce.protocols.identities import digest
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.quorum.dealing import QuorumMember
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import read_planes
from sottovoce.protocols.quorum.sharing import put_together
from sottovoce.protocols.quorum.told_record import ToldRecord, ToldSums


class ToldAmong(Message, frozen=True):
    """The members that are still there, who check what they were told."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_EVERY_MEMBER,
        reveals="which members are there when a part of a training ends",
        assuming=ROSTER_IS_PUBLIC,
    )
    members: tuple[str, ...]


class ToldPromise(Message, frozen=True):
    """A hash of a member's part of the choice of what is added up."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ONE_MEMBER,
        reveals="nothing: a hash of random bytes",
        assuming=THRESHOLD_HOLDS,
    )
    digest: bytes


class ToldSeed(Message, frozen=True):
    """A member's part of the choice of what is added up."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ONE_MEMBER,
        reveals="nothing: random bytes, drawn after everything was told",
        assuming=THRESHOLD_HOLDS,
    )
    seed: bytes


class ToldShare(Message, frozen=True):
    """A member's shares of sums of what was opened, one for each kind of opening."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ONE_MEMBER,
        reveals="nothing but sums of what was opened: random sums of shares that the opener saw",
        assuming=THRESHOLD_HOLDS,
    )
    shares: tuple[wire.Residues, ...]


def keeping_told(member: QuorumMember) -> QuorumMember:
    """Return the member, which keeps from now on what it is told, until `check_told`."""
    return member if member.told_record is not None else replace(member, told_record=ToldRecord())


def tell_who_is_there(quorum: Quorum, present: Sequence[str]) -> Party[None]:
    """At the opener: the members that check each other's word."""
    names = quorum.among(present).members
    for name in names:
        yield Send(name, ToldAmong(names))


def check_told(member: QuorumMember, *, purpose: str) -> Party[None]:
    """At a member: go on if what it was told since the last check is what all opened."""
    if member.told_record is None:
        raise MisuseError(f"{purpose}: expected a member that keeps what it is told")
    quorum = yield from _present(member)
    others = [name for name in quorum.members if name != member.name]
    context = member.context.encode()
    seeds = yield from _exchanged_seeds(member, others, purpose=purpose)
    joint = digest("quorum/told-seed/v1", purpose.encode(), *(seeds[m] for m in quorum.members))
    sums = list(member.told_record.sums(joint, context))
    for name in others:
        yield Send(name, ToldShare(tuple(wire.Residues.of(kind.shares) for kind in sums)))
    shares = {member.name: [kind.shares for kind in sums]}
    for name in others:
        message = yield from receive(name, ToldShare)
        shares[name] = _read(message, sums, sender=name)
    for place, kind in enumerate(sums):
        own = {name: parts[place] for name, parts in shares.items()}
        value = put_together(own, degree=2 * quorum.threshold, quorum=quorum, what="ToldShare")
        if not kind.fits(value):
            raise ViolationError(
                "expected what was opened, found that we were told something else: these numbers "
                "are not used",
                party=quorum.opener,
            )
    member.told_record.clear()


def _read(message: ToldShare, sums: Sequence[ToldSums], *, sender: str) -> list[Planes]:
    """Return another member's shares of the sums, after checking their number and shapes."""
    if len(message.shares) != len(sums):
        raise ViolationError(
            f"ToldShare: expected {len(sums)} kinds of openings, found {len(message.shares)}",
            party=sender,
        )
    return [
        read_planes(share, kind.shares.shape, sender=sender, what="ToldShare")
        for share, kind in zip(message.shares, sums, strict=True)
    ]


def _present(member: QuorumMember) -> Party[Quorum]:
    """The members that are there, by the opener's word: enough of them, and this one."""
    opener = member.quorum.opener
    names = (yield from receive(opener, ToldAmong)).members
    quorum = member.quorum.among(names)
    if quorum.members != names or member.name not in names:
        raise ViolationError("the members are not those of this training", party=opener)
    return quorum


def _exchanged_seeds(
    member: QuorumMember, others: Sequence[str], *, purpose: str
) -> Party[dict[str, bytes]]:
    """Everybody's random bytes: nobody chose its own after it saw another's."""
    mine = member.entropy.seed()
    for name in others:
        yield Send(name, ToldPromise(_promise(member, member.name, mine, purpose)))
    promises = {}
    for name in others:
        promises[name] = (yield from receive(name, ToldPromise)).digest
    for name in others:
        yield Send(name, ToldSeed(mine))
    seeds = {member.name: mine}
    for name in others:
        seed = (yield from receive(name, ToldSeed)).seed
        if len(seed) != SEED_BYTES or _promise(member, name, seed, purpose) != promises[name]:
            raise ViolationError("ToldSeed: these bytes are not those promised", party=name)
        seeds[name] = seed
    return seeds


def _promise(member: QuorumMember, name: str, seed: bytes, purpose: str) -> bytes:
    where = (member.context.encode(), name.encode(), purpose.encode())
    return digest("quorum/told-promise/v1", *where, seed)
