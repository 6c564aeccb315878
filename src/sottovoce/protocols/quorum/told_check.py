"""The check that everybody was told what was opened, before a model is used.

    member i                            every other member            opener (C)
      │◀──────────────────────────── who is there: ToldAmong ───────────│
      │ ToldPromise: a hash ────────────────▶│
      │ ToldSeed: what the hash is of ──────▶│   together: what is added up, 48 times over
      │ ToldShare: its shares of the sums ──▶│   sum − 2^f · (what was told) in [0, count · 2^f)

In the steps of a solve the opener tells members the quotient of a masked number, and they use it as
it is. One that adds a number of its choice to what it tells drives the next values out of their
masks, and reads columns of the joint moments there. So members add up random halves of all that was
opened, from their own shares, and of all that they were told: the difference is the sum of honest
remainders, or else the study stops. A number that is told wrong by more than twice the count passes
with a chance of 2^-48. Who learns what: members see sums of shares that the opener saw one by one;
nobody learns anything else. Assuming that at most t members pool, with or without the opener: the
check is against an opener alone; with a member that deals its shares of the sums to fit, it passes.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.entropy import SEED_BYTES, Expansion
from sottovoce.errors import ViolationError
from sottovoce.numbers.residues import Base, Planes
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

_SUMS = 48


class ToldAmong(Message, frozen=True):
    """The members that are still there, who check what they were told."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_EVERY_MEMBER,
        reveals="which members are there at the end of a solve",
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
    """A member's shares of sums of masked values that were opened."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ONE_MEMBER,
        reveals="nothing: random sums of shares of masked values, each of which the opener saw",
        assuming=THRESHOLD_HOLDS,
    )
    share: wire.Residues


class ToldRecord:
    """At a member: its shares of what was opened, and what it was told of it."""

    def __init__(self, base: Base, shift: int) -> None:
        self.base, self.shift = base, shift
        self._shares: list[Planes] = []
        self._told: list[Planes] = []

    def add(self, share: Planes, answer: Planes) -> None:
        """Keep one opening until all of them are checked."""
        self._shares.append(share.reshape(self.base.count, -1))
        self._told.append(answer.reshape(self.base.count, -1))

    @property
    def count(self) -> int:
        """The number of values."""
        return sum(share.shape[1] for share in self._shares)

    def sums(self, seed: bytes, context: bytes) -> tuple[Planes, Planes]:
        """Random halves of the shares, and the same halves of what was told, 48 of each."""
        stream = Expansion(seed, "quorum/told/v1", context)
        shares, answers = (np.zeros((self.base.count, _SUMS), np.uint32) for _ in range(2))
        for share, number in zip(self._shares, self._told, strict=True):
            size = share.shape[1]
            drawn = np.frombuffer(stream.read(_SUMS * -(-size // 8)), np.uint8)
            bits = np.unpackbits(drawn.reshape(_SUMS, -1), axis=1, count=size)
            shares = self.base.add(shares, _halves(self.base, bits, share))
            answers = self.base.add(answers, _halves(self.base, bits, number))
        return shares, answers


def _halves(base: Base, bits: NDArray[np.uint8], planes: Planes) -> Planes:
    """Sums of the values that the bits choose: exact, as they stay far below 2^53."""
    sums = planes.astype(np.float64) @ bits.T.astype(np.float64)
    primes = np.array(base.primes, np.int64)[:, np.newaxis]
    return np.asarray(sums.astype(np.int64) % primes, np.uint32)


def tell_who_is_there(quorum: Quorum, present: Sequence[str]) -> Party[None]:
    """At the opener: the members that check each other's word."""
    names = quorum.among(present).members
    for name in names:
        yield Send(name, ToldAmong(names))


def check_told(member: QuorumMember, record: ToldRecord, *, purpose: str) -> Party[None]:
    """At a member: go on if what it was told is what all opened."""
    quorum = yield from _present(member)
    others = [name for name in quorum.members if name != member.name]
    context = member.context.encode()
    seeds = yield from _exchanged_seeds(member, others, purpose=purpose)
    joint = digest("quorum/told-seed/v1", purpose.encode(), *(seeds[m] for m in quorum.members))
    share, answers = record.sums(joint, context)
    for name in others:
        yield Send(name, ToldShare(wire.Residues.of(share)))
    shares = {member.name: share}
    for name in others:
        message = yield from receive(name, ToldShare)
        shares[name] = read_planes(message.share, share.shape, sender=name, what="ToldShare")
    opened = put_together(shares, degree=2 * quorum.threshold, quorum=quorum, what="ToldShare")
    rest = record.base.subtract(opened, record.base.scale(answers, 1 << record.shift))
    most = record.count << record.shift
    if not all(0 <= number < most for number in record.base.signed(rest).tolist()):
        raise ViolationError(
            "expected what was opened, found that we were told something else: the numbers of "
            "this solve are not used",
            party=quorum.opener,
        )


def _present(member: QuorumMember) -> Party[Quorum]:
    """The members that are there, by the opener's word: enough of them, and this one."""
    opener = member.quorum.opener
    names = (yield from receive(opener, ToldAmong)).members
    quorum = member.quorum.among(names)
    if quorum.members != names or member.name not in names:
        raise ViolationError("the members are not those of this solve", party=opener)
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
