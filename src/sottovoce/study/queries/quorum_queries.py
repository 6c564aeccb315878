"""A query in engine `quorum`: members find labels of an asker's rows that only the asker learns.

    asker (a peer)                 coordinator C                      member i
      │ QueryRequest ───────────────▶│   (budget.py)                     │
      │◀──────────── QueryGrant ─────│── MembersNeeded ─────────────────▶│
      │◀──────────── MembersNeeded ──│                                   │
      │   quorum/labels.py: rows in shares to the members, labels in shares back
      │◀────────────────────────────▶│◀─────────────────────────────────▶│

With `verdict = "fss"` one member deals for the comparison, which another member makes with the
asker (quorum/fast_labels.py). Before that, C is told and counts the query:

      │                              │◀── LabelsReady ─── counterpart ───│
      │                              │─── TellLabels ────────────────────▶│

Any 2t + 1 of the members that hold the model answer; C says which. Who learns what: the asker
learns labels (scores, where the plan releases margins); C and the members learn who asked, when,
and for how many documents, rounded up. Assuming that at most t members pool, with or without C;
the asker's organisation may be one of them. Labels of many chosen documents reveal the model. So C
counts them, and so does every member, which refuses more than twice the budget (label_count.py). A
query is charged once C learns whether its signs are bits, or says that labels may be sent. An asker
whose rows are not valid learns that, too, and is charged for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.errors import SottovoceError, ViolationError
from sottovoce.numbers.residues import Planes
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import BY_COUNTING_COORDINATOR, QUERY_TIMES_ARE_PUBLIC
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.quorum.dealing import QuorumMember, seated
from sottovoce.protocols.quorum.fast_labels import (
    FastLabels,
    ask_fast,
    cover_scores,
    deal_fast,
    give_fast,
)
from sottovoce.protocols.quorum.labels import (
    LabelPlan,
    answer,
    give_scores,
    open_labels,
    take_labels,
    take_score_shares,
)
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import Opener
from sottovoce.protocols.quorum.plan import hiding_for
from sottovoce.protocols.quorum.rows import share_rows, take_scores
from sottovoce.protocols.shares.holders import Trio
from sottovoce.protocols.shares.material import Context
from sottovoce.study.attempts import MOST_ATTEMPTS
from sottovoce.study.choices import Verdict
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.budget import (
    QueryBook,
    QueryGrant,
    QueryRefusal,
    QueryRequest,
    granted,
)
from sottovoce.study.queries.classification import Answer, padded_count
from sottovoce.study.queries.quorum_model import BATCH, MemberShare, QuorumModel, QuorumTrained
from sottovoce.study.queries.score_shares import RowOrder, classes_of, padded, row_bytes
from sottovoce.study.queries.scoring import ScorePlan
from sottovoce.study.queries.thresholds import Floats, row_thresholds, shifts, unit_scores
from sottovoce.study.release import Opens
from sottovoce.study.study import Study

_ASKED = "study/asked of members/v1"
_HELD = "study/asked at a member/v1"


class MembersNeeded(Message, frozen=True):
    """Names the members that answer a query, its asker, and the number of documents."""

    discloses: ClassVar = Disclosure(
        seen_by="the members that answer a query, and its asker",
        reveals="which peer asks the members now, and for how many documents, rounded up",
        assuming="batches are padded, and who asks when is no secret among participants",
    )
    asker: str
    number: int
    documents: int
    members: tuple[str, ...]


class LabelsReady(Message, frozen=True):
    """Says that the asker has its covered scores; the verdict that follows reveals labels to it."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_COUNTING_COORDINATOR,
        reveals="nothing but that the asker has its covered scores",
        assuming=QUERY_TIMES_ARE_PUBLIC,
    )


class TellLabels(Message, frozen=True):
    """Says that the query is counted, and that its labels may be sent."""

    discloses: ClassVar = Disclosure(
        seen_by="the member that finds labels with the asker",
        reveals="nothing but that the query is counted",
        assuming=QUERY_TIMES_ARE_PUBLIC,
    )


def label_openings(study: Study) -> int:
    """Return how many masked values all queries and evaluations of a study may open."""
    plan = study.plan
    tried = MOST_ATTEMPTS * len(plan.candidates)
    documents = plan.budget * len(study.roster.peers) * (1 + plan.evaluations + tried)
    return documents * max(1, plan.labels.width)


@dataclass(frozen=True)
class _QuorumQuery:
    """The public facts of one query."""

    study: Study
    request: MembersNeeded
    scores: ScorePlan
    quorum: Quorum
    attempt: int

    @classmethod
    def of(
        cls, party: PartyContext, request: MembersNeeded, scores: ScorePlan, held: Sequence[str]
    ) -> "_QuorumQuery":
        """Return the query, after checking that the members named by C hold the model."""
        study = party.study
        strangers = [name for name in request.members if name not in held]
        if strangers or request.documents < 1 or request.asker not in study.roster.peers:
            raise ViolationError(
                f"expected a query of a peer, answered by members that hold the model "
                f"({', '.join(held)})",
                party=study.roster.coordinator,
            )
        quorum = study.quorum.among(held).among(request.members)
        return cls(study, request, scores, quorum, party.attempt.number)

    @property
    def context(self) -> Context:
        """The context to which the one-time material of this query is bound."""
        who = (self.request.asker, *self.quorum.members)
        name = f"{self.study.digest.hex()} query of {self.request.asker}"
        return Context.among(name, who, round=self.request.number, attempt=self.attempt)

    @property
    def fast(self) -> FastLabels:
        """The plan of its labels if a member deals for them."""
        documents, (width, _) = self.request.documents, self.scores.shape
        verdict = self.scores.verdict(documents)
        return FastLabels(documents, width, verdict, self._trio, self.quorum)

    @property
    def _trio(self) -> Trio:
        """The counterpart, the asker and the dealer: three organisations."""
        roster, asker = self.study.roster, self.request.asker
        others = [
            name
            for name in self.quorum.members
            if roster.organisation(name) != roster.organisation(asker)
        ]
        counterpart = next(name for name in self.quorum.dealers if name in others)
        dealer = next(name for name in others if name != counterpart)
        return Trio(counterpart, asker, dealer)

    @property
    def plan(self) -> LabelPlan:
        """The plan of its labels without a dealing member."""
        width, classes = self.scores.shape
        bound = self.scores.score.bound * (2 if classes > 1 else 1)
        return LabelPlan(
            self.request.documents,
            width,
            classes,
            bound.bit_length(),
            hiding_for(label_openings(self.study)),
            self.quorum,
            exclusive=self.scores.exclusive,
        )


def ask_members(
    party: PartyContext,
    model: QuorumModel,
    rows: sparse.csr_array,
    *,
    number: int,
    evaluation: bool = False,
    own: Floats | None = None,
) -> Party[Answer]:
    """At the asker: return the labels of integer feature rows.

    `own` (rows × scores) are the asker's own thresholds, added to the operating point.
    """
    study, count = party.study, int(rows.shape[0])
    size = padded_count(party, count, batch=BATCH, evaluation=evaluation)
    request = QueryRequest(number, size, evaluation)
    left = yield from granted(study, request, party.name)
    needed = yield from receive(study.roster.coordinator, MembersNeeded)
    if (needed.asker, needed.number, needed.documents) != (party.name, number, size):
        raise ViolationError(
            "expected the members for this query, found those for another",
            party=study.roster.coordinator,
        )
    query = _QuorumQuery.of(party, needed, model.scores, model.members)
    at = row_thresholds(model.operating_point, own, rows=size, width=model.scores.classes)
    drawn = party.drawing(_ASKED, *row_bytes(rows), at.tobytes())
    order = RowOrder.drawn(size, drawn.entropy) if evaluation else RowOrder.given(size)
    filled, at = padded(rows, size)[order.places], at[order.places]
    offsets = _offsets(query, model, filled, at)
    how = query.fast if study.fast_labels else query.plan
    yield from share_rows(
        how.sharing(query.context),
        filled.toarray().astype(np.int64),
        offsets,
        entropy=drawn.entropy,
    )
    if isinstance(how, FastLabels):
        winners = yield from ask_fast(how, query.context, ledger=party.ledger)
        classes = classes_of(study.plan.labels, winners, model.scores.classes)
        return Answer(order.restored(classes, count), left, verdict=Verdict.FSS)
    labels, margin = study.plan.labels, study.plan.release.opens is Opens.SCORES
    opened = yield from (take_score_shares if margin else take_labels)(query.plan)
    if margin:
        back, bits = order.back(count), model.scores.score.fraction_bits
        margins = unit_scores(rows, np.ldexp(opened[back].astype(np.float64), -bits))
        return Answer(labels.decide(margins - at[back]), left, margins)
    classes = classes_of(labels, opened.reshape(-1), model.scores.classes)
    return Answer(order.restored(classes, count), left)


def _offsets(
    query: _QuorumQuery, model: QuorumModel, rows: sparse.csr_array, at: Floats
) -> NDArray[np.int64]:
    """Return the numbers to subtract from sealed scores: thresholds times norms."""
    plan = query.plan
    if query.study.plan.release.opens is Opens.SCORES:
        return np.zeros((plan.rows, plan.scores), np.int64)
    taken = shifts(rows, at, bits=model.scores.score.fraction_bits)
    return taken.reshape(plan.rows, plan.scores)


def help_asker(party: PartyContext, held: MemberShare) -> Party[None]:
    """At a member: take shares of the rows, and send the asker shares of the labels."""
    needed = yield from receive(party.study.roster.coordinator, MembersNeeded)
    query = _QuorumQuery.of(party, needed, held.scores, held.members)
    if party.name not in query.quorum.members:
        raise ViolationError(
            "this member does not answer that query",
            party=party.study.roster.coordinator,
        )
    party.count_labels(needed.asker, rows=needed.documents)
    how = query.fast if party.study.fast_labels else query.plan
    scores = yield from take_scores(
        how.sharing(query.context), held.share, owner=needed.asker, name=party.name
    )
    drawn = party.drawing(_HELD, scores.tobytes())
    member = yield from seated(
        query.quorum, party.name, query.context, entropy=drawn.entropy, ledger=party.ledger
    )
    if isinstance(how, FastLabels):
        yield from _help_fast(drawn, how, member, scores)
        return
    margin = party.study.plan.release.opens is Opens.SCORES
    give = give_scores if margin else answer
    yield from give(member, how, scores, asker=needed.asker)


def _help_fast(
    party: PartyContext, plan: FastLabels, member: QuorumMember, scores: Planes
) -> Party[None]:
    """At a member: its part of a query for which a member deals."""
    context, coordinator = member.context, party.study.roster.coordinator
    words = yield from cover_scores(member, plan, scores)
    if party.name == plan.trio.first:
        yield Send(coordinator, LabelsReady())
        yield from receive(coordinator, TellLabels)
        yield from give_fast(plan, context, words, ledger=party.ledger)
    elif party.name == plan.trio.dealer:
        yield from deal_fast(plan, context, entropy=member.entropy, ledger=party.ledger)


def answer_query(
    party: PartyContext,
    trained: QuorumTrained,
    book: QueryBook,
    *,
    asker: str,
    members: Sequence[str],
) -> Party[None]:
    """At the coordinator: count the query, say which members answer, and open masked values."""
    study = party.study
    request = yield from receive(asker, QueryRequest)
    if request.documents % BATCH or request.thresholds:
        raise ViolationError(
            f"expected a query padded to {BATCH} documents, found {request.documents}",
            party=asker,
        )
    if not book.grant(asker, request):
        yield Send(asker, QueryRefusal(max(0, book.left(asker))))
        return
    try:
        yield Send(asker, QueryGrant(book.left(asker)))
        needed = MembersNeeded(asker, request.number, request.documents, tuple(members))
        query = _QuorumQuery.of(party, needed, trained.scores, trained.members)
        for name in (asker, *query.quorum.members):
            yield Send(name, needed)
        if study.fast_labels:
            counterpart = query.fast.trio.first
            yield from receive(counterpart, LabelsReady)
            yield Send(counterpart, TellLabels())
        elif study.plan.release.opens is not Opens.SCORES:
            # The answer that rows are not valid says something about scores, so it is charged as
            # well.
            checked = partial(book.keep_charged, asker)
            yield from open_labels(Opener(query.quorum), query.plan, at_check=checked)
    except (SottovoceError, GeneratorExit):
        book.give_back(asker)
        raise
    book.keep_charged(asker)
