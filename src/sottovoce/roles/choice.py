"""Which penalty of a public list is best, by joint totals over held-back documents.

    peers                                coordinator C            dealer of each, evaluator E
      │   for every penalty: labels of its held-back documents (classification.py)      │
      │◀────────────────────────────────────▶│◀────────────────────────────────────────▶│
      │   how many labels were right, for every penalty, in a blind sum ───▶│           │
      │◀──────────────── ChosenPenalty ──────│─────────────────────────────▶│           │

In partition `features` every asker's query has the remote part that the plan gives all queries;
peers ask in the roster's order, and answer whoever's turn it is.

Every model stays sealed; only the one that is chosen is kept, and only it may be released
(several models of one contribution give moments away). Who learns what: C learns how many
labels were right over all peers for each penalty, and everybody which penalty won. Assuming
what queries assume.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from sottovoce.errors import AbsenceError, InputError, ViolationError
from sottovoce.numbers.ring import from_ring, to_ring
from sottovoce.protocols.conversation import Party, Receive, Send, dismiss, receive
from sottovoce.protocols.messages import Disclosure, Enough, Message
from sottovoce.protocols.shares.verdict import DEALT_KINDS
from sottovoce.roles.budget import QueryBook
from sottovoce.roles.classification import DealRequest, answer, deal_for, query_trio
from sottovoce.roles.desk import Desk
from sottovoce.roles.evaluation import CountSum, add_counts, open_counts, witness_counts
from sottovoce.roles.model import SealedModel, Trained
from sottovoce.roles.plan import Verdict
from sottovoce.roles.scoring import ScorePlan
from sottovoce.roles.study import Study
from sottovoce.roles.trial import Trial
from sottovoce.text.documents import Document

# Queries of this stage are numbered from here on, far from those of users.
_FIRST_NUMBER = 2**31


class Abandoned(Message, frozen=True):
    """The asker of a query left: what was dealt for it is thrown away, then this comes back."""

    discloses: ClassVar = Disclosure(
        seen_by="the dealer of the query, and the coordinator",
        reveals="that a peer left while a penalty was chosen",
        assuming="who takes part is no secret among participants",
    )


class ChosenPenalty(Message, frozen=True):
    """Which penalty of the plan's list won."""

    discloses: ClassVar = Disclosure(
        seen_by="every peer and the evaluator",
        reveals="which of the agreed penalties was best over all peers together",
        assuming="at least three peers and twenty documents are in the sum",
    )
    index: int


def choose_peer(
    desk: Desk,
    models: Sequence[SealedModel],
    peers: Sequence[str],
    *,
    held_back: Sequence[Document],
    training: Sequence[Document],
) -> Party[int]:
    """At a peer: it tries every model on its own documents, and adds up how often it was right."""
    if len(models) == 1:
        return 0
    study = desk.study
    if not held_back:
        raise InputError(f"{desk.name}: expected documents to choose a penalty with, found none")
    trial = Trial.of(desk, models[0], held_back, training)
    right = []
    for index, model in enumerate(models):
        number = first_number(desk) + index
        for name in peers if trial.answers else (desk.name,):
            if name == desk.name:
                found = yield from trial.ask(model, number=number)
                right.append(trial.right(found.classes))
            else:
                yield from trial.answer(model, asker=name)
    counts = np.array(right, np.int64)
    tables = [to_ring(counts)]
    yield from add_counts(desk, _sum_of(desk), peers, documents=len(held_back), tables=tables)
    return (yield from _hear(study))


def choose_coordinator(desk: Desk, trained: Trained, scores: Sequence[ScorePlan]) -> Party[int]:
    """At the coordinator: it answers every query, and opens how often each model was right.

    Who leaves meanwhile has no say in the choice: its contribution is in the model already.
    """
    if len(scores) == 1:
        return 0
    study = desk.study
    book = QueryBook(budget=study.plan.budget, evaluations=len(scores))
    askers = list(trained.peers)
    for plan in scores:
        for name in tuple(askers):
            try:
                yield from answer(desk, replace(trained, scores=plan), book, asker=name)
            except AbsenceError as error:
                if error.party != name:
                    raise
                askers.remove(name)
                yield from _abandon(study, name)
    for dealer in _dealers(study):
        yield from dismiss(dealer)
    (sums,), _ = yield from open_counts(desk, _sum_of(desk), trained.peers)
    right = from_ring(sums)
    # Of equals the strongest penalty wins: it says least about any document.
    best = max(range(len(scores)), key=lambda one: (int(right[one]), study.plan.alphas[one]))
    for name in (*trained.peers, study.roster.evaluator):
        yield Send(name, ChosenPenalty(best))
    return best


def choose_evaluator(desk: Desk, peers: Sequence[str]) -> Party[int]:
    """At the evaluator: it deals where the dealer must not, and signs who is in the sums."""
    if len(desk.study.plan.alphas) == 1:
        return 0
    if desk.name in _dealers(desk.study):
        yield from _deal_on_request(desk)
    yield from witness_counts(desk, _sum_of(desk), peers)
    return (yield from _hear(desk.study))


def choose_dealer(desk: Desk) -> Party[None]:
    """At the dealer: it deals whenever somebody asks who is not of its own house."""
    if desk.name in _dealers(desk.study):
        yield from _deal_on_request(desk)


def needs_dealer(study: Study) -> bool:
    """Whether queries are dealt for while a penalty is chosen."""
    return len(study.plan.alphas) > 1 and bool(_dealt(study))


def _dealt(study: Study) -> list[str]:
    """The peers for whom somebody deals."""
    peers = study.roster.peers
    return [name for name in peers if study.verdict_for(name) is Verdict.FSS]


def _dealers(study: Study) -> tuple[str, ...]:
    """Everybody who may have to deal while a penalty is chosen, whoever of the peers is left."""
    if not needs_dealer(study):
        return ()
    return tuple(dict.fromkeys(query_trio(study, name).dealer for name in _dealt(study)))


def _abandon(study: Study, asker: str) -> Party[None]:
    """At the coordinator: throw away what was dealt for a query that nobody will finish."""
    if asker not in _dealt(study):
        return
    dealer = query_trio(study, asker).dealer
    yield Send(dealer, Abandoned())
    while not isinstance((yield Receive(dealer, (*DEALT_KINDS, Abandoned))), Abandoned):
        pass


def _deal_on_request(desk: Desk) -> Party[None]:
    """Deal until the coordinator says that nobody asks any more."""
    coordinator = desk.study.roster.coordinator
    while True:
        told = yield Receive(coordinator, (DealRequest, Abandoned, Enough))
        if isinstance(told, Enough):
            return
        if isinstance(told, Abandoned):
            yield Send(coordinator, told)
        else:
            yield from deal_for(desk, told)


def _hear(study: Study) -> Party[int]:
    told = yield from receive(study.roster.coordinator, ChosenPenalty)
    if not 0 <= told.index < len(study.plan.alphas):
        raise ViolationError(
            f"expected one of {len(study.plan.alphas)} penalties, found {told.index}",
            party=study.roster.coordinator,
        )
    return told.index


def first_number(desk: Desk) -> int:
    """The number of this attempt's first query: no two attempts share one."""
    return _FIRST_NUMBER + (desk.attempt.number - 1) * len(desk.study.plan.alphas)


def _sum_of(desk: Desk) -> CountSum:
    return CountSum(desk, "penalty", (len(desk.study.plan.alphas),))
