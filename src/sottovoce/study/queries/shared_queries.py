"""A query in a study whose model stays in shares at coordinator and evaluator.

    dealer          coordinator C               evaluator E                  asker
      │                  │◀── QueryRequest ────────────────────────────────────│   (budget.py)
      │                  │─── QueryGrant (or Refusal) ────────────────────────▶│
      │◀── DealRequest ──│─── ScoreRequest ────────▶│                          │
      │   shares/labels/row_scores.py: C and E hold shares of every score      │
      │─────────────────▶│◀────────────────────────▶│◀─────────────────────────│
      │                  │◀── AskerShares ──────────│◀─────────────────────────│
      │   shares/labels/verdict.py: C and E hold shares of every label         │
      │─────────────────▶│◀────────────────────────▶│                          │
      │                  │─── VerdictShare ─────────│─── VerdictShare ────────▶│   the labels

Without a dealer (or if scores are released) the asker deals for its own rows. C and E then renew
their shares of the scores, so that the asker, who knows what it dealt, learns nothing from the
share that E sends it. C and the asker find the labels as they do on ciphertexts.

Who learns what: C and E learn who asks, when, and for how many documents, rounded up; they see
uniform words, neither rows nor scores nor labels. The asker learns labels. The dealer learns that
there was a query. With a dealer, the asker and any one of the others together learn no more than
the asker's labels; any two of C, E and the dealer could read the asker's rows and the model.
Without a dealer, the asker and C together could read the asker's scores, and with the model's mask
the model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce import wire
from sottovoce.entropy import SEED_BYTES, Entropy, Expansion
from sottovoce.errors import ViolationError
from sottovoce.numbers.ring import Words, to_ring
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import (
    BY_ASKER,
    COORDINATOR_AND_ASKER_DO_NOT_POOL,
    NUMBERS_ARE_PUBLIC,
)
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.shares.holders import words_of
from sottovoce.protocols.shares.labels.row_scores import (
    RowSeeds,
    Scored,
    deal_scores,
    score_shares,
    send_rows,
)
from sottovoce.protocols.shares.labels.tally import GROUPS, TallyPlan, tally
from sottovoce.protocols.shares.labels.verdict import joined_labels, tell_verdict
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.budget import QueryRequest
from sottovoce.study.queries.model import HeldShare, Trained
from sottovoce.study.queries.query_seats import (
    dealt_seeds,
    own_trio,
    query_context,
    query_trio,
    seated,
    seated_for,
)
from sottovoce.study.queries.score_shares import arranged
from sottovoce.study.queries.scoring import NORM_STEP, ScorePlan, counting_ring
from sottovoce.study.queries.thresholds import Floats, shifts
from sottovoce.study.study import Study
from sottovoce.text.features import NORM_PARTS


class ScoreRequest(Message, frozen=True):
    """A query for which the evaluator's share of the model is needed."""

    discloses: ClassVar = Disclosure(
        seen_by="the evaluator, who holds a share of the model",
        reveals="that this peer asks, for how many documents, rounded up, and who deals",
        assuming=NUMBERS_ARE_PUBLIC,
    )
    asker: str
    number: int
    documents: int
    thresholds: int
    dealt: bool
    model: int = 0
    nonce: bytes = b""


class AskerShares(Message, frozen=True):
    """Shares of the asker's input: its own thresholds, and which rows are of which class."""

    discloses: ClassVar = Disclosure(
        seen_by="coordinator and evaluator, one share each",
        reveals="nothing: every word is uniform without the other's",
        assuming="coordinator and evaluator do not pool",
    )
    shifts: wire.Words
    groups: wire.Words


class RenewedShares(Message, frozen=True):
    """A seed with which both holders make their shares of the scores fresh."""

    discloses: ClassVar = Disclosure(
        seen_by="the coordinator, and not the asker, who dealt for its own rows",
        reveals="nothing: it was drawn at random",
        assuming="the asker pools with neither holder",
    )
    seed: bytes


class HandedScores(Message, frozen=True):
    """The evaluator's fresh shares of the scores, for an asker who dealt for itself."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ASKER,
        reveals="nothing: uniform without the coordinator's shares",
        assuming=COORDINATOR_AND_ASKER_DO_NOT_POOL,
    )
    words: wire.Words


class CountShare(Message, frozen=True):
    """The evaluator's share of the number of rows above each threshold, for the blind sum."""

    discloses: ClassVar = Disclosure(
        seen_by="the asker, whose own rows were counted",
        reveals="nothing: uniform without the coordinator's share",
        assuming=COORDINATOR_AND_ASKER_DO_NOT_POOL,
    )
    words: wire.Words


@dataclass(frozen=True)
class AskerInput:
    """The asker's input: rows, their thresholds, and for an evaluation the groups of rows."""

    rows: sparse.csr_array = field(repr=False)
    thresholds: Floats = field(repr=False)
    groups: Words | None = field(default=None, repr=False)


def spread_counts(party: PartyContext, scores: ScorePlan, shared: Words) -> Words:
    """Return a share of counts for a sum over peers, no longer than a joint count.

    From longer words a coordinator that gives rows different weights could read many rows at once.
    """
    study = party.study
    ring = counting_ring(study.plan, scores.ring, peers=len(study.roster.peers))
    return ring.spread(ring.reduce(shared), party.entropy)


# At the asker.


def ask_shared(
    party: PartyContext, scores: ScorePlan, request: QueryRequest, shown: AskerInput
) -> Party[tuple[NDArray[np.int64], Words | None]]:
    """Return the labels of padded rows, found with a dealer, and a share of the counts."""
    study = party.study
    context = query_context(study, party.name, request.number, request.nonce)
    trio = query_trio(study, party.name)
    seeds = yield from receive(trio.dealer, RowSeeds)
    rows = scores.split_norms(shown.rows)
    yield from send_rows(trio, scores.rows(request.documents), rows, seeds, context)
    for name, shares_of_asker in zip(
        (trio.second, trio.first), _asker_shares(scores, request, shown, party.entropy), strict=True
    ):
        yield Send(name, shares_of_asker)
    counted = None
    if request.thresholds:
        told_counts = yield from receive(trio.second, CountShare)
        shape = _tally_plan(scores, request).counts
        shared = words_of(told_counts.words, shape, sender=trio.second, what="CountShare")
        counted = spread_counts(party, scores, shared)
    labels = yield from joined_labels((trio.second, trio.first), scores.verdict(request.documents))
    return labels, counted


def ask_own_dealt(
    party: PartyContext, scores: ScorePlan, request: QueryRequest, rows: sparse.csr_array
) -> Party[Words]:
    """Return the asker's shares of the scores of padded rows, for which it deals itself."""
    study = party.study
    context = query_context(study, party.name, request.number, request.nonce)
    trio, plan = own_trio(study, party.name), scores.rows(request.documents)
    dealer = yield from dealt_seeds(party, trio, context)
    seeds = yield from deal_scores(dealer, plan, context)
    yield from send_rows(trio, plan, scores.split_norms(rows), seeds, context)
    handed = yield from receive(trio.second, HandedScores)
    shape = (request.documents, scores.classes)
    return words_of(handed.words, shape, sender=trio.second, what="HandedScores")


def _asker_shares(
    scores: ScorePlan, request: QueryRequest, shown: AskerInput, entropy: Entropy
) -> tuple[AskerShares, AskerShares]:
    """Return the evaluator's and the coordinator's shares of the asker's input."""
    taken = to_ring(shifts(shown.rows, shown.thresholds, bits=scores.score.fraction_bits))
    groups = np.zeros((0, scores.classes, GROUPS), np.uint64)
    if request.thresholds and shown.groups is not None:
        groups = shown.groups
    masks = entropy.words(*taken.shape), entropy.words(*groups.shape)
    seconds = (wire.Words.of(mask) for mask in masks)
    firsts = (
        wire.Words.of(value - mask) for value, mask in zip((taken, groups), masks, strict=True)
    )
    return AskerShares(*seconds), AskerShares(*firsts)


# At the holders.


def request_scores(
    study: Study, request: QueryRequest, *, asker: str, dealt: bool, model: int
) -> Party[None]:
    """At the coordinator: ask the evaluator for its part of a query."""
    yield Send(study.roster.evaluator, _asked_of(request, asker, dealt=dealt, model=model))


def _asked_of(request: QueryRequest, asker: str, *, dealt: bool, model: int = 0) -> ScoreRequest:
    numbers = (request.number, request.documents, request.thresholds)
    return ScoreRequest(asker, *numbers, dealt, model, request.nonce)


def answer_shared(
    party: PartyContext, trained: Trained, request: QueryRequest, *, asker: str
) -> Party[Words | None]:
    """At the coordinator, with a dealer: send its shares of labels, return its share of counts."""
    assert trained.share is not None
    score_request = _asked_of(request, asker, dealt=True)
    held = HeldShare(trained.scores, trained.share)
    return (yield from _help_dealt(party, held, score_request))


def answer_own_dealt(
    party: PartyContext, trained: Trained, request: QueryRequest, *, asker: str
) -> Party[Words]:
    """At the coordinator, if the asker deals: return its fresh shares of the scores."""
    assert trained.share is not None
    score_request = _asked_of(request, asker, dealt=False)
    held, evaluator = HeldShare(trained.scores, trained.share), party.study.roster.evaluator
    scored = yield from _scored(party, held, score_request)
    renewed = yield from receive(evaluator, RenewedShares)
    if len(renewed.seed) != SEED_BYTES:
        raise ViolationError(f"expected a seed of {SEED_BYTES} bytes", party=evaluator)
    return _renewed(held, scored, renewed.seed, first=True)


def share_scores(party: PartyContext, models: Sequence[HeldShare]) -> Party[None]:
    """At the evaluator: wait for the coordinator's request, and answer one query."""
    score_request = yield from receive(party.study.roster.coordinator, ScoreRequest)
    yield from share_scores_for(party, models, score_request)


def share_scores_for(
    party: PartyContext, models: Sequence[HeldShare], request: ScoreRequest
) -> Party[None]:
    """At the evaluator: answer the query of this request."""
    held = _asked_for(party, models, request)
    party.ledger.spend(query_context(party.study, request.asker, request.number), "query")
    party.count_labels(
        request.asker, rows=request.documents, evaluation=request.dealt and request.thresholds > 0
    )
    if request.dealt:
        yield from _help_dealt(party, held, request)
        return
    scored, seed = (yield from _scored(party, held, request)), party.entropy.seed()
    mine = _renewed(held, scored, seed, first=False)
    # The coordinator counts labels and sends its shares last, after this seat sent all of its own.
    yield Send(request.asker, HandedScores(wire.Words.of(mine)))
    yield Send(party.study.roster.coordinator, RenewedShares(seed))


def _asked_for(
    party: PartyContext, models: Sequence[HeldShare], request: ScoreRequest
) -> HeldShare:
    """Return the model of a request, after checking that the study allows the request."""
    study, coordinator = party.study, party.study.roster.coordinator
    if request.asker not in study.roster.peers or not 0 <= request.model < len(models):
        raise ViolationError(
            f"expected a peer's query of one of {len(models)} models, found one of "
            f"{request.asker!r} of model {request.model}",
            party=coordinator,
        )
    held = models[request.model]
    if request.documents < 1 or request.documents % held.scores.batch:
        raise ViolationError(
            f"expected a query padded to {held.scores.batch} documents, found {request.documents}",
            party=coordinator,
        )
    if request.thresholds not in {0, len(study.plan.thresholds)}:
        raise ViolationError(
            f"expected a query at {len(study.plan.thresholds)} thresholds or none, "
            f"found {request.thresholds}",
            party=coordinator,
        )
    if request.dealt and study.query_dealer(request.asker) is None:
        raise ViolationError(
            f"expected {request.asker!r} to deal for itself, but a dealer is named",
            party=coordinator,
        )
    return held


def _scored(party: PartyContext, held: HeldShare, request: ScoreRequest) -> Party[Scored]:
    """Return a holder's shares of the scores, if the asker deals for itself."""
    trio = own_trio(party.study, request.asker)
    context = query_context(party.study, request.asker, request.number, request.nonce)
    holder = yield from seated(party, trio, context)
    plan = held.scores.rows(request.documents)
    asker = request.asker
    return (yield from score_shares(holder, plan, held.words, asker=asker, context=context))


def _renewed(held: HeldShare, scored: Scored, seed: bytes, *, first: bool) -> Words:
    """Return a holder's fresh shares of the scores, from a seed that the asker does not know."""
    drawn = Expansion(seed, "roles/renewed shares/v1").words(*scored.scores.shape)
    words = scored.scores + drawn if first else scored.scores - drawn
    return held.scores.ring.reduce(words)


def _help_dealt(party: PartyContext, held: HeldShare, request: ScoreRequest) -> Party[Words | None]:
    """A holder's part of a query with a dealer; the first returns its share of the counts."""
    context = query_context(party.study, request.asker, request.number, request.nonce)
    holder = yield from seated_for(party, request.asker, request.number, request.nonce)
    plan, asker = held.scores.rows(request.documents), request.asker
    scored = yield from score_shares(holder, plan, held.words, asker=asker, context=context)
    added = yield from _taken(held.scores, request)
    counted = None
    if request.thresholds:
        values = _above(party.study, held.scores, scored)
        groups = held.scores.ring.reduce(added[1])
        counted = yield from tally(holder, _tally_plan(held.scores, request), values, groups)
        if not holder.first:
            # No longer than a joint count: an asker that pools with the coordinator may use any
            # numbers as marks, and a long word could then hold comparisons of many rows.
            spread = spread_counts(party, held.scores, counted)
            yield Send(asker, CountShare(wire.Words.of(spread)))
    shares = arranged(held.scores, held.scores.ring.reduce(scored.scores - added[0]))
    yield from tell_verdict(holder, held.scores.verdict(request.documents), shares, to=asker)
    return counted if holder.first else None


def _taken(scores: ScorePlan, request: ScoreRequest) -> Party[tuple[Words, Words]]:
    """Return a holder's shares of the asker's input."""
    added = yield from receive(request.asker, AskerShares)
    counted = request.documents if request.thresholds else 0
    shapes = (request.documents, scores.classes), (counted, scores.classes, GROUPS)
    shifted, groups = (
        words_of(words, shape, sender=request.asker, what="AskerShares")
        for words, shape in zip((added.shifts, added.groups), shapes, strict=True)
    )
    return shifted, groups


def _above(study: Study, scores: ScorePlan, scored: Scored) -> Words:
    """Return a holder's shares of each score less each threshold: rows × classes × thresholds."""
    units = np.ldexp(np.array(study.plan.thresholds), scores.score.fraction_bits) / NORM_PARTS
    factors = to_ring(np.rint(units).astype(np.int64))
    norms = scored.tails[:, 0] + scored.tails[:, 1] * np.uint64(NORM_STEP)
    taken = norms[:, np.newaxis] * factors
    return scores.ring.reduce(scored.scores[:, :, np.newaxis] - taken[:, np.newaxis, :])


def _tally_plan(scores: ScorePlan, request: ScoreRequest | QueryRequest) -> TallyPlan:
    return TallyPlan(request.documents, scores.classes, request.thresholds, scores.ring)
