"""The joint ROC of sealed scores in engine `quorum`: members count, and only totals are opened.

    peer p                         coordinator C                        member i
      │ RowsToCount ─────────────────▶│   of every peer                    │
      │◀───────────── CountedRows ────│──────────── CountedRows ──────────▶│
      │   quorum/tally.py: rows in shares to the members, who compare and add up
      │──────────────────────────────▶│◀──────────────────────────────────▶│
      │◀──────────── CountingStep ────│   now and then, and at the end
      │   the sums of the evaluation (evaluation.py): only if they may be opened …
      │                               │◀──────────── TallyShare ───────────│

Everything is counted before anything is opened: after a failure during the counting it begins
again, with new masks. Who learns what: C and the members learn how many held-out rows each peer
has, rounded up, which they know from its query; C learns the totals over all peers. Assuming that
at most t members pool, with or without C; the peers' organisations may be among them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.errors import MisuseError, ViolationError
from sottovoce.numbers.residues import Planes
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import BATCHES_ARE_PADDED, BY_COORDINATOR
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.quorum.dealing import QuorumMember, seated
from sottovoce.protocols.quorum.opening import Opener
from sottovoce.protocols.quorum.plan import hiding_for
from sottovoce.protocols.quorum.rows import share_rows
from sottovoce.protocols.quorum.tally import (
    QuorumTally,
    count_above,
    give_totals,
    marks_of,
    open_comparisons,
    open_totals,
    take_tally_rows,
)
from sottovoce.protocols.shares.material import Context
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.quorum_model import BATCH, MemberShare
from sottovoce.study.queries.score_shares import RowOrder, padded, row_bytes
from sottovoce.study.queries.scoring import ScorePlan
from sottovoce.study.study import Study
from sottovoce.text.features import NORM_PARTS

_COUNTED = "study/counted by members/v1"
_HELD = "study/counted at a member/v1"
# The first round number of these counts' one-time material; other rounds have lower numbers.
_TALLY_ROUND = 2**22
# The number of attempts for which masks suffice: every attempt opens new masked values.
MOST_TALLIES = 64


class RowsToCount(Message, frozen=True):
    """The padded number of held-out rows that a peer brings to a joint ROC."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_COORDINATOR,
        reveals="how many held-out documents this peer has, rounded up",
        assuming=BATCHES_ARE_PADDED,
    )
    rows: int


class CountedRows(Message, frozen=True):
    """The padded numbers of held-out rows of all peers, in the order of the peers."""

    discloses: ClassVar = Disclosure(
        seen_by="every member and every peer of the evaluation",
        reveals="how many held-out documents every peer has, rounded up",
        assuming=BATCHES_ARE_PADDED,
    )
    rows: tuple[int, ...]


class CountingStep(Message, frozen=True):
    """Says that the members are still counting, or that they have counted everything."""

    discloses: ClassVar = Disclosure(
        seen_by="every peer of the evaluation",
        reveals="how far the counting is",
        assuming="how much there is to count is public",
    )
    goes_on: bool


@dataclass(frozen=True)
class HeldOutRows:
    """A peer's held-out integer rows, their classes, and the plan of their scores."""

    scores: ScorePlan
    rows: sparse.csr_array = field(repr=False)
    truth: NDArray[np.bool_] = field(repr=False)


def tally_openings(study: Study) -> int:
    """Return how many masked scores all joint ROCs of a study may open."""
    plan = study.plan
    rows = plan.budget * len(study.roster.peers) * max(1, plan.evaluations) * MOST_TALLIES
    return rows * plan.labels.width * max(1, len(plan.thresholds).bit_length())


@dataclass(frozen=True)
class _Tally:
    """The public facts of one tally."""

    plan: QuorumTally
    context: Context

    @classmethod
    def of(
        cls, party: PartyContext, scores: ScorePlan, rows: Mapping[str, int], number: int
    ) -> "_Tally":
        study, attempt = party.study, party.attempt.number
        if attempt > MOST_TALLIES:
            raise MisuseError(
                f"evaluation: expected at most {MOST_TALLIES} attempts, found number {attempt}",
                hints=("a new study may evaluate again",),
            )
        units = np.ldexp(np.array(study.plan.thresholds), scores.score.fraction_bits) / NORM_PARTS
        width, classes = scores.shape
        plan = QuorumTally(
            rows,
            width,
            classes,
            tuple(int(unit) for unit in np.rint(units)),
            scores.score.bound.bit_length(),
            hiding_for(tally_openings(study)),
            study.quorum_of(rows),
        )
        return cls(plan, party.context(rows, round=_TALLY_ROUND + number))


def check_rows(study: Study, peer: str, rows: int) -> None:
    """Refuse a number of rows that no evaluation can have."""
    if not 1 <= rows <= study.plan.budget or rows % BATCH:
        raise ViolationError(
            f"expected at most {study.plan.budget} held-out rows, padded to {BATCH}, found {rows}",
            party=peer,
        )


def bring_rows(
    party: PartyContext, held: HeldOutRows, peers: Sequence[str], *, number: int
) -> Party[None]:
    """At a peer: share its held-out rows, and marks of their classes, among the members."""
    size = -(-int(held.rows.shape[0]) // BATCH) * BATCH
    yield Send(party.study.roster.coordinator, RowsToCount(size))
    tally = yield from _told(party, held.scores, peers, number)
    if tally.plan.rows[party.name] != size:
        raise ViolationError(
            f"expected {size} rows of this peer to be counted, found {tally.plan.rows[party.name]}",
            party=party.study.roster.coordinator,
        )
    drawn = party.drawing(_COUNTED, *row_bytes(held.rows), held.truth.tobytes())
    order = RowOrder.drawn(size, drawn.entropy).places
    yield from share_rows(
        tally.plan.sharing(party.name, tally.context),
        padded(held.rows, size)[order].toarray().astype(np.int64),
        marks_of(held.truth, size)[order],
        entropy=drawn.entropy,
    )
    # Counting takes longer than one wait, so peers that wait are told that it continues.
    while (yield from receive(party.study.roster.coordinator, CountingStep)).goes_on:
        pass


def _told(
    party: PartyContext, scores: ScorePlan, peers: Sequence[str], number: int
) -> Party[_Tally]:
    """Receive from the coordinator how many rows of each peer are counted."""
    coordinator = party.study.roster.coordinator
    counted = yield from receive(coordinator, CountedRows)
    if len(counted.rows) != len(peers):
        raise ViolationError(
            f"expected the rows of {len(peers)} peers, found {len(counted.rows)}", party=coordinator
        )
    rows = dict(zip(peers, counted.rows, strict=True))
    for peer, count in rows.items():
        check_rows(party.study, peer, count)
    return _Tally.of(party, scores, rows, number)


@dataclass(frozen=True, repr=False)
class MemberTotals:
    """A member's shares of the totals, kept until they may be opened."""

    member: QuorumMember
    plan: QuorumTally
    totals: Planes

    def give(self) -> Party[None]:
        """Send them to the coordinator, once the evaluation's sums were opened."""
        yield from give_totals(self.member, self.plan, self.totals)


def count_rows(
    party: PartyContext, held: MemberShare, peers: Sequence[str], *, number: int
) -> Party[MemberTotals]:
    """At a member: return its shares of the number of all peers' rows above each threshold."""
    tally = yield from _told(party, held.scores, peers, number)
    rows = yield from take_tally_rows(tally.plan, tally.context, held.share, name=party.name)
    drawn = party.drawing(
        _HELD, *(part.tobytes() for part in (rows.scores, rows.norms, rows.marks))
    )
    member = yield from seated(
        tally.plan.quorum, party.name, tally.context, entropy=drawn.entropy, ledger=party.ledger
    )
    totals = yield from count_above(member, tally.plan, rows)
    return MemberTotals(member, tally.plan, totals)


@dataclass(frozen=True)
class OpenedTally:
    """The coordinator's part of a tally that is counted but not opened yet."""

    opener: Opener
    plan: QuorumTally

    def open(self) -> Party[NDArray[np.int64]]:
        """Return the counts of all peers' rows, classes × 2 × thresholds."""
        return (yield from open_totals(self.opener, self.plan))


def open_counting(
    party: PartyContext, scores: ScorePlan, peers: Sequence[str], *, number: int
) -> Party[OpenedTally]:
    """At the coordinator: send each peer's number of rows, and open masked values."""
    rows = {}
    for peer in peers:
        rows[peer] = (yield from receive(peer, RowsToCount)).rows
        check_rows(party.study, peer, rows[peer])
    tally = _Tally.of(party, scores, rows, number)
    counted = CountedRows(tuple(rows.values()))
    for name in (*peers, *tally.plan.quorum.members):
        yield Send(name, counted)
    opener = Opener(tally.plan.quorum)

    def tell_peers(*, goes_on: bool = True) -> Party[None]:
        for peer in peers:
            yield Send(peer, CountingStep(goes_on))

    yield from open_comparisons(opener, tally.plan, tell_peers)
    yield from tell_peers(goes_on=False)
    return OpenedTally(opener, tally.plan)
