"""Contributions of all peers, shared among the members and added up; nobody sees a single one.

    peer p                                 member i                    opener (C)
      │ ContributionSeed (t members) ─────────▶│                           │
      │ ContributionPlane (the others) ───────▶│   adds up                 │
      │                                        │ share of a sum ──────────▶│   if the card lists it

A peer shares its integers with degree t: t members get a seed, the others get the polynomial
through the peer's values and those t shares, sealed to each. The sum of the members' shares is
a share of the sum of all peers; moment_check.py looks at single ones. Who learns what: the
opener learns the sums that the study card lists, over all peers; nobody learns anything else,
assuming that at most t members pool, with or without the opener.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.entropy import SEED_BYTES, Entropy, Expansion
from sottovoce.errors import InputError, ViolationError
from sottovoce.numbers.residues import BLOCK, Base, Planes, combined, drawn, reduced, slices
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import BY_ONE_MEMBER, BY_OPENER, THRESHOLD_HOLDS
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.quorum.members import Quorum, weights
from sottovoce.protocols.quorum.opening import Opener, Opening, OpeningShare, given
from sottovoce.protocols.shares.material import Context

# Counts of all peers together stay far below 2^41. In one field a small error in a share would be a
# small error in a count; with two fields, an error in one of them gives a number far out of range.
COUNT_BASE = Base(2)


class ContributionSeed(Message, frozen=True):
    """The seed of one member's share of a contribution."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ONE_MEMBER,
        reveals="nothing: random bytes that stand for a member's share",
        assuming=THRESHOLD_HOLDS,
    )
    seed: bytes
    context: bytes


class ContributionPlane(Message, frozen=True):
    """One member's share of a contribution, modulo one of the primes."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ONE_MEMBER,
        reveals="nothing: as many shares as the threshold are uniform, whatever was shared",
        assuming=THRESHOLD_HOLDS,
    )
    context: bytes
    plane: int
    share: wire.Residues


class SumShare(OpeningShare, frozen=True):
    """A share of a sum over all peers that the study card lists."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_OPENER,
        reveals="a sum over all peers that the study card lists, and nothing about one of them",
        assuming=THRESHOLD_HOLDS,
    )


@dataclass(frozen=True)
class Summand:
    """The contributions to one sum: the number of integers, their base, and the context."""

    purpose: str
    context: Context
    length: int
    base: Base

    def bound(self) -> bytes:
        """The bytes that bind a share to its plan and attempt."""
        label = f"{self.purpose}/{self.length}/{self.base.count}".encode()
        return len(label).to_bytes(4) + label + self.context.encode()

    def expanded(self, seed: bytes, plane: int) -> Planes:
        """Expand a seed into residues modulo one of the primes."""
        stream = Expansion(seed, f"quorum/sum/{self.purpose}/{plane}/v1", self.bound())
        return drawn(stream, self.length, self.base.primes[plane])


def contribute(
    quorum: Quorum, summand: Summand, values: NDArray[np.int64], *, name: str, entropy: Entropy
) -> Party[Planes | None]:
    """At a peer: share its integers among the members; return its own share if it is a member."""
    if values.shape != (summand.length,) or values.dtype != np.int64:
        raise InputError(
            f"{summand.purpose}: expected {summand.length} integers, found {values.shape}"
        )
    if quorum.opener == name:
        raise InputError(f"{summand.purpose}: the opener {name!r} contributes nothing")
    degree = quorum.threshold
    seeds = {member: entropy.seed() for member in quorum.seeded(degree)}
    for member, seed in seeds.items():
        if member != name:
            yield Send(member, ContributionSeed(seed, summand.bound()))
    kept = np.empty((summand.base.count, summand.length), np.uint32)
    for plane in range(summand.base.count):
        shares = _plane_shares(quorum, summand, values, list(seeds.values()), plane)
        for member, share in shares.items():
            if member == name:
                kept[plane] = share
            elif member not in seeds:
                sent = wire.Residues.of(share[np.newaxis])
                yield Send(member, ContributionPlane(summand.bound(), plane, sent))
    return kept if name in quorum.members else None


def _plane_shares(
    quorum: Quorum,
    summand: Summand,
    values: NDArray[np.int64],
    seeds: Sequence[bytes],
    plane: int,
) -> dict[str, Planes]:
    """Return everybody's share modulo one of the primes, computed block by block."""
    prime, degree = summand.base.primes[plane], quorum.threshold
    seeded = [summand.expanded(seed, plane) for seed in seeds]
    points = (0, *quorum.points[:degree])
    others = dict(zip(quorum.members[degree:], quorum.points[degree:], strict=True))
    shares = {member: np.empty(summand.length, np.uint32) for member in others}
    for part in slices(summand.length, BLOCK):
        terms = [reduced(values[part], prime), *(share[part] for share in seeded)]
        for member, at in others.items():
            shares[member][part] = combined(terms, weights(points, at, prime), prime)
    return dict(zip(quorum.seeded(degree), seeded, strict=True)) | shares


def collect(
    quorum: Quorum, summand: Summand, peer: str, *, name: str, own: Planes | None = None
) -> Party[Planes]:
    """At a member: return its share of a peer's contribution (for its own, the kept share)."""
    if peer == name:
        if own is None:
            raise InputError(f"{summand.purpose}: expected {name!r} to keep its own share")
        return own
    share = np.empty((summand.base.count, summand.length), np.uint32)
    if name in quorum.seeded(quorum.threshold):
        seed = yield from receive(peer, ContributionSeed)
        _check_bound(summand, seed.context, peer)
        if len(seed.seed) != SEED_BYTES:
            raise ViolationError(f"expected a seed of {SEED_BYTES} bytes", party=peer)
        for plane in range(summand.base.count):
            share[plane] = summand.expanded(seed.seed, plane)
        return share
    for plane, prime in enumerate(summand.base.primes):
        message = yield from receive(peer, ContributionPlane)
        _check_bound(summand, message.context, peer)
        if message.plane != plane or message.share.shape != (1, summand.length):
            raise ViolationError(
                f"{summand.purpose}: expected plane {plane} of {summand.length} residues, found "
                f"plane {message.plane} of shape {message.share.shape}",
                party=peer,
            )
        share[plane] = message.share.planes()[0]
        if int(share[plane].max(initial=0)) >= prime:
            raise ViolationError(
                f"{summand.purpose}: expected residues below {prime}, found one above", party=peer
            )
    return share


def _check_bound(summand: Summand, context: bytes, peer: str) -> None:
    if context == summand.bound():
        return
    if context.endswith(summand.context.encode()):
        # Study, attempt and peers are the same: either that peer or this member was shown other
        # values.
        raise ViolationError(
            f"contribution: {peer} was shown other public values than this member: the coordinator "
            f"sent us different ones, or {peer} pretends so"
        )
    raise ViolationError(f"{summand.purpose}: the share is of another plan or attempt", party=peer)


def sum_opening(quorum: Quorum, base: Base, length: int) -> Opening:
    """The opening of a sum that the card lists."""
    return Opening(SumShare, quorum.threshold, base, (length,))


def give_sum(quorum: Quorum, base: Base, share: Planes) -> Party[None]:
    """At a member: send its share of a sum that only the opener learns."""
    yield from given(quorum, sum_opening(quorum, base, share.shape[1]), share)


def take_sum(opener: Opener, base: Base, length: int) -> Party[NDArray[np.object_]]:
    """At the opener: return a sum over all peers, as signed integers."""
    value = yield from opener.take(sum_opening(opener.quorum, base, length))
    return base.signed(value)
