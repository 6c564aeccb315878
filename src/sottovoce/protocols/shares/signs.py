"""Shares of [x < 0] for many shared values x, with one dealt comparison for each.

    dealer        first (C)                                second (E, or the asker)
      |  seeds ---->|--------------------------------------->|   (holders.py)
      |  msb(ρ), less the second's half; comparison keys     |
      |------------>|                                        |
      |  comparison keys                                     |
      |----------------------------------------------------->|
      |             |   x_C + ρ_C                            |
      |             |--------------------------------------->|
      |             |                            x_E + ρ_E   |
      |             |<---------------------------------------|
      |             |   both: x̂ = x + ρ mod 2^b              |

x = x̂ − ρ, so its top bit is msb(x̂) ⊕ msb(ρ) ⊕ borrow, where the borrow is
[x̂_low < ρ_low]. The keys give shares of borrow·(1 − 2·msb(ρ)), and with the dealt
shares of msb(ρ) that is msb(ρ) ⊕ borrow; msb(x̂) is public.

Who learns what: each holder sees x̂, uniform whatever x is, and ends with shares of the
bits; the dealer, who knows ρ and could read x off x̂, receives nothing. Assuming that it
pools with neither holder, and what comparison.py assumes of AES.
"""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sottovoce import wire
from sottovoce.numbers.ring import Words
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import DEALT_MASK, SECOND_HOLDERS_HALF
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.shares.comparison import (
    Corrections,
    deal_comparisons,
    draw_roots,
    evaluate,
    hash_key,
)
from sottovoce.protocols.shares.holders import Dealer, Holder, MaskedShare, opened, words_of
from sottovoce.protocols.shares.rings import RING64, Ring

# The number of comparison keys in a message of 25 MB: a key of 63 levels takes 1.5 KB.
_KEYS_PER_MESSAGE = 16_384


class DealtComparisons(Message, frozen=True):
    """The common part of both holders' comparison keys."""

    discloses: ClassVar = Disclosure(
        seen_by="both holders of shares (the same to each)",
        reveals="nothing: with one holder's secret roots alone it looks uniform",
        assuming="the dealer pools with neither holder, and AES is a good hash of random seeds",
    )
    seeds: wire.Words
    values: wire.Words
    last: wire.Words

    @classmethod
    def of(cls, keys: Corrections) -> "DealtComparisons":
        """The keys as they travel."""
        return cls(*(wire.Words.of(part) for part in (keys.seeds, keys.values, keys.last)))


class DealtTops(Message, frozen=True):
    """The first holder's shares of msb(ρ), which do not follow from its seed."""

    discloses: ClassVar = SECOND_HOLDERS_HALF
    tops: wire.Words


class ComparandShare(MaskedShare, frozen=True):
    """A share of x̂ = x + ρ, opened to find the sign of x."""

    discloses: ClassVar = DEALT_MASK


def negative(holder: Holder, shares: Words, *, purpose: str, ring: Ring = RING64) -> Party[Words]:
    """A holder's shares of [x < 0], 0 or 1, for values −2^(b−1) ≤ x < 2^(b−1)."""
    count = shares.size
    stream = holder.material.stream(f"signs of {purpose}")
    mask, roots = ring.draw(stream, count), draw_roots(stream, count)
    if holder.first:
        dealt = yield from receive(holder.trio.dealer, DealtTops)
        tops = words_of(dealt.tops, (count,), sender=holder.trio.dealer, what="DealtTops")
    else:
        tops = ring.draw(stream, count)
    masked = ring.reduce(shares.reshape(count) + mask)
    early: list[Corrections] = []
    if not holder.first:
        # The asker opens nothing before it has all keys. If the dealer leaves in between, the first
        # holder cannot continue either, and no label is spent that nobody could read.
        for part in _parts(count):
            keys = yield from _keys(holder, part, ring)
            early.append(keys)
    public = yield from opened(holder, ComparandShare, masked, ring=ring)
    bits = tops.copy()
    for part in _parts(count):
        keys = early.pop(0) if early else (yield from _keys(holder, part, ring))
        bits[part] += evaluate(roots[part], keys, ring.low(public[part]), first=holder.first)
    return ring.reduce(_xor_public(bits, ring.top(public), first=holder.first)).reshape(
        shares.shape
    )


def deal_signs(dealer: Dealer, count: int, *, purpose: str, ring: Ring = RING64) -> Party[None]:
    """The dealer's part of `negative`."""
    streams = dealer.streams(f"signs of {purpose}")
    masks, roots = zip(
        *((ring.draw(stream, count), draw_roots(stream, count)) for stream in streams), strict=True
    )
    mask = ring.reduce(masks[0] + masks[1])
    top = ring.top(mask)
    tops = ring.reduce(top - ring.draw(streams[1], count))
    yield from dealer.send(DealtTops(wire.Words.of(tops)))
    payload = np.uint64(1) - np.uint64(2) * top
    for part in _parts(count):
        keys = deal_comparisons(
            ring.low(mask[part]),
            payload[part],
            (roots[0][part], roots[1][part]),
            bits=ring.bits - 1,
            key=hash_key(dealer.first.context.encode()),
        )
        message = DealtComparisons.of(keys)
        yield Send(dealer.trio.first, message)
        yield Send(dealer.trio.second, message)


def _xor_public(bits: Words, public: Words, *, first: bool) -> Words:
    """Return shares of bit ⊕ public: b where the public bit is 0, 1 − b where it is 1."""
    flipped = (bits ^ (np.uint64(0) - public)) + public
    return flipped + public if first else flipped


def _keys(holder: Holder, part: slice, ring: Ring) -> Party[Corrections]:
    """Return the next keys, after checking their number and depth."""
    dealt = yield from receive(holder.trio.dealer, DealtComparisons)
    levels, count = ring.bits - 1, part.stop - part.start
    shapes = ((levels, count, 2), (levels, count), (count,))
    dealer = holder.trio.dealer
    seeds, values, last = (
        words_of(words, shape, sender=dealer, what="DealtComparisons")
        for words, shape in zip((dealt.seeds, dealt.values, dealt.last), shapes, strict=True)
    )
    return Corrections(seeds, values, last, hash_key(holder.material.context.encode()))


def _parts(count: int) -> Iterator[slice]:
    for start in range(0, count, _KEYS_PER_MESSAGE):
        yield slice(start, min(start + _KEYS_PER_MESSAGE, count))
