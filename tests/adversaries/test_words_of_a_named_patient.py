"""A dishonest peer that reads one patient's document through labels finds no more than guessing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from harness.examples.dishonest_peer import NAME, VICTIM, Mallory
from sottovoce.errors import SottovoceError
from sottovoce.paillier import SecretKey
from sottovoce.study import Policy
from sottovoce.study.choices import Centre
from sottovoce.study.stages.contributions import local_moments
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.stages.training import training_side
from sottovoce.text import passes
from sottovoce.text.documents import Document
from sottovoce.text.parts import PartedDocuments, PartTask

# Words in a document of ten have about a third of its length each; it tries what shows most.
SHARES = (0.01, 0.025, 0.05, 0.1)


@pytest.fixture
def mallory(toy_key: SecretKey, monkeypatch: pytest.MonkeyPatch) -> Mallory:
    attacker = Mallory(toy_key)
    attacker.deviate(monkeypatch)
    return attacker


@pytest.fixture(params=[Centre.IDF, pytest.param(Centre.MEAN, marks=pytest.mark.soak)])
def anywhere(
    toy_key: SecretKey, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Mallory:
    """The same, wherever rows are measured from."""
    attacker = Mallory(toy_key, centre=request.param)
    attacker.deviate(monkeypatch)
    return attacker


@dataclass(frozen=True)
class Listed:
    """A part of a site's documents, as its workers read them."""

    held: tuple[Document, ...]

    def documents(self) -> Iterator[Document]:
        yield from self.held


# It may try every share at every centre: by chance alone one of all of them is as good as this
# in a thousand such tests.
CHANCE = 1e-3 / (len(SHARES) * len(Centre))


def test_whoever_has_the_surname_a_site_contributes_the_same(mallory: Mallory) -> None:
    """Exactly: what cannot be told apart cannot be read from any number of labels."""
    outcome = mallory.train()
    model = outcome.models[VICTIM]
    halves = model.space.dictionary.idf_halves
    prepared = Prepared(outcome.trained.totals, halves, model.space, model.key)
    documents = training_side(outcome.parties[VICTIM], mallory.documents[VICTIM])
    place = documents.index(mallory.victim)

    def contributed(named: int, *, parted: bool) -> tuple[bytes, bytes]:
        mine: Any = list(documents)
        mine[place] = Document(mallory.victim.text.removesuffix(f" {NAME}"), mallory.victim.label)
        mine[named] = Document(f"{mine[named].text} {NAME}", mine[named].label)
        if parted:
            halves = (Listed(tuple(mine[:50])), Listed(tuple(mine[50:])))
            mine = PartedDocuments(PartTask(halves))
        moments = local_moments(mallory.study, prepared, mine)
        return moments.upper.tobytes(), moments.products.tobytes()

    assert mallory.column >= 0
    for parted in (False, True):
        places = (place, 0, 1, len(documents) - 1)
        assert len({contributed(named, parted=parted) for named in places}) == 1


def test_a_column_of_one_document_is_in_no_row(anywhere: Mallory) -> None:
    rows = anywhere.read(anywhere.train(), *SHARES)
    assert rows[0].true.sum() >= 5
    assert all(read.chance > CHANCE for read in rows), [read.chance for read in rows]


def test_with_it_in_the_rows_labels_alone_give_the_words_away(
    anywhere: Mallory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def everything(documents: Any, space: Any, **more: Any) -> Any:
        del documents, more
        return np.ones(space.width - 1, np.bool_)

    monkeypatch.setattr(passes, "kept_columns", everything)
    (read,) = anywhere.read(anywhere.train(), 0.025)
    assert read.right >= 4
    assert read.chance < CHANCE / 10


def test_a_site_refuses_totals_that_its_peers_cannot_have(mallory: Mallory) -> None:
    mallory.claimed = 1_000_000
    mallory.policies = {VICTIM: Policy(key_bits=768)}
    with pytest.raises(SottovoceError, match="expected at most 400000 rows of 4 peers"):
        mallory.train()


def test_who_claims_few_rows_cannot_contribute_as_if_it_had_many(mallory: Mallory) -> None:
    mallory.claimed = 300
    with pytest.raises(SottovoceError, match="larger than the published rows can give"):
        mallory.train()
