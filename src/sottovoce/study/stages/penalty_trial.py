"""One peer's held-back documents, tried on several models, and its part in others' trials."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from scipy import sparse

from sottovoce.paillier import Encrypted
from sottovoce.protocols.conversation import Party
from sottovoce.study.arrangement import Remote
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.classification import Answer, RemotePart, ask
from sottovoce.study.queries.model import PeerModel
from sottovoce.study.queries.remote import (
    answer_entities,
    answer_rado,
    ask_entities,
    ask_rado,
    repeated,
)
from sottovoce.study.stages.holdings import EntityTable, integer_rows, read_rows
from sottovoce.text.documents import Document
from sottovoce.text.labels import Classes


@dataclass(frozen=True)
class PenaltyTrial:
    """What a peer asks about, and what it answers others with in partition `features`."""

    party: PartyContext
    rows: sparse.csr_array = field(repr=False)
    true: Sequence[Classes] = field(repr=False)
    held_back: Sequence[Document] = field(repr=False)
    training: Sequence[Document] = field(repr=False)

    @classmethod
    def of(
        cls,
        party: PartyContext,
        model: PeerModel,
        held_back: Sequence[Document],
        training: Sequence[Document],
    ) -> "PenaltyTrial":
        """The held-back documents as rows; all models have the same features."""
        study, space = party.study, model.space
        places = read_rows(study, space, party.name, held_back, key=model.key).places
        labelled = study.plan.labelled
        true = [
            one
            for document, place in zip(held_back, places, strict=True)
            for one in labelled.classes(document, place)
        ]
        rows = integer_rows(study, space, party.name, held_back, key=model.key)
        return cls(party, rows, true, held_back, training)

    @property
    def answers(self) -> bool:
        """Whether peers add something to each other's queries."""
        arrangement = self.party.study.plan.arrangement
        return arrangement.by_features and arrangement.remote is not Remote.ZERO

    def right(self, found: Sequence[Classes]) -> int:
        """How many labels are the true ones."""
        return sum(a == b for a, b in zip(self.true, found, strict=True))

    def ask(self, model: PeerModel, *, number: int) -> Party[Answer]:
        """The labels that a model gives."""
        remote = self._remote(model, number) if self.answers else None
        return ask(self.party, model, self.rows, number=number, evaluation=True, remote=remote)

    def answer(self, model: PeerModel, *, asker: str) -> Party[None]:
        """Add our part to another's query, if the plan lets us answer it."""
        arrangement = self.party.study.plan.arrangement
        if self.party.name not in arrangement.answering_to(asker):
            return
        if arrangement.remote is Remote.FULL:
            table = EntityTable.of(self.party.name, self.held_back)
            yield from answer_entities(self.party, model, table, asker=asker)
        else:
            yield from answer_rado(self.party, model, self.training, asker=asker)

    def _remote(self, model: PeerModel, number: int) -> RemotePart:
        def bring(count: int) -> Party[Encrypted]:
            if self.party.study.plan.arrangement.remote is not Remote.FULL:
                part = yield from ask_rado(self.party, model, number=number)
                return repeated(part, count)
            names = [one.group or "" for one in self.held_back]
            padded = [*names, *names[-1:] * (count - len(names))]
            return (yield from ask_entities(self.party, model, padded, number=number))

        return bring
