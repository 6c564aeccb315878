"""How many rows of all peers lie above which threshold: no comparison is opened, only the totals.

    peer p                        member i                                  opener (C)
      │ its rows, and which of them │                                           │
      │ are of which class ────────▶│   (rows.py) shares of every score         │
      │                             │ a comparison with every threshold ───────▶│   (comparison.py)
      │                             │   bit × class, added up over all rows     │
      │                             │ TallyShare, made fresh ──────────────────▶│   the totals

A threshold t is on rows of unit length: what is compared with 0 is the score less t times the
row's norm, its last column. Beside a row stands for every class whether it is of that class, and
whether it is not; a row that fills up a batch is neither, and counts nowhere. Bits and marks have
degree t, so a count is a product of degree 2t, added up at each member over the rows of all peers.
Who learns what: the opener learns the totals over all peers, and nobody learns a comparison or a
count of one peer, who may pool with up to t members and the opener and still learn no more than
the totals.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import InputError
from sottovoce.numbers.residues import FAST, Planes, slices
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.disclosures import BY_OPENER, THRESHOLD_HOLDS
from sottovoce.protocols.messages import Disclosure
from sottovoce.protocols.quorum.comparison import SharedComparison, at_least_zero
from sottovoce.protocols.quorum.dealing import QuorumMember, renewed
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import Opener, Opening, OpeningShare, given
from sottovoce.protocols.quorum.rows import ROWS_SENT, RowShape, RowSharing, take_rows
from sottovoce.protocols.quorum.sums import COUNT_BASE
from sottovoce.protocols.shares.material import Context

SIDES = 2
"""Rows of a class, and rows that are not of it."""
# Comparisons that are made at a time: some 5 MB of masks a message.
_COMPARED = 2**13


class TallyShare(OpeningShare, frozen=True):
    """A share of how many rows of all peers lie above which threshold."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_OPENER,
        reveals="how many held-out rows of all peers together, of each class and of the others, "
        "score above each public threshold",
        assuming=THRESHOLD_HOLDS,
    )


@dataclass(frozen=True)
class QuorumTally:
    """Whose rows are counted, and at what: the public numbers of one tally.

    `rows` are how many each peer brings, `factors` what every threshold takes off a score for
    each unit of the row's norm. `bits` bounds every difference: |score − t·norm| < 2^bits.
    """

    rows: Mapping[str, int]
    width: int
    classes: int
    factors: tuple[int, ...]
    bits: int
    hiding: int
    quorum: Quorum

    def __post_init__(self) -> None:
        counts = (self.width, self.classes, len(self.factors), *self.rows.values())
        if not self.rows or min(counts) < 1:
            raise InputError(
                "tally: expected at least 1 peer, row, column, class and threshold, found "
                f"{len(self.rows)}, {min(self.rows.values(), default=0)}, {self.width}, "
                f"{self.classes} and {len(self.factors)}"
            )
        _ = self.comparison

    @cached_property
    def comparison(self) -> SharedComparison:
        """How a score is compared with a threshold."""
        return SharedComparison.fitted(self.bits, self.hiding, self.quorum, COUNT_BASE)

    def sharing(self, peer: str, context: Context) -> RowSharing:
        """How a peer's rows come to the members, with two marks a class beside each."""
        shape = RowShape(self.rows[peer], self.width, self.classes * SIDES)
        return RowSharing(shape, self.comparison.base, self.quorum, context)

    @property
    def counts(self) -> tuple[int, int, int]:
        """The shape of what comes out."""
        return self.classes, SIDES, len(self.factors)

    def opening(self) -> Opening:
        """What is opened: totals, none of them above the number of rows."""
        limit = sum(self.rows.values()) + 1
        degree = 2 * self.quorum.threshold
        return Opening(TallyShare, degree, COUNT_BASE, self.counts, limit)

    def pieces(self, peer: str) -> Iterator[int]:
        """How many comparisons of a peer's rows are made at a time."""
        for block in slices(self.rows[peer], ROWS_SENT):
            values = (block.stop - block.start) * self.classes * len(self.factors)
            yield from (part.stop - part.start for part in slices(values, _COMPARED))


def marks_of(truth: NDArray[np.bool_], rows: int) -> NDArray[np.int64]:
    """Which rows are of a class, and which are not; those that fill up are neither."""
    marks = np.zeros((rows, truth.shape[1], SIDES), np.int64)
    marks[: len(truth)] = np.stack([truth, ~truth], axis=2)
    return marks.reshape(rows, -1)


def count_above(
    member: QuorumMember, plan: QuorumTally, context: Context, model: Planes
) -> Party[Planes]:
    """At a member: its shares of degree 2t of the totals, from its shares of all peers' rows."""
    base = plan.comparison.base
    model = model[: base.count]

    def scored(rows: Planes, marks: Planes) -> tuple[Planes, Planes, Planes]:
        return FAST.matvec(rows, model), rows[:, :, -1], marks[: COUNT_BASE.count]

    totals = np.zeros((COUNT_BASE.count, *plan.counts), np.uint32)
    for peer in plan.rows:
        sharing = plan.sharing(peer, context)
        blocks = yield from take_rows(sharing, scored, owner=peer, name=member.name)
        for block, (scores, norms, marks) in enumerate(blocks):
            purpose = f"tally/{peer}/{block}"
            values = _above(plan, scores, norms)
            bits = yield from _compared(member, plan, values, purpose=purpose)
            totals = COUNT_BASE.add(totals, _counted(plan, marks, bits))
    return totals


def give_totals(member: QuorumMember, plan: QuorumTally, totals: Planes) -> Party[None]:
    """At a member: its shares of the totals, made fresh, to the opener alone."""
    degree = 2 * plan.quorum.threshold
    fresh = yield from renewed(member, totals, degree=degree, purpose="tally/totals")
    yield from given(plan.quorum, plan.opening(), fresh)


def open_comparisons(opener: Opener, plan: QuorumTally) -> Party[None]:
    """The opener's part of the counting: it sees what is masked."""
    for peer in plan.rows:
        for count in plan.pieces(peer):
            for opening in plan.comparison.openings(plan.quorum, (count,)):
                yield from opener.open(opening)


def open_totals(opener: Opener, plan: QuorumTally) -> Party[NDArray[np.int64]]:
    """At the opener: classes × 2 × thresholds, how many rows of all peers lie above."""
    value = yield from opener.take(plan.opening())
    return COUNT_BASE.integers(value).astype(np.int64)


def _above(plan: QuorumTally, scores: Planes, norms: Planes) -> Planes:
    """Shares of every score less every threshold, side by side: rows × classes × thresholds."""
    base = plan.comparison.base
    values = np.empty((*scores.shape, len(plan.factors)), np.uint32)
    for place, factor in enumerate(plan.factors):
        values[..., place] = base.combine([scores, norms[:, :, np.newaxis]], [1, -factor])
    return values.reshape(base.count, -1)


def _compared(
    member: QuorumMember, plan: QuorumTally, values: Planes, *, purpose: str
) -> Party[Planes]:
    """Shares of degree t, in the fields of counts, of [value ≥ 0], some at a time."""
    bits = np.empty((COUNT_BASE.count, values.shape[1]), np.uint32)
    for part in slices(values.shape[1], _COMPARED):
        bits[:, part] = yield from at_least_zero(
            member, plan.comparison, values[:, part], purpose=f"{purpose}/{part.start}"
        )
    return bits


def _counted(plan: QuorumTally, marks: Planes, bits: Planes) -> Planes:
    """Σ over these rows of mark × bit: classes × sides × thresholds."""
    rows = marks.shape[1]
    sides = marks.reshape(COUNT_BASE.count, rows, plan.classes, SIDES, 1)
    found = bits.reshape(COUNT_BASE.count, rows, plan.classes, 1, len(plan.factors))
    return COUNT_BASE.total(COUNT_BASE.times(sides, found), axis=0)
