"""The steps of a sealed solve: two values are opened in each, the second after the first.

    dealer        first (C)                                 second (E)
      |  of every step: Uv, ⌊r/2^f⌋, msb(r), less the second's halves
      |------------>|                                         |
      |             |   the first a·d + b·r under a mask      |
      |             |<----------------------------------------|   (truncation.py)
      |             |   every step:  a·d + b·r,  e = d − v    |
      |             |---------------------------------------->|   (multiplier.py)
      |             |   e,  and a·d + b·r of the next step    |
      |             |<----------------------------------------|

A holder that has the other's share of the first value knows that value, and so its own share of the
second. It sends both in one message: a step takes two messages and two trips.

Who learns what: each holder sees every masked dividend and every e, uniform and independent; who
sends first makes no difference, because a share alone is uniform. The dealer receives nothing.
Assuming that it pools with neither.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce import wire
from sottovoce.numbers.ring import Words
from sottovoce.protocols.conversation import Party, Send, ahead, receive
from sottovoce.protocols.disclosures import (
    BY_OTHER_HOLDER,
    DEALER_POOLS_WITH_NEITHER,
    SECOND_HOLDERS_HALF,
)
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.shares.course import IterationConstants
from sottovoce.protocols.shares.holders import Dealer, Holder, words_of
from sottovoce.protocols.shares.multiplier import (
    DirectionShare,
    MaskProducts,
    Multiplier,
    second_products,
)
from sottovoce.protocols.shares.plan import ShareSolvePlan
from sottovoce.protocols.shares.truncation import (
    DividendShare,
    RingTruncation,
    TruncationCorrection,
    TruncationHalf,
)

# Columns that the dealer multiplies at a time; words of one kind in a message (16 MB).
_COLUMNS = 256
_MESSAGE_WORDS = 2**21


class StepShares(Message, frozen=True):
    """Shares of two masked values: a step's dividend and e = d − v, or e and the next dividend."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_OTHER_HOLDER,
        reveals="nothing: both masks are uniform, used for one step only, known to neither holder",
        assuming=DEALER_POOLS_WITH_NEITHER,
    )
    dividend: wire.Words
    direction: wire.Words


class DealtSteps(Message, frozen=True):
    """The first holder's shares of Uv and of the truncation's numbers, for several steps."""

    discloses: ClassVar = SECOND_HOLDERS_HALF
    products: wire.Words
    quotients: wire.Words
    tops: wire.Words


def iterated(
    holder: Holder, plan: ShareSolvePlan, multiplier: Multiplier, vectors: Words
) -> Party[tuple[Words, Words]]:
    """The steps of the plan: shares of θ and of the exact residual b − Aθ."""
    iteration = _Iteration(holder, plan, multiplier, vectors)
    yield from (_first_steps if holder.first else _second_steps)(iteration)
    return iteration.theta, iteration.residual


def _first_steps(iteration: "_Iteration") -> Party[None]:
    """At the first holder: both of its shares of a step answer the second's of the dividend."""
    holder, steps = iteration.holder, iteration.plan.steps
    begun = yield from receive(holder.other, DividendShare)
    theirs = iteration.words_of(begun.words, DividendShare)
    for left in range(len(steps), 0, -1):
        dividend = yield from iteration.begun()
        direction = iteration.divided(dividend + theirs)
        yield Send(holder.other, _written(dividend, direction))
        if left == 1:
            ended = yield from ahead(left, receive(holder.other, DirectionShare))
            iteration.moved(direction + iteration.words_of(ended.words, DirectionShare))
            return
        answer = yield from ahead(left, receive(holder.other, StepShares))
        iteration.moved(direction + iteration.words_of(answer.direction, StepShares))
        theirs = iteration.words_of(answer.dividend, StepShares)


def _second_steps(iteration: "_Iteration") -> Party[None]:
    """At the second holder: its share of e goes with that of the next step's dividend."""
    holder, steps = iteration.holder, iteration.plan.steps
    dividend = yield from iteration.begun()
    yield Send(holder.other, DividendShare(wire.Words.of(dividend)))
    for left in range(len(steps), 0, -1):
        answer = yield from ahead(left, receive(holder.other, StepShares))
        theirs = iteration.words_of(answer.direction, StepShares)
        direction = iteration.divided(dividend + iteration.words_of(answer.dividend, StepShares))
        iteration.moved(direction + theirs)
        if left == 1:
            yield Send(holder.other, DirectionShare(wire.Words.of(direction)))
            return
        dividend = yield from iteration.begun()
        yield Send(holder.other, _written(dividend, direction))


def _written(dividend: Words, direction: Words) -> StepShares:
    return StepShares(wire.Words.of(dividend), wire.Words.of(direction))


def deal_steps(dealer: Dealer, plan: ShareSolvePlan) -> Party[None]:
    """The dealer's part of `iterated`."""
    products = MaskProducts(dealer, plan.shape)
    for steps in dealt_together(plan):
        yield from dealer.send(_dealt_steps(dealer, plan, products, steps))


class _Iteration:
    """One holder's shares while it iterates; between its methods two values are opened."""

    def __init__(
        self, holder: Holder, plan: ShareSolvePlan, multiplier: Multiplier, vectors: Words
    ) -> None:
        self.holder, self.plan = holder, plan
        self.theta, self.residual = np.zeros_like(vectors), vectors
        self._direction = np.zeros_like(vectors)
        self._multiplier = multiplier
        self._truncation = RingTruncation(plan.shift)
        self._dealt: list[_StepHalf] = []
        self._half: _StepHalf | None = None
        self._index = -1

    def begun(self) -> Party[Words]:
        """Begin a step; return this holder's share of its masked dividend."""
        self._index += 1
        if not self._dealt:
            self._dealt = yield from _next_halves(
                self.holder, self.plan, self._truncation, self._index
            )
        self._half = self._dealt.pop(0)
        step = self.plan.steps[self._index]
        dividend = _dividend(self.plan, step, self._direction, self.residual)
        return self._truncation.masked(dividend, self._half.truncation, first=self.holder.first)

    def divided(self, z: Words) -> Words:
        """Take the opened dividend; return this holder's share of e = d − v."""
        assert self._half is not None
        self._direction = self._truncation.finish(z, self._half.truncation, first=self.holder.first)
        return self._multiplier.masked_direction(self._direction, self._index)

    def moved(self, e: Words) -> None:
        """Take the opened e, and end the step."""
        assert self._half is not None
        self.residual = (
            self.residual - self._multiplier.product(e, self._index) - self._half.product
        )
        self.theta = self.theta + self._direction
        times = np.uint64(self.plan.steps[self._index].doublings)
        self.theta, self._direction, self.residual = (
            words << times for words in (self.theta, self._direction, self.residual)
        )

    def words_of(self, words: wire.Words, kind: type[Message]) -> Words:
        """Return the other holder's words, after checking their shape."""
        return words_of(words, self.plan.shape, sender=self.holder.other, what=kind.__name__)


def _dividend(
    plan: ShareSolvePlan, step: IterationConstants, direction: Words, residual: Words
) -> Words:
    """Return a·2^(F+e)·d + b·r, whose quotient is the next direction."""
    momentum = np.uint64((step.momentum << plan.scale_bits) % 2**64)
    return direction * momentum + residual * np.uint64(step.gain)


@dataclass(frozen=True, repr=False)
class _StepHalf:
    """One holder's half of the dealt numbers of one step."""

    truncation: TruncationHalf
    product: Words


def _next_halves(
    holder: Holder, plan: ShareSolvePlan, truncation: RingTruncation, start: int
) -> Party[list[_StepHalf]]:
    """Return the dealt numbers of the steps from `start` on that one message carries."""
    steps = next(chunk for chunk in dealt_together(plan) if chunk.start == start)
    stream, shape = holder.material.stream("division", start), (len(steps), *plan.shape)
    if not holder.first:
        half = truncation.second_half(stream, *shape)
        products = second_products(holder, shape=plan.shape, steps=steps)
        return _by_step(half, products)
    dealt = yield from receive(holder.trio.dealer, DealtSteps)
    products, quotients, tops = (
        words_of(words, shape, sender=holder.trio.dealer, what="DealtSteps")
        for words in (dealt.products, dealt.quotients, dealt.tops)
    )
    return _by_step(truncation.first_half(stream, TruncationCorrection(quotients, tops)), products)


def _by_step(half: TruncationHalf, products: Words) -> list[_StepHalf]:
    parts = zip(half.mask, half.quotient, half.top, products, strict=True)
    return [_StepHalf(TruncationHalf(*words), product) for *words, product in parts]


def _dealt_steps(
    dealer: Dealer, plan: ShareSolvePlan, products: MaskProducts, steps: range
) -> DealtSteps:
    """Uv and the truncation's numbers of some steps, less the second holder's halves."""
    streams, shape = dealer.streams("division", steps.start), (len(steps), *plan.shape)
    dealt = RingTruncation(plan.shift).deal(*streams, *shape)
    return DealtSteps(
        wire.Words.viewing(products.deal(steps)),
        wire.Words.viewing(dealt.quotient),
        wire.Words.viewing(dealt.top),
    )


def dealt_together(plan: ShareSolvePlan) -> Iterator[range]:
    """Yield the steps whose numbers share a message of the dealer."""
    words = plan.system.features * plan.system.classes
    size = max(1, min(_COLUMNS // plan.system.classes, _MESSAGE_WORDS // words))
    for start in range(0, len(plan.steps), size):
        yield range(start, min(start + size, len(plan.steps)))
