"""Studies of 77 classes: the same labels as in plain text, whichever way they are found."""

from typing import Any

import pytest

from harness.studies import Case
from sottovoce.paillier import SecretKey
from sottovoce.study import InsecureToyPlan
from sottovoce.text.documents import Document
from sottovoce.text.labels import Labels

PEERS = ("north", "harbour", "stanmore")
LABELS = Labels(tuple(f"intent {number:02}" for number in range(77)))


def documents() -> dict[str, list[Document]]:
    """Four documents of every class at every peer: a word of the class, and words of others."""
    return {
        peer: [
            Document(
                f"word{number} word{number} about{number % 11} side{number % 7} {peer}{turn}",
                label=name,
                origin=f"{peer} row {number}",
            )
            for number, name in enumerate(LABELS.names)
            for turn in range(4)
        ]
        for peer in PEERS
    }


@pytest.mark.parametrize(
    "settings",
    [{"engine": "shares"}, pytest.param({"engine": "quorum"}, marks=pytest.mark.soak)],
    ids=str,
)
def test_77_classes_equal_the_plain_winner(toy_key: SecretKey, settings: dict[str, Any]) -> None:
    plan = InsecureToyPlan(
        "intents",
        LABELS,
        features=96,
        key_bits=768,
        bucket_bits=12,
        query_budget=4000,
        held_out=0.0,
        class_weight="root",
        **settings,
    )
    helped = settings["engine"] == "shares"
    seats = {} if helped else {"with_evaluator": False, "with_dealer": False}
    case = Case(documents(), plan, toy_key, seats)
    asked = case.documents["north"][::40]
    labels = case.outcome.classify("north", asked).classes
    assert labels == case.plain(asked)
    assert len(set(labels)) > 5
