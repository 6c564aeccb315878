"""The verdict with a dealer: the asker learns the labels of its documents, others nothing.

    dealer        coordinator (first)                      asker (second)
      |  seeds, comparison keys, products of masks           |
      |------------>|--------------------------------------->|   (signs.py, products.py)
      |             |   every level: x̂ = x + ρ               |
      |             |<-------------------------------------->|
      |             |   every level but a sign: masked factors
      |             |<-------------------------------------->|
      |             |   its share of the label               |
      |             |--------------------------------------->|

With two classes the label is [α ≥ 0]. With more, the scores meet in a tournament of K − 1
comparisons in ⌈log2 K⌉ levels, each followed by two dealt products that select the larger value and
its index; a tie goes to the lower index. Only the last index is put together, at the asker.

Who learns what: the coordinator sees uniform words only, neither score nor label; the asker
sees uniform words and the label. The dealer, who could read scores off what is opened,
receives nothing; it is neither the coordinator nor the asker. Assuming that it pools with
neither. Where the evaluator is the second holder (`study/queries/shared_queries.py`), it sees
what the coordinator sees, and both send their shares of the label to the asker, who is neither.
Many labels of chosen documents give the model away: queries have a budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.entropy import Entropy
from sottovoce.errors import InputError, MismatchError, MisuseError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.ring import RING_BOUND, Words
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import BY_ASKER_OF_LABELS, QUERY_TIMES_ARE_PUBLIC
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.runner import Meddler, Outcome
from sottovoce.protocols.shares import holders
from sottovoce.protocols.shares.holders import Dealer, DealtSeed, Holder, HolderPrograms, Trio
from sottovoce.protocols.shares.material import Context
from sottovoce.protocols.shares.products import (
    DealtProduct,
    Product,
    deal_product,
    multiplied,
    times,
)
from sottovoce.protocols.shares.rings import Ring
from sottovoce.protocols.shares.signs import DealtComparisons, DealtTops, deal_signs, negative

# The kinds of messages that a dealer of verdicts sends to the coordinator.
DEALT_KINDS: tuple[type[Message], ...] = (DealtSeed, DealtTops, DealtComparisons, DealtProduct)


class VerdictShare(Message, frozen=True):
    """A holder's shares of the labels, for the asker."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ASKER_OF_LABELS,
        reveals="the labels of its own documents, and nothing about their scores",
        assuming="the dealer is neither coordinator nor asker and pools with neither",
    )
    words: wire.Words


class VerdictTold(Message, frozen=True):
    """Says that the second holder sent its shares of the labels to the asker."""

    discloses: ClassVar = Disclosure(
        seen_by="the coordinator, who tells its own shares next",
        reveals="nothing but that this step of the query is over",
        assuming=QUERY_TIMES_ARE_PUBLIC,
    )


@dataclass(frozen=True)
class VerdictPlan:
    """The numbers of documents and of scores each (one: its sign decides), and their size.

    The words of a comparison are as short as the bound allows, because each bit costs time.
    """

    documents: int
    scores: int
    scale: Scale

    def __post_init__(self) -> None:
        if self.documents < 1 or self.scores < 1:
            raise InputError(
                f"verdict: expected at least 1 document and 1 score each, "
                f"found {self.documents} and {self.scores}"
            )
        self.scale.check_fits(RING_BOUND, "verdict")

    @property
    def ring(self) -> Ring:
        """The ring that holds every score, every difference of two, and every index, with signs."""
        largest = max(2 * self.scale.bound, self.scores) if self.scores > 1 else self.scale.bound
        return Ring(max(3, largest.bit_length() + 1))

    def levels(self) -> list[int]:
        """The number of candidates at each level of the tournament."""
        sizes, left = [], self.scores
        while left > 1:
            sizes.append(left)
            left = (left + 1) // 2
        return sizes


def give_verdict(holder: Holder, plan: VerdictPlan, scores: Words) -> Party[None]:
    """The coordinator's part, from its shares of the scores, (documents, scores)."""
    if not holder.first:
        raise MisuseError("verdict: the coordinator is the first holder, the asker the second")
    yield from tell_verdict(holder, plan, scores, to=holder.other)


def tell_verdict(holder: Holder, plan: VerdictPlan, scores: Words, *, to: str) -> Party[None]:
    """A holder's part, from its shares of the scores, where `to` learns the labels."""
    label = yield from _label(holder, plan, scores)
    outside = to != holder.other
    if outside and holder.first:
        # The party that counts labels sends its shares last: until then nobody can read a label.
        yield from receive(holder.other, VerdictTold)
    yield Send(to, VerdictShare(wire.Words.of(label)))
    if outside and not holder.first:
        yield Send(holder.other, VerdictTold())


def ask_verdict(holder: Holder, plan: VerdictPlan, scores: Words) -> Party[NDArray[np.int64]]:
    """The asker's part: return the winner's index, or 1 where a single score is not negative."""
    if holder.first:
        raise MisuseError("verdict: the coordinator is the first holder, the asker the second")
    label = yield from _label(holder, plan, scores)
    return (yield from joined_labels((holder.other,), plan, mine=label))


def joined_labels(
    senders: Sequence[str], plan: VerdictPlan, *, mine: Words | None = None
) -> Party[NDArray[np.int64]]:
    """At the asker: return the labels, from both holders' shares."""
    total = np.zeros(plan.documents, np.uint64) if mine is None else mine
    for sender in senders:
        theirs = yield from receive(sender, VerdictShare)
        if theirs.words.shape != total.shape:
            raise ViolationError(
                f"VerdictShare: expected {total.shape} labels, found {theirs.words.shape}",
                party=sender,
            )
        total = plan.ring.reduce(total + theirs.words.array())
    if (total >= max(2, plan.scores)).any():
        raise ViolationError(
            f"VerdictShare: expected labels below {max(2, plan.scores)}, found {total.max()}",
            party=senders[-1],
        )
    return total.astype(np.int64)


def deal_verdict(dealer: Dealer, plan: VerdictPlan) -> Party[None]:
    """The dealer's part: it sends, and receives nothing."""
    if plan.scores == 1:
        yield from deal_signs(dealer, plan.documents, purpose="verdict", ring=plan.ring)
    for level, size in enumerate(plan.levels()):
        purpose = f"level {level}"
        count = plan.documents * (size // 2)
        yield from deal_signs(dealer, count, purpose=purpose, ring=plan.ring)
        yield from deal_product(dealer, _selection(plan, size), purpose=purpose)


def _label(holder: Holder, plan: VerdictPlan, scores: Words) -> Party[Words]:
    """Return a holder's shares of the labels."""
    if scores.shape != (plan.documents, plan.scores):
        raise MismatchError(
            f"verdict: expected scores of shape {(plan.documents, plan.scores)}, "
            f"found {scores.shape}"
        )
    values = plan.ring.reduce(scores)
    if plan.scores > 1:
        return (yield from _winner(holder, plan, values))
    below = yield from negative(holder, values[:, 0], purpose="verdict", ring=plan.ring)
    return plan.ring.reduce(holder.constant(np.ones_like(below)) - below)


def _winner(holder: Holder, plan: VerdictPlan, values: Words) -> Party[Words]:
    """Return a holder's shares of the index of the largest value of every row."""
    index = np.arange(plan.scores, dtype=np.uint64)
    # Values and indices stand side by side, so one bit selects both.
    table = np.stack([values, np.broadcast_to(holder.constant(index), values.shape)])
    for level, size in enumerate(plan.levels()):
        purpose = f"level {level}"
        pairs = size // 2
        left, right = table[:, :, 0 : 2 * pairs : 2], table[:, :, 1 : 2 * pairs : 2]
        apart = plan.ring.reduce(right - left)
        smaller = yield from negative(
            holder, plan.ring.reduce(left[0] - right[0]), purpose=purpose, ring=plan.ring
        )
        step = yield from multiplied(
            holder, smaller, apart, _selection(plan, size), purpose=purpose
        )
        table = np.concatenate([plan.ring.reduce(left + step), table[:, :, 2 * pairs :]], axis=2)
    return np.ascontiguousarray(table[1, :, 0])


def _selection(plan: VerdictPlan, size: int) -> Product:
    """Return the product of [left < right] and both differences, right − left."""
    pairs = (plan.documents, size // 2)
    return Product(times, pairs, (2, *pairs), plan.ring)


def run(
    plan: VerdictPlan,
    scores: tuple[Words, Words],
    trio: Trio,
    context: Context,
    *,
    entropy: Entropy,
    meddler: Meddler | None = None,
) -> Outcome:
    """Run the verdict in memory; return the asker's labels, and all views."""
    programs = HolderPrograms(
        lambda holder: give_verdict(holder, plan, scores[0]),
        lambda holder: ask_verdict(holder, plan, scores[1]),
        lambda dealer: deal_verdict(dealer, plan),
    )
    return holders.run(programs, trio, context, entropy=entropy, meddler=meddler)
