"""The choice of one of several models, by joint totals over held-back documents.

The models differ in a penalty, or in the width or weight of a block, from public lists.

    peers                                coordinator C            dealer of each, evaluator E
      │   for every model: labels of its held-back documents (classification.py)        │
      │◀────────────────────────────────────▶│◀────────────────────────────────────────▶│
      │   how many labels were right, for every model, in a blind sum ─────▶│           │
      │◀──────────────── ChosenPenalty ──────│─────────────────────────────▶│           │

In partition `features` each query has the same remote part as other queries of the plan. If
entities are looked up, peers ask in the roster's order, and answer the peer whose turn it is.

Every model stays sealed. Only the chosen one is kept, and only it may be released, because several
models of one contribution would reveal moments. Who learns what: C learns how many labels were
right over all peers for each model, and everybody learns which model won. The assumptions are
those of queries.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sottovoce.errors import AbsenceError, InputError, ViolationError
from sottovoce.numbers.ring import Words, from_ring, to_ring
from sottovoce.protocols.conversation import Party, Receive, Send, dismiss, receive
from sottovoce.protocols.disclosures import BY_PEERS_AND_HOLDERS, ROSTER_IS_PUBLIC, SUM_IS_OVER_MANY
from sottovoce.protocols.messages import Disclosure, Enough, Message
from sottovoce.protocols.shares.labels.row_scores import DealtScores, MaskedModel
from sottovoce.protocols.shares.labels.verdict import DEALT_KINDS, VerdictTold
from sottovoce.protocols.shares.products import FactorShare
from sottovoce.protocols.shares.signs import ComparandShare
from sottovoce.study.choices import Verdict
from sottovoce.study.evaluations.evaluation import (
    CountedOver,
    CountSum,
    add_counts,
    help_with_counts,
    open_counts,
)
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.budget import QueryBook
from sottovoce.study.queries.classification import DealRequest, answer, deal_for
from sottovoce.study.queries.model import HeldShare, PeerModel, Trained
from sottovoce.study.queries.query_seats import query_trio
from sottovoce.study.queries.scoring import ScorePlan
from sottovoce.study.queries.shared_queries import RenewedShares, ScoreRequest, share_scores_for
from sottovoce.study.stages.penalty_trial import PenaltyTrial
from sottovoce.study.study import Study
from sottovoce.text.documents import Document

# The first number of this stage's queries, far above the numbers of users' queries.
_FIRST_NUMBER = 2**31
# The kinds of messages between holders of a model's shares in a query, and of all its messages.
_HOLDER_KINDS: tuple[type[Message], ...] = (
    MaskedModel,
    ComparandShare,
    FactorShare,
    RenewedShares,
    VerdictTold,
)
_QUERY_KINDS: tuple[type[Message], ...] = (*DEALT_KINDS, DealtScores, *_HOLDER_KINDS)


class Abandoned(Message, frozen=True):
    """Says that a query's asker left; sent back once its dealt material is deleted."""

    discloses: ClassVar = Disclosure(
        seen_by="the dealer of the query, the coordinator and the evaluator",
        reveals="that a peer left while a model was chosen",
        assuming=ROSTER_IS_PUBLIC,
    )
    asker: str


class ChosenPenalty(Message, frozen=True):
    """The place of the model that won, in the list that follows from the plan."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_PEERS_AND_HOLDERS,
        reveals="which of the agreed models was best over all peers together",
        assuming=SUM_IS_OVER_MANY,
    )
    index: int


def choose_peer(
    party: PartyContext,
    models: Sequence[PeerModel],
    peers: Sequence[str],
    *,
    held_back: Sequence[Document],
) -> Party[int]:
    """At a peer: try every model on its own documents, and add the right labels to the sum."""
    if len(models) == 1:
        return 0
    study = party.study
    if not held_back:
        raise InputError(f"{party.name}: it has no documents to choose a model with")
    trial = PenaltyTrial.of(party, models[0], held_back)
    right = []
    for index, model in enumerate(models):
        number = first_number(party) + index
        for name in peers if trial.answers else (party.name,):
            if name == party.name:
                matching = yield from trial.ask(model, number=number)
                right.append(trial.right(matching.classes))
            else:
                yield from trial.answer(model, asker=name)
    counts = np.array(right, np.int64)
    tables = [to_ring(counts)]
    yield from add_counts(party, penalty_sum(party), peers, documents=len(held_back), tables=tables)
    return (yield from hear_penalty(study))


@dataclass(frozen=True)
class Choice:
    """The winning model's place, and how many labels every peer received during the choice."""

    index: int
    labels_told: tuple[tuple[str, int], ...] = ()


def choose_coordinator(
    party: PartyContext, trained: Trained, scores: Sequence[ScorePlan], shares: Sequence[Words] = ()
) -> Party[Choice]:
    """At the coordinator: answer every query, and open how many labels each model got right.

    `shares` are its shares of the models, if labels are found on shares. A peer that leaves during
    the choice does not count in it, although its contribution is in the model.
    """
    if len(scores) == 1:
        return Choice(0)
    study = party.study
    book = QueryBook(budget=study.plan.budget, evaluations=len(scores))
    askers = list(trained.peers)
    for index, plan in enumerate(scores):
        tried = replace(trained, scores=plan, share=shares[index] if shares else None)
        for name in tuple(askers):
            try:
                yield from answer(party, tried, book, asker=name, model=index)
            except AbsenceError as error:
                if error.party != name:
                    raise
                askers.remove(name)
                yield from _abandon(study, name)
    for helper in _helpers(study):
        yield from dismiss(helper)
    (sums,), _ = yield from open_counts(party, penalty_sum(party), trained.peers)
    right = from_ring(sums)
    best = max(
        range(len(scores)),
        key=lambda place: (int(right[place]), study.plan.candidates[place].preference),
    )
    for name in (*trained.peers, study.roster.evaluator):
        yield Send(name, ChosenPenalty(best))
    return Choice(best, tuple(sorted(book.spent.items())))


def choose_evaluator(
    party: PartyContext, peers: Sequence[str], held: Sequence[HeldShare] = ()
) -> Party[int]:
    """At the evaluator: deal for the dealer's organisation, and sign the sets of the sums.

    If labels are found on shares, `held` are its shares of every model.
    """
    if len(party.study.plan.candidates) == 1:
        return 0
    if party.study.on_shares:
        yield from _share_on_request(party, held)
    elif party.name in _dealers(party.study):
        yield from _deal_on_request(party)
    yield from help_with_counts(party, penalty_sum(party), peers)
    return (yield from hear_penalty(party.study))


def choose_dealer(party: PartyContext) -> Party[None]:
    """At the dealer: deal for every asker of another organisation."""
    if party.name in _dealers(party.study):
        yield from _deal_on_request(party)


def needs_dealer(study: Study) -> bool:
    """Return whether queries need a dealer while a model is chosen."""
    return len(study.plan.candidates) > 1 and bool(_dealt(study))


def _dealt(study: Study) -> list[str]:
    """Return the peers for which another party deals."""
    peers = study.roster.peers
    return [name for name in peers if study.verdict_for(name) is Verdict.FSS]


def _dealers(study: Study) -> tuple[str, ...]:
    """Return all parties that may have to deal while a model is chosen."""
    if not needs_dealer(study):
        return ()
    return tuple(dict.fromkeys(query_trio(study, name).dealer for name in _dealt(study)))


def _helpers(study: Study) -> tuple[str, ...]:
    """Return all parties that wait for queries while a model is chosen."""
    holder = (study.roster.evaluator,) if study.on_shares else ()
    return (*_dealers(study), *holder)


def _abandon(study: Study, asker: str) -> Party[None]:
    """At the coordinator: discard the messages of a query that nobody will finish."""
    dealers = (query_trio(study, asker).dealer,) if asker in _dealt(study) else ()
    holders = (study.roster.evaluator,) if study.on_shares else ()
    for helper in (*dealers, *holders):
        yield Send(helper, Abandoned(asker))
        yield from _drain(helper)


def _drain(sender: str) -> Party[None]:
    """Discard the messages of a party for a query, up to its last one."""
    while not isinstance((yield Receive(sender, (*_QUERY_KINDS, Abandoned))), Abandoned):
        pass


def _deal_on_request(party: PartyContext) -> Party[None]:
    """Deal until the coordinator says that there are no more queries."""
    coordinator = party.study.roster.coordinator
    while True:
        request = yield Receive(coordinator, (DealRequest, Abandoned, Enough))
        if isinstance(request, Enough):
            return
        if isinstance(request, Abandoned):
            yield Send(coordinator, request)
            if party.study.on_shares:
                yield Send(party.study.roster.evaluator, request)
        else:
            yield from deal_for(party, request)


def _share_on_request(party: PartyContext, held: Sequence[HeldShare]) -> Party[None]:
    """Help with queries until the coordinator says that there are no more."""
    coordinator = party.study.roster.coordinator
    while True:
        request = yield Receive(coordinator, (*_HOLDER_KINDS, ScoreRequest, Abandoned, Enough))
        if isinstance(request, Enough):
            return
        if isinstance(request, ScoreRequest):
            helped = share_scores_for(party, held, request)
            request = yield from _unless_abandoned(party, helped, request.asker)
        if isinstance(request, Abandoned):
            if request.asker in _dealt(party.study):
                yield from _drain(query_trio(party.study, request.asker).dealer)
            yield Send(coordinator, request)


def _unless_abandoned(
    party: PartyContext, program: Party[None], asker: str
) -> Party[Abandoned | None]:
    """Run a query's program until it ends, its asker leaves, or the coordinator gives it up."""
    coordinator, came = party.study.roster.coordinator, None
    while True:
        try:
            action = program.send(came)
        except StopIteration:
            return None
        if isinstance(action, Receive) and action.sender == coordinator:
            action = Receive(coordinator, (*action.kinds, Abandoned))
        try:
            came = yield action
        except AbsenceError as error:
            program.close()
            if error.party != asker:
                raise
            # The coordinator finds the same party missing, and says so in its next message.
            return None
        if isinstance(came, Abandoned):
            program.close()
            return came


def hear_penalty(study: Study) -> Party[int]:
    """At every party but the coordinator: receive the place of the winning model."""
    penalty = yield from receive(study.roster.coordinator, ChosenPenalty)
    if not 0 <= penalty.index < len(study.plan.candidates):
        raise ViolationError(
            f"expected one of {len(study.plan.candidates)} models, found {penalty.index}",
            party=study.roster.coordinator,
        )
    return penalty.index


def first_number(party: PartyContext) -> int:
    """Return the number of this attempt's first query; no two attempts share a number."""
    return _FIRST_NUMBER + (party.attempt.number - 1) * len(party.study.plan.candidates)


def penalty_sum(party: PartyContext) -> CountSum:
    """Return the sum of how many labels were right, for every model."""
    shape = (len(party.study.plan.candidates),)
    return CountSum(party, "penalty", shape, over=CountedOver.HELD_BACK)
