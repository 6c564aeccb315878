"""The joint evaluation of the model over all peers' held-out documents, from sums alone.

    peers (each has asked for the labels of its own held-out documents)
      │   engine quorum: rows for the ROC, in shares to the members (quorum_roc.py)
      │   how many documents, in a blind sum ───────▶ coordinator C, and evaluator E
      │◀──────────── EvaluationSize ─────────────────│   at least 20 documents, 3 peers
      │   who was taken for what, in a blind sum ───▶│
      │   its shares of the ROC's counts, likewise ─▶│   adds its own shares (tally.py)
      │◀──────────── JointConfusion ─────────────────│   small cells left out

Who learns what: C and E learn whether there are enough documents (the sum of the sites' numbers,
each capped at what is enough). If so, C learns the joint confusion table and how many rows lie
above each threshold. Everybody learns the same without small cells, and figures that follow from
it. The results on one site's own documents stay at that site: a site reveals of their number only
whether it is enough. The second sum is opened over the very peers of the first; otherwise the
difference of the two would reveal the peers that left. For the same reason all evaluations of a
study are over the same peers, and none is opened twice: every party checks its own book. Assuming
that C and E do not pool.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np

from sottovoce import wire
from sottovoce.errors import InputError, MisuseError, ViolationError
from sottovoce.hints import Hint, ShellCommand
from sottovoce.numbers.ring import Words, from_ring, to_ring
from sottovoce.protocols.blind_sum import RoundBook, SummedVector, WordSpace, pairwise
from sottovoce.protocols.blind_sum.plan import Plan, Summed
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import BY_EVERY_PEER, BY_PEERS_AND_EVALUATOR, SUM_IS_OVER_MANY
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.study.choices import Engine
from sottovoce.study.evaluations.figures import Evaluation, Marks, Numbers, Tested
from sottovoce.study.evaluations.quorum_roc import bring_rows, count_rows, open_counting
from sottovoce.study.party_context import PartyContext
from sottovoce.study.plan import FEWEST_CELL, FEWEST_EVALUATED, FEWEST_PEERS, StudyPlan
from sottovoce.study.queries.quorum_model import MemberShare
from sottovoce.study.queries.scoring import ScorePlan, counting_ring
from sottovoce.study.stages.quorum_sums import add_to_sum, help_sum, open_sum
from sottovoce.study.study import Study

_SERIES, _SIZE = "evaluation", "size"


class EvaluationSize(Message, frozen=True):
    """Whether all peers together have held out enough documents."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_PEERS_AND_EVALUATOR,
        reveals="whether all peers together have at least twenty held-out documents",
        assuming="at least three peers take part",
    )
    enough: bool


class JointConfusion(Message, frozen=True):
    """The joint confusion table, and the counts above every threshold."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_EVERY_PEER,
        reveals="the joint confusion table and ROC without small cells",
        assuming=SUM_IS_OVER_MANY,
    )
    counts: wire.Words
    left_out: wire.Words
    above: wire.Words
    shown: wire.Words
    peers: tuple[str, ...]


def evaluate_peer(
    party: PartyContext, tested: Tested, peers: Sequence[str], *, number: int
) -> Party[Evaluation | None]:
    """At a peer: add its own table to the sum; None if it came too late."""
    study, coordinator = party.study, party.study.roster.coordinator
    this = _sum_of(party, number)
    if study.members_count:
        if tested.held_out is None:
            raise MisuseError("evaluation: no rows are held out")
        yield from bring_rows(party, tested.held_out, peers, number=number)
    tables = [to_ring(tested.table)]
    if this.counted is not None:
        none = np.zeros(this.counted, np.uint64)
        tables.append(none if tested.counted is None else tested.counted)
    summed = yield from add_counts(party, this, peers, documents=tested.documents, tables=tables)
    if summed is None:
        return None
    joint = yield from receive(coordinator, JointConfusion)
    try:
        return _told(study, joint, this)
    except ViolationError as error:
        raise error.by(coordinator) from error


def _told(study: Study, message: JointConfusion, this: "CountSum") -> Evaluation:
    """Return the table that a peer received, or raise if it does not fit this study."""
    labels = study.plan.labels
    shapes = (message.counts.shape, message.left_out.shape)
    if shapes != (this.shape, this.shape):
        raise ViolationError(f"expected a table of shape {this.shape}, found {shapes[0]}")
    counts, left_out = from_ring(message.counts.array()), message.left_out.array()
    fewest = fewest_shown(study.plan, message.peers)
    joint = Evaluation(labels, counts, left_out.astype(np.bool_), fewest, message.peers)
    above, shown = message.above.shape, message.shown.shape
    if above == (0,):
        return joint
    expected = _roc_shape(study.plan)
    if (above, shown) != (expected, (expected[0], expected[2])):
        raise ViolationError(f"expected a ROC of shape {expected}, found {above}")
    marks = message.shown.array().astype(np.bool_)
    return joint.with_roc(study.plan.thresholds, from_ring(message.above.array()), marks)


def evaluate_coordinator(
    party: PartyContext,
    peers: Sequence[str],
    *,
    number: int,
    scores: ScorePlan,
    counted: Mapping[str, Words] | None = None,
) -> Party[Evaluation]:
    """At the coordinator: open the joint table and ROC, and send them without small cells.

    `counted` are its shares of the counts of every peer, from `answer`, in the ring of `scores`.
    Without them no ROC is opened, unless the peers' own counts are whole or members counted. Counts
    found with a dealer and without one are added up in the same way.
    """
    study, this = party.study, _sum_of(party, number)
    tally = None
    if study.members_count:
        tally = yield from open_counting(party, scores, peers, number=number)
    sums, final = yield from open_counts(party, this, peers)
    result = Evaluation.of(
        study.plan.labels, from_ring(sums[0]), final, fewest=fewest_shown(study.plan, final)
    )
    above, marks = np.zeros(0, np.int64), np.zeros(0, np.bool_)
    whole = None
    if tally is not None:
        whole = yield from tally.open()
    elif this.counted is not None:
        whole = _added(study, scores, sums[1], [(counted or {}).get(name) for name in final])
    if whole is not None:
        marks = result.points(whole)
        above = np.where(marks[:, np.newaxis], whole, 0)
        result = result.with_roc(study.plan.thresholds, above, marks)
    message = JointConfusion(
        _words(result.counts), _words(result.left_out), _words(above), _words(marks), final
    )
    for name in final:
        yield Send(name, message)
    return result


def _added(
    study: Study, scores: ScorePlan, summed: Words, mine: Sequence[Words | None]
) -> Numbers | None:
    """Return the counts of a ROC: the peers' sum, plus our shares if theirs are shares."""
    if not study.plan.counts_sealed:
        mine = []
    shares = [share for share in mine if share is not None]
    if len(shares) < len(mine):
        return None
    ring = counting_ring(study.plan, scores.ring, peers=len(study.roster.peers))
    return from_ring(ring.reduce(sum(shares, start=summed)))


def evaluate_evaluator(party: PartyContext, peers: Sequence[str], *, number: int) -> Party[None]:
    """At the evaluator: sign the set of peers in each sum."""
    yield from help_with_counts(party, _sum_of(party, number), peers)


def evaluate_member(
    party: PartyContext, held: MemberShare, peers: Sequence[str], *, number: int
) -> Party[None]:
    """At a member of engine quorum: add up shares of all peers' contributions."""
    this, totals = _sum_of(party, number), None
    if party.study.members_count:
        totals = yield from count_rows(party, held, peers, number=number)
    yield from help_counts(party, this, peers)
    if totals is not None:
        yield from totals.give()


def _words(numbers: Numbers | Marks) -> wire.Words:
    return wire.Words.of(to_ring(numbers.astype(np.int64)))


def fewest_shown(plan: StudyPlan, peers: Sequence[str]) -> int:
    """Return the smallest number other than 0 that a cell shows."""
    return max(plan.min_documents, FEWEST_CELL) * _times(plan, peers)


def _times(plan: StudyPlan, peers: Sequence[str]) -> int:
    """Return how often one entity can be in a sum: once, or once for each peer."""
    return len(peers) if plan.arrangement.by_features else 1


def _sum_of(party: PartyContext, number: int) -> "CountSum":
    study = party.study
    if not 0 <= number < study.plan.evaluations:
        # Two tables over sets that differ by one peer would reveal that peer's table.
        raise MisuseError(
            f"evaluation: expected at most {study.plan.evaluations} of them, found number "
            f"{number + 1}",
            hints=("a new study may agree on more evaluations",),
        )
    plan = study.plan
    count = len(plan.labels.names)
    shape = (count, count) if plan.labels.exclusive else (count, 2, 2)
    counted = _roc_shape(plan) if plan.draws_roc and not study.members_count else None
    return CountSum(party, _name_of(number), shape, counted, series=_SERIES)


def _roc_shape(plan: StudyPlan) -> tuple[int, int, int]:
    """Classes, rows of each and others, thresholds."""
    return plan.labels.width, 2, len(plan.thresholds)


def _name_of(number: int) -> str:
    return f"evaluation {number}"


@dataclass(frozen=True)
class HeldEvaluations:
    """This study's evaluations in a party's record of opened sums.

    `numbers` are the evaluations of which a sum was opened; these are not begun again. `peers` are
    the peers of the first one, None before it. Every evaluation of a study is over the same peers:
    two tables over sets that differ by one peer would reveal that peer's table.
    """

    peers: tuple[str, ...] | None = None
    numbers: frozenset[int] = frozenset()

    @classmethod
    def of(cls, study: Study, book: RoundBook) -> "HeldEvaluations":
        """Return this study's evaluations in a record of opened sums."""
        digest = study.digest.hex()
        numbers = (
            number
            for number in range(study.plan.evaluations)
            if (digest, f"{_name_of(number)} {_SIZE}") in book.spent
        )
        return cls(book.series(digest, _SERIES), frozenset(numbers))

    def refusal(self, study: Study, peers: Sequence[str], *, number: int) -> ViolationError | None:
        """At a seat: return why it refuses an evaluation; None if it does not."""
        coordinator, before = study.roster.coordinator, self.peers
        if number in self.numbers:
            return ViolationError(
                f"expected an evaluation that was not held yet, found number {number + 1} again",
                party=coordinator,
            )
        if before is not None and before != tuple(peers):
            return ViolationError(
                f"expected to evaluate over the same peers as before ({', '.join(before)}), found "
                f"{', '.join(peers)}: two tables over different peers give the table of those in "
                "one of them",
                party=coordinator,
            )
        return None


NONE_HELD = HeldEvaluations()
"""The state before the first evaluation."""


class CountedOver(StrEnum):
    """The documents that a table counts, by what is done with it."""

    HELD_OUT = "evaluation"
    HELD_BACK = "choice of a model"

    @property
    def documents(self) -> str:
        """These documents, in words."""
        return "held-out documents" if self is CountedOver.HELD_OUT else "documents held back"

    @property
    def hint(self) -> str:
        """The settings that give more of them."""
        if self is CountedOver.HELD_OUT:
            return "hold out more documents in a new study, such as held_out = 0.3"
        return "agree on one alpha in a new study, or hold more back, such as held_back = 0.4"


@dataclass(frozen=True)
class CountSum:
    """A table of counts that is opened over all peers, if its size, opened first, is enough.

    There may be a second table, of shares of counts. All tables of a `series` are opened over the
    same peers, because a difference would reveal the peers that left.
    """

    party: PartyContext
    name: str
    shape: tuple[int, ...]
    counted: tuple[int, int, int] | None = None
    series: str = ""
    over: CountedOver = CountedOver.HELD_OUT

    def sizes(self, peers: Sequence[str]) -> Plan:
        """Return the blind sum of the numbers of documents; the evaluator receives it, too."""
        plan = self._plan(_SIZE, peers, {_SIZE: (1,)}, fewest=FEWEST_PEERS)
        mine = SummedVector(self.party.study.roster.evaluator, _SIZE, WordSpace((1,)))
        return Plan(plan.this, (*plan.parts, mine))

    def enough(self, summed: Summed) -> bool:
        """Return whether the peers in a sum of sizes have enough documents together."""
        fewest = FEWEST_EVALUATED * _times(self.party.study.plan, summed.peers)
        return int(summed.sums[0][0]) >= fewest

    def check_size(self, size: EvaluationSize) -> None:
        """Raise if there are too few documents to open a table."""
        if not size.enough:
            raise InputError(
                f"{self.over}: expected at least {FEWEST_EVALUATED} {self.over.documents} over all "
                "peers, found fewer",
                hints=(self.over.hint,),
            )

    def tables(self, peers: Sequence[str]) -> Plan:
        """The blind sum of the tables."""
        shapes: dict[str, tuple[int, ...]] = {"counts": self.shape}
        if self.counted is not None:
            shapes["above"] = self.counted
        fewest = max(len(peers), FEWEST_PEERS) if self.series else FEWEST_PEERS
        return self._plan("counts", peers, shapes, fewest=fewest)

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shape of every table."""
        return [self.shape, *([] if self.counted is None else [self.counted])]

    def named(self, what: str) -> str:
        """Return the name of one of its sums; each name is opened once in a study."""
        return f"{self.name} {what}"

    def check_peers(self, peers: Sequence[str]) -> None:
        """Refuse a sum over so few peers that each would learn another's part."""
        if len(peers) < FEWEST_PEERS:
            raise InputError(
                f"evaluation: expected at least {FEWEST_PEERS} peers, found {len(peers)}: "
                "each of two would learn the other's table"
            )

    def _plan(
        self, what: str, peers: Sequence[str], shapes: Mapping[str, tuple[int, ...]], *, fewest: int
    ) -> Plan:
        self.check_peers(peers)
        this = self.party.round(self.named(what), peers, fewest=fewest, series=self.series)
        coordinator = self.party.study.roster.coordinator
        parts = (
            SummedVector(coordinator, name, WordSpace(shape)) for name, shape in shapes.items()
        )
        return Plan(this, tuple(parts))


def add_counts(
    party: PartyContext,
    this: CountSum,
    peers: Sequence[str],
    *,
    documents: int,
    tables: Sequence[Words],
) -> Party[Summed | None]:
    """At a peer: add whether it has enough documents, then its tables; None if it came too late."""
    # A peer does not reveal how many more documents than enough it has.
    size = to_ring(np.array([min(documents, FEWEST_EVALUATED)], np.int64))
    if party.study.engine is Engine.QUORUM:
        return (yield from _add_shared(party, this, peers, size=size, tables=tables))
    who, book, entropy = party.member, party.book, party.entropy
    summed = yield from pairwise.peer(
        this.sizes(peers), [size, size], who=who, book=book, entropy=entropy
    )
    if summed is None:
        return None
    this.check_size((yield from receive(party.study.roster.coordinator, EvaluationSize)))
    plan = this.tables(summed.peers)
    return (yield from pairwise.peer(plan, tables, who=who, book=book, entropy=entropy))


def open_counts(
    party: PartyContext, this: CountSum, peers: Sequence[str]
) -> Party[tuple[tuple[Words, ...], tuple[str, ...]]]:
    """At the coordinator: open the size, and the tables only if there are enough documents."""
    if party.study.engine is Engine.QUORUM:
        return (yield from _open_shared(party, this, peers))
    summed = yield from pairwise.coordinator(this.sizes(peers), who=party.member, book=party.book)
    size = EvaluationSize(this.enough(summed))
    for name in (*summed.peers, party.study.roster.evaluator):
        yield Send(name, size)
    this.check_size(size)
    plan = this.tables(summed.peers)
    summed = yield from pairwise.coordinator(plan, who=party.member, book=party.book)
    return summed.sums, summed.peers


def _add_shared(
    party: PartyContext,
    this: CountSum,
    peers: Sequence[str],
    *,
    size: Words,
    tables: Sequence[Words],
) -> Party[Summed | None]:
    """At a peer of engine quorum: share its size among the members, then its tables."""
    this.check_peers(peers)
    yield from add_to_sum(party, this.named(_SIZE), from_ring(size), peers)
    this.check_size((yield from receive(party.study.roster.coordinator, EvaluationSize)))
    for index, table in enumerate(tables):
        values = from_ring(table).reshape(-1)
        yield from add_to_sum(
            party, this.named(f"counts {index}"), values, peers, series=this.series
        )
    return Summed(tuple(peers))


def _open_shared(
    party: PartyContext, this: CountSum, peers: Sequence[str]
) -> Party[tuple[tuple[Words, ...], tuple[str, ...]]]:
    """At the coordinator of engine quorum: open the same sums from the members' shares."""
    this.check_peers(peers)
    size = yield from open_sum(party, this.named(_SIZE), 1, peers)
    summed = Summed(tuple(peers), (to_ring(size),))
    joint_size = EvaluationSize(this.enough(summed))
    for name in (*peers, *party.study.quorum_of(peers).members):
        yield Send(name, joint_size)
    this.check_size(joint_size)
    sums = []
    for index, shape in enumerate(this.shapes):
        length = int(np.prod(shape))
        counts = yield from open_sum(
            party, this.named(f"counts {index}"), length, peers, series=this.series
        )
        sums.append(to_ring(counts).reshape(shape))
    return tuple(sums), tuple(peers)


def help_counts(party: PartyContext, this: CountSum, peers: Sequence[str]) -> Party[None]:
    """At a member of engine quorum: give its shares of the size, then of the tables."""
    this.check_peers(peers)
    yield from help_sum(party, this.named(_SIZE), 1, peers)
    this.check_size((yield from receive(party.study.roster.coordinator, EvaluationSize)))
    for index, shape in enumerate(this.shapes):
        name, length = this.named(f"counts {index}"), int(np.prod(shape))
        yield from help_sum(party, name, length, peers, series=this.series)


def help_with_counts(party: PartyContext, this: CountSum, peers: Sequence[str]) -> Party[None]:
    """At the evaluator: sign the sets of both sums, the second only if the size is enough."""
    summed = yield from pairwise.evaluator(
        this.sizes(peers), who=party.member, book=party.book, entropy=party.entropy
    )
    coordinator = party.study.roster.coordinator
    size = yield from receive(coordinator, EvaluationSize)
    this.check_size(size)
    if not this.enough(summed):
        raise ViolationError(
            f"expected at least {FEWEST_EVALUATED} held-out documents before tables are opened, "
            "found fewer, and a coordinator that says there are enough",
            party=coordinator,
        )
    plan = this.tables(summed.peers)
    yield from pairwise.evaluator(plan, who=party.member, book=party.book, entropy=party.entropy)


def check_enough_peers(study: Study) -> None:
    """Refuse, before anybody waits, an evaluation over only two peers."""
    peers = len(study.roster.peers)
    if peers < FEWEST_PEERS:
        why = ": of two, each would subtract its own table from the total" if peers > 1 else ""
        raise InputError(
            f"evaluate: expected at least {FEWEST_PEERS} peers, found {peers}{why}",
            hints=(
                Hint(
                    "label documents of your own: ",
                    ShellCommand("sottovoce classify notes.csv --out labelled.csv"),
                ),
            ),
        )
