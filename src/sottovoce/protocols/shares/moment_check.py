"""The check before a sealed solve: one opened bit says whether moments outweigh their rows.

    dealer        first (C)                                second (E)
      |   truncation.py: b, brought down to some 30 bits
      |   products.py:   the sum of its squares
      |   signs.py:      [tr A < 0], [bound − tr A < 0], [bound − |b|² < 0]
      |   signs.py:      whether none of them is
      |             |   share of the bit                     |
      |             |<-------------------------------------->|

Rows of a known length, as many as were published, have a trace and a right-hand side that are no
larger than the bounds. A peer that contributes more than its rows can give makes the bit false, and
the study stops. Only the sum of all contributions is shared, so the bit does not say which peer it
was, and a light contribution can offset a heavy one. The check does not see how the weight is
spread inside A, nor some large columns of the right-hand side, as long as the whole is not too
large. Comparing |b_k| with A_kk would detect that; but where words are rare, |b_k| may honestly be
a hundred times A_kk, and a peer may make up both.

The bounds hold whatever the words contain: squared values have so few bits that no sum of squares
wraps around, and a value outside the range of truncation.py stays far outside after it.

Who learns what: both holders learn the bit, which is true in every honest run; all else that they
see is uniform. The dealer receives nothing. Assuming that it pools with neither.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce.errors import MismatchError, ViolationError
from sottovoce.numbers.ring import Words
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.disclosures import BY_BOTH_HOLDERS, DEALER_POOLS_WITH_NEITHER
from sottovoce.protocols.messages import Disclosure
from sottovoce.protocols.shares.contribution import MomentScales
from sottovoce.protocols.shares.holders import Dealer, Holder, MaskedShare, opened
from sottovoce.protocols.shares.products import Product, deal_product, inner, multiplied
from sottovoce.protocols.shares.signs import deal_signs, negative
from sottovoce.protocols.shares.triangle import Triangle
from sottovoce.protocols.shares.truncation import RingTruncation, deal_truncation, truncated

_PURPOSE, _TOGETHER = "moments", "moments together"
# A division by 2^f leaves at most 3·2^(62−f); this many of their squares stay below 2^63.
_LEAST_SHIFT = 33


class PlausibleMomentsBit(MaskedShare, frozen=True):
    """A share of the bit that says whether the joint moments can be those of the published rows."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_BOTH_HOLDERS,
        reveals="whether the joint moments weigh no more than the published rows: true unless a "
        "peer made its own up",
        assuming=DEALER_POOLS_WITH_NEITHER,
    )


@dataclass(frozen=True)
class MomentBounds:
    """The largest moments of this number of rows, from public numbers alone."""

    shape: tuple[int, int]
    trace: int
    square: int
    """The bound of |b|² after division of b by 2^shift."""

    @classmethod
    def of(
        cls,
        scales: MomentScales,
        shape: tuple[int, int],
        *,
        peers: int,
        heavier: tuple[float, float] = (1.0, 1.0),
    ) -> "MomentBounds":
        """Return the bounds for moments at these scales; every peer rounded every number once.

        `heavier` says by which factors trace and b may exceed those of rows (row_limits.py).
        """
        width, classes = shape
        entries = width * classes
        longest = math.ceil(math.isqrt(classes * scales.vectors.bound**2) * heavier[1]) + 1
        # Every quotient may be one too large.
        quotient = (longest >> cls.shift_of(shape)) + math.isqrt(entries) + 2 + peers
        trace = math.ceil(scales.matrix.bound * heavier[0]) + width * peers
        return cls(shape, trace, quotient**2)

    @staticmethod
    def shift_of(shape: tuple[int, int]) -> int:
        """Return by how many bits b is cut, so that its squares cannot wrap around."""
        return _LEAST_SHIFT + (math.prod(shape).bit_length() + 1) // 2

    @property
    def truncation(self) -> RingTruncation:
        """The truncation of b."""
        return RingTruncation(self.shift_of(self.shape))

    @property
    def product(self) -> Product:
        """The sum of the squares of b."""
        return Product(inner, self.shape)


def check_moments(holder: Holder, bounds: MomentBounds, words: Words) -> Party[None]:
    """Raise at both holders unless the shared moments (a triangle, then b) are possible."""
    triangle = Triangle(bounds.shape[0])
    trace = words[triangle.diagonal()].sum(dtype=np.uint64, keepdims=True)
    vectors = words[triangle.size :].reshape(bounds.shape)
    small = yield from truncated(holder, vectors, bounds.truncation, purpose=_PURPOSE)
    square = yield from multiplied(holder, small, None, bounds.product, purpose=_PURPOSE)
    most = holder.constant(np.array([bounds.trace, bounds.square], np.uint64))
    values = np.concatenate([trace, most - np.concatenate([trace, square])])
    broken = yield from negative(holder, values, purpose=_PURPOSE)
    unit = holder.constant(np.ones(1, np.uint64))
    none = yield from negative(
        holder, broken.sum(dtype=np.uint64, keepdims=True) - unit, purpose=_TOGETHER
    )
    bit = yield from opened(holder, PlausibleMomentsBit, none)
    match int(bit[0]):
        case 1:
            return
        case 0:
            raise heavier_than_rows()
    raise ViolationError(
        "PlausibleMomentsBit: the shares make no bit",
        party=holder.other,
    )


def heavier_than_rows() -> MismatchError:
    """Return the error for a sum that weighs too much."""
    return MismatchError(
        "moments: they are larger than the published rows can give: a peer "
        "contributed numbers that are not those of its documents",
        hints=("the check does not show which peer it was: ask every site for its number of rows",),
    )


def deal_moment_check(dealer: Dealer, bounds: MomentBounds) -> Party[None]:
    """The dealer's part of `check_moments`."""
    yield from deal_truncation(dealer, bounds.truncation, bounds.shape, purpose=_PURPOSE)
    yield from deal_product(dealer, bounds.product, purpose=_PURPOSE)
    yield from deal_signs(dealer, 3, purpose=_PURPOSE)
    yield from deal_signs(dealer, 1, purpose=_TOGETHER)
