"""One-time random numbers that t + 1 members deal: nobody knows their sum; each is used once.

    member                                   dealer
      │ DealingNonce ───────────────────────────▶│   random bytes of this run of the member
      │◀──────────────────────────── QuorumSeed ─│   a seed for each pair, bound to them; covers.py
      │◀───────────────────────── QuorumNumbers ─│   what its seed cannot give

Every dealer draws its own numbers and shares them with a fresh polynomial. The numbers of all
dealers are added up, so one dealer who does not pool is enough: the sum is as unknown to everybody
else as that dealer's part. Seeds belong to one context (study, round, attempt, members), and every
stream is drawn once (`material.py`). Who learns what: a member sees its own shares, which are
uniform. Assuming that at most t members pool.

What can be handed to a member a second time. A member's folder may come back from a backup, or run
as a copy elsewhere. It then does not know conversations that it had since, and a coordinator can
hand it their letters again, some of them changed with the help of a party that sides with it. Two
values under one mask show their difference: a weight of the member's share of the model, or of the
joint moments.

- dictionary, and the sums of an evaluation: nothing is dealt. Shares of a sum over the same peers
  give the same sum again, or one that differs by what who changed its part knows already. Sums over
  other peers need the word of all other members (`study/stages/quorum_sums.py`).
- contributions: what peers shared, then what was dealt for the checks, then what was opened.
- training: what was dealt, then what was opened.
- labels, and the counts of an evaluation: rows of an asker, what was dealt, what was opened.

So whatever is dealt to a member is bound to its nonce, which it draws once it holds what it will
mask: its entropy depends on that. Its journal keeps the seed of a conversation from its beginning:
after a crash the same nonce is drawn, and the dealing fits. A folder that does not know a
conversation draws another nonce, and refuses the old seeds before any share leaves. Numbers are
also bound to everything that was opened before they were dealt (`OpenedHistory`), so that other
opened values cannot be told with the same numbers. Numbers for several steps of a solve are dealt
together; a copy of a folder that was made in the middle of a solve has them. So a sharing of zero
that is bound to everything opened before covers every share of degree 2t besides (covers.py).
Shares of degree t that are opened are sums of what peers shared, or differ between two tellings
by what was told alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np

from sottovoce import wire
from sottovoce.entropy import SEED_BYTES, Entropy, Expansion, bound
from sottovoce.errors import MisuseError, ViolationError
from sottovoce.numbers.residues import Base, Planes
from sottovoce.protocols.conversation import Party, Send, gather, receive
from sottovoce.protocols.disclosures import BY_ONE_MEMBER, THRESHOLD_HOLDS
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.quorum.covers import Covers, Group, groups_dealt
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import OpenedValues, Opener, Opening, given, read_planes
from sottovoce.protocols.quorum.sharing import shares_beside
from sottovoce.protocols.quorum.told_record import ToldRecord
from sottovoce.protocols.runner import Meddler, Outcome, converse
from sottovoce.protocols.shares.material import Context, Ledger


class DealingNonce(Message, frozen=True):
    """Random bytes of one run of a member, to which everything is bound that is dealt to it."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ONE_MEMBER,
        reveals="nothing: random bytes, bound to this run of the member",
        assuming=THRESHOLD_HOLDS,
    )
    nonce: bytes
    context: bytes


class QuorumSeed(Message, frozen=True):
    """One member's part of a dealer's random numbers for a context, and the member's nonce.

    `covers` are seeds of sharings of zero (covers.py).
    """

    discloses: ClassVar = Disclosure(
        seen_by=BY_ONE_MEMBER,
        reveals="nothing: the dealing member drew it at random before any data came",
        assuming=THRESHOLD_HOLDS,
    )
    seed: bytes
    context: bytes
    nonce: bytes
    covers: tuple[bytes, ...]


class QuorumNumbers(Message, frozen=True):
    """Shares of a dealer's numbers, for a member whose seed does not give them.

    `history` is a digest of what was opened before they were dealt.
    """

    discloses: ClassVar = Disclosure(
        seen_by=BY_ONE_MEMBER,
        reveals="nothing: as many shares as the threshold say nothing of what was dealt, "
        "and what was dealt says nothing of any document",
        assuming=THRESHOLD_HOLDS,
    )
    shares: tuple[wire.Residues, ...]
    history: bytes


class OpenedHistory:
    """A digest of everything that a member was told of openings, in order."""

    def __init__(self) -> None:
        self._told = blake2b(digest_size=SEED_BYTES, person=b"sottovoce/opened")

    def add(self, values: wire.Residues) -> None:
        """Add what was told of one opening."""
        self._told.update(len(values.data).to_bytes(8))
        self._told.update(values.data)

    def digest(self) -> bytes:
        """The digest so far."""
        return self._told.digest()


@dataclass(frozen=True)
class Item:
    """Numbers of one kind that every dealer draws: how they are shared, and how many."""

    degree: int
    base: Base
    shape: tuple[int, ...]


Secrets = Callable[[Entropy], Sequence[Planes]]
"""Draws a dealer's own numbers, one tensor for each item."""


@dataclass(frozen=True)
class QuorumMember:
    """One member in one context, with the seeds that it received and the seeds that it dealt.

    Where members check what they are told (told_check.py), it keeps that in `told_record`.
    """

    quorum: Quorum
    name: str
    context: Context
    entropy: Entropy = field(repr=False)
    ledger: Ledger = field(repr=False)
    taken: Mapping[str, bytes] = field(repr=False)
    given: Mapping[str, bytes] = field(repr=False)
    covers: Covers = field(repr=False)
    told_record: ToldRecord | None = field(default=None, repr=False, compare=False)
    history: OpenedHistory = field(default_factory=OpenedHistory, repr=False, compare=False)

    @property
    def is_dealer(self) -> bool:
        """Whether this member deals masks."""
        return self.name in self.quorum.dealers

    def stream(self, seed: bytes, *, dealer: str, member: str, purpose: str) -> Entropy:
        """The stream of a dealer's seed for one member and one purpose."""
        label = f"quorum/{purpose}/{dealer}/{member}/v2"
        return Expansion(seed, label, self.context.encode() + self.history.digest())

    def spend(self, purpose: str) -> None:
        """Record that what is dealt for a purpose is used now; a second call raises."""
        self.ledger.spend(self.context, f"quorum/{purpose} at {self.name}")


def seated(
    quorum: Quorum, name: str, context: Context, *, entropy: Entropy, ledger: Ledger
) -> Party[QuorumMember]:
    """A member's first step: receive every dealer's seed for it, bound to context and nonce.

    The entropy depends on everything that the member will mask, as far as it has that already.
    """
    quorum.point(name)
    ledger.spend(context, f"quorum/seeds at {name}")
    nonce, here = entropy.seed(), context.encode()
    for dealer in quorum.dealers:
        if dealer != name:
            yield Send(dealer, DealingNonce(nonce, here))
    given, covers = {}, dict[Group, bytes]()
    if name in quorum.dealers:
        nonces = yield from _nonces(quorum, name, here)
        # With other nonces another stream: a dealer, too, may be an older copy.
        theirs = (nonces.get(other, b"") for other in quorum.members)
        entropy = bound(entropy, "quorum/dealt to/v1", *theirs)
        given = {other: entropy.seed() for other in quorum.members}
        covers = {group: entropy.seed() for group in groups_dealt(quorum, name)}
        for other, its_nonce in nonces.items():
            seeds = tuple(seed for group, seed in covers.items() if other in group)
            yield Send(other, QuorumSeed(given[other], here, its_nonce, seeds))
    covers = {group: seed for group, seed in covers.items() if name in group}
    taken = {}
    for dealer in quorum.dealers:
        if dealer == name:
            taken[dealer] = given[name]
            continue
        seed = yield from receive(dealer, QuorumSeed)
        groups = [group for group in groups_dealt(quorum, dealer) if name in group]
        sizes = {len(each) for each in (seed.seed, *seed.covers)}
        if seed.context != here or sizes != {SEED_BYTES} or len(seed.covers) != len(groups):
            raise ViolationError(
                f"expected seeds of {SEED_BYTES} bytes for {context}, found others", party=dealer
            )
        _check_nonce(seed, nonce, dealer)
        taken[dealer] = seed.seed
        covers |= dict(zip(groups, seed.covers, strict=True))
    own = Covers(quorum, quorum.point(name), covers)
    return QuorumMember(quorum, name, context, entropy, ledger, taken, given, own)


def _nonces(quorum: Quorum, name: str, here: bytes) -> Party[dict[str, bytes]]:
    """At a dealer: the nonces of the other members that are there."""
    others = [other for other in quorum.members if other != name]
    messages = yield from gather(DealingNonce, others)
    for other, message in messages.items():
        if message.context != here or len(message.nonce) != SEED_BYTES:
            raise ViolationError(
                f"expected a nonce of {SEED_BYTES} bytes for this conversation, found another",
                party=other,
            )
    return {other: message.nonce for other, message in messages.items()}


def _check_nonce(seed: QuorumSeed, nonce: bytes, dealer: str) -> None:
    """Refuse a seed that answers another run of this member."""
    if seed.nonce != nonce:
        raise ViolationError(
            f"QuorumSeed: what {dealer} dealt is for another run of this seat; nothing masked was "
            f"sent. Letters of an earlier run come again, or this seat runs twice, or {dealer} "
            "is wrong"
        )


def opened(member: QuorumMember, opening: Opening, share: Planes) -> Party[Planes]:
    """Send this member's share, and return the value that the opener tells."""
    opener = member.quorum.opener
    if opening.degree > member.quorum.threshold:
        share = member.covers.covered(share, member.context.encode() + member.history.digest())
    yield from given(member.quorum, opening, share)
    answer = yield from receive(opener, OpenedValues)
    value = opening.read(answer.values, sender=opener)
    member.history.add(answer.values)
    if member.told_record is not None:
        member.told_record.add(share, value, shift=opening.shift)
    return value


def dealt(
    member: QuorumMember, items: Sequence[Item], secrets: Secrets, *, purpose: str
) -> Party[list[list[Planes]]]:
    """Return this member's shares of what each dealer drew: by dealer, then by item."""
    member.spend(purpose)
    own: Sequence[Planes] = ()
    if member.is_dealer:
        drawn = bound(member.entropy, "quorum/dealt numbers/v1", member.history.digest())
        own = yield from _deal(member, items, secrets(drawn), purpose=purpose)
    shares = []
    for dealer in member.quorum.dealers:
        if dealer == member.name:
            shares.append(list(own))
        else:
            shares.append((yield from _take(member, items, dealer, purpose=purpose)))
    return shares


def dealt_sums(
    member: QuorumMember, items: Sequence[Item], secrets: Secrets, *, purpose: str
) -> Party[list[Planes]]:
    """Return this member's shares of the sums of what all dealers drew, by item."""
    by_dealer = yield from dealt(member, items, secrets, purpose=purpose)
    sums = by_dealer[0]
    for more in by_dealer[1:]:
        sums = [
            item.base.add(total, share)
            for item, total, share in zip(items, sums, more, strict=True)
        ]
    return sums


def renewed(member: QuorumMember, share: Planes, *, degree: int, purpose: str) -> Party[Planes]:
    """Return the same value under a fresh polynomial of this degree, by adding shares of zero."""
    base = Base(len(share))
    zeros = np.zeros_like(share)
    item = Item(degree, base, share.shape[1:])
    (zero,) = yield from dealt_sums(member, [item], lambda _: [zeros], purpose=purpose)
    return base.add(share, zero)


def _deal(
    member: QuorumMember, items: Sequence[Item], secrets: Sequence[Planes], *, purpose: str
) -> Party[list[Planes]]:
    """Share this dealer's numbers: send the others their shares and return its own."""
    quorum, name = member.quorum, member.name
    streams = {
        other: member.stream(member.given[other], dealer=name, member=other, purpose=purpose)
        for other in quorum.members
    }
    shared = []
    for item, secret in zip(items, secrets, strict=True):
        if secret.shape != (item.base.count, *item.shape):
            raise MisuseError(f"dealing: expected numbers of shape {item.shape}")
        seeded = [
            item.base.draw(streams[other], *item.shape) for other in quorum.seeded(item.degree)
        ]
        shared.append(shares_beside(secret, seeded, degree=item.degree, quorum=quorum))
    for other in quorum.members:
        parts = tuple(
            wire.Residues.of(shares[other])
            for item, shares in zip(items, shared, strict=True)
            if other not in quorum.seeded(item.degree)
        )
        if other != name and parts:
            yield Send(other, QuorumNumbers(parts, member.history.digest()))
    return [shares[name] for shares in shared]


def _take(
    member: QuorumMember, items: Sequence[Item], dealer: str, *, purpose: str
) -> Party[list[Planes]]:
    """Return this member's shares of one dealer's numbers, from its seed or from a message."""
    quorum, name = member.quorum, member.name
    seed = member.taken[dealer]
    stream = member.stream(seed, dealer=dealer, member=name, purpose=purpose)
    sent = [item for item in items if name not in quorum.seeded(item.degree)]
    parts: tuple[wire.Residues, ...] = ()
    if sent:
        numbers = yield from receive(dealer, QuorumNumbers)
        parts = numbers.shares
        _check_history(member, numbers, dealer)
        if len(parts) != len(sent):
            raise ViolationError(
                f"QuorumNumbers: expected {len(sent)} parts, found {len(parts)}", party=dealer
            )
    left = iter(parts)
    shares = []
    for item in items:
        if name in quorum.seeded(item.degree):
            shares.append(item.base.draw(stream, *item.shape))
        else:
            shape = (item.base.count, *item.shape)
            shares.append(read_planes(next(left), shape, sender=dealer, what="QuorumNumbers"))
    return shares


def _check_history(member: QuorumMember, numbers: QuorumNumbers, dealer: str) -> None:
    """Refuse numbers that were dealt after other openings than this member was told of."""
    if numbers.history != member.history.digest():
        raise ViolationError(
            f"QuorumNumbers: {dealer} was told other opened values than this member: "
            f"{member.quorum.opener} told us different ones, or {dealer} pretends so"
        )


@dataclass(frozen=True)
class QuorumPrograms:
    """The programs of the members, once they have their seeds, and of the opener."""

    member: Callable[[QuorumMember], Party[Any]]
    opener: Callable[[Opener], Party[Any]]


def run(
    programs: QuorumPrograms,
    quorum: Quorum,
    context: Context,
    *,
    entropy: Entropy,
    others: Mapping[str, Party[Any]] | None = None,
    meddler: Meddler | None = None,
) -> Outcome:
    """The whole conversation of a quorum in memory; `others` are askers or contributors."""

    def member(name: str) -> Party[Any]:
        own = Expansion(entropy.seed(), f"quorum/run/{name}/v1")
        sits = yield from seated(quorum, name, context, entropy=own, ledger=Ledger())
        return (yield from programs.member(sits))

    parties = {name: member(name) for name in quorum.members}
    parties[quorum.opener] = programs.opener(Opener(quorum))
    return converse({**parties, **(others or {})}, session=context.encode(), meddler=meddler)
