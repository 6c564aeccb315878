"""The check that shared bits are bits, before anybody learns or uses one.

    dealers (t + 1)            member i                     every other member        C
      │ a number for each bit ───▶│   b·(b − 1), of degree t again (products.py)       │
      │ sharings of zero ────────▶│   their sum with those numbers as factors          │
      │                           │ CheckPromise: a hash ──────▶│                      │
      │                           │◀────────────────────────────│                      │
      │                           │ BitCheck ─────────────────────────────────────────▶│
      │                           │ CheckedShare ──────────────▶│   exactly 0          │

comparison.py gives the sign of a number within its range. For a larger number it gives how often
the range fits into the number, up to the whole field. An asker with rows of impossible size would
read scores instead of labels, and from enough scores the exact weights. So everything that should
be a bit is checked: the sum below is 0 if all are bits. If one is not, the sum is a uniform
element, except with probability 2^-42.

The members put the sum together themselves, sealed from C. Each commits to its share before it sees
another: neither C nor a member, nor both with the asker, can make the sum 0. C opens it, too, to
charge the query. Who learns what: everybody learns that all are bits, or that one is not, and
nothing else. Assuming that at most t members pool, with or without C. C or a member that deviates
in the product before, and knows the value of b·(b − 1), can subtract it. So a right guess of how
often the range fits is not detected; every wrong guess is.
"""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sottovoce import wire
from sottovoce.entropy import Entropy
from sottovoce.errors import ViolationError
from sottovoce.numbers.residues import Base, Planes
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import BY_COUNTING_COORDINATOR, BY_ONE_MEMBER, THRESHOLD_HOLDS
from sottovoce.protocols.identities import digest
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.quorum.comparison import BIT_BASE
from sottovoce.protocols.quorum.dealing import Item, QuorumMember, dealt_sums
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import Opening, OpeningShare, given
from sottovoce.protocols.quorum.products import multiplied, reduction

# Each check lets a number that is not a bit pass with a probability of 2^-21.
_SUMS = 2


class CheckPromise(Message, frozen=True):
    """A member's commitment to its share of a check, so that it cannot choose another one later."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ONE_MEMBER,
        reveals="nothing: a hash of a uniform share and of random bytes",
        assuming=THRESHOLD_HOLDS,
    )
    digest: bytes


class CheckedShare(Message, frozen=True):
    """A member's share of the sum that is 0 if all signs are bits, for another member."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ONE_MEMBER,
        reveals="whether the scores that are compared are as small as scores of rows can be",
        assuming=THRESHOLD_HOLDS,
    )
    nonce: bytes
    share: wire.Residues


class BitCheck(OpeningShare, frozen=True):
    """A share of the sum that is 0 if all signs of a query, or of an evaluation, are bits."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_COUNTING_COORDINATOR,
        reveals="whether all scores are as small as scores of rows can be: exactly 0 if so, "
        "else a random number",
        assuming=THRESHOLD_HOLDS,
    )


def check_openings(
    quorum: Quorum, shape: tuple[int, ...], base: Base = BIT_BASE
) -> Iterator[Opening]:
    """Yield every opening of the check, in order."""
    yield reduction(quorum, base, shape)
    yield Opening(BitCheck, 2 * quorum.threshold, base, (_SUMS,), is_told=False)


def check_bits(member: QuorumMember, bits: Planes, *, purpose: str) -> Party[None]:
    """At a member: raise unless all of these, shared with degree t, are bits in all their fields.

    Bits that are used in one field alone are checked in that field.
    """
    quorum, shape, base = member.quorum, bits.shape[1:], Base(len(bits))
    less = base.subtract(bits, np.ones_like(bits))
    wrong = yield from multiplied(member, bits, less, purpose=f"{purpose}/bits")
    items = [
        Item(quorum.threshold, base, (_SUMS, *shape)),
        Item(2 * quorum.threshold, base, (_SUMS,)),
    ]

    def secrets(entropy: Entropy) -> list[Planes]:
        return [base.draw(entropy, _SUMS, *shape), np.zeros((base.count, _SUMS), np.uint32)]

    factors, zero = yield from dealt_sums(member, items, secrets, purpose=f"{purpose}/factors")
    products = base.times(factors, wrong[:, np.newaxis])
    summed = base.total(products.reshape(base.count, _SUMS, -1), axis=1)
    share = base.add(summed, zero)
    *_, opening = check_openings(quorum, shape, base)
    refuse_others(opening, (yield from _opened_among(member, opening, share, purpose=purpose)))


def _opened_among(
    member: QuorumMember, opening: Opening, share: Planes, *, purpose: str
) -> Party[Planes]:
    """Open the value of all shares; every member commits to its share before it sees another."""
    others = [name for name in member.quorum.members if name != member.name]
    nonce, residues = member.entropy.seed(), wire.Residues.of(share)
    for name in others:
        yield Send(name, CheckPromise(_bound(member, member.name, nonce, residues, purpose)))
    promises = {}
    for name in others:
        promises[name] = (yield from receive(name, CheckPromise)).digest
    # From here on nobody can choose its share depending on the others', even if C passes them on.
    yield from given(member.quorum, opening, share)
    for name in others:
        yield Send(name, CheckedShare(nonce, residues))
    shares = {member.name: share}
    for name in others:
        shown = yield from receive(name, CheckedShare)
        if _bound(member, name, shown.nonce, shown.share, purpose) != promises[name]:
            raise ViolationError(
                "CheckedShare: the share is not the one that was promised", party=name
            )
        shares[name] = opening.read(shown.share, sender=name)
    return opening.value(shares, member.quorum)


def _bound(
    member: QuorumMember, name: str, nonce: bytes, share: wire.Residues, purpose: str
) -> bytes:
    """Hash a member's share together with the member and the check, as its commitment."""
    where = (member.context.encode(), name.encode(), purpose.encode())
    shape = repr(share.shape).encode()
    return digest("quorum/promise/v1", *where, nonce, shape, share.data)


def refuse_others(opening: Opening, value: Planes) -> None:
    """At a party that sees the opened sum: raise if some value was not a bit."""
    if opening.kind is BitCheck and value.any():
        raise ViolationError(
            "BitCheck: expected signs of scores, found a larger number: what was asked about are "
            "no rows of this study, or a share of an earlier opening was wrong"
        )
