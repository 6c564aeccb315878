"""A shared bit in all residue fields, from its shares in the first: opened under a shared coin.

    dealers (t + 1)            member i                       opener
      │ coins, degree t ─────────▶│   their exclusive or (products.py)
      │                           │◀── bit and coin are bits ────▶│   (bit_check.py)
      │                           │ bit ⊕ coin, made fresh ──────▶│   FlippedBit
      │                           │◀───────────── public ─────────│

Bit ⊕ coin is public and the same in every field. The coin is shared in all fields, and bit = public
⊕ coin is linear in its shares. Who learns what: a fair coin hides the bit from everybody, as long
as one dealer does not pool.
"""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.errors import ViolationError
from sottovoce.numbers.residues import Base, Planes
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.disclosures import BY_OPENER_THEN_MEMBERS, THRESHOLD_HOLDS
from sottovoce.protocols.messages import Disclosure
from sottovoce.protocols.quorum.bit_check import check_bits, check_openings
from sottovoce.protocols.quorum.comparison import BIT_BASE, random_bits
from sottovoce.protocols.quorum.dealing import Item, QuorumMember, dealt, opened, renewed
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import Opening, OpeningShare
from sottovoce.protocols.quorum.products import multiplied, reduction


class FlippedBit(OpeningShare, frozen=True):
    """A share of the outcome of a comparison, flipped by a shared coin."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_OPENER_THEN_MEMBERS,
        reveals="nothing: a fair coin that nobody knows hides the bit",
        assuming=THRESHOLD_HOLDS,
    )


def in_every_field(member: QuorumMember, bit: Planes, base: Base, *, purpose: str) -> Party[Planes]:
    """Return shares of degree t of a bit in all fields of a base, from its shares in the first."""
    quorum, shape = member.quorum, bit.shape[1:]
    item = Item(quorum.threshold, base, shape)

    def secrets(entropy: Entropy) -> list[Planes]:
        return [np.repeat(random_bits(entropy, shape)[np.newaxis], base.count, axis=0)]

    coins = yield from dealt(member, [item], secrets, purpose=f"{purpose}/coin")
    coin = coins[0][0]
    for fold, more in enumerate(coins[1:]):
        both = yield from multiplied(member, coin, more[0], purpose=f"{purpose}/coin/{fold}")
        coin = base.combine([coin, more[0], both], [1, 1, -2])
    # A value other than 0 and 1 would show through any coin; any bit shows through a bad coin.
    yield from check_bits(member, np.stack([bit[:1], coin[:1]], axis=1), purpose=purpose)
    product = BIT_BASE.times(bit[:1], coin[:1])
    flipped = BIT_BASE.combine([bit[:1], coin[:1], product], [1, 1, -2])
    covered = yield from renewed(
        member, flipped, degree=2 * quorum.threshold, purpose=f"{purpose}/flip"
    )
    public = yield from opened(member, _flip_opening(quorum, shape), covered)
    if (public > 1).any():
        raise ViolationError("FlippedBit: this is no bit: a share of an earlier opening was wrong")
    # bit = public ⊕ coin, and the public value is the same in every field.
    known = np.repeat(public, base.count, axis=0)
    return base.subtract(base.add(known, coin), base.scale(base.times(known, coin), 2))


def coin_openings(quorum: Quorum, base: Base, shape: tuple[int, ...]) -> Iterator[Opening]:
    """Yield every opening of `in_every_field`, in order."""
    for _ in range(quorum.threshold):
        yield reduction(quorum, base, shape)
    yield from check_openings(quorum, (2, *shape))
    yield _flip_opening(quorum, shape)


def _flip_opening(quorum: Quorum, shape: tuple[int, ...]) -> Opening:
    return Opening(FlippedBit, 2 * quorum.threshold, BIT_BASE, shape)
