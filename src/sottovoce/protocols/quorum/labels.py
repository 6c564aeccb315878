"""The labels of an asker's rows: members hold the model in shares, and nobody but the asker learns.

    asker                     dealers (t + 1)       member i                      opener (C)
      │ RowSeed, RowShares ────────────────────────────▶│   its shares of every score (degree 2t)
      │                           masks with shared bits│ ── MaskedScore ─────────▶│
      │                                                 │   tree of products      │ (comparison.py)
      │                           sharings of zero ────▶│
      │◀──────────────────────────── QuorumLabel ────────│   a share of the label, made fresh

One score: the label is [score ≥ 0]. Several that exclude each other: a tournament, in which each
comparison is followed by products that carry on the larger score and its index; a tie goes to the
lower index. Only the last index is put together, at the asker. The asker never sees a member's
share of a score, masked or not: knowing its rows, it would get equations in the model from them.
Who learns what: the asker learns the labels, nobody else learns anything but how many rows there
are. Assuming that at most t members pool, with or without the opener; the asker may be one of
them. Labels of many chosen rows give the model away: queries have a budget.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.entropy import SEED_BYTES, Entropy, Expansion
from sottovoce.errors import BoundError, InputError, ViolationError
from sottovoce.numbers.residues import FAST, PRIMES, Base, Planes
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.quorum.comparison import (
    BIT_BASE,
    SharedComparison,
    at_least_zero,
    random_bits,
)
from sottovoce.protocols.quorum.dealing import Item, QuorumMember, dealt, dealt_sums
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import (
    Opener,
    Opening,
    OpeningShare,
    opened,
    read_planes,
)
from sottovoce.protocols.quorum.products import lowered, multiplied, reduction
from sottovoce.protocols.quorum.sharing import put_together, shares_beside
from sottovoce.protocols.shares.material import Context

# A wrong share of a masked score falls out of its range but for a chance of about this.
_SPARE_BITS = 10
# Rows that are shared in one message: some 20 MB at 2,048 features.
_ROWS = 256


class RowSeed(Message, frozen=True):
    """The seed of one member's shares of an asker's rows."""

    discloses: ClassVar = Disclosure(
        seen_by="one member of the quorum, sealed against everybody else",
        reveals="nothing: random bytes, and how many rows are asked for",
        assuming="no more members than the threshold pool with each other and the opener",
    )
    seed: bytes
    context: bytes


class RowShares(Message, frozen=True):
    """One member's shares of some of an asker's rows, and of what is taken off their scores."""

    discloses: ClassVar = Disclosure(
        seen_by="one member of the quorum, sealed against everybody else",
        reveals="nothing: as many shares as the threshold are uniform, whatever the rows are",
        assuming="no more members than the threshold pool with each other and the opener",
    )
    context: bytes
    rows: wire.Residues
    offsets: wire.Residues


class FlippedBit(OpeningShare, frozen=True):
    """A share of who won a match, flipped by a shared coin."""

    discloses: ClassVar = Disclosure(
        seen_by="the opener, and with its answer every member",
        reveals="nothing: a fair coin that nobody knows hides the bit",
        assuming="no more members than the threshold pool with each other and the opener",
    )


class QuorumLabel(Message, frozen=True):
    """A member's shares of the labels, for the one who asked."""

    discloses: ClassVar = Disclosure(
        seen_by="the asker of these rows' labels",
        reveals="the labels of its own rows, and nothing about their scores",
        assuming="no more members than the threshold pool with each other and the opener",
    )
    share: wire.Residues


class QuorumScore(Message, frozen=True):
    """A member's shares of scores, for the one who asked, where the plan releases margins."""

    discloses: ClassVar = Disclosure(
        seen_by="the asker of the query",
        reveals="the scores of its own rows; as many as there are features give the model",
        assuming="every peer consented to release = margin",
    )
    share: wire.Residues


@dataclass(frozen=True)
class LabelPlan:
    """How many rows, how long, with how many scores each, and how large scores can be.

    Several scores of one row that exclude each other: the largest wins. Else the sign of each
    decides. `bits` bounds every score and every difference of two: |score| < 2^bits.
    """

    rows: int
    width: int
    scores: int
    bits: int
    hiding: int
    quorum: Quorum
    exclusive: bool = True

    def __post_init__(self) -> None:
        if self.rows < 1 or self.width < 1 or self.scores < 1:
            raise InputError(
                f"labels: expected at least 1 row, 1 column and 1 score, "
                f"found {self.rows}, {self.width} and {self.scores}"
            )
        if self.scores >= PRIMES[0] // 2:
            raise InputError(f"labels: expected fewer scores, found {self.scores}")
        self.comparison.limit(self.quorum)

    @cached_property
    def base(self) -> Base:
        """As few primes as hold a masked score, with some room in which a wrong share is seen."""
        needed = self.bits + self.hiding + (self.quorum.threshold + 2).bit_length() + _SPARE_BITS
        for count in range(1, len(PRIMES) + 1):
            if Base(count).modulus.bit_length() > needed:
                return Base(count)
        raise BoundError(
            f"labels: scores of {self.bits} bits under masks of {self.hiding} more do not fit "
            f"{len(PRIMES)} residues",
            hints=("raise the penalty",),
        )

    @property
    def comparison(self) -> SharedComparison:
        """How scores are compared."""
        return SharedComparison(self.bits, self.hiding, self.base)

    @property
    def has_winner(self) -> bool:
        """Whether one of several scores wins."""
        return self.exclusive and self.scores > 1

    @property
    def labels(self) -> tuple[int, int]:
        """The shape of what comes out: one index a row, or one sign a score."""
        return self.rows, 1 if self.has_winner else self.scores

    def matches(self) -> list[int]:
        """The number of matches at each level of the tournament."""
        sizes, left = [], self.scores
        while left > 1:
            sizes.append(left // 2)
            left = (left + 1) // 2
        return sizes

    def openings(self) -> Iterator[Opening]:
        """Everything that the opener opens, in order."""
        if not self.has_winner:
            yield from self.comparison.openings(self.quorum, self.labels)
            return
        yield reduction(self.quorum, self.base, (self.rows, self.scores))
        levels = self.matches()
        for level, matches in enumerate(levels):
            shape = (self.rows, matches)
            yield from self.comparison.openings(self.quorum, shape)
            if level < len(levels) - 1:
                yield from _coin_openings(self, shape)
                yield reduction(self.quorum, self.base, shape)
            yield reduction(self.quorum, BIT_BASE, shape)


@dataclass(frozen=True, repr=False)
class Rows:
    """What an asker brings: integer rows, and what is taken off each of their scores."""

    values: NDArray[np.int64]
    offsets: NDArray[np.int64]

    def check(self, plan: LabelPlan) -> None:
        """Refuse rows that are not as long as the model, or offsets of other shapes."""
        if self.values.shape != (plan.rows, plan.width):
            raise InputError(
                f"labels: expected {plan.rows} rows of {plan.width} columns, "
                f"found shape {self.values.shape}",
                hints=("rows are made with the dictionary of the study",),
            )
        if self.offsets.shape != (plan.rows, plan.scores):
            raise InputError(
                f"labels: expected offsets of shape {(plan.rows, plan.scores)}, "
                f"found {self.offsets.shape}"
            )


def share_rows(
    plan: LabelPlan,
    context: Context,
    rows: Rows,
    model: Planes | None,
    *,
    name: str,
    entropy: Entropy,
) -> Party[Planes | None]:
    """At the asker: every member's shares of its rows; a member has its shares of the scores."""
    rows.check(plan)
    quorum, degree = plan.quorum, plan.quorum.threshold
    seeds = {member: entropy.seed() for member in quorum.seeded(degree)}
    for member, seed in seeds.items():
        if member != name:
            yield Send(member, RowSeed(seed, context.encode()))
    scores = []
    for start in range(0, plan.rows, _ROWS):
        stop = min(start + _ROWS, plan.rows)
        shared = []
        for index, values in enumerate((rows.values[start:stop], rows.offsets[start:stop])):
            seeded = [
                _drawn(plan, seed, context, (start, index), values.shape) for seed in seeds.values()
            ]
            secret = plan.base.of(values)
            shared.append(shares_beside(secret, seeded, degree=degree, quorum=quorum))
        for member in quorum.members:
            parts = [shares[member] for shares in shared]
            if member == name and model is not None:
                scores.append(_scores_of(plan, model, *parts))
            elif member not in seeds:
                residues = (wire.Residues.of(part) for part in parts)
                yield Send(member, RowShares(context.encode(), *residues))
    return np.concatenate(scores, axis=1) if scores else None


def take_scores(
    plan: LabelPlan, context: Context, model: Planes, *, asker: str, name: str
) -> Party[Planes]:
    """At a member: its shares of degree 2t of every score, from its shares of the asker's rows."""
    seed = b""
    if name in plan.quorum.seeded(plan.quorum.threshold):
        row_seed = yield from receive(asker, RowSeed)
        _check_context(context, row_seed.context, asker)
        if len(row_seed.seed) != SEED_BYTES:
            raise ViolationError(f"expected a seed of {SEED_BYTES} bytes", party=asker)
        seed = row_seed.seed
    scores = []
    for start in range(0, plan.rows, _ROWS):
        count = min(_ROWS, plan.rows - start)
        shapes = ((count, plan.width), (count, plan.scores))
        if seed:
            parts = [
                _drawn(plan, seed, context, (start, index), shape)
                for index, shape in enumerate(shapes)
            ]
        else:
            message = yield from receive(asker, RowShares)
            _check_context(context, message.context, asker)
            parts = [
                read_planes(residues, (plan.base.count, *shape), sender=asker, what="RowShares")
                for residues, shape in zip((message.rows, message.offsets), shapes, strict=True)
            ]
        scores.append(_scores_of(plan, model, *parts))
    return np.concatenate(scores, axis=1)


def _drawn(
    plan: LabelPlan,
    seed: bytes,
    context: Context,
    place: tuple[int, int],
    shape: tuple[int, ...],
) -> Planes:
    stream = Expansion(seed, f"quorum/rows/{place[0]}/{place[1]}/v1", context.encode())
    return plan.base.draw(stream, *shape)


def _check_context(context: Context, found: bytes, asker: str) -> None:
    if found != context.encode():
        raise ViolationError("expected rows for this query, found some for another", party=asker)


def _scores_of(plan: LabelPlan, model: Planes, rows: Planes, offsets: Planes) -> Planes:
    """Shares of degree 2t of every score: the row times the model, less its offsets."""
    base = plan.base
    return base.subtract(FAST.matvec(rows, model[: base.count]), offsets)


def answer(member: QuorumMember, plan: LabelPlan, scores: Planes, *, asker: str) -> Party[Planes]:
    """At a member: its shares of the labels, sent to the asker; the asker itself keeps them."""
    label = yield from _label(member, plan, scores)
    fresh = yield from _fresh(member, label)
    if asker != member.name:
        yield Send(asker, QuorumLabel(wire.Residues.of(fresh)))
    return fresh


def take_labels(
    plan: LabelPlan, *, name: str, own: Planes | None = None
) -> Party[NDArray[np.int64]]:
    """At the asker: the labels, put together from everybody's shares."""
    shares = {} if own is None else {name: own}
    for member in plan.quorum.members:
        if member != name:
            message = yield from receive(member, QuorumLabel)
            shape = (1, *plan.labels)
            shares[member] = read_planes(message.share, shape, sender=member, what="QuorumLabel")
    degree = plan.quorum.threshold
    labels = put_together(shares, degree=degree, quorum=plan.quorum, what="QuorumLabel")[0]
    most = plan.scores if plan.has_winner else 2
    if (labels >= most).any():
        raise ViolationError(
            f"QuorumLabel: expected labels below {most}, found another number: "
            "a share of an earlier opening was wrong"
        )
    return np.asarray(labels, np.int64)


def give_scores(
    member: QuorumMember, plan: LabelPlan, scores: Planes, *, asker: str
) -> Party[Planes]:
    """At a member, where the plan releases scores: its shares of them, made fresh."""
    item = Item(2 * member.quorum.threshold, plan.base, scores.shape[1:])
    zeros = np.zeros_like(scores)
    (share,) = yield from dealt_sums(member, [item], lambda _: [zeros], purpose="scores")
    fresh = plan.base.add(scores, share)
    if asker != member.name:
        yield Send(asker, QuorumScore(wire.Residues.of(fresh)))
    return fresh


def take_score_shares(
    plan: LabelPlan, *, name: str, own: Planes | None = None
) -> Party[NDArray[np.int64]]:
    """At the asker, where the plan releases scores: the scores of its rows."""
    shares = {} if own is None else {name: own}
    shape = (plan.base.count, plan.rows, plan.scores)
    for member in plan.quorum.members:
        if member != name:
            message = yield from receive(member, QuorumScore)
            shares[member] = read_planes(message.share, shape, sender=member, what="QuorumScore")
    degree = 2 * plan.quorum.threshold
    value = put_together(shares, degree=degree, quorum=plan.quorum, what="QuorumScore")
    scores = plan.base.signed(value)
    if (abs(scores) >= 2**plan.bits).any():
        raise ViolationError("QuorumScore: expected scores in their range, found one outside")
    return scores.astype(np.int64)


def open_labels(opener: Opener, plan: LabelPlan) -> Party[None]:
    """The opener's part: it sees what is masked, and no label."""
    for opening in plan.openings():
        yield from opener.open(opening)


def _label(member: QuorumMember, plan: LabelPlan, scores: Planes) -> Party[Planes]:
    """Shares of degree t, in the first field, of the index of the winner (or of the sign)."""
    if not plan.has_winner:
        return (yield from at_least_zero(member, plan.comparison, scores, purpose="sign"))
    base = plan.base
    scores = yield from lowered(member, scores, purpose="scores")
    index = np.broadcast_to(
        np.arange(plan.scores, dtype=np.uint32), (1, plan.rows, plan.scores)
    ).copy()
    for level, matches in enumerate(plan.matches()):
        left, right = scores[:, :, 0 : 2 * matches : 2], scores[:, :, 1 : 2 * matches : 2]
        margin = base.subtract(left, right)
        purpose = f"level/{level}"
        won = yield from at_least_zero(member, plan.comparison, margin, purpose=purpose)
        if level < len(plan.matches()) - 1:
            everywhere = yield from _in_every_field(member, plan, won, purpose=purpose)
            gained = yield from multiplied(member, everywhere, margin, purpose=f"{purpose}/score")
            winners = base.add(right, gained)
            scores = np.concatenate([winners, scores[:, :, 2 * matches :]], axis=2)
        first, second = index[:, :, 0 : 2 * matches : 2], index[:, :, 1 : 2 * matches : 2]
        ahead = BIT_BASE.subtract(first, second)
        moved = yield from multiplied(member, won, ahead, purpose=f"{purpose}/index")
        index = np.concatenate([BIT_BASE.add(second, moved), index[:, :, 2 * matches :]], axis=2)
    return index


def _in_every_field(
    member: QuorumMember, plan: LabelPlan, bit: Planes, *, purpose: str
) -> Party[Planes]:
    """Shares of a bit in all fields, from those in the first: opened under a shared coin."""
    base, quorum, shape = plan.base, member.quorum, bit.shape[1:]
    item = Item(quorum.threshold, base, shape)

    def secrets(entropy: Entropy) -> list[Planes]:
        return [np.repeat(random_bits(entropy, shape)[np.newaxis], base.count, axis=0)]

    coins = yield from dealt(member, [item], secrets, purpose=f"{purpose}/coin")
    coin = coins[0][0]
    for fold, more in enumerate(coins[1:]):
        both = yield from multiplied(member, coin, more[0], purpose=f"{purpose}/coin/{fold}")
        coin = base.combine([coin, more[0], both], [1, 1, -2])
    product = BIT_BASE.times(bit, coin[:1])
    flipped = BIT_BASE.combine([bit, coin[:1], product], [1, 1, -2])
    covered = BIT_BASE.add(flipped, (yield from _zero(member, shape, purpose=f"{purpose}/flip")))
    public = yield from opened(quorum, _flip_opening(quorum, shape), covered)
    if (public > 1).any():
        raise ViolationError(
            "FlippedBit: expected a bit, found another number: "
            "a share of an earlier opening was wrong"
        )
    # bit = public ⊕ coin, and the public one is the same in every field.
    known = np.repeat(public, base.count, axis=0)
    return base.subtract(base.add(known, coin), base.scale(base.times(known, coin), 2))


def _coin_openings(plan: LabelPlan, shape: tuple[int, ...]) -> Iterator[Opening]:
    for _ in range(plan.quorum.threshold):
        yield reduction(plan.quorum, plan.base, shape)
    yield _flip_opening(plan.quorum, shape)


def _flip_opening(quorum: Quorum, shape: tuple[int, ...]) -> Opening:
    return Opening(FlippedBit, 2 * quorum.threshold, BIT_BASE, shape)


def _zero(member: QuorumMember, shape: tuple[int, ...], *, purpose: str) -> Party[Planes]:
    """A share of zero with a fresh polynomial of degree 2t."""
    item = Item(2 * member.quorum.threshold, BIT_BASE, shape)
    zeros = np.zeros((1, *shape), np.uint32)
    (share,) = yield from dealt_sums(member, [item], lambda _: [zeros], purpose=purpose)
    return share


def _fresh(member: QuorumMember, label: Planes) -> Party[Planes]:
    """The same label under a fresh polynomial of degree t: a share of zero is added."""
    item = Item(member.quorum.threshold, BIT_BASE, label.shape[1:])
    zeros = np.zeros_like(label)
    (share,) = yield from dealt_sums(member, [item], lambda _: [zeros], purpose="label")
    return BIT_BASE.add(label, share)
