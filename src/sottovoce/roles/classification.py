"""A query: the asker learns the labels of its documents, and nobody learns anything else.

    dealer                  coordinator C                        asker (a peer)
      │                          │◀── QueryRequest ─────────────────│
      │                          │─── QueryGrant (or Refusal) ─────▶│
      │◀─── DealRequest ─────────│                                  │
      │                          │◀── MaskedScores ─────────────────│   ⟨⟨scores + r⟩⟩, packed
      │   shares/verdict.py: both hold shares of every score        │
      │─────────────────────────▶│◀────────────────────────────────▶│   the labels

The asker multiplies ciphertexts of the words that its documents have, packs many documents
into one ciphertext and hides them under one mask uniform in Z_N. C decrypts noise; C's noise
and the asker's mask, shifted, are shares of every score. Who learns what: C learns who asked,
when, and for how many documents, rounded up to whole ciphertexts; the asker learns labels;
the dealer, who is neither C nor of the asker's house, learns that there was a query. Labels of
many chosen documents give the model away, so C counts them against a budget; an evaluation has
one of the same size. Assuming that the dealer pools with neither.

What is charged: a query is charged once C makes the message from which labels can be read, its
last one, whether or not the asker ever fetches it; until then the asker saw uniform words, and a
query that ends there is given back. So an asker that breaks off early gains nothing but other
people's time, and one that breaks off late has paid. Without a dealer every answer of C tells a
bit, so there the first one charges the whole query. What an evaluation counts at the thresholds
comes before its labels: who has paid for them finds everything else done.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce import wire
from sottovoce.errors import (
    AbsenceError,
    InputError,
    MisuseError,
    SottovoceError,
    ViolationError,
)
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.ring import Words
from sottovoce.paillier import Ciphertext, Encrypted, Plain, SparseRows, Unsent
from sottovoce.protocols.casting import Cast
from sottovoce.protocols.conversation import Party, Receive, Send, receive
from sottovoce.protocols.guard import Guard, Rule, serve
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.sealed_model import closing
from sottovoce.protocols.shares.holders import Holder, Trio, deal_seeds, take_seed
from sottovoce.protocols.shares.material import Context
from sottovoce.protocols.shares.tally import TallyPlan, deal_tally, tally
from sottovoce.protocols.shares.verdict import VerdictPlan, ask_verdict, deal_verdict, give_verdict
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.roles.desk import Desk
from sottovoce.roles.holdings import own_reach
from sottovoce.roles.model import SealedModel, Trained
from sottovoce.roles.plan import Release
from sottovoce.roles.score_shares import (
    above,
    arranged,
    classes_of,
    decided,
    groups_of,
    less,
    masked_scores,
    opened_scores,
    padded,
)
from sottovoce.roles.scoring import ScorePlan
from sottovoce.roles.study import Study
from sottovoce.roles.thresholds import shifts, unit_scores
from sottovoce.roles.undealt import undealt_labels, undealt_rules
from sottovoce.text.labels import Classes

RemotePart = Callable[[int], Party[Encrypted]]
"""Brings what others add to the scores of so many rows (partition `features`)."""

# The asker is told when less than this share of its budget is left.
_NEAR_THE_END = 0.1


class QueryBudgetWarning(UserWarning):
    """Few queries are left."""


class QueryRequest(Message, frozen=True):
    """The asker's wish: its how-manieth query, for how many documents, padded.

    With `thresholds` the scores are also counted at the plan's thresholds, in shares.
    """

    discloses: ClassVar = Disclosure(
        seen_by="the coordinator, who counts queries",
        reveals="that this peer asks now, and for how many documents, rounded up",
        assuming="batches are padded to whole ciphertexts",
    )
    number: int
    documents: int
    evaluation: bool
    thresholds: int = 0


class QueryGrant(Message, frozen=True):
    """The query may be asked; so many documents are left afterwards."""

    discloses: ClassVar = Disclosure(
        seen_by="the asker of the query",
        reveals="what is left of its own budget",
        assuming="the budget is on the study card",
    )
    left: int


class QueryRefusal(Message, frozen=True):
    """The query is more than what is left."""

    discloses: ClassVar = Disclosure(
        seen_by="the asker of the query",
        reveals="that it asked for more than is left of its own budget",
        assuming="the budget is on the study card",
    )
    left: int


class MaskedScores(Message, frozen=True):
    """Scores of many documents in few ciphertexts, each under a mask uniform in Z_N."""

    discloses: ClassVar = Disclosure(
        seen_by="the coordinator, who can decrypt them",
        reveals="nothing: the masks are uniform, used once, and the asker's own",
        assuming="the masks come from the operating system's generator",
    )
    scores: Ciphertext


class DealRequest(Message, frozen=True):
    """What a dealer must deal for a query."""

    discloses: ClassVar = Disclosure(
        seen_by="the dealer of this query, neither the coordinator nor the asker",
        reveals="that this peer asks, for how many documents, and how large scores can be",
        assuming="these numbers are public",
    )
    asker: str
    number: int
    documents: int
    scores: int
    fraction_bits: int
    bound: int
    classes: int = 1
    thresholds: int = 0


class ScoreShare(Message, frozen=True):
    """The coordinator's shares of the scores, where the plan releases margins."""

    discloses: ClassVar = Disclosure(
        seen_by="the asker of the query",
        reveals="the scores of its own documents; as many as there are features give the model",
        assuming="every peer consented to release = margin",
    )
    words: wire.Words


@dataclass
class QueryBook:
    """The coordinator's count of every peer's queries, kept for the whole life of the model."""

    budget: int
    evaluations: int
    spent: Counter[str] = field(default_factory=Counter)
    evaluated: Counter[str] = field(default_factory=Counter)
    _untold: dict[str, QueryRequest] = field(default_factory=dict, init=False, repr=False)

    def left(self, asker: str) -> int:
        """How many documents this peer may still ask about."""
        return self.budget - self.spent[asker]

    def grant(self, asker: str, request: QueryRequest) -> bool:
        """Count a query, if it is within the budget; until it is `told` it can be given back."""
        if request.documents < 1:
            raise ViolationError(
                f"expected a query for at least 1 document, found {request.documents}", party=asker
            )
        if request.evaluation:
            # Else one evaluation would be any number of labels.
            if request.documents > self.budget or self.evaluated[asker] >= self.evaluations:
                return False
            self.evaluated[asker] += 1
        elif request.documents > self.left(asker):
            return False
        else:
            self.spent[asker] += request.documents
        self._untold[asker] = request
        return True

    def told(self, asker: str) -> None:
        """The labels leave now: what was counted stays so."""
        self._untold.pop(asker, None)

    def give_back(self, asker: str) -> None:
        """Take back what was counted for a query that ended before it told anything."""
        request = self._untold.pop(asker, None)
        if request is None:
            return
        if request.evaluation:
            self.evaluated[asker] -= 1
        else:
            self.spent[asker] -= request.documents


@dataclass(frozen=True)
class Answer:
    """What the asker learnt: for every row its classes (and scores of unit rows, if released).

    After an evaluation `counted` is the asker's share of how many of its rows lie above which
    threshold (`roc.py`), which nobody can read without the coordinator's.
    """

    classes: list[Classes] = field(repr=False)
    left: int
    scores: NDArray[np.float64] | None = field(default=None, repr=False)
    counted: Words | None = field(default=None, repr=False)


def ask(
    desk: Desk,
    model: SealedModel,
    rows: sparse.csr_array,
    *,
    number: int,
    evaluation: bool = False,
    truth: NDArray[np.bool_] | None = None,
    remote: RemotePart | None = None,
) -> Party[Answer]:
    """At the asker: the labels of integer feature rows (`FeatureRows.integers`).

    `truth` (rows × scores) says which rows are of which class, where an evaluation counts
    them at the plan's thresholds; `remote` brings the part of the scores that others hold.
    """
    study, plan = desk.study, model.scores
    count = int(rows.shape[0])
    if not count:
        raise InputError(f"{desk.name}: expected at least 1 document to classify, found none")
    size = -(-count // plan.batch) * plan.batch
    if evaluation and size > study.plan.budget:
        raise InputError(
            f"{desk.name}: expected an evaluation of at most {study.plan.budget} documents, "
            f"found {size}",
            hints=("hold out fewer documents (held_out), or agree on a larger query_budget",),
        )
    counts = study.plan.counts_sealed and truth is not None
    thresholds = len(study.plan.thresholds) if counts else 0
    request = QueryRequest(number, size, evaluation, thresholds)
    left = yield from _granted(study, request, desk.name)
    filled = padded(rows, size)
    scores = _products(study, model, filled, asker=desk.name)
    if remote is not None:
        scores = scores + (yield from remote(size))
    if not plan.packed:
        found = yield from _undealt(desk, model, scores, filled)
        return Answer(classes_of(study.plan.labels, found, plan.classes)[:count], left)
    masked, share = masked_scores(model, scores, entropy=desk.entropy)
    yield Send(study.roster.coordinator, MaskedScores(masked))
    if study.plan.release is Release.MARGIN:
        told = yield from receive(study.roster.coordinator, ScoreShare)
        margins = unit_scores(rows, _scores(plan, share, told, study)[:count])
        return Answer(decided(study.plan.labels, margins, model.operating_point), left, margins)
    with dealt_by(query_trio(study, desk.name).dealer):
        holder = yield from _seated(desk, desk.name, number)
        counted = None
        if truth is not None and thresholds:
            values = above(plan, share, filled, study.plan.thresholds)
            this = _tally_plan(plan, size, thresholds)
            counted = yield from tally(holder, this, values, groups_of(truth, size))
        shifted = less(plan, share, filled, model.operating_point)
        found = yield from ask_verdict(holder, plan.verdict(size), arranged(plan, shifted))
    classes = classes_of(study.plan.labels, found, plan.classes)[:count]
    return Answer(classes, left, counted=counted)


def answer(desk: Desk, trained: Trained, book: QueryBook, *, asker: str) -> Party[Words | None]:
    """At the coordinator: count, decrypt noise, and help to a label that it does not learn.

    After an evaluation's query it holds its share of what was counted at the thresholds.
    """
    study, plan = desk.study, trained.scores
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
    yield Send(asker, QueryGrant(book.left(asker)))
    try:
        return (yield from _answered(desk, trained, book, request, asker=asker))
    except SottovoceError:
        book.give_back(asker)
        raise


def _answered(
    desk: Desk, trained: Trained, book: QueryBook, request: QueryRequest, *, asker: str
) -> Party[Words | None]:
    """At the coordinator: a query that was granted, up to the message that tells the labels."""
    study, plan = desk.study, trained.scores
    if not plan.packed:
        rules = undealt_rules(trained.key, plan, request.documents, entropy=desk.entropy)
        telling = [_telling(rule, partial(book.told, asker)) for rule in rules]
        yield from serve(Guard(asker, [telling], codec=study.codec(trained.key.public)))
        return None
    verdict = plan.verdict(request.documents)
    if study.plan.deals_verdicts:
        size = (verdict.documents, verdict.scores, plan.score.fraction_bits, plan.score.bound)
        dealer = query_trio(study, asker).dealer
        more = (plan.classes, request.thresholds)
        yield Send(dealer, DealRequest(asker, request.number, *size, *more))
    told = yield from receive(asker, MaskedScores)
    share = opened_scores(trained.key, plan, told.scores, request.documents, asker=asker)
    if study.plan.release is Release.MARGIN:
        book.told(asker)
        yield Send(asker, ScoreShare(wire.Words.of(share)))
        return None
    counted = None
    with dealt_by(query_trio(study, asker).dealer):
        holder = yield from _seated(desk, asker, request.number)
        if request.thresholds:
            values = np.repeat(share[:, :, np.newaxis], request.thresholds, axis=2)
            this = _tally_plan(plan, request.documents, request.thresholds)
            counted = yield from tally(holder, this, values, None)
        # Its last message leaves in the step in which it returns.
        yield from give_verdict(holder, verdict, arranged(plan, share))
    book.told(asker)
    return counted


def _telling(rule: Rule[Any], told: Callable[[], None]) -> Rule[Any]:
    """A rule whose answers tell something: the first one charges the query."""

    def answer(question: Any) -> Any:
        told()
        return rule.answer(question)

    return replace(rule, answer=answer)


def _check_thresholds(study: Study, request: QueryRequest, asker: str) -> None:
    """An evaluation counts at all of the plan's thresholds, any other query at none."""
    known = {0, len(study.plan.thresholds)} if request.evaluation else {0}
    if request.thresholds not in known:
        raise ViolationError(
            f"expected a query at {max(known)} thresholds, found {request.thresholds}", party=asker
        )


def deal(desk: Desk) -> Party[None]:
    """At the dealer of a query."""
    told = yield from receive(desk.study.roster.coordinator, DealRequest)
    yield from deal_for(desk, told)


def deal_for(desk: Desk, told: DealRequest) -> Party[None]:
    """At the dealer of a query, once it knows which."""
    study = desk.study
    trio = query_trio(study, told.asker)
    if trio.dealer != desk.name:
        raise ViolationError(
            f"expected {trio.dealer!r} to deal for {told.asker!r}, found {desk.name!r} asked",
            party=study.roster.coordinator,
        )
    context = query_context(study, told.asker, told.number)
    dealer = yield from deal_seeds(trio, context, ledger=desk.ledger, entropy=desk.entropy)
    scale = Scale(told.fraction_bits, told.bound)
    verdict = VerdictPlan(told.documents, told.scores, scale)
    if told.thresholds:
        documents = told.documents * told.scores // told.classes
        counts = TallyPlan(documents, told.classes, told.thresholds, verdict.ring)
        yield from deal_tally(dealer, counts)
    yield from deal_verdict(dealer, verdict)


@contextmanager
def dealt_by(dealer: str) -> Iterator[None]:
    """Say what can be done when the dealer of a query is not there: no query goes on without it."""
    try:
        yield
    except AbsenceError as error:
        if error.party != dealer:
            raise
        raise AbsenceError(
            f"{error.message}; every query is dealt anew, and none was answered",
            party=dealer,
            hints=(
                f"ask again when {dealer!r} is back: this query was not counted",
                "a new study may find labels without a dealer: verdict='dgk'",
            ),
        ) from error


def query_trio(study: Study, asker: str) -> Trio:
    """Who talks in a query: the dealer is neither the coordinator nor of the asker's house."""
    if asker not in study.roster.peers:
        raise InputError(f"query: expected a peer of the study to ask, found {asker!r}")
    dealer = study.roster.query_dealer(asker)
    if dealer is None:
        raise InputError(
            f"query: expected a dealer that is not {asker!r} itself, found none",
            hints=("let another organisation be dealer or evaluator",),
        )
    return Trio(study.roster.coordinator, asker, dealer)


def query_context(study: Study, asker: str, number: int) -> Context:
    """What the one-time material of one query of one asker is bound to."""
    return Context.among(f"{study.digest.hex()} query", [asker], round=number)


def _spent(study: Study, request: QueryRequest, asker: str, *, left: int) -> MisuseError:
    if request.evaluation:
        return MisuseError(
            f"{asker}: the query budget of {study.plan.evaluations} evaluations is spent",
            hints=("a new study may agree on more: evaluations=2",),
        )
    return MisuseError(
        f"{asker}: the query budget of {study.plan.budget} documents is spent: "
        f"asked for {request.documents}, {left} are left",
        hints=(
            f"a query is filled up to {request.documents} documents here: ask for many in one call",
            "a new study may agree on a larger query_budget",
        ),
    )


def _granted(study: Study, request: QueryRequest, asker: str) -> Party[int]:
    coordinator = study.roster.coordinator
    yield Send(coordinator, request)
    told = yield Receive(coordinator, (QueryGrant, QueryRefusal))
    if isinstance(told, QueryRefusal):
        raise _spent(study, request, asker, left=told.left)
    if told.left < _NEAR_THE_END * study.plan.budget:
        warnings.warn(
            f"{asker}: {told.left} of {study.plan.budget} queries are left",
            QueryBudgetWarning,
            stacklevel=2,
        )
    return int(told.left)


def _products(study: Study, model: SealedModel, rows: sparse.csr_array, *, asker: str) -> Unsent:
    """Encrypted scores of rows, as far as the asker has their features."""
    reach = model.scores.reach
    if study.plan.arrangement.by_features:
        answering = study.plan.arrangement.answering_to(asker)
        reach -= sum(own_reach(study, name) for name in answering)
    return SparseRows.of(rows, reach=reach) @ model.weights


def _undealt(
    desk: Desk, model: SealedModel, products: Unsent, rows: sparse.csr_array
) -> Party[NDArray[np.int64]]:
    """At the asker: labels without a dealer, by questions to the key holder."""
    study, plan = desk.study, model.scores
    scores = products.within(plan.score)
    if model.operating_point:
        taken = shifts(rows, model.operating_point, bits=plan.score.fraction_bits)
        scores = (scores - Plain(taken, plan.shift)).within(plan.score)
    masking = Masking(study.plan.kappa)
    cast = Cast(study.roster.peers, study.roster.coordinator, study.roster.evaluator)
    program = undealt_labels(scores, plan, masking=masking, entropy=desk.entropy)
    return (yield from cast.seated(closing(program)))


def _tally_plan(plan: ScorePlan, documents: int, thresholds: int) -> TallyPlan:
    return TallyPlan(documents, plan.classes, thresholds, plan.ring)


def _scores(plan: ScorePlan, share: Words, told: ScoreShare, study: Study) -> NDArray[np.float64]:
    if told.words.shape != share.shape:
        raise ViolationError(
            f"expected scores of shape {share.shape}, found {told.words.shape}",
            party=study.roster.coordinator,
        )
    words = plan.ring.signed(plan.ring.reduce(share + told.words.array()))
    return np.ldexp(words.astype(np.float64), -plan.score.fraction_bits)


def _seated(desk: Desk, asker: str, number: int) -> Party[Holder]:
    trio = query_trio(desk.study, asker)
    context = query_context(desk.study, asker, number)
    return (yield from take_seed(trio, desk.name, context, ledger=desk.ledger))
