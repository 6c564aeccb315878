"""Comparison without a dealer: shares of [y ≥ 0] from shares of y, and nobody learns it.

    dealers (t + 1)            member i                         opener
      │ bits, degree t ──────────▶│   their exclusive or, bit by bit (products.py)
      │ a high part, twice ──────▶│                                │
      │                           │ y + 2^ℓ + r ──────────────────▶│   MaskedScore
      │                           │◀──────────────── z ────────────│
      │                           │   is z mod 2^ℓ below r mod 2^ℓ? a tree of products

r = r″ + 2^ℓ·r′: the ℓ bits of r″ are the exclusive or of all dealers' bits, so they are uniform
if one dealer's are; r′ is the sum of numbers below 2^κ or more. For −2^ℓ ≤ y < 2^ℓ the opened value
has the same distribution for every y, within 2^(1−κ). Where y may be a false claim (`fitted`),
masks fill the fields: nobody reads more than log2(t + 1) bits of a y of any size. With c = z mod
2^ℓ, the bit is ⌊z/2^ℓ⌋ − r′ − [c < r″]: the last term comes from pairs (less, equal) that are
joined two by two. One residue field is enough for bits where |y| < 2^ℓ is certain. In the other
fields the sum r″ keeps degree 2t, because it only masks. For a y outside its range the "bit" is
⌊y/2^ℓ⌋ + 1 modulo the fields of bits: where y may be a false claim, bits are computed in three
fields, which leave no room for another y whose bit is 1 (`bit_base`). Who learns what: nobody
learns anything.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.errors import BoundError
from sottovoce.numbers import limbs
from sottovoce.numbers.residues import PRIMES, Base, Planes
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.disclosures import BY_OPENER, THRESHOLD_HOLDS
from sottovoce.protocols.messages import Disclosure
from sottovoce.protocols.quorum.dealing import Item, QuorumMember, dealt, opened
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import Opening, OpeningShare
from sottovoce.protocols.quorum.products import lowered, multiplied, reduction
from sottovoce.protocols.quorum.truncation import check_range, shifted_by

BIT_BASE = Base(1)
# A value, shifted so that it is not negative, and its mask's low part are below this times 2^ℓ.
_VALUE_RANGES = 3


class MaskedScore(OpeningShare, frozen=True):
    """A share of a number under a mask whose bits are shared, on its way to a comparison."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_OPENER,
        reveals="nothing: the bits of its mask are shared and known to nobody, and they reach "
        "further than the number by more bits than a study can use up",
        assuming=THRESHOLD_HOLDS,
    )


@dataclass(frozen=True)
class SharedComparison:
    """The comparison of values −2^bits ≤ y < 2^bits with 0, under masks of 2^hiding times that.

    `highest` is the bound below which each dealer draws the high part of its mask, by default
    2^hiding.
    """

    bits: int
    hiding: int
    base: Base
    bit_base: Base = BIT_BASE
    highest: int = 0

    def __post_init__(self) -> None:
        if self.bits < 1 or self.hiding < 1:
            raise BoundError(
                f"comparison: expected at least 1 bit and 1 of hiding, "
                f"found {self.bits} and {self.hiding}"
            )

    @classmethod
    def fitted(cls, bits: int, hiding: int, quorum: Quorum) -> "SharedComparison":
        """Return the comparison in the fewest fields that hold a masked value; masks fill them."""
        for count in range(BIT_BASE.count, len(PRIMES) + 1):
            room = (Base(count).modulus >> bits) - _VALUE_RANGES
            highest = room // (quorum.threshold + 1)
            if highest >= 1 << hiding:
                return cls(bits, hiding, Base(count), highest=highest)
        raise BoundError(
            f"comparison: values of {bits} bits under masks of {hiding} more do not fit "
            f"{len(PRIMES)} residues",
            hints=("raise the penalty",),
        )

    def limit(self, quorum: Quorum) -> int:
        """The bound below which honest shares open values."""
        highest = self.highest or 1 << self.hiding
        limit = _VALUE_RANGES + (quorum.threshold + 1) * highest << self.bits
        check_range(limit, self.base, what="comparison")
        return limit

    def opening(self, quorum: Quorum, shape: tuple[int, ...]) -> Opening:
        """Return the opening of the masked values."""
        limit = self.limit(quorum)
        return Opening(MaskedScore, 2 * quorum.threshold, self.base, shape, limit)

    def openings(self, quorum: Quorum, shape: tuple[int, ...]) -> Iterator[Opening]:
        """Yield every opening of the comparison, in order."""
        for fold in range(quorum.threshold):
            base = self.base if fold < quorum.threshold - 1 else self.bit_base
            yield reduction(quorum, base, (self.bits, *shape))
        yield self.opening(quorum, shape)
        for pairs in _levels(self.bits):
            yield reduction(quorum, self.bit_base, (2 * pairs, *shape))


def at_least_zero(
    member: QuorumMember, comparison: SharedComparison, share: Planes, *, purpose: str
) -> Party[Planes]:
    """Return a share of [y ≥ 0], of degree t in the fields of bits; y has degree 2t or less."""
    quorum, shape, bit_base = member.quorum, share.shape[1:], comparison.bit_base
    comparison.limit(quorum)
    bits, low, high, high_bit = yield from _mask(member, comparison, shape, purpose=purpose)
    base = comparison.base
    mask = base.add(low, base.scale(high, 1 << comparison.bits))
    masked = shifted_by(base, base.add(share, mask), 1 << comparison.bits)
    z = yield from opened(member, comparison.opening(quorum, shape), masked)
    whole = limbs.from_residues(z, base)
    public = limbs.low_bits(whole, comparison.bits).astype(np.uint32)
    less = yield from _less(member, public, bits, purpose=purpose)
    above = limbs.to_residues(limbs.shifted_right(whole, comparison.bits), bit_base)
    return bit_base.subtract(bit_base.subtract(above, high_bit), less)


def _mask(
    member: QuorumMember, comparison: SharedComparison, shape: tuple[int, ...], *, purpose: str
) -> Party[tuple[Planes, Planes, Planes, Planes]]:
    """Shares of the bits of r″, of r″ itself, of r′ with degree 2t, and with degree t."""
    quorum, base = member.quorum, comparison.base
    t, count, bit_base = quorum.threshold, comparison.bits, comparison.bit_base
    items = [
        Item(t, base, (count, *shape)),
        Item(2 * t, base, shape),
        Item(t, bit_base, shape),
    ]

    def secrets(entropy: Entropy) -> list[Planes]:
        coins = random_bits(entropy, (count, *shape))
        number = _drawn(comparison, entropy, shape)
        high = limbs.to_residues(number, base)
        return [np.repeat(coins[np.newaxis], base.count, axis=0), high, high[: bit_base.count]]

    by_dealer = yield from dealt(member, items, secrets, purpose=f"{purpose}/mask")
    high, high_bit = by_dealer[0][1], by_dealer[0][2]
    for shares in by_dealer[1:]:
        high, high_bit = base.add(high, shares[1]), bit_base.add(high_bit, shares[2])
    all_bits = [shares[0] for shares in by_dealer]
    bits, low = yield from _exclusive_or(member, comparison, all_bits, purpose=purpose)
    return bits, low, high, high_bit


def _drawn(comparison: SharedComparison, entropy: Entropy, shape: tuple[int, ...]) -> limbs.Limbs:
    """A dealer's high parts."""
    if comparison.highest:
        return limbs.drawn_under(entropy, comparison.highest, shape)
    return limbs.drawn_below(entropy, comparison.hiding, shape)


def _exclusive_or(
    member: QuorumMember, comparison: SharedComparison, by_dealer: list[Planes], *, purpose: str
) -> Party[tuple[Planes, Planes]]:
    """Return shares of the joined bits in the fields of bits, and of their number in all fields."""
    base, fields = comparison.base, comparison.bit_base.count
    joined, last = by_dealer[0], by_dealer[-1]
    for index, more in enumerate(by_dealer[1:-1]):
        product = yield from multiplied(member, joined, more, purpose=f"{purpose}/xor/{index}")
        joined = base.combine([joined, more, product], [1, 1, -2])
    # Degree 2t is enough for a mask. The degree of the bits themselves is lowered where needed.
    product = base.combine([joined, last, base.times(joined, last)], [1, 1, -2])
    bits = yield from lowered(member, product[:fields], purpose=f"{purpose}/xor")
    powers = [1 << place for place in range(product.shape[1])]
    # Use the lowered bits in their fields: if one is wrong, the sign is not a bit, which is
    # detected.
    used = np.concatenate([bits, product[fields:]])
    low = base.combine([used[:, place] for place in range(used.shape[1])], powers)
    return bits, low


def _less(member: QuorumMember, public: Planes, bits: Planes, *, purpose: str) -> Party[Planes]:
    """A share of [c < r] for public bits c and shared bits r, the lowest first."""
    base = Base(len(bits))
    public = np.repeat(public[np.newaxis], base.count, axis=0)
    ones = np.ones_like(public)
    # Bit by bit: less = (1 − c)·r, equal = 1 − c − r + 2cr, both linear in the shares.
    less = base.times(bits, ones - public)
    differ = base.add(base.times(bits, base.of(1 - 2 * public[0].astype(np.int64))), public)
    equal = base.subtract(ones, differ)
    for level, pairs in enumerate(_levels(bits.shape[1])):
        low, high = less[:, 0 : 2 * pairs : 2], equal[:, 1 : 2 * pairs : 2]
        factors = np.concatenate([low, equal[:, 0 : 2 * pairs : 2]], axis=1)
        products = yield from multiplied(
            member, np.concatenate([high, high], axis=1), factors, purpose=f"{purpose}/less/{level}"
        )
        joined = base.add(less[:, 1 : 2 * pairs : 2], products[:, :pairs])
        less = np.concatenate([joined, less[:, 2 * pairs :]], axis=1)
        equal = np.concatenate([products[:, pairs:], equal[:, 2 * pairs :]], axis=1)
    return np.asarray(less[:, 0])


def _levels(bits: int) -> Iterator[int]:
    """The number of pairs that are joined at each level of the tree."""
    while bits > 1:
        yield bits // 2
        bits = bits // 2 + bits % 2


def random_bits(entropy: Entropy, shape: tuple[int, ...]) -> Planes:
    """Fair coins."""
    count = int(np.prod(shape, dtype=np.int64))
    data = np.frombuffer(entropy.read(-(-count // 8)), np.uint8)
    return np.unpackbits(data, count=count).astype(np.uint32).reshape(shape)
