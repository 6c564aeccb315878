"""Products of shared values: members multiply their shares, and bring the degree down again.

A product of two shares of degree t has degree 2t. Dealers share a uniform number ρ twice, with
degree 2t and with degree t; members open the product plus ρ, which is uniform in the field, and
take ρ off again. Nothing is rounded and nothing is learnt, whatever the factors are.
"""

from typing import ClassVar

from sottovoce.entropy import Entropy
from sottovoce.numbers.residues import Base, Planes
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.disclosures import BY_OPENER, THRESHOLD_HOLDS
from sottovoce.protocols.messages import Disclosure
from sottovoce.protocols.quorum.dealing import Item, QuorumMember, dealt_sums, opened
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import Opening, OpeningShare


class MaskedProduct(OpeningShare, frozen=True):
    """A share of a product under a uniform mask."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_OPENER,
        reveals="nothing: the mask is uniform in every field, and its polynomial is fresh",
        assuming=THRESHOLD_HOLDS,
    )


def reduction(quorum: Quorum, base: Base, shape: tuple[int, ...]) -> Opening:
    """The opening that brings a degree down."""
    return Opening(MaskedProduct, 2 * quorum.threshold, base, shape)


def lowered(member: QuorumMember, share: Planes, *, purpose: str) -> Party[Planes]:
    """A share of degree t of a value, from one of degree 2t."""
    quorum, base, shape = member.quorum, Base(len(share)), share.shape[1:]
    items = [Item(2 * quorum.threshold, base, shape), Item(quorum.threshold, base, shape)]

    def secrets(entropy: Entropy) -> list[Planes]:
        number = base.draw(entropy, *shape)
        return [number, number]

    high, low = yield from dealt_sums(member, items, secrets, purpose=purpose)
    masked = base.add(share, high)
    z = yield from opened(member, reduction(quorum, base, shape), masked)
    return base.subtract(z, low)


def multiplied(member: QuorumMember, left: Planes, right: Planes, *, purpose: str) -> Party[Planes]:
    """A share of the products, entry by entry, of degree t again."""
    return (yield from lowered(member, Base(len(left)).times(left, right), purpose=purpose))
