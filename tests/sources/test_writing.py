"""Results on disk: read back as they were, whole or not at all."""

import csv
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sottovoce.errors import InputError, MismatchError
from sottovoce.sources import Format, SourceOptions, open_source
from sottovoce.sources.writing import TableLayout, write_documents
from sottovoce.text.documents import Document, Fragment, Origin, Span

DOCUMENTS = [
    Document('one, "two"\nthree', "spam", "p1", {"age": 5.0, "ward": "A"}),
    Document("größe 🩺\r\nx", "ham", "p2", {"age": None, "ward": None}),
]
OPTIONS = SourceOptions(group="group", numeric=("age",), categorical=("ward",))


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet", ".arrow"])
def test_tables_are_read_back(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    assert write_documents(iter(DOCUMENTS), path) == 2
    documents = list(open_source(path, OPTIONS).documents())
    assert [(d.text, d.label, d.group, d.columns) for d in documents] == [
        (d.text, d.label, d.group, d.columns) for d in DOCUMENTS
    ]
    assert list(tmp_path.iterdir()) == [path]


HOSTILE = [
    "=cmd|' /C calc'!A0",
    "+1+cmd",
    "-2+3",
    "@SUM(1)",
    " =1+1",
    "\t=1+1",
    "'=quoted",
    "-5",
    "'plain",
]


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_no_cell_is_a_formula_to_a_spreadsheet(tmp_path: Path, suffix: str) -> None:
    """Text of a document comes from anywhere, and whoever opens the labels runs what it says."""
    path = tmp_path / f"out{suffix}"
    documents = [Document(text, "ham", None, {"=ward": text}) for text in HOSTILE]
    write_documents(documents, path)
    with path.open(newline="", encoding="utf-8") as file:
        cells = [
            cell
            for row in csv.reader(file, delimiter="\t" if "t" in suffix else ",")
            for cell in row
        ]
    begins = [cell for cell in cells if cell.lstrip().startswith(("=", "+", "-", "@"))]
    assert begins == ["-5", "-5"]
    options = SourceOptions(categorical=("=ward",))
    assert [document.text for document in open_source(path, options).documents()] == HOSTILE


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_columnar_files_hold_many_batches(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    documents = [Document(f"text {i}", i % 3) for i in range(1300)]
    assert write_documents(documents, path) == 1300
    labels = [d.label for d in open_source(path).documents()]
    assert labels == [str(i % 3) for i in range(1300)]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_many_labels_are_read_back(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    documents = [Document("a", ("x", "y")), Document("b", ())]
    write_documents(documents, path)
    options = SourceOptions(label_separator="|" if suffix == ".csv" else None)
    assert [d.label for d in open_source(path, options).documents()] == [("x", "y"), ()]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_no_documents_make_a_file_without_rows(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    assert write_documents([], path) == 0
    assert path.exists()
    with pytest.raises(InputError, match=r"there is no document|found an empty file"):
        list(open_source(path).documents())


def test_results_may_go_without_their_text(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    layout = TableLayout(text=None, origin="document", label="verdict")
    write_documents(
        [Document("secret", label=True, origin=Origin("n.csv", 3, "line"))], path, layout=layout
    )
    assert path.read_bytes() == b"document,verdict\r\nn.csv line 3,true\r\n"


def test_a_folder_is_read_back(tmp_path: Path) -> None:
    documents = [
        Document("\ufeffone", "spam"),
        Document("two\r\n", "ham", origin=Origin("x/letter.txt")),
        Document("three", "ham", origin=Origin("y/letter.txt")),
        Document("four", "ham", origin=Origin("/etc/passwd.txt")),
    ]
    assert write_documents(documents, tmp_path / "out", format=Format.FOLDER) == 4
    result = open_source(tmp_path / "out").documents()
    assert [(d.text, d.label, str(d.origin)) for d in result] == [
        ("four", "ham", "ham/000004.txt"),
        ("three", "ham", "ham/letter-000003.txt"),
        ("two\r\n", "ham", "ham/letter.txt"),
        ("\ufeffone", "spam", "spam/000001.txt"),
    ]


def test_brat_is_read_back(tmp_path: Path) -> None:
    text = "\ufefffever\r\nin the left or\n🩺 right arm"
    spans = (
        Span("Sign", (Fragment(1, 8),), "T7"),
        Span("Place", (Fragment(15, 19), Fragment(23, 25)), "T2"),
    )
    documents = [Document(text, spans=spans, origin=Origin("ward/a.txt")), Document("no", spans=())]
    assert write_documents(documents, tmp_path / "out", format=Format.BRAT) == 2
    source = open_source(tmp_path / "out")
    by_name = {str(d.origin): (d.text, d.spans) for d in source.documents()}
    assert by_name == {"ward/a.txt": (text, spans), "000002.txt": ("no", ())}
    assert len(source.problems) == 0


def test_spans_without_names_are_numbered(tmp_path: Path) -> None:
    spans = (Span("A", (Fragment(0, 1),)), Span("B", (Fragment(1, 2),)))
    write_documents([Document("ab", spans=spans)], tmp_path / "out", format=Format.BRAT)
    assert (tmp_path / "out" / "000001.ann").read_text() == "T1\tA 0 1\ta\nT2\tB 1 2\tb\n"


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (Span("A B", (Fragment(0, 1),)), "expected a type without spaces, found 'A B'"),
        (Span("", (Fragment(0, 1),)), "expected a type without spaces"),
        (Span("A", (Fragment(0, 9),)), "expected a fragment inside the text of 2 characters"),
        (Span("A", (Fragment(1, 1),)), "expected a fragment inside the text"),
    ],
)
def test_spans_that_brat_cannot_say_are_refused(tmp_path: Path, span: Span, words: str) -> None:
    with pytest.raises(InputError, match=words):
        write_documents([Document("ab", spans=(span,))], tmp_path / "out", format=Format.BRAT)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("label", ["a/b", "..", "a\\b"])
def test_labels_that_cannot_name_a_folder_are_refused(tmp_path: Path, label: str) -> None:
    with pytest.raises(InputError, match="cannot be the name of a folder"):
        write_documents([Document("a", label)], tmp_path / "out", format=Format.FOLDER)
    with pytest.raises(InputError, match="a folder holds one label a document, found 2"):
        write_documents([Document("a", ("x", "y"))], tmp_path / "out", format=Format.FOLDER)


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out"])
def test_half_a_surrogate_pair_is_named(tmp_path: Path, name: str) -> None:
    kind = None if "." in name else Format.FOLDER
    with pytest.raises(InputError, match="found half of a surrogate pair"):
        write_documents([Document("a\ud800", origin=Origin("x", 3))], tmp_path / name, format=kind)


def test_documents_of_different_columns_do_not_fit_one_table(tmp_path: Path) -> None:
    documents = [Document("a", columns={"x": 1}), Document("b", columns={"y": 1})]
    with pytest.raises(MismatchError, match="expected the columns of the first document"):
        write_documents(documents, tmp_path / "out.csv")
    with pytest.raises(MismatchError, match="difference in 'group'"):
        write_documents([Document("a"), Document("b", group="g")], tmp_path / "out2.csv")
    with pytest.raises(
        InputError, match="expected columns of different names, found 'label' twice"
    ):
        write_documents([Document("a", columns={"label": 1})], tmp_path / "out3.csv")
    with pytest.raises(MismatchError, match="expected columns of one type each"):
        write_documents(
            (Document("a", columns={"x": 1 if i < 600 else "b"}) for i in range(700)),
            tmp_path / "out4.parquet",
        )


def test_a_label_that_holds_the_separator_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="which stands between labels"):
        write_documents([Document("a", ("x|y",))], tmp_path / "out.csv")


def test_what_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder") as caught:
        write_documents(DOCUMENTS, tmp_path / "no" / "out.csv")
    assert caught.value.hints == (f"mkdir -p {tmp_path / 'no'}",)
    with pytest.raises(InputError, match="the format to write is not named"):
        write_documents(DOCUMENTS, tmp_path / "out")
    with pytest.raises(InputError, match="it is there already"):
        write_documents(DOCUMENTS, tmp_path, format=Format.CSV)
    with pytest.raises(InputError, match="it is there already"):
        write_documents(DOCUMENTS, tmp_path, format=Format.BRAT)


def test_an_earlier_file_stays_unless_it_may_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("precious")
    path.chmod(0o640)
    with pytest.raises(InputError, match="it is there already"):
        write_documents(DOCUMENTS, path)
    assert path.read_text() == "precious"
    write_documents(DOCUMENTS, path, replace=True)
    assert path.read_text().startswith("text,label")
    assert path.stat().st_mode & 0o777 == 0o640


def test_what_is_new_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    write_documents(DOCUMENTS, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").stat().st_mode & 0o077 == 0


def interrupted(count: int) -> Iterator[Document]:
    for i in range(count):
        yield Document(f"text {i}", "x")
    raise KeyboardInterrupt


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".arrow"])
def test_an_interruption_loses_neither_the_old_file_nor_the_new_rows(
    tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"out{suffix}"
    path.write_text("precious")
    with pytest.raises(KeyboardInterrupt) as caught:
        write_documents(interrupted(700), path, replace=True)
    assert path.read_text() == "precious"
    partial = tmp_path / f"out{suffix}.partial"
    assert caught.value.__notes__ == [f"what was written so far is in {partial}"]
    options = SourceOptions(format=Format(suffix[1:]))
    assert len(list(open_source(partial, options).documents())) == 700
    assert {p.name for p in tmp_path.iterdir()} == {path.name, partial.name}


@pytest.mark.parametrize("kind", [Format.BRAT, Format.FOLDER])
def test_an_interrupted_folder_keeps_what_it_has(tmp_path: Path, kind: Format) -> None:
    for number in ("", "2"):
        with pytest.raises(KeyboardInterrupt):
            write_documents(interrupted(3), tmp_path / "out", format=kind)
        source = open_source(tmp_path / f"out.partial{number}", SourceOptions(format=kind))
        assert len(list(source.documents())) == 3
    assert not (tmp_path / "out").exists()


def test_a_full_disk_is_named_and_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.csv"
    path.write_text("precious")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="cannot be written: No space left on device") as caught:
        write_documents(DOCUMENTS, path, replace=True)
    assert path.read_text() == "precious"
    assert caught.value.hints == (f"what was written so far is in {path}.partial",)


def test_a_folder_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with pytest.raises(InputError, match="cannot be written: Permission denied"):
        write_documents(DOCUMENTS, tmp_path / "out.csv")
    with pytest.raises(InputError, match="cannot be written: Permission denied"):
        write_documents(DOCUMENTS, tmp_path / "out", format=Format.BRAT)


def test_an_error_in_the_documents_keeps_what_was_written(tmp_path: Path) -> None:
    def failing() -> Iterator[Document]:
        yield Document("a", "x")
        raise InputError("the source broke", hints=("mend it",))

    with pytest.raises(InputError, match="the source broke") as caught:
        write_documents(failing(), tmp_path / "out.jsonl")
    assert (
        caught.value.hints[1] == f"what was written so far is in {tmp_path / 'out.jsonl'}.partial"
    )
