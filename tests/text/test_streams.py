"""A stream of documents is used as a list of them is, and none of them is kept."""

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sottovoce.cli import source_choice
from sottovoce.cli.source_choice import SourceChoice
from sottovoce.errors import InputError
from sottovoce.estimators.plain_text import PlainText
from sottovoce.study.plan import StudyPlan
from sottovoce.text.documents import Document, digest_of
from sottovoce.text.labels import Labels
from sottovoce.text.splits import Side, Split
from sottovoce.text.streams import DocumentStream, refined

DOCUMENTS = [
    Document(f"note {number} {'fever cough' if number % 3 else 'well rested'}", f"{number % 3 > 0}")
    for number in range(300)
]
PLAN = StudyPlan("streams", Labels(("False", "True")), features=16, min_documents=3)


def stream() -> DocumentStream:
    return DocumentStream(lambda: iter(DOCUMENTS))


def test_a_stream_is_a_sequence() -> None:
    documents = stream()
    assert len(documents) == 300
    assert list(documents) == DOCUMENTS
    assert (documents[0], documents[-1]) == (DOCUMENTS[0], DOCUMENTS[-1])
    assert documents[5:9] == DOCUMENTS[5:9]
    assert documents
    assert not DocumentStream(lambda: iter(()))
    with pytest.raises(IndexError):
        _ = documents[300]


def test_the_parts_of_a_stream_are_those_of_a_list() -> None:
    split = Split(0.3, "a split")
    for side in Side:
        left = split.part(stream(), side)
        assert isinstance(left, DocumentStream)
        assert [list(left), list(left)] == [split.part(DOCUMENTS, side)] * 2
        assert len(left) == len(split.part(DOCUMENTS, side))


def test_a_rule_looks_at_a_document_that_it_dropped_once() -> None:
    asked: list[str] = []

    def rule(document: Document) -> Document | None:
        asked.append(document.text)
        return document if document.label == "True" else None

    left = refined(stream(), rule)
    assert (
        list(left) == list(left) == [document for document in DOCUMENTS if document.label == "True"]
    )
    assert len(asked) == 300


def test_a_study_learns_the_same_from_a_stream() -> None:
    kept, streamed = (PlainText.learn(PLAN, [source]).theta for source in (DOCUMENTS, stream()))
    assert np.array_equal(kept, streamed)
    assert digest_of(stream()) == digest_of(DOCUMENTS)


def test_documents_that_become_fewer_between_passes_are_refused() -> None:
    left = list(DOCUMENTS)

    def read() -> Iterator[Document]:
        yield from left
        left.pop()

    documents = DocumentStream(read)
    assert len(documents) == 300
    with pytest.raises(InputError, match="expected 300 as in the pass before, found 299"):
        list(documents)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("text", "label"))
        writer.writerows((document.text, document.label) for document in DOCUMENTS)
    return path


def test_many_documents_of_a_file_are_read_anew_for_every_pass(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice = SourceChoice(str(notes), ("text",), ("label",))
    kept = choice.read(PLAN)
    assert isinstance(kept, list)
    monkeypatch.setattr(source_choice, "MOST_KEPT", 100)
    progress: list[int] = []
    streamed = choice.read(PLAN, report=lambda problems: progress.append(problems.documents))
    assert isinstance(streamed, DocumentStream)
    assert (len(streamed), progress, list(streamed)) == (300, [0], kept)


def test_a_file_that_changes_between_passes_is_refused_by_name(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_choice, "MOST_KEPT", 100)
    streamed = SourceChoice(str(notes), ("text",), ("label",)).read(PLAN)
    text = notes.read_text(encoding="utf-8")
    notes.write_text(text.replace("note 7 ", "note seven "), encoding="utf-8")
    with pytest.raises(InputError, match=r"notes\.csv: the file was changed"):
        list(streamed)
