"""Counts of all peers' rows above each threshold; only the totals are opened.

    peer p                        member i                                  opener (C)
      │ its rows, and which of them │                                           │
      │ are of which class ────────▶│   (rows.py) shares of every score         │
      │                             │ comparisons with thresholds ─────────────▶│   (comparison.py)
      │                             │   places and marks are bits ─────────────▶│   (bit_check.py)
      │                             │   place × class, added up over all rows   │
      │                             │ TallyShare, made fresh ──────────────────▶│   the totals

Thresholds are for rows of unit length: the score less t times the row's norm, its last column, is
compared with 0. Thresholds rise, so a row's place among T of them is found by bisection, with about
log2 T comparisons. During the search the members hold two shares for every range that a row's place
could be in: whether the place is in it, and that bit times the norm. The next threshold follows
from these by sums alone, and at the end they give the number of thresholds below the score. Two
marks for every class come with a row: whether the row is of that class, and whether it is not. A
row that only fills up a batch has neither mark, and is not counted. Places and marks have degree t,
so a count is a product of degree 2t, added up at each member over the rows of all peers. Before
that members check that all places and marks are bits: neither a peer with made-up marks nor an
opener with wrong products can give one row more weight than another. Who learns what: the opener
learns the totals over all peers. Nobody learns a comparison, or the counts of one peer. A peer that
pools with up to t members and the opener still learns no more than the totals.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import InputError
from sottovoce.numbers.residues import FAST, Base, Planes, slices
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.disclosures import BY_OPENER, THRESHOLD_HOLDS
from sottovoce.protocols.messages import Disclosure
from sottovoce.protocols.quorum.bit_check import check_bits, check_openings, refuse_others
from sottovoce.protocols.quorum.bits import coin_openings, in_every_field
from sottovoce.protocols.quorum.comparison import SharedComparison, at_least_zero
from sottovoce.protocols.quorum.dealing import QuorumMember, renewed
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import Opener, Opening, OpeningShare, given
from sottovoce.protocols.quorum.products import multiplied, reduction
from sottovoce.protocols.quorum.rows import RowShape, RowSharing, take_rows
from sottovoce.protocols.quorum.sums import COUNT_BASE
from sottovoce.protocols.shares.material import Context

SIDES = 2
"""The two sides of a class: rows of it, and rows that are not of it."""
# The number of scores whose places are searched at a time: some 5 MB of masks a message.
_SEARCHED = 2**13
# The number of openings between two reports of progress.
_TOLD_AFTER = 8


class TallyShare(OpeningShare, frozen=True):
    """A share of the number of rows of all peers above each threshold."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_OPENER,
        reveals="how many held-out rows of all peers together, of each class and of the others, "
        "score above each public threshold",
        assuming=THRESHOLD_HOLDS,
    )


@dataclass(frozen=True)
class QuorumTally:
    """The public numbers of one tally: whose rows are counted, at which thresholds.

    `rows` has each peer's number of rows. `factors` has for each threshold what it subtracts from a
    score, for each unit of the row's norm. `bits` bounds every difference: |score − t·norm| <
    2^bits.
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
        if list(self.factors) != sorted(self.factors):
            raise InputError(f"tally: expected rising thresholds, found {self.factors}")
        _ = self.comparison

    @cached_property
    def comparison(self) -> SharedComparison:
        """The plan by which a score is compared with a threshold."""
        return SharedComparison.fitted(self.bits, self.hiding, self.quorum)

    def sharing(self, peer: str, context: Context) -> RowSharing:
        """The plan by which a peer shares its rows, with two marks a class beside each row."""
        shape = RowShape(self.rows[peer], self.width, self.classes * SIDES)
        return RowSharing(shape, self.comparison.base, self.quorum, context)

    @property
    def counts(self) -> tuple[int, int, int]:
        """The shape of the counts."""
        return self.classes, SIDES, len(self.factors)

    def opening(self) -> Opening:
        """The opening of totals; none of them exceeds the number of rows."""
        limit = sum(self.rows.values()) + 1
        degree = 2 * self.quorum.threshold
        return Opening(TallyShare, degree, COUNT_BASE, self.counts, limit)

    @property
    def searches(self) -> "list[list[Range]]":
        """The ranges of places that each level of the search divides."""
        levels, left = [], [Range(0, len(self.factors))]
        while left:
            levels.append(left)
            left = [part for each in left for part in each.halves if part.is_open]
        return levels

    @property
    def pieces(self) -> Iterator[slice]:
        """The rows, of all peers one after the other, whose places are searched for at a time."""
        return slices(sum(self.rows.values()), max(1, _SEARCHED // self.classes))

    def openings(self, count: int) -> Iterator[Opening]:
        """Yield every opening that finds the places of `count` scores, in order."""
        quorum, levels = self.quorum, self.searches
        for level, ranges in enumerate(levels):
            base = self.base_of(level)
            yield from self.comparison.openings(quorum, (count,))
            yield from coin_openings(quorum, base, (count,))
            if level:
                yield reduction(quorum, COUNT_BASE, (count, len(ranges)))
            if level < len(levels) - 1:
                yield reduction(quorum, base, (count, len(ranges)))
        yield from check_openings(quorum, (count, len(self.factors) + 1 + SIDES), COUNT_BASE)

    def base_of(self, level: int) -> Base:
        """Return the fields in which a level's bits are used: at the last level those of counts."""
        return self.comparison.base if level < len(self.searches) - 1 else COUNT_BASE


@dataclass(frozen=True)
class Range:
    """Places from `first` to `last`, where place k says that k thresholds lie below a score."""

    first: int
    last: int

    @property
    def is_open(self) -> bool:
        """Whether there is more than one place left."""
        return self.last > self.first

    @property
    def asked(self) -> int:
        """The threshold that a score is compared with."""
        return (self.first + self.last + 1) // 2 - 1

    @property
    def halves(self) -> "tuple[Range, Range]":
        """The two halves that are left: below the threshold, and above it."""
        return Range(self.first, self.asked), Range(self.asked + 1, self.last)


def marks_of(truth: NDArray[np.bool_], rows: int) -> NDArray[np.int64]:
    """Mark the rows of a class, and the rows of other classes; padding has neither mark."""
    marks = np.zeros((rows, truth.shape[1], SIDES), np.int64)
    marks[: len(truth)] = np.stack([truth, ~truth], axis=2)
    return marks.reshape(rows, -1)


@dataclass(frozen=True)
class TallyRows:
    """A member's shares of all peers' scores, of the norms of their rows, and of their marks."""

    scores: Planes = field(repr=False)
    norms: Planes = field(repr=False)
    marks: Planes = field(repr=False)


def take_tally_rows(
    plan: QuorumTally, context: Context, model: Planes, *, name: str
) -> Party[TallyRows]:
    """At a member: return what it counts, from shares of all peers' rows.

    All peers' rows are searched together, because the number of trips does not depend on the rows.
    """
    model = model[: plan.comparison.base.count]

    def scored(rows: Planes, marks: Planes) -> tuple[Planes, Planes, Planes]:
        return FAST.matvec(rows, model), rows[:, :, -1], marks[: COUNT_BASE.count]

    blocks = []
    for peer in plan.rows:
        sharing = plan.sharing(peer, context)
        blocks += yield from take_rows(sharing, scored, owner=peer, name=name)
    return TallyRows(*(np.concatenate(parts, axis=1) for parts in zip(*blocks, strict=True)))


def count_above(member: QuorumMember, plan: QuorumTally, rows: TallyRows) -> Party[Planes]:
    """At a member: return its shares of degree 2t of the totals."""
    scores, norms, marks = rows.scores, rows.norms, rows.marks
    totals = np.zeros((COUNT_BASE.count, *plan.counts), np.uint32)
    for part in plan.pieces:
        here = f"tally/{part.start}"
        places = yield from _places(member, plan, scores[:, part], norms[:, part], purpose=here)
        # A place that is not a bit would show a single row's mark in the totals, and a mark that is
        # not a bit would show its place. So nothing is counted before all of them are checked.
        sides = marks[:, part].reshape(*places.shape[:3], SIDES)
        bits = np.concatenate([places, sides], axis=3)
        bits = bits.reshape(COUNT_BASE.count, -1, bits.shape[3])
        yield from check_bits(member, bits, purpose=f"{here}/counted")
        totals = COUNT_BASE.add(totals, _counted(plan, marks[:, part], places))
    return totals


def give_totals(member: QuorumMember, plan: QuorumTally, totals: Planes) -> Party[None]:
    """At a member: send the opener alone fresh shares of the totals."""
    degree = 2 * plan.quorum.threshold
    fresh = yield from renewed(member, totals, degree=degree, purpose="tally/totals")
    yield from given(plan.quorum, plan.opening(), fresh)


def open_comparisons(
    opener: Opener, plan: QuorumTally, progress: Callable[[], Party[None]] | None = None
) -> Party[None]:
    """The opener's part of the counting: it sees masked values, and reports progress."""
    done = 0
    for part in plan.pieces:
        for opening in plan.openings((part.stop - part.start) * plan.classes):
            refuse_others(opening, (yield from opener.open(opening)))
            done += 1
            if progress is not None and done % _TOLD_AFTER == 0:
                yield from progress()


def open_totals(opener: Opener, plan: QuorumTally) -> Party[NDArray[np.int64]]:
    """At the opener: return the counts of all peers' rows, classes × 2 × thresholds."""
    value = yield from opener.take(plan.opening())
    return COUNT_BASE.integers(value).astype(np.int64)


def _places(
    member: QuorumMember, plan: QuorumTally, scores: Planes, norms: Planes, *, purpose: str
) -> Party[Planes]:
    """Return shares, in the fields of counts, of every score's place: rows × classes × places."""
    shape = scores.shape[1:]
    scores = scores.reshape(len(scores), -1)
    norms = np.repeat(norms, plan.classes, axis=1)
    base, levels = plan.comparison.base, plan.searches
    # For every range: whether the score is in it, and that bit times the norm.
    inside = {levels[0][0]: np.ones((COUNT_BASE.count, scores.shape[1]), np.uint32)}
    norm = {levels[0][0]: norms}
    for level, ranges in enumerate(levels):
        here = f"{purpose}/{level}"
        factors = [-plan.factors[each.asked] for each in ranges]
        values = base.combine([scores, *(norm[each] for each in ranges)], [1, *factors])
        bit = yield from at_least_zero(member, plan.comparison, values, purpose=here)
        everywhere = yield from in_every_field(member, bit, plan.base_of(level), purpose=here)
        wide = np.repeat(everywhere[:, :, np.newaxis], len(ranges), axis=2)
        was = np.stack([inside[each] for each in ranges], axis=2)
        above = wide[: COUNT_BASE.count]
        if level:
            above = yield from multiplied(member, above, was, purpose=f"{here}/inside")
        _halve(COUNT_BASE, inside, ranges, was, above)
        if level < len(levels) - 1:
            was = np.stack([norm[each] for each in ranges], axis=2)
            above = yield from multiplied(member, wide, was, purpose=f"{here}/norm")
            _halve(base, norm, ranges, was, above)
    places = [inside[Range(place, place)] for place in range(len(plan.factors) + 1)]
    return np.stack(places, axis=2).reshape(COUNT_BASE.count, *shape, -1)


def _halve(
    base: Base, parts: dict[Range, Planes], ranges: list[Range], was: Planes, above: Planes
) -> None:
    """Split the values of a range into its halves."""
    below = base.subtract(was, above)
    for place, each in enumerate(ranges):
        parts[each.halves[0]], parts[each.halves[1]] = below[:, :, place], above[:, :, place]


def _counted(plan: QuorumTally, marks: Planes, places: Planes) -> Planes:
    """Return Σ of mark × [more thresholds lie below]: classes × sides × thresholds."""
    rows = marks.shape[1]
    sides = marks.reshape(COUNT_BASE.count, rows, plan.classes, SIDES, 1)
    totals = COUNT_BASE.total(COUNT_BASE.times(sides, places[:, :, :, np.newaxis]), axis=0)
    # A score lies above threshold j where more than j thresholds lie below it.
    above = np.empty((COUNT_BASE.count, *plan.counts), np.uint32)
    left = np.zeros_like(totals[..., 0])
    for place in range(len(plan.factors), 0, -1):
        left = COUNT_BASE.add(left, totals[..., place])
        above[..., place - 1] = left
    return above
