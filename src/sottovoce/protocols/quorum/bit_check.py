"""The check that shared bits are bits, before anybody learns or uses one.

    dealers (t + 1)            member i                         opener (C)
      │ a number for each bit ───▶│   b·(b − 1), of degree t again (products.py)
      │ sharings of zero ────────▶│   their sum with those numbers as factors
      │                           │ its share ────────────────────▶│   BitCheck: exactly 0
      │                           │◀───────────────────────────────│

comparison.py gives the sign of a number within its range. Of a larger number it gives how often the
range fits in, up to the whole field. An asker with rows of impossible size would read scores
instead of labels, and from enough scores the exact weights.
Honest bits give 0. Any other number among them gives a uniform element, but for 2^-42.

Who learns what: everybody learns that all are bits, or that one is not, and nothing else.
Assuming that at most t members pool, with or without the opener, and that the opener tells the
members what it opened.
"""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.errors import ViolationError
from sottovoce.numbers.residues import Planes
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.messages import Disclosure
from sottovoce.protocols.quorum.comparison import BIT_BASE
from sottovoce.protocols.quorum.dealing import Item, QuorumMember, dealt_sums
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import Opening, OpeningShare, opened
from sottovoce.protocols.quorum.products import multiplied, reduction

# Each lets a number that is no bit pass with a chance of 2^-21.
_SUMS = 2


class BitCheck(OpeningShare, frozen=True):
    """A share of what is 0 if all signs of a query, or of an evaluation, are bits."""

    discloses: ClassVar = Disclosure(
        seen_by="the opener, and with its answer every member",
        reveals="whether all scores are as small as scores of rows can be: exactly 0 "
        "if so, else a random number",
        assuming="no more members than the threshold pool with each other and the opener",
    )


def check_openings(quorum: Quorum, shape: tuple[int, ...]) -> Iterator[Opening]:
    """Everything that the opener opens, in order."""
    yield reduction(quorum, BIT_BASE, shape)
    yield Opening(BitCheck, 2 * quorum.threshold, BIT_BASE, (_SUMS,))


def check_bits(member: QuorumMember, bits: Planes, *, purpose: str) -> Party[None]:
    """At a member: go on if all of these, shared with degree t in the first field, are bits."""
    quorum, shape = member.quorum, bits.shape[1:]
    less = BIT_BASE.subtract(bits, np.ones_like(bits))
    wrong = yield from multiplied(member, bits, less, purpose=f"{purpose}/bits")
    items = [
        Item(quorum.threshold, BIT_BASE, (_SUMS, *shape)),
        Item(2 * quorum.threshold, BIT_BASE, (_SUMS,)),
    ]

    def secrets(entropy: Entropy) -> list[Planes]:
        return [BIT_BASE.draw(entropy, _SUMS, *shape), np.zeros((1, _SUMS), np.uint32)]

    factors, zero = yield from dealt_sums(member, items, secrets, purpose=f"{purpose}/factors")
    products = BIT_BASE.times(factors, wrong[:, np.newaxis])
    summed = BIT_BASE.total(products.reshape(1, _SUMS, -1), axis=1)
    *_, opening = check_openings(quorum, shape)
    value = yield from opened(quorum, opening, BIT_BASE.add(summed, zero))
    refuse_others(opening, value)


def refuse_others(opening: Opening, value: Planes) -> None:
    """At a party that sees the opened value: raise if some value is no bit."""
    if opening.kind is BitCheck and value.any():
        raise ViolationError(
            "BitCheck: expected signs of scores, found a larger number: what was asked about are "
            "no rows of this study, or a share of an earlier opening was wrong"
        )
