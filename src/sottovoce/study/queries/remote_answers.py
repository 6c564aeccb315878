"""Queries of partition `features` in memory: who answers an asker, and what it keeps of that."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sottovoce.paillier import Encrypted
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.runner import Outcome
from sottovoce.study.arrangement import Remote
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.classification import RemotePart
from sottovoce.study.queries.model import PeerModel
from sottovoce.study.queries.remote import (
    answer_entities,
    answer_rado,
    ask_entities,
    ask_rado,
    repeated,
)
from sottovoce.study.stages.holdings import EntityTable, labelled
from sottovoce.study.stages.training import training_side
from sottovoce.study.study import Study
from sottovoce.text.documents import Document


@dataclass
class RemoteSide:
    """What peers answer others with, and the remote parts that askers keep."""

    documents: Mapping[str, Sequence[Document]] = field(default_factory=dict, repr=False)
    models: Mapping[str, PeerModel] = field(default_factory=dict, repr=False)
    parts: dict[str, Encrypted] = field(default_factory=dict)
    _tables: dict[str, EntityTable] = field(default_factory=dict, repr=False)

    @staticmethod
    def asks(study: Study) -> bool:
        """Whether a query needs other peers."""
        arrangement = study.plan.arrangement
        return arrangement.by_features and arrangement.remote is not Remote.ZERO

    def table(self, peer: str) -> EntityTable:
        """A peer's rows by entity."""
        if peer not in self._tables:
            self._tables[peer] = EntityTable.of(peer, self.documents[peer])
        return self._tables[peer]


class Floor(Protocol):
    """A trained study in memory, where everybody can be asked."""

    study: Study
    models: Mapping[str, Any]
    parties: Mapping[str, PartyContext]
    numbers: Counter[str]
    remote: RemoteSide

    def converse(self, programs: Mapping[str, Party[Any]], *session: str) -> Outcome:
        """Run one more conversation."""


def remote_part(
    floor: Floor, asker: str, entities: Sequence[str]
) -> tuple[RemotePart | None, dict[str, Party[Any]]]:
    """What brings the remote part of a query, and the programs of those who add to it."""
    if not floor.remote.asks(floor.study):
        return None, {}
    if floor.study.plan.arrangement.remote is Remote.FULL:
        return _entities(floor, asker, entities)
    if asker not in floor.remote.parts:
        floor.remote.parts[asker] = _rado(floor, asker)
    return _kept(floor.remote.parts[asker]), {}


def _number(floor: Floor, asker: str) -> int:
    floor.numbers[f"remote {asker}"] += 1
    return floor.numbers[f"remote {asker}"]


def _entities(
    floor: Floor, asker: str, entities: Sequence[str]
) -> tuple[RemotePart, dict[str, Party[Any]]]:
    """Every answering peer looks the same entities up."""
    party, model, number = floor.parties[asker], floor.models[asker], _number(floor, asker)

    def bring(count: int) -> Party[Encrypted]:
        # Queries are padded to whole ciphertexts: the last entity again, whose scores are dropped.
        padded = [*entities, *list(entities[-1:]) * (count - len(entities))]
        return (yield from ask_entities(party, model, padded, number=number))

    return bring, {
        name: answer_entities(
            floor.parties[name], floor.remote.models[name], floor.remote.table(name), asker=asker
        )
        for name in floor.study.plan.arrangement.answering_to(asker)
    }


def _rado(floor: Floor, asker: str) -> Encrypted:
    """One remote part for all queries of an asker."""
    study, parties = floor.study, floor.parties
    programs: dict[str, Party[Any]] = {
        name: answer_rado(
            parties[name],
            floor.remote.models[name],
            training_side(parties[name], labelled(study, floor.remote.documents[name])),
            asker=asker,
        )
        for name in study.plan.arrangement.answering_to(asker)
    }
    number = _number(floor, asker)
    programs[asker] = ask_rado(parties[asker], floor.models[asker], number=number)
    part = floor.converse(programs, "remote", asker).results[asker]
    assert isinstance(part, Encrypted)
    return part


def _kept(part: Encrypted) -> RemotePart:
    """A remote part that the asker has already."""

    def bring(count: int) -> Party[Encrypted]:
        yield from ()
        return repeated(part, count)

    return bring
