"""A dishonest peer that reads one patient's document through labels finds no more than guessing."""

from typing import Any

import numpy as np
import pytest

from harness.dishonest_peer import Mallory
from sottovoce.paillier import SecretKey
from sottovoce.text import passes


@pytest.fixture
def mallory(toy_key: SecretKey, monkeypatch: pytest.MonkeyPatch) -> Mallory:
    attacker = Mallory(toy_key)
    attacker.deviate(monkeypatch)
    return attacker


def test_a_column_of_one_document_is_in_no_row(mallory: Mallory) -> None:
    read = mallory.read(mallory.train())
    assert read.true.sum() >= 5
    assert read.right <= max(1, round(read.by_guessing))


def test_with_it_in_the_rows_labels_alone_give_the_words_away(
    mallory: Mallory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def everything(documents: Any, space: Any, **more: Any) -> Any:
        del documents, more
        return np.ones(space.width - 1, np.bool_)

    monkeypatch.setattr(passes, "kept_columns", everything)
    read = mallory.read(mallory.train())
    assert read.right >= 4
    assert read.right > 5 * read.by_guessing
