"""One peer's trial of several models on held-back documents, and its help in others' trials."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from scipy import sparse

from sottovoce.protocols.conversation import Party
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.classification import Answer, ask
from sottovoce.study.queries.entities import HeldEntities, answer_entities, remote_part
from sottovoce.study.queries.model import PeerModel
from sottovoce.study.stages.holdings import integer_rows, read_rows
from sottovoce.text.documents import Document
from sottovoce.text.labels import Classes


@dataclass(frozen=True)
class PenaltyTrial:
    """A peer's held-back documents, and its answers to others in partition `features`."""

    party: PartyContext
    rows: sparse.csr_array = field(repr=False)
    true: Sequence[Classes] = field(repr=False)
    held_back: Sequence[Document] = field(repr=False)

    @classmethod
    def of(
        cls,
        party: PartyContext,
        model: PeerModel,
        held_back: Sequence[Document],
    ) -> "PenaltyTrial":
        """Return the trial; its rows serve all models, which have the same features."""
        study, space = party.study, model.space
        places = read_rows(study, space, party.name, held_back, key=model.key).places
        labelled = study.plan.labelled
        true = [
            classes
            for document, place in zip(held_back, places, strict=True)
            for classes in labelled.classes(document, place)
        ]
        rows = integer_rows(study, space, party.name, held_back, key=model.key)
        return cls(party, rows, true, held_back)

    @property
    def answers(self) -> bool:
        """Return whether peers look up entities for each other's queries."""
        return self.party.study.plan.arrangement.asks_holders

    def right(self, predicted: Sequence[Classes]) -> int:
        """Count the labels that are right."""
        return sum(a == b for a, b in zip(self.true, predicted, strict=True))

    def ask(self, model: PeerModel, *, number: int) -> Party[Answer]:
        """Return the labels that a model gives."""
        party = self.party
        answering = party.study.plan.arrangement.answering_to(party.name)
        names = [document.group or "" for document in self.held_back]
        remote = remote_part(party, model, names, number=number, answering=answering)
        return ask(party, model, self.rows, number=number, evaluation=True, remote=remote)

    def answer(self, model: PeerModel, *, asker: str) -> Party[None]:
        """Add our part to another's query, if the plan lets us answer it."""
        party, answering = self.party, self.party.study.plan.arrangement.answering_to(asker)
        if party.name in answering:
            held = HeldEntities(party.name, model, self.held_back)
            yield from answer_entities(party, held, asker=asker, answering=answering)
