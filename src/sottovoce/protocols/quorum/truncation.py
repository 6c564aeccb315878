"""Product and truncation in one opening: y has degree 2t, ⌊y/2^f⌋ comes back with degree t.

    dealers (t + 1)            member i                         opener
      │ [r] degree 2t ───────────▶│                                │
      │ [⌊r/2^f⌋] degree t ──────▶│                                │
      │                           │ y + offset + r ───────────────▶│
      │                           │◀──────────────── ⌊z/2^f⌋ ──────│

With k dealers and r the sum of their numbers, ⌊z/2^f⌋ less the sum of the quotients is y/2^f with
an error below (k + 1)/2 units. The mean of the error is zero, because the average of k − 1
remainders is subtracted first. Each dealer draws its number uniformly below 2^(ℓ+κ), where |y| <
2^ℓ. So the opened value has the same distribution for every y, within 2^(1−κ), and the polynomial
behind the shares is as fresh as that dealer's. For a larger |y| the result is still right, but the
mask hides fewer bits: bounds are proven from public numbers when a plan is made. Ranges above the
modulus are refused before anything is sent.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.errors import BoundError
from sottovoce.numbers import limbs
from sottovoce.numbers.residues import Base, Planes
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.disclosures import BY_OPENER, THRESHOLD_HOLDS
from sottovoce.protocols.messages import Disclosure
from sottovoce.protocols.quorum.dealing import Item, QuorumMember, dealt_sums, opened
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import Opening, OpeningShare

BASE = Base()


class MaskedDividend(OpeningShare, frozen=True):
    """A share of a value under a mask that hides it, on its way to its quotient."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_OPENER,
        reveals="nothing: the mask is larger than the value by more bits than all openings of a "
        "study can use up, and its polynomial is fresh",
        assuming=THRESHOLD_HOLDS,
    )


@dataclass(frozen=True)
class FusedTruncation:
    """Division by 2^shift of values below 2^bits, under masks of 2^hiding times that."""

    bits: int
    shift: int
    hiding: int
    dealers: int
    base: Base = BASE

    def __post_init__(self) -> None:
        if self.shift < 1 or self.bits < 1 or self.hiding < 1:
            raise BoundError(
                f"truncation: expected bits, shift and hiding of at least 1, "
                f"found {self.bits}, {self.shift} and {self.hiding}"
            )
        check_range(self.limit, self.base, what="truncation")

    @classmethod
    def of(cls, quorum: Quorum, *, bits: int, shift: int, hiding: int) -> "FusedTruncation":
        """The truncation with the dealers of a quorum."""
        return cls(bits, shift, hiding, quorum.threshold + 1)

    @property
    def offset(self) -> int:
        """The offset that makes every value positive and removes the mean of the remainders."""
        centre = (self.dealers << self.shift) - (self.dealers - 1 << self.shift - 1)
        return (1 << max(self.bits, self.shift)) + centre

    @property
    def limit(self) -> int:
        """The bound below which honest shares open values."""
        masks = self.dealers << self.bits + self.hiding
        return (1 << self.bits) + self.offset + masks

    def secrets(self, entropy: Entropy, *shape: int) -> list[Planes]:
        """A dealer's own number, and its quotient."""
        number = limbs.drawn_below(entropy, self.bits + self.hiding, shape)
        quotient = limbs.shifted_right(number, self.shift)
        return [limbs.to_residues(number, self.base), limbs.to_residues(quotient, self.base)]

    def items(self, quorum: Quorum, shape: tuple[int, ...]) -> list[Item]:
        """Return how a dealer's numbers are shared."""
        degrees = (2 * quorum.threshold, quorum.threshold)
        return [Item(degree, self.base, shape) for degree in degrees]

    def opening(self, quorum: Quorum, shape: tuple[int, ...]) -> Opening:
        """Return the plan of the opening."""
        degree = 2 * quorum.threshold
        return Opening(MaskedDividend, degree, self.base, shape, self.limit, self.shift)

    def masked(self, share: Planes, mask: Planes) -> Planes:
        """A share of y + offset + r."""
        return shifted_by(self.base, self.base.add(share, mask), self.offset)

    def finish(self, quotient: Planes, dealt: Planes) -> Planes:
        """A share of y/2^f, from what was opened and the dealt quotients."""
        taken = (1 << max(self.bits, self.shift) - self.shift) + self.dealers
        return shifted_by(self.base, self.base.subtract(quotient, dealt), -taken)


def truncated(
    member: QuorumMember, truncation: FusedTruncation, share: Planes, *, purpose: str
) -> Party[Planes]:
    """A member's share of y/2^f, of degree t, from one of y of degree 2t or less."""
    quorum, shape = member.quorum, share.shape[1:]
    mask, quotient = yield from dealt_sums(
        member,
        truncation.items(quorum, shape),
        lambda entropy: truncation.secrets(entropy, *shape),
        purpose=purpose,
    )
    masked = truncation.masked(share, mask)
    z = yield from opened(member, truncation.opening(quorum, shape), masked)
    return truncation.finish(z, quotient)


def shifted_by(base: Base, share: Planes, constant: int) -> Planes:
    """A share of the value plus a public number, which every member adds to its own share."""
    column = base.of(np.array([constant], object))
    return base.add(share, column.reshape(-1, *(1,) * (share.ndim - 1)))


def check_range(limit: int, base: Base, *, what: str) -> None:
    """Refuse values that do not fit the residues, before anything is sent."""
    if limit > base.modulus:
        raise BoundError(
            f"{what}: values and masks of {limit.bit_length()} bits do not fit {base.count} "
            f"residues of {base.modulus.bit_length() - 1} bits together",
            hints=("raise the penalty, or take fewer features or classes",),
        )
