"""Exact division of shared values by 2^f, with random numbers of a dealer.

    dealer        first (C)                                second (E)
      |  seed       |                                        |
      |------------>|        seed                            |
      |----------------------------------------------------->|
      |  ⌊r/2^f⌋ and msb(r), less the second's halves        |
      |------------>|                                        |
      |             |   x_C + 2^62 + r_C                     |
      |             |--------------------------------------->|
      |             |                     x_E + r_E          |
      |             |<---------------------------------------|
      |             |   both: z = x + 2^62 + r mod 2^64      |

Result: shares of ⌊x/2^f⌋ or ⌊x/2^f⌋ + 1, the latter with probability frac(x/2^f):
unbiased. With x' = x + 2^62, ⌊x'/2^f⌋ = ⌊z/2^f⌋ − ⌊r/2^f⌋ + 2^(64−f)·msb(r)·(1 − msb(z)):
if the top bit of r is set and that of z is not, x' + r exceeded 2^64. This holds for −2^62 ≤ x <
2^62 only. Outside that range the result is wrong without an error, so plans check their bounds
before anything is sent. (Shifting each share by itself would need no dealer, but it is sometimes
wrong.)

Who learns what: each holder sees z, uniform whatever x is; the dealer receives
nothing. Assuming that the dealer pools with neither of them.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce import wire
from sottovoce.entropy import Entropy
from sottovoce.errors import MisuseError
from sottovoce.numbers.ring import Words
from sottovoce.protocols.conversation import Party, receive
from sottovoce.protocols.disclosures import DEALT_MASK, SECOND_HOLDERS_HALF
from sottovoce.protocols.messages import Message
from sottovoce.protocols.shares.holders import Dealer, Holder, MaskedShare, opened, words_of
from sottovoce.protocols.shares.rings import RING64, Ring


class DealtQuotients(Message, frozen=True):
    """The first holder's shares of ⌊r/2^f⌋ and msb(r), which do not follow from its seed."""

    discloses: ClassVar = SECOND_HOLDERS_HALF
    quotients: wire.Words
    tops: wire.Words


class DividendShare(MaskedShare, frozen=True):
    """A share of z = x + 2^62 + r, opened to divide x by 2^f."""

    discloses: ClassVar = DEALT_MASK


@dataclass(frozen=True, slots=True)
class RingTruncation:
    """Division by 2^bits in a ring."""

    bits: int
    ring: Ring = RING64

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= self.ring.bits - 2:
            raise MisuseError(
                f"truncation: expected 1 to {self.ring.bits - 2} bits, found {self.bits}"
            )

    def deal(self, first: Entropy, second: Entropy, *shape: int) -> "TruncationCorrection":
        """Work out the correction for the first holder from the streams of both."""
        ring = self.ring
        half = self.second_half(second, *shape)
        mask = ring.reduce(ring.draw(first, *shape) + half.mask)
        return TruncationCorrection(
            ring.reduce((mask >> np.uint64(self.bits)) - half.quotient),
            ring.reduce(ring.top(mask) - half.top),
        )

    def first_half(self, stream: Entropy, correction: "TruncationCorrection") -> "TruncationHalf":
        """Return the first holder's half, from its stream and the dealer's correction."""
        mask = self.ring.draw(stream, *correction.quotient.shape)
        return TruncationHalf(mask, correction.quotient, correction.top)

    def second_half(self, stream: Entropy, *shape: int) -> "TruncationHalf":
        """Return the second holder's half, which follows from its stream alone."""
        mask, quotient, top = (self.ring.draw(stream, *shape) for _ in range(3))
        return TruncationHalf(mask, quotient, top)

    def masked(self, share: Words, half: "TruncationHalf", *, first: bool) -> Words:
        """A holder's share of z, to be opened."""
        lift = self.ring.constant(self.ring.quarter if first else 0)
        return self.ring.reduce(share + half.mask + lift)

    def finish(self, opened: Words, half: "TruncationHalf", *, first: bool) -> Words:
        """A holder's share of the quotient, from the opened z."""
        ring = self.ring
        wrapped = (np.uint64(1) - ring.top(opened)) << np.uint64(ring.bits - self.bits)
        share = half.top * wrapped - half.quotient
        if first:
            share += (opened >> np.uint64(self.bits)) - ring.constant(ring.quarter >> self.bits)
        return ring.reduce(share)


@dataclass(frozen=True, slots=True, repr=False)
class TruncationHalf:
    """One holder's shares of r, ⌊r/2^f⌋ and msb(r)."""

    mask: Words
    quotient: Words
    top: Words


@dataclass(frozen=True, slots=True, repr=False)
class TruncationCorrection:
    """The first holder's shares of ⌊r/2^f⌋ and msb(r), sent by the dealer."""

    quotient: Words
    top: Words


def truncated(
    holder: Holder, share: Words, truncation: RingTruncation, *, purpose: str
) -> Party[Words]:
    """A holder's share of ⌊x/2^f⌋ or ⌊x/2^f⌋ + 1."""
    stream = holder.material.stream(f"truncation of {purpose}")
    if holder.first:
        dealt = yield from receive(holder.trio.dealer, DealtQuotients)
        words = [
            words_of(part, share.shape, sender=holder.trio.dealer, what="DealtQuotients")
            for part in (dealt.quotients, dealt.tops)
        ]
        half = truncation.first_half(stream, TruncationCorrection(*words))
    else:
        half = truncation.second_half(stream, *share.shape)
    masked = truncation.masked(share, half, first=holder.first)
    z = yield from opened(holder, DividendShare, masked, ring=truncation.ring)
    return truncation.finish(z, half, first=holder.first)


def deal_truncation(
    dealer: Dealer,
    truncation: RingTruncation,
    shape: tuple[int, ...],
    *,
    purpose: str,
) -> Party[None]:
    """The dealer's part of `truncated`."""
    streams = dealer.streams(f"truncation of {purpose}")
    dealt = truncation.deal(*streams, *shape)
    words = (wire.Words.of(part) for part in (dealt.quotient, dealt.top))
    yield from dealer.send(DealtQuotients(*words))
