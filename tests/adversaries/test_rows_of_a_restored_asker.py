"""An asker's folder comes back from a backup, and it asks about other documents.

It has forgotten a query since, and gives the next one the same number. A coordinator that hides
what it was told hands it once more what the dealer sent it for that query. Were the masks of rows
the same again, the difference of the two queries would be the difference of their documents.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.studies import BINARY, Case, notes
from sottovoce.paillier import SecretKey
from sottovoce.protocols.conversation import Receive, Send
from sottovoce.protocols.shares.labels.row_scores import AskedRows, RowSeeds
from sottovoce.study import InsecureToyPlan
from sottovoce.study.queries import query_seats
from sottovoce.study.queries.budget import QueryGrant, QueryRequest
from sottovoce.study.queries.classification import ask
from sottovoce.study.stages.holdings import integer_rows
from sottovoce.text.documents import Document

SEEDS = RowSeeds(b"f" * 32, b"s" * 32)


class Restored:
    """A trained study, and the asker of a query with number 0."""

    def __init__(self, key: SecretKey) -> None:
        plan = InsecureToyPlan(
            "notes", BINARY, features=32, key_bits=768, bucket_bits=12, engine="shares"
        )
        case = Case(notes(120), plan, key)
        outcome = case.run()
        self.asker = case.study.roster.peers[-1]
        self.party, self.model = outcome.parties[self.asker], outcome.models[self.asker]
        self.study, self.documents = case.study, case.documents[self.asker]

    def rows(self, documents: list[Document]) -> Any:
        return integer_rows(self.study, self.model.space, self.asker, documents, key=self.model.key)

    def asked(self, documents: list[Document]) -> tuple[bytes, np.ndarray]:
        """What the coordinator sees of these rows: the nonce, and the rows under their masks.

        The journal has forgotten everything: the seed of the conversation is the worst, the same.
        """
        party = replace(self.party, entropy=SeededEntropy(7))
        program = ask(party, self.model, self.rows(documents), number=0)
        nonce, action = b"", next(program)
        while True:
            answer: Any = None
            match action:
                case Send(_, QueryRequest() as request):
                    nonce = request.nonce
                case Send("coordinator", AskedRows(words)):
                    return nonce, words.array()
                case Receive(_, kinds):
                    answer = SEEDS if RowSeeds in kinds else QueryGrant(400)
            action = program.send(answer)


@pytest.fixture(scope="module")
def restored(toy_key: SecretKey) -> Restored:
    return Restored(toy_key)


def seen_of_the_difference(restored: Restored) -> bool:
    """Whether the two queries under one number show how their documents differ."""
    first, second = restored.documents[:5], restored.documents[5:10]
    (_, before), (_, again) = restored.asked(first), restored.asked(second)
    read = (again - before)[:5].astype(np.int32)
    rows = (restored.rows(second) - restored.rows(first)).toarray()
    return bool(np.array_equal(read[:, : rows.shape[1] - 1], rows[:, :-1]))


def test_other_rows_under_an_old_number_are_hidden_by_other_masks(restored: Restored) -> None:
    assert not seen_of_the_difference(restored)


def test_the_same_rows_leave_as_the_same_bytes(restored: Restored) -> None:
    """As after any crash."""
    (nonce, before), (other, again) = (restored.asked(restored.documents[:5]) for _ in range(2))
    assert nonce == other
    assert np.array_equal(before, again)


def test_bound_to_the_number_alone_the_masks_would_show_the_documents(
    restored: Restored, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = query_seats.query_context
    monkeypatch.setattr(
        "sottovoce.study.queries.shared_queries.query_context",
        lambda study, asker, number, nonce=b"": bound(study, asker, number),
    )
    assert seen_of_the_difference(restored)
