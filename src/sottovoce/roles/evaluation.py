"""How good the joint model is, over all peers' held-out documents, from sums alone.

    peers (each has asked for the labels of its own held-out documents)
      │   how many documents, in a blind sum ───────▶ coordinator C ◀──▶ evaluator E
      │◀──────────── EvaluationSize ─────────────────│   at least 20 documents, 3 peers
      │   who was taken for what, in a blind sum ───▶│
      │◀──────────── JointConfusion ─────────────────│   small cells left out

Who learns what: C learns how many documents were evaluated and, if they are enough, how many
of which class were taken for which; everybody learns the same without small cells. What one
site's own documents gave stays at that site. Assuming that C and E do not pool.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.errors import InputError, MisuseError, ViolationError
from sottovoce.numbers.ring import from_ring, to_ring
from sottovoce.protocols.blind_sum import Part, WordSpace, pairwise
from sottovoce.protocols.blind_sum.plan import Plan, Summed
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.roles.desk import Desk
from sottovoce.roles.plan import FEWEST_EVALUATED, FEWEST_PEERS
from sottovoce.roles.totals import rounded_up
from sottovoce.text.labels import Classes, Labels

Numbers = NDArray[np.int64]


class EvaluationSize(Message, frozen=True):
    """How many documents all peers evaluate together, rounded up, and whether they are enough."""

    discloses: ClassVar = Disclosure(
        seen_by="every peer and the evaluator",
        reveals="how many held-out documents all peers have together, rounded up",
        assuming="at least three peers take part",
    )
    documents: int
    enough: bool


class JointConfusion(Message, frozen=True):
    """Which class was taken for which how often, without small cells; accuracy and F1."""

    discloses: ClassVar = Disclosure(
        seen_by="every peer of the study",
        reveals="the joint confusion table without small cells, accuracy and F1 in thousandths",
        assuming="at least three peers and twenty documents are in the sum",
    )
    counts: wire.Words
    left_out: wire.Words
    figures: wire.Words
    peers: tuple[str, ...]


@dataclass(frozen=True)
class Evaluation:
    """A confusion table, true × found where classes exclude each other, and what follows from it.

    Where classes overlap, one table of 2 × 2 per class. `left_out` marks small cells, which
    stand as 0 in the table; accuracy and F1 are those of the whole table, in thousandths.
    """

    labels: Labels
    counts: Numbers
    left_out: NDArray[np.bool_]
    accuracy: float
    f1: dict[str, float]
    peers: tuple[str, ...]

    @classmethod
    def of(cls, labels: Labels, counts: Numbers, peers: tuple[str, ...], *, fewest: int) -> Self:
        """What may be shown of a whole table."""
        left_out = (counts > 0) & (counts < fewest)
        shares = [round(one, 3) for one in _f1(labels, counts).tolist()]
        right = np.trace(counts, axis1=-2, axis2=-1).sum() / max(int(counts.sum()), 1)
        f1 = dict(zip(labels.names, shares, strict=True))
        return cls(labels, np.where(left_out, 0, counts), left_out, round(right, 3), f1, peers)

    def message(self) -> JointConfusion:
        """As it is sent to every peer."""
        thousandths = np.rint(1000 * np.array([self.accuracy, *self.f1.values()]))
        return JointConfusion(
            wire.Words.of(to_ring(self.counts)),
            wire.Words.of(self.left_out.astype(np.uint64)),
            wire.Words.of(thousandths.astype(np.uint64)),
            self.peers,
        )

    @classmethod
    def told(cls, labels: Labels, message: JointConfusion, shape: tuple[int, ...]) -> Self:
        """What a peer was sent; `ViolationError` if it is no table of this study."""
        figures = message.figures.array() / 1000
        shapes = (message.counts.shape, message.left_out.shape, figures.shape)
        if shapes != (shape, shape, (1 + len(labels.names),)):
            raise ViolationError(f"expected a table of shape {shape}, found {shapes[0]}")
        f1 = dict(zip(labels.names, figures[1:].tolist(), strict=True))
        left_out = message.left_out.array().astype(np.bool_)
        counts = from_ring(message.counts.array())
        return cls(labels, counts, left_out, float(figures[0]), f1, message.peers)


def _f1(labels: Labels, counts: Numbers) -> NDArray[np.float64]:
    """The harmonic mean of precision and recall, by class."""
    if labels.exclusive:
        hits, found, true = np.diagonal(counts), counts.sum(axis=0), counts.sum(axis=1)
    else:
        hits, found, true = counts[:, 1, 1], counts[:, :, 1].sum(axis=1), counts[:, 1].sum(axis=1)
    return np.asarray(2 * hits / np.maximum(found + true, 1))


def confusion(labels: Labels, true: Sequence[Classes], found: Sequence[Classes]) -> Numbers:
    """One site's own table."""
    are, were = labels.membership(true).astype(np.int64), labels.membership(found).astype(np.int64)
    if labels.exclusive:
        return are.T @ were
    sides = ((1 - are, are), (1 - were, were))
    cells = [[(a * w).sum(axis=0) for w in sides[1]] for a in sides[0]]
    return np.moveaxis(np.array(cells), 2, 0)


def evaluate_peer(
    desk: Desk, table: Numbers, peers: Sequence[str], *, number: int
) -> Party[Evaluation | None]:
    """At a peer: its own table into the sum; None if it came too late."""
    study, coordinator = desk.study, desk.study.roster.coordinator
    rows = int(table.sum()) // (1 if study.plan.labels.exclusive else len(table))
    summed = yield from add_counts(desk, _sum_of(desk, number), peers, rows=rows, counts=table)
    if summed is None:
        return None
    joint = yield from receive(coordinator, JointConfusion)
    try:
        return Evaluation.told(study.plan.labels, joint, table.shape)
    except ViolationError as error:
        raise error.by(coordinator) from error


def evaluate_coordinator(desk: Desk, peers: Sequence[str], *, number: int) -> Party[Evaluation]:
    """At the coordinator: the joint table, shown without small cells."""
    study = desk.study
    counts, final = yield from open_counts(desk, _sum_of(desk, number), peers)
    labels, fewest = study.plan.labels, study.plan.min_documents
    result = Evaluation.of(labels, counts, final, fewest=fewest)
    for name in final:
        yield Send(name, result.message())
    return result


def evaluate_evaluator(desk: Desk, peers: Sequence[str], *, number: int) -> Party[None]:
    """At the evaluator: it signs who is in each sum."""
    yield from witness_counts(desk, _sum_of(desk, number), peers)


def _sum_of(desk: Desk, number: int) -> "CountSum":
    study = desk.study
    if not 0 <= number < study.plan.evaluations:
        # Two tables over sets that differ by one peer would give that peer's table.
        raise MisuseError(
            f"evaluation: expected at most {study.plan.evaluations} of them, found number "
            f"{number + 1}",
            hints=("a new study may agree on more evaluations",),
        )
    count = len(study.plan.labels.names)
    shape = (count, count) if study.plan.labels.exclusive else (count, 2, 2)
    return CountSum(desk, f"evaluation {number}", shape)


@dataclass(frozen=True)
class CountSum:
    """A table of counts that is opened over all peers: its size first, and only if it is enough."""

    desk: Desk
    name: str
    shape: tuple[int, ...]

    def plan(self, what: str, peers: Sequence[str]) -> Plan:
        """The blind sum of the size, or of the table."""
        if len(peers) < FEWEST_PEERS:
            raise InputError(
                f"evaluation: expected at least {FEWEST_PEERS} peers, found {len(peers)}: "
                "each of two would learn the other's table"
            )
        shape = (1,) if what == "size" else self.shape
        this = self.desk.round(f"{self.name} {what}", peers, fewest=FEWEST_PEERS)
        return Plan(this, (Part(self.desk.study.roster.coordinator, what, WordSpace(shape)),))


def add_counts(
    desk: Desk, this: CountSum, peers: Sequence[str], *, rows: int, counts: Numbers
) -> Party[Summed | None]:
    """At a peer: how many rows it has, then its table; None if it came too late."""
    size = to_ring(np.array([rows], np.int64))
    summed = yield from pairwise.peer(
        this.plan("size", peers), [size], who=desk.member, book=desk.book, entropy=desk.entropy
    )
    if summed is None:
        return None
    check_size((yield from receive(desk.study.roster.coordinator, EvaluationSize)))
    return (
        yield from pairwise.peer(
            this.plan("counts", summed.peers),
            [to_ring(counts)],
            who=desk.member,
            book=desk.book,
            entropy=desk.entropy,
        )
    )


def open_counts(
    desk: Desk, this: CountSum, peers: Sequence[str]
) -> Party[tuple[Numbers, tuple[str, ...]]]:
    """At the coordinator: the size first, and the table only if it hides every document."""
    plan = this.plan("size", peers)
    summed = yield from pairwise.coordinator(plan, who=desk.member, book=desk.book)
    count = int(summed.sums[0][0])
    told = EvaluationSize(rounded_up(count), count >= FEWEST_EVALUATED)
    for name in (*summed.peers, desk.study.roster.evaluator):
        yield Send(name, told)
    check_size(told)
    plan = this.plan("counts", summed.peers)
    summed = yield from pairwise.coordinator(plan, who=desk.member, book=desk.book)
    return from_ring(summed.sums[0]), summed.peers


def witness_counts(desk: Desk, this: CountSum, peers: Sequence[str]) -> Party[None]:
    """At the evaluator: it signs who is in each sum."""
    plan = this.plan("size", peers)
    summed = yield from pairwise.evaluator(plan, who=desk.member, book=desk.book)
    check_size((yield from receive(desk.study.roster.coordinator, EvaluationSize)))
    plan = this.plan("counts", summed.peers)
    yield from pairwise.evaluator(plan, who=desk.member, book=desk.book)


def check_size(told: EvaluationSize) -> None:
    """Stop where too few documents would be opened."""
    if not told.enough:
        raise InputError(
            f"evaluation: expected at least {FEWEST_EVALUATED} held-out documents over all peers, "
            f"found at most {told.documents}",
            hints=("hold out more documents: held_out=0.2",),
        )
