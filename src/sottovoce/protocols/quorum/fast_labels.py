"""Labels of an asker's rows with a dealer among the members: faster, and weaker from t = 2 on.

    asker                     member i              counterpart              dealer of the verdict
      │ rows ────────────────────▶│   (rows.py) its shares of every score        │
      │                           │◀── r, uniform, in shares; zeros of t + 1     │
      │◀──────── CoveredScore ────│                      │                       │
      │   α + r: the asker; −r: the counterpart          │                       │
      │◀──────────── shares/labels/verdict.py ──────────▶│◀──────────────────────│

The counterpart draws r uniform modulo the product of the primes, so a covered score says nothing.
The t + 1 sharings of zero make sure that the members' shares of it say no more than their sum. The
asker and the counterpart then hold shares of the score modulo a power of two, and find the label as
with engine `shares`. With a probability of 2^-40 a score, r overflows and the label is wrong. A
uniform value has no range by which a wrong share could be noticed, so the check is a sum of all
scores, with the sum of their masks.

Who learns what: the asker learns the labels, nobody else learns anything. The asker and the
counterpart together, or the counterpart and the dealer, learn the asker's scores, and as many
scores as there are features give the model. Both members are of other organisations than the
asker: with a threshold of 1 and an asker whose organisation is a member, neither pair may pool
anyway. From 2 on two organisations are enough, where full strength (labels.py) takes t + 1.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.entropy import Entropy
from sottovoce.errors import BoundError, InputError, ViolationError
from sottovoce.numbers import limbs
from sottovoce.numbers.residues import PRIMES, Base, Planes
from sottovoce.numbers.ring import Words
from sottovoce.protocols.conversation import Party, Send
from sottovoce.protocols.disclosures import BY_ASKER
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.quorum.dealing import Item, QuorumMember, dealt_sums
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import enough, read_planes
from sottovoce.protocols.quorum.rows import RowShape, RowSharing
from sottovoce.protocols.quorum.sharing import put_together
from sottovoce.protocols.quorum.truncation import shifted_by
from sottovoce.protocols.shares.holders import Trio, deal_seeds, take_seed
from sottovoce.protocols.shares.labels.verdict import (
    VerdictPlan,
    ask_verdict,
    deal_verdict,
    give_verdict,
)
from sottovoce.protocols.shares.material import Context, Ledger

# A mask overflows, so that a label is wrong, with a probability of 2^-40 a score.
_ROOM_BITS = 40


class CoveredScore(Message, frozen=True):
    """A member's shares of scores under a mask that another member alone knows."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ASKER,
        reveals="nothing: one member's mask is uniform, and sharings of zero make shares fresh",
        assuming="the asker and the member that holds the mask do not pool",
    )
    share: wire.Residues
    check: wire.Residues


@dataclass(frozen=True)
class FastLabels:
    """The public numbers of a fast query: rows, their length, the size of scores, the trio.

    The first of the `trio` is the counterpart, who deals masks; the second is the asker.
    """

    rows: int
    width: int
    verdict: VerdictPlan
    trio: Trio
    quorum: Quorum

    def __post_init__(self) -> None:
        if (
            self.trio.first not in self.quorum.dealers
            or self.trio.dealer not in self.quorum.members
        ):
            raise InputError(
                f"labels: expected a counterpart among {', '.join(self.quorum.dealers)} and a "
                f"dealer among the members, found {self.trio.first!r} and {self.trio.dealer!r}"
            )
        _ = self.base

    @property
    def scores(self) -> int:
        """The number of scores of a row."""
        return self.verdict.documents * self.verdict.scores // self.rows

    @property
    def bits(self) -> int:
        """|score| < 2^bits."""
        return self.verdict.scale.bound.bit_length()

    @cached_property
    def base(self) -> Base:
        """The fewest fields in which a mask does not overflow."""
        for count in range(1, len(PRIMES) + 1):
            if Base(count).modulus.bit_length() > self.bits + 2 + _ROOM_BITS:
                return Base(count)
        raise BoundError(
            f"labels: scores of {self.bits} bits do not fit {len(PRIMES)} residues",
            hints=("raise the penalty",),
        )

    def sharing(self, context: Context) -> RowSharing:
        """The plan by which the asker shares its rows, and the numbers taken off their scores."""
        shape = RowShape(self.rows, self.width, self.scores)
        return RowSharing(shape, self.base, self.quorum, context)

    def arranged(self, words: Words) -> Words:
        """Return scores as the verdict takes them: a row a document, or a row for each score."""
        return self.verdict.ring.reduce(words.reshape(self.verdict.documents, self.verdict.scores))


def cover_scores(member: QuorumMember, plan: FastLabels, scores: Planes) -> Party[Words]:
    """At a member: send the asker covered shares of every score; the counterpart returns −r."""
    base, asker = plan.base, plan.trio.second
    scores = shifted_by(base, scores, 1 << plan.bits)
    mask = np.zeros_like(scores)

    def secrets(entropy: Entropy) -> list[Planes]:
        if member.name == plan.trio.first:
            mask[...] = base.draw(entropy, *mask.shape[1:])
        return [mask, _added(base, mask)]

    degree = 2 * plan.quorum.threshold
    items = [Item(degree, base, shape) for shape in (scores.shape[1:], (1,))]
    covers = yield from dealt_sums(member, items, secrets, purpose="cover")
    shown = [scores, _added(base, scores)]
    covered = (base.add(value, cover) for value, cover in zip(shown, covers, strict=True))
    yield Send(asker, CoveredScore(*(wire.Residues.of(share) for share in covered)))
    return -(_words(mask, base) + np.uint64(1 << plan.bits))


def take_covered(plan: FastLabels) -> Party[Words]:
    """At the asker: return its shares of the scores, from every member's covered shares."""
    base, what, values = plan.base, CoveredScore.__name__, []
    messages = yield from enough(CoveredScore, plan.quorum)
    for field, shape in (("share", (plan.rows, plan.scores)), ("check", (1,))):
        shares = {
            member: read_planes(
                getattr(message, field), (base.count, *shape), sender=member, what=what
            )
            for member, message in messages.items()
        }
        degree = 2 * plan.quorum.threshold
        values.append(put_together(shares, degree=degree, quorum=plan.quorum, what=what))
    if not np.array_equal(_added(base, values[0]), values[1]):
        raise ViolationError(
            f"{what}: expected scores that add up to their check, found others: a share of "
            f"{', '.join(messages)} is wrong"
        )
    return _words(values[0], base)


def ask_fast(plan: FastLabels, context: Context, *, ledger: Ledger) -> Party[NDArray[np.int64]]:
    """At the asker, once its rows are shared: return the labels."""
    words = yield from take_covered(plan)
    holder = yield from take_seed(plan.trio, plan.trio.second, context, ledger=ledger)
    return (yield from ask_verdict(holder, plan.verdict, plan.arranged(words)))


def give_fast(plan: FastLabels, context: Context, words: Words, *, ledger: Ledger) -> Party[None]:
    """At the counterpart: its part of the verdict, from its shares of the scores."""
    holder = yield from take_seed(plan.trio, plan.trio.first, context, ledger=ledger)
    yield from give_verdict(holder, plan.verdict, plan.arranged(words))


def deal_fast(
    plan: FastLabels, context: Context, *, entropy: Entropy, ledger: Ledger
) -> Party[None]:
    """At the dealer of the verdict."""
    dealer = yield from deal_seeds(plan.trio, context, ledger=ledger, entropy=entropy)
    yield from deal_verdict(dealer, plan.verdict)


def _added(base: Base, planes: Planes) -> Planes:
    """Return Σ (j + 1) · value j, which reveals a single wrong share even without a spare share."""
    flat = planes.reshape(base.count, -1)
    places = base.of(np.arange(1, flat.shape[1] + 1))
    return base.total(base.times(flat, places), axis=0)[:, np.newaxis]


def _words(planes: Planes, base: Base) -> Words:
    """Return the integers that residues stand for, modulo 2^64."""
    whole = limbs.from_residues(planes, base)
    # At least 42 bits: there are two limbs.
    return np.asarray(whole[0] | whole[1] << np.uint64(limbs.LIMB_BITS), np.uint64)
