"""Counts of the values in each group that are not negative; every comparison stays shared.

    dealer        coordinator (first)                      asker (second)
      |  seeds, comparison keys, a product of masks          |
      |------------>|--------------------------------------->|   (signs.py, products.py)
      |             |   x̂ = x + ρ for every value            |
      |             |<-------------------------------------->|
      |             |   masked groups, masked comparisons    |
      |             |<-------------------------------------->|

The values are the scores of documents less public thresholds, (documents, classes,
thresholds). Only the asker knows which documents are of a class and which are not. It states this
in two groups of ones and zeros; a padded row is in neither. One dealt product adds up the
comparisons of every group: both holders end with shares of (classes, 2, thresholds) counts.

Who learns what: each holder sees uniform words, and nobody sees a comparison or a count; the
receiver of several askers' counts opens their sum alone. The dealer receives nothing. Assuming
that it pools with neither holder.
"""

from dataclasses import dataclass

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.errors import InputError, MismatchError
from sottovoce.numbers.ring import Words
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.runner import Meddler, Outcome
from sottovoce.protocols.shares import holders
from sottovoce.protocols.shares.holders import Dealer, Holder, HolderPrograms, Trio
from sottovoce.protocols.shares.material import Context
from sottovoce.protocols.shares.products import Product, deal_product, multiplied
from sottovoce.protocols.shares.rings import Ring
from sottovoce.protocols.shares.signs import deal_signs, negative

GROUPS = 2
"""The two groups of a class: documents of it, and documents that are not."""

_PURPOSE = "tally"


@dataclass(frozen=True)
class TallyPlan:
    """The numbers of documents, classes and thresholds, and the ring of the shared scores."""

    documents: int
    classes: int
    thresholds: int
    ring: Ring

    def __post_init__(self) -> None:
        if min(self.documents, self.classes, self.thresholds) < 1:
            raise InputError(
                "tally: expected at least 1 document, class and threshold, found "
                f"{self.documents}, {self.classes} and {self.thresholds}"
            )
        if self.documents >> self.ring.bits:
            raise InputError(
                f"tally: {self.documents} documents cannot be counted in {self.ring.bits} bits"
            )

    @property
    def values(self) -> tuple[int, int, int]:
        """The shape of the compared values."""
        return self.documents, self.classes, self.thresholds

    @property
    def groups(self) -> tuple[int, int, int]:
        """The shape of the groups."""
        return self.documents, self.classes, GROUPS

    @property
    def counts(self) -> tuple[int, int, int]:
        """The shape of the counts."""
        return self.classes, GROUPS, self.thresholds

    @property
    def product(self) -> Product:
        """The product that adds up the comparisons of every group."""
        return Product(_added_up, self.groups, self.values, self.ring)


def _added_up(groups: Words, bits: Words) -> Words:
    """Return Σ over documents of group × bit: (classes, groups, thresholds)."""
    sums = [
        (groups[:, :, group, np.newaxis] * bits).sum(axis=0, dtype=np.uint64)
        for group in range(groups.shape[2])
    ]
    return np.stack(sums, axis=1)


def tally(holder: Holder, plan: TallyPlan, values: Words, groups: Words | None) -> Party[Words]:
    """A holder's shares of the counts, from its shares of values and groups.

    An asker that is itself a holder passes the groups; the coordinator then passes None.
    """
    if values.shape != plan.values or (groups is not None and groups.shape != plan.groups):
        raise MismatchError(f"tally: expected values of shape {plan.values}, found {values.shape}")
    below = yield from negative(holder, values, purpose=_PURPOSE, ring=plan.ring)
    bits = plan.ring.reduce(holder.constant(np.ones_like(below)) - below)
    mine = np.zeros(plan.groups, np.uint64) if groups is None else groups
    return (yield from multiplied(holder, mine, bits, plan.product, purpose=_PURPOSE))


def deal_tally(dealer: Dealer, plan: TallyPlan) -> Party[None]:
    """The dealer's part: it sends, and receives nothing."""
    count = plan.documents * plan.classes * plan.thresholds
    yield from deal_signs(dealer, count, purpose=_PURPOSE, ring=plan.ring)
    yield from deal_product(dealer, plan.product, purpose=_PURPOSE)


def run(
    plan: TallyPlan,
    values: tuple[Words, Words],
    groups: Words,
    trio: Trio,
    context: Context,
    *,
    entropy: Entropy,
    meddler: Meddler | None = None,
) -> Outcome:
    """Run the tally in memory; return both holders' shares of the counts, and all views."""
    programs = HolderPrograms(
        lambda holder: tally(holder, plan, values[0], None),
        lambda holder: tally(holder, plan, values[1], groups),
        lambda dealer: deal_tally(dealer, plan),
    )
    return holders.run(programs, trio, context, entropy=entropy, meddler=meddler)
