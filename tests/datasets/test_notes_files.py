"""Written notes can be read back exactly, and say that they are synthetic."""

import csv
import errno
import json
from pathlib import Path

import pytest

from sottovoce.datasets import ClinicalNotes, clinical_notes, write_notes
from sottovoce.datasets.notes import files
from sottovoce.errors import InputError
from sottovoce.sources import ProblemKind, SourceOptions, open_source
from sottovoce.text.documents import Span


@pytest.fixture(scope="module")
def notes() -> ClinicalNotes:
    return clinical_notes(30, sites=("a", "b"))


def test_csv_holds_every_note_of_a_site_with_its_labels(
    notes: ClinicalNotes, tmp_path: Path
) -> None:
    assert write_notes(notes, tmp_path / "new") == [tmp_path / "new/a.csv", tmp_path / "new/b.csv"]
    for site in notes.sites:
        with (tmp_path / "new" / f"{site}.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["text"] for row in rows] == notes.at(site).texts
        assert [row["diagnosis"] for row in rows] == notes.at(site).labels("diagnosis")
        assert [row["urgency"] for row in rows] == notes.at(site).labels("urgency")
        assert [row["patient"] for row in rows] == notes.at(site).groups
        assert {row["origin"] for row in rows} == {"synthetic"}
    assert "no real patient" in (tmp_path / "new/SYNTHETIC.md").read_text("utf-8")


def test_json_lines_hold_sentences_and_entities_too(notes: ClinicalNotes, tmp_path: Path) -> None:
    write_notes(notes, tmp_path, kind="jsonl")
    lines = (tmp_path / "a.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["text"] for row in rows] == notes.at("a").texts
    for row, note in zip(rows, notes.at("a"), strict=True):
        assert row["origin"] == "synthetic"
        assert [tuple(sentence.values()) for sentence in row["sentences"]] == [
            (sentence.section, sentence.start, sentence.end) for sentence in note.sentences
        ]
        assert [tuple(entity.values()) for entity in row["entities"]] == [
            (entity.type, entity.start, entity.end, entity.negated) for entity in note.entities
        ]


def test_brat_offsets_cover_the_text_that_they_quote(notes: ClinicalNotes, tmp_path: Path) -> None:
    write_notes(notes, tmp_path, kind="brat")
    with (tmp_path / "b/labels.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 15
    for row, note in zip(rows, notes.at("b"), strict=True):
        text = (tmp_path / "b" / row["file"]).read_bytes().decode()
        assert text == note.text
        assert row["diagnosis"] == note.diagnosis
        lines = (tmp_path / "b" / row["file"]).with_suffix(".ann").read_text("utf-8").splitlines()
        quoted = [line.split("\t") for line in lines if line.startswith("T")]
        for _, place, covered in quoted:
            kind, start, end = place.split(" ")
            assert kind in {"Drug", "Symptom", "Disease", "Name", "Date"}
            assert text[int(start) : int(end)] == covered
        assert len(quoted) == len(note.entities)
        negated = {line.split(" ")[1] for line in lines if line.startswith("A")}
        assert negated == {f"T{i}" for i, e in enumerate(note.entities, 1) if e.negated}
        assert lines[-1] == "#1\tAnnotatorNotes T1\tsynthetic note: no such patient"


def test_nothing_is_overwritten(notes: ClinicalNotes, tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("mine")
    with pytest.raises(InputError, match=r"b\.csv: already exists"):
        write_notes(notes, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["b.csv"]


def test_a_file_where_a_folder_should_be_is_named(notes: ClinicalNotes, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="file: expected a folder to write to"):
        write_notes(notes, tmp_path / "file")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "brat"])
def test_a_site_is_written_whole_or_not_at_all(
    notes: ClinicalNotes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: files.Format
) -> None:
    written = files._WRITERS[kind]

    def full(some: ClinicalNotes, target: Path) -> None:
        written(some, target)
        if some[0].site == "b":
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setitem(files._WRITERS, kind, full)
    with pytest.raises(InputError, match=r"folder to write to, found: no space left on device"):
        write_notes(notes, tmp_path, kind=kind)
    assert {path.stem for path in tmp_path.iterdir()} == {"SYNTHETIC", "a"}


def test_an_unknown_format_is_named(notes: ClinicalNotes, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\('csv', 'jsonl', 'brat'\), found 'xml'"):
        write_notes(notes, tmp_path, kind="xml")  # type: ignore[arg-type]


def test_sentences_and_entities_of_json_lines_are_read_back_as_spans(
    notes: ClinicalNotes, tmp_path: Path
) -> None:
    (file, _) = write_notes(notes, tmp_path / "new", kind="jsonl")
    options = SourceOptions(label="urgency", qualified=True)
    source = open_source(file, options)
    documents = list(source.documents())
    assert not source.problems.counts
    negated = 0
    for note, document in zip(notes.at("a"), documents, strict=True):
        results = [(span.type, *_place(span)) for span in document.spans]
        expected = []
        for entity in note.entities:
            expected.append((entity.type, entity.start, entity.end))
            if entity.negated:
                expected.append((f"{entity.type}:Negated", entity.start, entity.end))
                negated += 1
        expected += [
            (sentence.section, sentence.start, sentence.end) for sentence in note.sentences
        ]
        assert results == expected
    assert negated
    plain = list(open_source(file, SourceOptions(label="urgency")).documents())
    assert not any(":" in span.type for document in plain for span in document.spans)
    write_notes(notes, tmp_path / "brat", kind="brat")
    brat = list(open_source(tmp_path / "brat" / "a", SourceOptions(qualified=True)).documents())
    sections = {sentence.section for note in notes for sentence in note.sentences}
    for read, other in zip(documents, brat, strict=True):
        same = {(span.type, _place(span)) for span in read.spans if span.type not in sections}
        assert same == {(span.type, _place(span)) for span in other.spans}


def _place(span: Span) -> tuple[int, int]:
    (fragment,) = span.fragments
    return fragment.start, fragment.end


@pytest.mark.parametrize("entities", ["7", '"x"', "[1]", '[{"type": "Drug"}]', "[]", "null"])
def test_a_field_of_that_name_may_hold_something_else(entities: str, tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text('{"text": "a b", "entities": ' + entities + "}\n", encoding="utf-8")
    (document,) = open_source(file).documents()
    assert document.spans == ()


def test_an_entity_past_the_end_is_told(tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    wrong = '[{"type": "Drug", "start": 2, "end": 9}]'
    file.write_text('{"text": "a b", "entities": ' + wrong + "}\n", encoding="utf-8")
    source = open_source(file)
    (document,) = source.documents()
    assert document.spans == ()
    assert dict(source.problems.counts) == {ProblemKind.WRONG_OFFSET: 1}
