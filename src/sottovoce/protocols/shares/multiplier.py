"""Many products A d of one shared symmetric A with fresh shared vectors d.

    dealer        first (C)                                second (E)
      |  seeds: U_C, v_C ; U_E, v_E, w_E                     |   (holders.py)
      |------------>|--------------------------------------->|
      |  Uv − w_E of every step                              |
      |------------>|                                        |
      |             |   once:        A_C − U_C, A_E − U_E    |
      |             |<-------------------------------------->|   Δ = A − U
      |             |   every step:  d_C − v_C, d_E − v_E    |
      |             |<-------------------------------------->|   e = d − v

A d = Δ(e + v) + U e + Uv: the first holder computes Δ(e + v_C) + U_C e + w_C, the second Δ v_E +
U_E e + w_E. The terms Δv of all steps do not depend on e: they are one matrix product beforehand.
What remains in each step is one matrix–vector product: (Δ + U_C)e at the first holder, U_E e at the
second.

Who learns what: each holder sees Δ and every e, uniform and independent of each other and
of A and d, over however many steps; the dealer receives nothing. Assuming that it pools
with neither. A mask U used for a second matrix would reveal the difference of the two, so U is
drawn from material that can be drawn only once.
"""

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from sottovoce import wire
from sottovoce.numbers.ring import Words, matmul, matvec
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import BY_OTHER_HOLDER, DEALER_POOLS_WITH_NEITHER
from sottovoce.protocols.messages import Disclosure
from sottovoce.protocols.shares.holders import Dealer, Holder, MaskedShare, words_of
from sottovoce.protocols.shares.rings import RING64, Ring
from sottovoce.protocols.shares.triangle import Triangle


class MatrixShare(MaskedShare, frozen=True):
    """A part of a share of Δ = A − U, the second moment under a mask used in one solve."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_OTHER_HOLDER,
        reveals="nothing: U is uniform, used for this matrix only, and known to neither holder",
        assuming=DEALER_POOLS_WITH_NEITHER,
    )


class DirectionShare(MaskedShare, frozen=True):
    """A share of e = d − v, the direction of one step under a mask of its own."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_OTHER_HOLDER,
        reveals="nothing: v is uniform, used for this step only, and known to neither holder",
        assuming=DEALER_POOLS_WITH_NEITHER,
    )


class Multiplier:
    """A holder's side of d ↦ A d; `masks` holds its shares of v, (features, steps, columns)."""

    def __init__(self, mask: Words, masks: Words, *, first: bool, ring: Ring = RING64) -> None:
        """Hold this holder's shares of U (a triangle, which `prepare` uses up) and of all v."""
        self._triangle = Triangle(len(masks))
        self._triangle.check(mask)
        self._mask = mask
        self._masks = masks
        self._first = first
        self._ring = ring
        self._matrix = np.zeros((0, 0), np.uint64)
        self._ready = np.zeros_like(masks)

    def masked_matrix(self, share: Words) -> Words:
        """This holder's share of Δ, to be opened."""
        return self._ring.reduce(share - self._mask)

    def prepare(self, delta: Words) -> None:
        """Take in the opened Δ."""
        matrix = self._triangle.unpack(delta)
        columns = self._masks.reshape(len(matrix), -1)
        self._ready = matmul(matrix, columns).reshape(self._masks.shape)
        # Δ(e + v_C) + U_C e = (Δ + U_C)e + Δ v_C, so Δ itself is no longer needed.
        if self._first:
            self._mask += delta
        self._matrix = self._triangle.unpack(self._mask, out=matrix)
        self._mask = np.zeros(0, np.uint64)

    def masked_direction(self, share: Words, step: int) -> Words:
        """This holder's share of e, to be opened."""
        return self._ring.reduce(share - self._masks[:, step])

    def product(self, e: Words, step: int) -> Words:
        """Return this holder's share of A d, without its share of Uv."""
        if e.shape[1] == 1:
            product = matvec(self._matrix, e[:, 0])[:, None]
        else:
            product = matvec(self._matrix, e)
        return self._ring.reduce(product + self._ready[:, step])

    def __repr__(self) -> str:
        return f"Multiplier(<secret>, {self._masks.shape})"


def prepared(
    holder: Holder,
    share: Words,
    *,
    shape: tuple[int, int],
    steps: int,
    amend: Callable[[Words], None] | None = None,
) -> Party[Multiplier]:
    """Open Δ and return the multiplier for A, of which this holder has a share (a triangle).

    `amend` may add to the masked share in place, because a copy would cost memory.
    """
    triangle = Triangle(shape[0])
    mask = holder.material.stream("matrix mask").words(triangle.size)
    masks = holder.material.stream("direction mask").words(steps, *shape)
    multiplier = Multiplier(mask, _by_feature(masks), first=holder.first)
    delta = multiplier.masked_matrix(share)
    if amend is not None:
        amend(delta)
    yield from _open_in_place(holder, delta)
    multiplier.prepare(delta)
    return multiplier


def _open_in_place(holder: Holder, share: Words) -> Party[None]:
    """Turn a share of Δ into Δ in place, part by part, because a copy would cost memory."""
    parts = list(Triangle.messages(len(share)))
    for part in parts:
        yield Send(holder.other, MatrixShare(wire.Words.viewing(share[part])))
    for part in parts:
        theirs = yield from receive(holder.other, MatrixShare)
        shape = share[part].shape
        share[part] += words_of(theirs.words, shape, sender=holder.other, what="MatrixShare")


def second_products(holder: Holder, *, shape: tuple[int, int], steps: range) -> Words:
    """Return the second holder's shares of Uv; the dealer sends the first holder the rest."""
    stream = holder.material.stream("direction product", steps.start)
    return stream.words(len(steps), *shape)


def _by_feature(masks: Words) -> Words:
    """Return masks by step, feature and column with the features first."""
    return np.ascontiguousarray(masks.transpose(1, 0, 2))


class MaskProducts:
    """The dealer's side: Uv of the steps in order, less the second holder's shares."""

    def __init__(self, dealer: Dealer, shape: tuple[int, int]) -> None:
        triangle = Triangle(shape[0])
        first, second = dealer.streams("matrix mask")
        mask = first.words(triangle.size)
        mask += second.words(triangle.size)
        self._mask = triangle.unpack(mask)
        self._masks = dealer.streams("direction mask")
        self._dealer = dealer
        self._shape = shape

    def deal(self, steps: range) -> Words:
        """The first holder's shares of Uv of the next steps, (steps, features, columns)."""
        first, second = (stream.words(len(steps), *self._shape) for stream in self._masks)
        first += second
        masks = _by_feature(first)
        products = matmul(self._mask, masks.reshape(len(masks), -1)).reshape(masks.shape)
        dealt = np.ascontiguousarray(products.transpose(1, 0, 2))
        stream = self._dealer.second.stream("direction product", steps.start)
        dealt -= stream.words(*dealt.shape)
        return dealt

    def __repr__(self) -> str:
        return f"MaskProducts(<secret>, {self._shape})"
