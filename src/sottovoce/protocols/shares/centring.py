"""Column means taken away under seal: shares of A − SSᵀ/m and b − STᵀ/m.

    dealer        first (C)                                second (E)
      |  seeds ---->|--------------------------------------->|   (holders.py)
      |             |   once:        (S, T)/√m under a mask  |
      |             |<-------------------------------------->|
      |  of every panel: products of masks, ⌊r/2^f⌋, msb(r), less the second's halves
      |------------>|                                        |
      |             |   every panel: entries of the outer product, under a mask
      |             |<-------------------------------------->|   (truncation.py)

S = Σ w x are the column totals of all documents, T = Σ w y those of the targets, m the public
total weight. Text has a large common mean, which is most of the largest eigenvalue of A:
without it a solve takes a third of the steps. What is then solved is ridge regression with an
intercept that is not penalised (intercept.py gives it back).

The upper end of the spectrum is then smaller, too: with every peer's largest eigenvalue about
its own mean, λ_max(A − SSᵀ/m) ≤ Σ λ_max(A_p − S_pS_pᵀ/m_p) + Σ|S_p|²/m_p − |S|²/m, of which the
last term needs all peers: `opened_ceiling`.

Who learns what: each holder sees uniform words, and from `opened_ceiling` that one bound in
whole units of the penalty. The dealer receives nothing. Assuming that it pools with neither.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.errors import InputError, MismatchError
from sottovoce.numbers import ring
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.ring import Words
from sottovoce.protocols.conversation import Party, receive
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.shares.contribution import MomentScales
from sottovoce.protocols.shares.holders import (
    Dealer,
    Holder,
    MaskedShare,
    opened,
    words_of,
)
from sottovoce.protocols.shares.products import Product, deal_product, inner, multiplied
from sottovoce.protocols.shares.triangle import Triangle
from sottovoce.protocols.shares.truncation import (
    DividendShare,
    Truncation,
    TruncationCorrection,
    deal_truncation,
    truncated,
)

# Three arrays of so many words are one message of 24 MB.
_PANEL_WORDS = 2**20


class TotalsShare(MaskedShare, frozen=True):
    """A share of the column totals under a mask."""

    discloses: ClassVar = Disclosure(
        seen_by="the other of the two holders of shares",
        reveals="nothing: the mask is uniform, serves these totals only, and neither knows it",
        assuming="the dealer pools with neither holder",
    )


class CeilingShare(MaskedShare, frozen=True):
    """A share of the upper end of the centred spectrum, in units of the penalty."""

    discloses: ClassVar = Disclosure(
        seen_by="the two holders of shares",
        reveals="an upper end of the spectrum of all documents together, named on the card",
        assuming="the sum of all peers tells nothing about one of them",
    )


class DealtPanel(Message, frozen=True):
    """The first holder's shares of products of masks and of the truncation's numbers."""

    discloses: ClassVar = Disclosure(
        seen_by="the first holder of shares (the coordinator)",
        reveals="nothing: its shares of a panel are uniform without the second holder's",
        assuming="the dealer pools with neither holder",
    )
    products: wire.Words
    quotients: wire.Words
    tops: wire.Words


@dataclass(frozen=True)
class CentringPlan:
    """The scales of A, b and the totals (all divided by √m), from public numbers."""

    features: int
    classes: int
    weight: float
    totals: Scale
    moments: MomentScales

    @classmethod
    def fit(
        cls, features: int, classes: int, *, weight: float, row_norm: float, moments: MomentScales
    ) -> Self:
        """The finest totals of which products fit into a word; |S|/√m ≤ √m·row_norm."""
        largest = math.sqrt(weight) * max(row_norm, 1.0)
        bits = 30 - math.frexp(largest)[1]
        totals = Scale.covering(largest, fraction_bits=bits)
        plan = cls(features, classes, weight, totals, moments)
        if min(plan.matrix_shift, plan.vector_shift) < 1:
            raise InputError(
                f"centring: totals of {bits} fraction bits are too coarse for moments of "
                f"{moments.vectors.fraction_bits}"
            )
        return plan

    @property
    def matrix_shift(self) -> int:
        """From products of totals to A's scale."""
        return 2 * self.totals.fraction_bits - self.moments.matrix.fraction_bits

    @property
    def vector_shift(self) -> int:
        """From products of totals to b's scale."""
        return 2 * self.totals.fraction_bits - self.moments.vectors.fraction_bits

    def encode(self, totals: NDArray[np.float64], targets: NDArray[np.float64]) -> Words:
        """A peer's own totals of columns and of targets as words, to be masked and shared."""
        if totals.shape != (self.features,) or targets.shape != (self.classes,):
            raise MismatchError(
                f"centring: expected totals of {self.features} features and {self.classes} "
                f"classes, found shapes {totals.shape} and {targets.shape}"
            )
        return ring.encode(np.concatenate([totals, targets]) / math.sqrt(self.weight), self.totals)

    def panels(self) -> Iterator["_Panel"]:
        """B's rows, then A's triangle in parts that fit into a message."""
        yield _Panel(self, range(self.features), of_matrix=False)
        triangle, first = Triangle(self.features), 0
        for row in range(1, self.features + 1):
            words = triangle.start(min(row + 1, self.features)) - triangle.start(first)
            if row == self.features or words > _PANEL_WORDS:
                yield _Panel(self, range(first, row), of_matrix=True)
                first = row


@dataclass(frozen=True)
class _Panel:
    """Some rows of the triangle of SSᵀ, or all rows of STᵀ."""

    plan: CentringPlan
    rows: range
    of_matrix: bool

    @property
    def truncation(self) -> Truncation:
        """To the scale of A, or of b."""
        return Truncation(self.plan.matrix_shift if self.of_matrix else self.plan.vector_shift)

    @property
    def place(self) -> slice:
        """Where these rows of A stand in its triangle."""
        triangle = Triangle(self.plan.features)
        return slice(triangle.start(self.rows.start), triangle.start(self.rows.stop))

    @property
    def size(self) -> int:
        """How many entries there are."""
        if self.of_matrix:
            triangle = Triangle(self.plan.features)
            return triangle.start(self.rows.stop) - triangle.start(self.rows.start)
        return self.plan.features * self.plan.classes

    def outer(self, left: Words, right: Words) -> Words:
        """The entries of these rows of left·rightᵀ, where S and T stand behind each other."""
        features = self.plan.features
        if self.of_matrix:
            return np.concatenate([left[row] * right[row:features] for row in self.rows])
        return (left[:features, None] * right[None, features:]).ravel()

    def share(self, delta: Words, mask: Words, *, first: bool) -> Words:
        """(δ + a)(δ + a)ᵀ but for aaᵀ, where a is shared and δ is open."""
        words = self.outer(delta, mask) + self.outer(mask, delta)
        return words + self.outer(delta, delta) if first else words


def centred(
    holder: Holder, plan: CentringPlan, *, matrix: Words, vectors: Words, totals: Words
) -> Party[tuple[Words, Words]]:
    """A holder's shares of A − SSᵀ/m (a triangle) and b − STᵀ/m, from those of A, b and (S, T)."""
    _check_shapes(plan, matrix, vectors, totals)
    mask = holder.material.stream("totals mask").words(*totals.shape)
    delta = yield from opened(holder, TotalsShare, totals - mask)
    matrix, vectors = matrix.copy(), vectors.copy()
    for index, panel in enumerate(plan.panels()):
        words = panel.share(delta, mask, first=holder.first)
        quotient = yield from _truncated_panel(holder, panel, words, index)
        if panel.of_matrix:
            matrix[panel.place] -= quotient
        else:
            vectors -= quotient.reshape(vectors.shape)
    return matrix, vectors


def _truncated_panel(holder: Holder, panel: _Panel, words: Words, index: int) -> Party[Words]:
    """A holder's share of a panel at the scale of the moments."""
    truncation = panel.truncation
    stream = holder.material.stream("panel division", index)
    if holder.first:
        dealt = yield from receive(holder.trio.dealer, DealtPanel)
        product, quotient, top = (
            words_of(part, (panel.size,), sender=holder.trio.dealer, what="DealtPanel")
            for part in (dealt.products, dealt.quotients, dealt.tops)
        )
        half = truncation.first_half(stream, TruncationCorrection(quotient, top))
    else:
        product = holder.material.stream("panel product", index).words(panel.size)
        half = truncation.second_half(stream, panel.size)
    masked = truncation.masked(words + product, half, first=holder.first)
    z = yield from opened(holder, DividendShare, masked)
    return truncation.finish(z, half, first=holder.first)


def deal_centred(dealer: Dealer, plan: CentringPlan) -> Party[None]:
    """The dealer's part of `centred`."""
    length = plan.features + plan.classes
    first, second = dealer.streams("totals mask")
    mask = first.words(length) + second.words(length)
    for index, panel in enumerate(plan.panels()):
        theirs = dealer.second.stream("panel product", index).words(panel.size)
        dealt = panel.truncation.deal(*dealer.streams("panel division", index), panel.size)
        parts = (panel.outer(mask, mask) - theirs, dealt.quotient, dealt.top)
        yield from dealer.send(DealtPanel(*(wire.Words.of(part) for part in parts)))


def opened_ceiling(
    holder: Holder, plan: CentringPlan, *, bound: Words, totals: Words, penalty: float
) -> Party[float]:
    """The upper end of the centred spectrum, opened to both holders; add the penalty to it.

    `bound` is the share, at twice the totals' fraction bits, of the sum over all peers of
    λ_max(A_p − S_pS_pᵀ/m_p) + |S_p|²/m_p.
    """
    if bound.shape != (1,):
        raise MismatchError(f"centring: expected one word for the bound, found {bound.shape}")
    columns = totals[: plan.features]
    squares = yield from multiplied(holder, columns, None, _norm(plan), purpose="ceiling")
    truncation, unit = _ceiling_units(plan, penalty)
    units = yield from truncated(holder, bound - squares, truncation, purpose="ceiling")
    found = yield from opened(holder, CeilingShare, units)
    # The quotient may have been rounded down: one unit more is an upper end again.
    return (int(ring.from_ring(found)[0]) + 1) * unit


def deal_opened_ceiling(dealer: Dealer, plan: CentringPlan, *, penalty: float) -> Party[None]:
    """The dealer's part of `opened_ceiling`."""
    yield from deal_product(dealer, _norm(plan), purpose="ceiling")
    truncation, _ = _ceiling_units(plan, penalty)
    yield from deal_truncation(dealer, truncation, (1,), purpose="ceiling")


def _norm(plan: CentringPlan) -> Product:
    return Product(inner, (plan.features,))


def _ceiling_units(plan: CentringPlan, penalty: float) -> tuple[Truncation, float]:
    """A power of two of at most the penalty: finer than that, the bound is nobody's business."""
    exponent = math.frexp(penalty)[1] - 1
    return Truncation(2 * plan.totals.fraction_bits + exponent), math.ldexp(1.0, exponent)


def _check_shapes(plan: CentringPlan, matrix: Words, vectors: Words, totals: Words) -> None:
    Triangle(plan.features).check(matrix)
    for name, words, shape in (
        ("b", vectors, (plan.features, plan.classes)),
        ("totals", totals, (plan.features + plan.classes,)),
    ):
        if words.shape != shape:
            raise MismatchError(f"centring: expected {name} of shape {shape}, found {words.shape}")
