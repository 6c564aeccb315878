"""The labels of an asker's rows, from a model that members hold in shares; only the asker learns.

    asker                     dealers (t + 1)       member i                      opener (C)
      │ RowSeed, RowShares ────────────────────────────▶│   (rows.py) its shares of every score
      │                           masks with shared bits│ ── MaskedScore ─────────▶│
      │                                                 │   tree of products      │ (comparison.py)
      │                                                 │   among members: all signs are bits
      │                                                 │ ── BitCheck ────────────▶│ (bit_check.py)
      │                           sharings of zero ────▶│
      │◀──────────────────────────── QuorumLabel ────────│   a share of the label, made fresh

With one score the label is [score ≥ 0]. Several scores that exclude each other meet in a
tournament: each comparison is followed by products that keep the larger score and its index; a tie
goes to the lower index. Only the last index is put together, at the asker. The asker never sees a
member's share of a score, masked or not: it knows its rows, so shares would give it equations in
the model. It also receives no number other than a bit, which rows of impossible size would give.
Who learns what: the asker learns the labels, nobody else learns anything but how many rows there
are. Assuming that at most t members pool, with or without the opener; the asker may be one of them.
Labels of many chosen rows give the model away: queries have a budget.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.errors import InputError, ViolationError
from sottovoce.numbers.residues import PRIMES, Base, Planes
from sottovoce.protocols.conversation import Party, Send
from sottovoce.protocols.disclosures import BY_ASKER, CONSENT_TO_MARGINS, THRESHOLD_HOLDS
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.quorum.bit_check import BitCheck, check_bits, check_openings, refuse_others
from sottovoce.protocols.quorum.bits import coin_openings, in_every_field
from sottovoce.protocols.quorum.comparison import BIT_BASE, SharedComparison, at_least_zero
from sottovoce.protocols.quorum.dealing import QuorumMember, renewed
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import (
    Opener,
    Opening,
    enough,
    read_planes,
)
from sottovoce.protocols.quorum.products import lowered, multiplied, reduction
from sottovoce.protocols.quorum.rows import RowShape, RowSharing
from sottovoce.protocols.quorum.sharing import put_together
from sottovoce.protocols.shares.material import Context


class QuorumLabel(Message, frozen=True):
    """A member's shares of the labels, for the asker."""

    discloses: ClassVar = Disclosure(
        seen_by="the asker of these rows' labels",
        reveals="the labels of its own rows, and nothing about their scores",
        assuming=THRESHOLD_HOLDS,
    )
    share: wire.Residues


class QuorumScore(Message, frozen=True):
    """A member's shares of scores, for the asker, where the plan releases margins."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ASKER,
        reveals="the scores of its own rows; as many as there are features give the model",
        assuming=CONSENT_TO_MARGINS,
    )
    share: wire.Residues


@dataclass(frozen=True)
class LabelPlan:
    """The public numbers of a query: rows, their length, scores a row, their largest size.

    Among several scores of one row that exclude each other the largest wins. Otherwise each score's
    sign decides. `bits` bounds every score and every difference of two: |score| < 2^bits.
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
        _ = self.comparison

    @cached_property
    def comparison(self) -> SharedComparison:
        """The plan by which scores are compared."""
        return SharedComparison.fitted(self.bits, self.hiding, self.quorum)

    @property
    def base(self) -> Base:
        """The fields in which scores are shared."""
        return self.comparison.base

    def sharing(self, context: Context) -> RowSharing:
        """The plan by which the asker shares its rows, and the numbers taken off their scores."""
        shape = RowShape(self.rows, self.width, self.scores)
        return RowSharing(shape, self.base, self.quorum, context)

    @property
    def has_winner(self) -> bool:
        """Whether one of several scores wins."""
        return self.exclusive and self.scores > 1

    @property
    def labels(self) -> tuple[int, int]:
        """The shape of the result: one index a row, or one sign a score."""
        return self.rows, 1 if self.has_winner else self.scores

    def matches(self) -> list[int]:
        """The number of matches at each level of the tournament."""
        sizes, left = [], self.scores
        while left > 1:
            sizes.append(left // 2)
            left = (left + 1) // 2
        return sizes

    def openings(self) -> Iterator[Opening]:
        """Yield every opening of the query, in order."""
        if not self.has_winner:
            yield from self.comparison.openings(self.quorum, self.labels)
            yield from check_openings(self.quorum, self.labels)
            return
        yield reduction(self.quorum, self.base, (self.rows, self.scores))
        levels = self.matches()
        for level, matches in enumerate(levels):
            shape = (self.rows, matches)
            yield from self.comparison.openings(self.quorum, shape)
            if level < len(levels) - 1:
                yield from coin_openings(self.quorum, self.base, shape)
                yield reduction(self.quorum, self.base, shape)
            else:
                yield from check_openings(self.quorum, shape)
            yield reduction(self.quorum, BIT_BASE, shape)


def answer(member: QuorumMember, plan: LabelPlan, scores: Planes, *, asker: str) -> Party[None]:
    """At a member: send the asker its shares of the labels."""
    label = yield from _label(member, plan, scores)
    degree = member.quorum.threshold
    fresh = yield from renewed(member, label, degree=degree, purpose="label")
    yield Send(asker, QuorumLabel(wire.Residues.of(fresh)))


def take_labels(plan: LabelPlan) -> Party[NDArray[np.int64]]:
    """At the asker: return the labels, from every member's shares."""
    messages = yield from enough(QuorumLabel, plan.quorum)
    shares = {
        member: read_planes(message.share, (1, *plan.labels), sender=member, what="QuorumLabel")
        for member, message in messages.items()
    }
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
) -> Party[None]:
    """At a member, where the plan releases scores: send fresh shares of them."""
    degree = 2 * plan.quorum.threshold
    fresh = yield from renewed(member, scores, degree=degree, purpose="scores")
    yield Send(asker, QuorumScore(wire.Residues.of(fresh)))


def take_score_shares(plan: LabelPlan) -> Party[NDArray[np.int64]]:
    """At the asker, where the plan releases scores: return the scores of its rows."""
    shape = (plan.base.count, plan.rows, plan.scores)
    messages = yield from enough(QuorumScore, plan.quorum)
    shares = {
        member: read_planes(message.share, shape, sender=member, what="QuorumScore")
        for member, message in messages.items()
    }
    degree = 2 * plan.quorum.threshold
    value = put_together(shares, degree=degree, quorum=plan.quorum, what="QuorumScore")
    scores = plan.base.signed(value)
    if (abs(scores) >= 2**plan.bits).any():
        raise ViolationError("QuorumScore: a score is outside of its range")
    return scores.astype(np.int64)


def open_labels(
    opener: Opener, plan: LabelPlan, *, at_check: Callable[[], None] | None = None
) -> Party[None]:
    """The opener's part: it sees masked values, no label; `at_check` is called before the check."""
    for opening in plan.openings():
        if at_check is not None and opening.kind is BitCheck:
            at_check()
        refuse_others(opening, (yield from opener.open(opening)))


def _label(member: QuorumMember, plan: LabelPlan, scores: Planes) -> Party[Planes]:
    """Shares of degree t, in the first field, of the index of the winner (or of the sign)."""
    if not plan.has_winner:
        signs = yield from at_least_zero(member, plan.comparison, scores, purpose="sign")
        yield from check_bits(member, signs, purpose="sign")
        return signs
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
            everywhere = yield from in_every_field(member, won, base, purpose=purpose)
            gained = yield from multiplied(member, everywhere, margin, purpose=f"{purpose}/score")
            winners = base.add(right, gained)
            scores = np.concatenate([winners, scores[:, :, 2 * matches :]], axis=2)
        else:
            yield from check_bits(member, won, purpose=purpose)
        first, second = index[:, :, 0 : 2 * matches : 2], index[:, :, 1 : 2 * matches : 2]
        ahead = BIT_BASE.subtract(first, second)
        moved = yield from multiplied(member, won, ahead, purpose=f"{purpose}/index")
        index = np.concatenate([BIT_BASE.add(second, moved), index[:, :, 2 * matches :]], axis=2)
    return index
