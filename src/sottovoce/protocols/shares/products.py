"""Products of two shared values: entry by entry, inner, outer or any other bilinear product.

    dealer        first (C)                                second (E)
      |  seeds ---->|--------------------------------------->|   (holders.py)
      |  f(a, b), less the second's half                     |
      |------------>|                                        |
      |             |   x_C − a_C,  y_C − b_C                |
      |             |--------------------------------------->|
      |             |                x_E − a_E,  y_E − b_E   |
      |             |<---------------------------------------|

For every f that is linear in each of its two arguments, with δ = x − a, ε = y − b open:
f(x, y) = f(δ, ε) + f(δ, b) + f(a, ε) + f(a, b), and each term but the first is shared
(Beaver 1991). A product of x with itself opens δ alone.

Who learns what: each holder sees δ and ε, uniform whatever x and y are; the dealer
receives nothing. Assuming that the dealer pools with neither of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from sottovoce import wire
from sottovoce.entropy import Entropy
from sottovoce.numbers.ring import Words
from sottovoce.protocols.conversation import Party, receive
from sottovoce.protocols.disclosures import DEALT_MASK, SECOND_HOLDERS_HALF
from sottovoce.protocols.messages import Message
from sottovoce.protocols.shares.holders import (
    Dealer,
    Holder,
    MaskedShare,
    opened_together,
    words_of,
)
from sottovoce.protocols.shares.rings import RING64, Ring

Form: TypeAlias = Callable[[Words, Words], Words]
Shape: TypeAlias = tuple[int, ...]


class DealtProduct(Message, frozen=True):
    """The first holder's share of the product of two masks, which does not follow from its seed."""

    discloses: ClassVar = SECOND_HOLDERS_HALF
    product: wire.Words


class FactorShare(MaskedShare, frozen=True):
    """A share of a factor, less a dealt mask that is used for this product alone."""

    discloses: ClassVar = DEALT_MASK


def times(left: Words, right: Words) -> Words:
    """Return the products entry by entry, with numpy's broadcasting."""
    return left * right


def inner(left: Words, right: Words) -> Words:
    """Return the sum of all products of entries, of shape (1,)."""
    return np.atleast_1d((left * right).sum(dtype=np.uint64))


@dataclass(frozen=True)
class Product:
    """A product of values of two shapes; `right` is None for the product of a value with itself."""

    form: Form
    left: Shape
    right: Shape | None = None
    ring: Ring = RING64

    def masks(self, stream: Entropy) -> tuple[Words, Words]:
        """A holder's shares of both masks."""
        left = self.ring.draw(stream, *self.left)
        return left, (left if self.right is None else self.ring.draw(stream, *self.right))

    def deal(self, first: Entropy, second: Entropy) -> Words:
        """Work out the correction for the first holder from the streams of both."""
        ours, theirs = self.masks(first), self.masks(second)
        product = self.form(ours[0] + theirs[0], ours[1] + theirs[1])
        return self.ring.reduce(product - self.ring.draw(second, *product.shape))

    def combine(
        self, factors: tuple[Words, Words], masks: tuple[Words, Words], dealt: Words, *, first: bool
    ) -> Words:
        """A holder's share of the product, from the opened factors δ and ε."""
        delta, epsilon = factors
        share = self.form(delta, masks[1]) + self.form(masks[0], epsilon) + dealt
        if first:
            share = share + self.form(delta, epsilon)
        return self.ring.reduce(share)

    def shape(self) -> Shape:
        """The shape of the product."""
        left = np.zeros(self.left, np.uint64)
        right = left if self.right is None else np.zeros(self.right, np.uint64)
        return self.form(left, right).shape


def multiplied(
    holder: Holder, left: Words, right: Words | None, product: Product, *, purpose: str
) -> Party[Words]:
    """A holder's share of f(x, y), or of f(x, x) where `right` is None."""
    stream = holder.material.stream(f"product of {purpose}")
    masks = product.masks(stream)
    if holder.first:
        message = yield from receive(holder.trio.dealer, DealtProduct)
        dealt = words_of(
            message.product, product.shape(), sender=holder.trio.dealer, what="DealtProduct"
        )
    else:
        dealt = product.ring.draw(stream, *product.shape())
    factors = [left] if right is None else [left, right]
    masked = [
        product.ring.reduce(share - mask) for share, mask in zip(factors, masks, strict=False)
    ]
    open_factors = yield from opened_together(holder, FactorShare, masked, ring=product.ring)
    return product.combine((open_factors[0], open_factors[-1]), masks, dealt, first=holder.first)


def deal_product(dealer: Dealer, product: Product, *, purpose: str) -> Party[None]:
    """The dealer's part of `multiplied`."""
    dealt = product.deal(*dealer.streams(f"product of {purpose}"))
    yield from dealer.send(DealtProduct(wire.Words.of(dealt)))
