"""The choice of one of several models in engine `quorum`: by joint totals, on shared models.

    every peer in turn asks about its held-back documents, for every model (quorum_queries.py)
    how many labels were right, for every model, in a sum over all peers (evaluation.py)
    C tells everybody which model won

Every model stays shared. Only the chosen one is kept, and only it may be released. Who learns what:
C learns how many labels were right over all peers for each model, and everybody learns which
model won. The assumptions are those of queries.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sottovoce.errors import InputError
from sottovoce.numbers.ring import from_ring, to_ring
from sottovoce.protocols.conversation import Party, Send
from sottovoce.study.evaluations.evaluation import add_counts, help_counts, open_counts
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.budget import QueryBook
from sottovoce.study.queries.quorum_model import MemberShare, QuorumModel, QuorumTrained
from sottovoce.study.queries.quorum_queries import answer_query, ask_members, help_asker
from sottovoce.study.stages.holdings import integer_rows, read_rows
from sottovoce.study.stages.penalty_choice import (
    ChosenPenalty,
    first_number,
    hear_penalty,
    penalty_sum,
)
from sottovoce.text.documents import Document


def choose_at_peer(
    party: PartyContext, models: Sequence[QuorumModel], held_back: Sequence[Document]
) -> Party[int]:
    """At a peer: ask the members when it is its turn, and return the place of the winning model."""
    if len(models) == 1:
        return 0
    study, space = party.study, models[0].space
    if not held_back:
        raise InputError(f"{party.name}: it has no documents to choose a model with")
    key = models[0].key
    places = read_rows(study, space, party.name, held_back, key=key).places
    true = [
        classes
        for document, place in zip(held_back, places, strict=True)
        for classes in study.plan.labelled.classes(document, place)
    ]
    rows = integer_rows(study, space, party.name, held_back, key=key)
    right = []
    for index, model in enumerate(models):
        number = first_number(party) + index
        matching = yield from ask_members(party, model, rows, number=number, evaluation=True)
        right.append(sum(a == b for a, b in zip(true, matching.classes, strict=True)))
    tables = [to_ring(np.array(right, np.int64))]
    count = len(held_back)
    yield from add_counts(party, penalty_sum(party), party.peers, documents=count, tables=tables)
    return (yield from hear_penalty(study))


def choose_at_member(party: PartyContext, held: Sequence[MemberShare]) -> Party[int]:
    """At a member: help every peer in turn, and add up how many labels each model got right."""
    if len(held) == 1:
        return 0
    for model in held:
        for _ in party.peers:
            yield from help_asker(party, model)
    yield from help_counts(party, penalty_sum(party), party.peers)
    return (yield from hear_penalty(party.study))


def choose_at_opener(party: PartyContext, trained: Sequence[QuorumTrained]) -> Party[QuorumTrained]:
    """At the coordinator: open masked values, and how many labels each model got right."""
    if len(trained) == 1:
        return trained[0]
    study = party.study
    book = QueryBook(budget=study.plan.budget, evaluations=len(trained))
    for candidate in trained:
        for name in party.peers:
            yield from answer_query(party, candidate, book, asker=name, members=candidate.members)
    (sums,), _ = yield from open_counts(party, penalty_sum(party), party.peers)
    right = from_ring(sums)
    best = max(
        range(len(trained)),
        key=lambda place: (int(right[place]), trained[place].candidate.preference),
    )
    for name in (*party.peers, *trained[best].members):
        yield Send(name, ChosenPenalty(best))
    return replace(trained[best], labels_told=tuple(sorted(book.spent.items())))
