"""A query: the asker learns the labels of its documents, and others learn nothing of them.

    dealer                  coordinator C                        asker (a peer)
      │                          │◀── QueryRequest ─────────────────│   (budget.py)
      │                          │─── QueryGrant (or Refusal) ─────▶│
      │◀─── DealRequest ─────────│                                  │
      │                          │◀── MaskedScores ─────────────────│   ⟨⟨scores + r⟩⟩, packed
      │   shares/labels/verdict.py: both hold shares of every score │
      │─────────────────────────▶│◀────────────────────────────────▶│   the labels

Without a dealer (`dgk`) the same shares go through shares/labels/undealt.py, between C
and the asker.

The asker multiplies ciphertexts of the words that its documents have, packs many documents
into one ciphertext and hides them under one mask uniform in Z_N. C decrypts noise; C's noise
and the asker's mask, shifted, are shares of every score. Who learns what: C learns who asked,
when, and for how many documents, rounded up to whole ciphertexts; the asker learns labels;
the dealer, who is neither C nor of the asker's organisation, learns that there was a query. Labels
of many chosen documents reveal the model, so C counts them against a budget, also those of an
evaluation (budget.py). Assuming that the dealer pools with neither.

What is charged: a query is charged once C makes its last message, from which labels can be read,
whether or not the asker ever fetches it. Until then the asker saw noise, and a query that ends
earlier is given back. So an asker that breaks off early only wastes other people's time, and one
that breaks off late has paid. An evaluation counts at the thresholds before it sends labels, so
everything else is done when the labels are paid for.

With `verdict` auto in the plan, the asker asks the dealer first. If the dealer does not answer, the
asker begins again without it, in another conversation with new masks, and reports that
(`VerdictWarning`, `Answer.verdict`). The asker decides; the plan must allow it. A coordinator could
pretend that the dealer is away, because it carries the dealer's letters. By that alone it gains
nothing: it sees coins and a second set of scores under masks, as uniform as the first and of the
same padded number. It can no longer learn what pooling with the dealer would have given it. If it
also breaks the rules of the comparison (carries.py), it learns something about scores, which it
cannot with a dealer, whatever it sends: a plan that must exclude this says `fss`. An asker who
pretends that the dealer is away gets the labels that it pays for, only more slowly.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce import wire
from sottovoce.errors import InputError, SottovoceError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.ring import Words
from sottovoce.paillier import Encrypted, ForKeyHolder, SparseRows, Unsent
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import BY_ASKER, CONSENT_TO_MARGINS, NUMBERS_ARE_PUBLIC
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.shares.labels.carries import AskSide, KeySide
from sottovoce.protocols.shares.labels.row_scores import RowPlan, deal_scores
from sottovoce.protocols.shares.labels.tally import TallyPlan, deal_tally, tally
from sottovoce.protocols.shares.labels.undealt import ask_labels, give_labels
from sottovoce.protocols.shares.labels.undealt_tally import ask_tally, give_tally
from sottovoce.protocols.shares.labels.verdict import (
    VerdictPlan,
    ask_verdict,
    deal_verdict,
    give_verdict,
)
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.study.choices import Verdict
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.budget import (
    QueryBook,
    QueryGrant,
    QueryRefusal,
    QueryRequest,
    granted,
)
from sottovoce.study.queries.key_proof import check_proof, show_proof
from sottovoce.study.queries.model import PeerModel, Trained
from sottovoce.study.queries.query_seats import (
    dealt_by,
    dealt_seeds,
    query_context,
    query_trio,
    seated_for,
)
from sottovoce.study.queries.score_shares import (
    RowOrder,
    above,
    arranged,
    classes_of,
    groups_of,
    less,
    masked_scores,
    opened_scores,
    padded,
    row_bytes,
)
from sottovoce.study.queries.scoring import ScorePlan, counting_ring
from sottovoce.study.queries.shared_queries import (
    AskerInput,
    answer_own_dealt,
    answer_shared,
    ask_own_dealt,
    ask_shared,
    request_scores,
    spread_counts,
)
from sottovoce.study.queries.thresholds import Floats, row_thresholds, unit_scores
from sottovoce.study.stages.holdings import own_reach
from sottovoce.study.study import Study
from sottovoce.text.labels import Classes

_ASKED = "study/asked/v1"

RemotePart = Callable[[RowOrder], Party[Encrypted]]
"""The program that brings what others add to the scores of rows, asked about in this order."""


class VerdictWarning(UserWarning):
    """Labels were found without the dealer, who did not answer."""


class MaskedScores(Message, frozen=True):
    """Scores of many documents in few ciphertexts, each under a mask uniform in Z_N."""

    discloses: ClassVar = Disclosure(
        seen_by="the coordinator, who can decrypt them",
        reveals="nothing: the masks are uniform, used once, and the asker's own",
        assuming="the masks come from the operating system's generator",
    )
    scores: ForKeyHolder


class DealRequest(Message, frozen=True):
    """A request for the material that a query needs from its dealer."""

    discloses: ClassVar = Disclosure(
        seen_by="the dealer of this query, neither the coordinator nor the asker",
        reveals="that this peer asks, for how many documents, and how large scores can be",
        assuming=NUMBERS_ARE_PUBLIC,
    )
    asker: str
    number: int
    documents: int
    scores: int
    fraction_bits: int
    bound: int
    classes: int = 1
    thresholds: int = 0
    columns: int = 0
    nonce: bytes = b""


class ScoreShare(Message, frozen=True):
    """The coordinator's shares of the scores, where the plan releases margins."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ASKER,
        reveals="the scores of its own documents; as many as there are features give the model",
        assuming=CONSENT_TO_MARGINS,
    )
    words: wire.Words


@dataclass(frozen=True)
class Answer:
    """The result of a query: the classes of every row, and scores of unit rows if released.

    After an evaluation `counted` is the asker's share of the number of its rows above each
    threshold (`roc.py`), which nobody can read without the coordinator's share. It fills 64-bit
    words, so that a sum of such shares reveals no more than the sum of the counts. `verdict` is how
    the labels were found: `fss` with a dealer, `dgk` without one, None if they follow from released
    scores.
    """

    classes: list[Classes] = field(repr=False)
    left: int
    scores: NDArray[np.float64] | None = field(default=None, repr=False)
    counted: Words | None = field(default=None, repr=False)
    verdict: Verdict | None = None


def ask(
    party: PartyContext,
    model: PeerModel,
    rows: sparse.csr_array,
    *,
    number: int,
    evaluation: bool = False,
    truth: NDArray[np.bool_] | None = None,
    own: Floats | None = None,
    remote: RemotePart | None = None,
    verdict: Verdict | None = None,
) -> Party[Answer]:
    """At the asker: return the labels of integer feature rows (`FeatureRows.integers`).

    In an evaluation `truth` (rows × scores) says which rows are of which class, to count them at
    the plan's thresholds. `own` (rows × scores) are the asker's own thresholds, added to the
    operating point. `remote` brings the part of the scores that others hold. `verdict` is how the
    labels are found, by default the plan's.
    """
    study, plan = party.study, model.scores
    count, found_by = int(rows.shape[0]), study.verdict_for(party.name, verdict)
    size = padded_count(party, count, batch=plan.batch, evaluation=evaluation)
    counts = study.plan.counts_sealed and truth is not None
    thresholds = len(study.plan.thresholds) if counts else 0
    filled = padded(rows, size)
    at = row_thresholds(model.operating_point, own, rows=size, width=plan.classes)
    marked = b"" if truth is None else truth.tobytes()
    party = party.drawing(_ASKED, *row_bytes(rows), marked, at.tobytes())
    request = QueryRequest(number, size, evaluation, thresholds, party.entropy.seed())
    order = RowOrder.drawn(size, party.entropy) if evaluation else RowOrder.given(size)
    filled, at = filled[order.places], at[order.places]
    groups = groups_of(truth, size)[order.places] if counts and truth is not None else None
    left = yield from granted(study, request, party.name)
    if study.on_shares and found_by is Verdict.FSS:
        shown = AskerInput(filled, at, groups)
        with dealt_by(study, party.name):
            labels, counted = yield from ask_shared(party, plan, request, shown)
        classes = classes_of(study.plan.labels, labels, plan.classes)
        return Answer(order.restored(classes, count), left, counted=counted, verdict=found_by)
    others = None if remote is None else partial(remote, order)
    share = yield from _score_share(party, model, request, filled, others)
    if found_by is None:
        score_share = yield from receive(study.roster.coordinator, ScoreShare)
        back = order.back(count)
        margins = unit_scores(rows, _scores(plan, share, score_share, study)[back])
        return Answer(study.plan.labels.decide(margins - at[back]), left, margins)
    mine = _Mine(
        arranged(plan, less(plan, share, filled, at)),
        above(plan, share, filled, study.plan.thresholds) if counts else None,
        groups,
    )
    asked = _ask_dealt if found_by is Verdict.FSS else _ask_undealt
    labels, counted = yield from asked(party, model, request, mine)
    classes = classes_of(study.plan.labels, labels, plan.classes)
    return Answer(order.restored(classes, count), left, counted=counted, verdict=found_by)


def padded_count(party: PartyContext, count: int, *, batch: int, evaluation: bool) -> int:
    """Return a query's number of rows with padding; refuse a query that cannot be asked."""
    if not count:
        raise InputError(f"{party.name}: there is no document to classify")
    size, budget = -(-count // batch) * batch, party.study.plan.budget
    if evaluation and size > budget:
        raise InputError(
            f"{party.name}: expected an evaluation of at most {budget} documents, found {size}",
            hints=("hold out fewer documents (held_out), or agree on a larger query_budget",),
        )
    return size


def _score_share(
    party: PartyContext,
    model: PeerModel,
    request: QueryRequest,
    rows: sparse.csr_array,
    others: Callable[[], Party[Encrypted]] | None,
) -> Party[Words]:
    """Return the asker's shares of the scores of padded rows; the coordinator has the others."""
    if party.study.on_shares:
        return (yield from ask_own_dealt(party, model.scores, request, rows))
    scores = _products(party.study, model, rows, asker=party.name)
    if others is not None:
        scores = scores + (yield from others())
    masked, share = masked_scores(model, scores, entropy=party.entropy)
    yield Send(party.study.roster.coordinator, MaskedScores(masked))
    return share


@dataclass(frozen=True, repr=False)
class _Mine:
    """The asker's shares of the scores, and in an evaluation of the scores less each threshold."""

    scores: Words
    above: Words | None = None
    groups: Words | None = None


_Found = tuple[NDArray[np.int64], Words | None]


def _ask_dealt(
    party: PartyContext, model: PeerModel, request: QueryRequest, mine: _Mine
) -> Party[_Found]:
    plan, counted = model.scores, None
    with dealt_by(party.study, party.name):
        holder = yield from seated_for(party, party.name, request.number, request.nonce)
        if mine.above is not None:
            shared = yield from tally(holder, _tally_plan(plan, request), mine.above, mine.groups)
            counted = spread_counts(party, plan, shared)
        labels = yield from ask_verdict(holder, plan.verdict(request.documents), mine.scores)
    return labels, counted


def _ask_undealt(
    party: PartyContext, model: PeerModel, request: QueryRequest, mine: _Mine
) -> Party[_Found]:
    study, plan, counted = party.study, model.scores, None
    masking = Masking(study.plan.kappa)
    if study.on_shares:
        yield from check_proof(model.paillier, holder=study.roster.coordinator)
    side = AskSide(model.paillier, study.roster.coordinator, masking, party.entropy)
    if mine.above is not None and mine.groups is not None:
        ring = counting_ring(study.plan, plan.ring, peers=len(study.roster.peers))
        this = _tally_plan(plan, request)
        shared = yield from ask_tally(side, this, mine.above, mine.groups, counts=ring)
        counted = spread_counts(party, plan, shared)
    labels = yield from ask_labels(side, plan.verdict(request.documents), mine.scores)
    return labels, counted


def answer(
    party: PartyContext,
    trained: Trained,
    book: QueryBook,
    *,
    asker: str,
    verdict: Verdict | None = None,
    model: int = 0,
) -> Party[Words | None]:
    """At the coordinator: count the query, and help to find labels that it does not learn.

    After an evaluation's query it returns its share of the counts at the thresholds. While a
    penalty is chosen, `model` says which of several models is asked.
    """
    study, plan = party.study, trained.scores
    found_by = study.verdict_for(asker, verdict)
    request = yield from receive(asker, QueryRequest)
    _check_thresholds(study, request, asker)
    if request.documents % plan.batch:
        raise ViolationError(
            f"expected a query padded to {plan.batch} documents, found {request.documents}",
            party=asker,
        )
    if not book.grant(asker, request):
        yield Send(asker, QueryRefusal(max(0, book.left(asker))))
        return None
    try:
        yield Send(asker, QueryGrant(book.left(asker)))
        dealt = found_by is Verdict.FSS
        if study.on_shares:
            yield from request_scores(study, request, asker=asker, dealt=dealt, model=model)
        if dealt:
            yield from _ask_dealer(party, trained, request, asker)
        counted = None
        if study.on_shares and dealt:
            with dealt_by(study, asker):
                counted = yield from answer_shared(party, trained, request, asker=asker)
        else:
            share = yield from _opened_share(party, trained, request, asker)
            if found_by is None:
                yield Send(asker, ScoreShare(wire.Words.of(share)))
            else:
                helped = _answer_dealt if dealt else _answer_undealt
                counted = yield from helped(party, trained, request, share, asker=asker)
    except (SottovoceError, GeneratorExit):
        # It ended here or at another seat (then the program is closed) before anything was
        # revealed.
        book.give_back(asker)
        raise
    # The message that reveals the labels is sent in the step in which this program returns.
    book.keep_charged(asker)
    return counted


def _opened_share(
    party: PartyContext, trained: Trained, request: QueryRequest, asker: str
) -> Party[Words]:
    """Return the coordinator's shares of the scores; the asker has the others."""
    if party.study.on_shares:
        return (yield from answer_own_dealt(party, trained, request, asker=asker))
    masked = yield from receive(asker, MaskedScores)
    plan, count = trained.scores, request.documents
    return opened_scores(trained.key, plan, masked.scores, count, asker=asker)


def _ask_dealer(
    party: PartyContext, trained: Trained, request: QueryRequest, asker: str
) -> Party[None]:
    plan = trained.scores
    verdict = plan.verdict(request.documents)
    size = (verdict.documents, verdict.scores, plan.score.fraction_bits, plan.score.bound)
    dealer = query_trio(party.study, asker).dealer
    columns = plan.rows(request.documents).columns if party.study.on_shares else 0
    more = (plan.classes, request.thresholds, columns, request.nonce)
    yield Send(dealer, DealRequest(asker, request.number, *size, *more))


def _answer_dealt(
    party: PartyContext, trained: Trained, request: QueryRequest, share: Words, *, asker: str
) -> Party[Words | None]:
    plan, counted = trained.scores, None
    with dealt_by(party.study, asker):
        holder = yield from seated_for(party, asker, request.number, request.nonce)
        if request.thresholds:
            values = np.repeat(share[:, :, np.newaxis], request.thresholds, axis=2)
            counted = yield from tally(holder, _tally_plan(plan, request), values, None)
        yield from give_verdict(holder, plan.verdict(request.documents), arranged(plan, share))
    return counted


def _answer_undealt(
    party: PartyContext, trained: Trained, request: QueryRequest, share: Words, *, asker: str
) -> Party[Words | None]:
    study, plan, counted = party.study, trained.scores, None
    if study.on_shares:
        yield from show_proof(trained.key, asker=asker)
    side = KeySide(trained.key, asker, Masking(study.plan.kappa), party.entropy)
    if request.thresholds:
        ring = counting_ring(study.plan, plan.ring, peers=len(study.roster.peers))
        counted = yield from give_tally(side, _tally_plan(plan, request), share, counts=ring)
    yield from give_labels(side, plan.verdict(request.documents), arranged(plan, share))
    return counted


def _check_thresholds(study: Study, request: QueryRequest, asker: str) -> None:
    """Refuse a query that counts at other thresholds than all of the plan's, or none."""
    known = {0, len(study.plan.thresholds)} if request.evaluation else {0}
    if request.thresholds not in known:
        raise ViolationError(
            f"expected a query at {max(known)} thresholds, found {request.thresholds}", party=asker
        )


def deal(party: PartyContext) -> Party[None]:
    """At the dealer of a query."""
    request = yield from receive(party.study.roster.coordinator, DealRequest)
    yield from deal_for(party, request)


def deal_for(party: PartyContext, request: DealRequest) -> Party[None]:
    """At the dealer of a query, once it has the request."""
    study = party.study
    trio = query_trio(study, request.asker)
    if trio.dealer != party.name:
        raise ViolationError(
            f"expected {trio.dealer!r} to deal for {request.asker!r}, found {party.name!r} asked",
            party=study.roster.coordinator,
        )
    party.ledger.spend(query_context(study, request.asker, request.number), "query")
    context = query_context(study, request.asker, request.number, request.nonce)
    dealer = yield from dealt_seeds(party, trio, context)
    scale = Scale(request.fraction_bits, request.bound)
    verdict = VerdictPlan(request.documents, request.scores, scale)
    documents = request.documents * request.scores // request.classes
    if study.on_shares:
        rows = RowPlan(documents, request.columns, request.classes, verdict.ring)
        yield from deal_scores(dealer, rows, context, asker=request.asker)
    if request.thresholds:
        counts = TallyPlan(documents, request.classes, request.thresholds, verdict.ring)
        yield from deal_tally(dealer, counts)
    yield from deal_verdict(dealer, verdict)


def goes_on_without(study: Study, asker: str, missing: str) -> bool:
    """At the asker: return whether a query begins again without the `missing` dealer.

    The caller must tell the asker's people.
    """
    if not study.plan.falls_back or study.verdict_for(asker) is not Verdict.FSS:
        return False
    return missing == query_trio(study, asker).dealer


def warn_without(asker: str, dealer: str) -> None:
    """Warn that labels are found without the dealer."""
    warnings.warn(
        f"{asker}: {dealer!r} does not answer: these labels are found without a dealer "
        f"(verdict {Verdict.DGK} instead of {Verdict.FSS}), which takes longer",
        VerdictWarning,
        stacklevel=2,
    )


def _products(study: Study, model: PeerModel, rows: sparse.csr_array, *, asker: str) -> Unsent:
    """Return encrypted scores of rows, from the features that the asker has."""
    reach = model.scores.reach
    if study.plan.arrangement.by_features:
        answering = study.plan.arrangement.answering_to(asker)
        reach -= sum(own_reach(study, name) for name in answering)
    return SparseRows.of(rows, reach=reach) @ model.ciphertext


def _tally_plan(plan: ScorePlan, request: QueryRequest) -> TallyPlan:
    return TallyPlan(request.documents, plan.classes, request.thresholds, plan.ring)


def _scores(
    plan: ScorePlan, share: Words, score_share: ScoreShare, study: Study
) -> NDArray[np.float64]:
    if score_share.words.shape != share.shape:
        raise ViolationError(
            f"expected scores of shape {share.shape}, found {score_share.words.shape}",
            party=study.roster.coordinator,
        )
    words = plan.ring.signed(plan.ring.reduce(share + score_share.words.array()))
    return np.ldexp(words.astype(np.float64), -plan.score.fraction_bits)
