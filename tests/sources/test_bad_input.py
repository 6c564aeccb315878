"""Bad input by name: every error says which thing, what was expected and what was found."""

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sottovoce.errors import InputError
from sottovoce.sources import (
    DelimitedFormat,
    Format,
    ProblemKind,
    SourceLimits,
    SourceOptions,
    open_source,
)


def documents(place: Path, **options: object) -> list[object]:
    return list(open_source(place, SourceOptions(**options)).documents())  # type: ignore[arg-type]


def csv_file(folder: Path, content: bytes | str, name: str = "notes.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


NO_HEADER = "if the first row holds data and not names: --no-header"


def test_a_missing_column_lists_what_is_certain_and_suggests_the_nearest(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "Note,diagnosis\na,b\n")
    with pytest.raises(InputError, match="expected a column 'notes', found 2 columns, none") as e:
        documents(path, text="notes")
    # Nearly what was asked for may be a text of one word.
    assert e.value.hints[0] == NO_HEADER
    with pytest.raises(InputError, match="expected a column 'note', found 2 columns, none") as e:
        documents(path, text="note")
    assert e.value.hints[:2] == ("--text Note", NO_HEADER)
    with pytest.raises(InputError, match="expected a column 'diagnos', found 'Note', 'diag") as e:
        documents(path, text="Note", label="diagnos")
    assert e.value.hints == ("--label diagnosis",)
    with pytest.raises(InputError, match="expected a column 'text', found 2 columns, none") as e:
        documents(csv_file(tmp_path, "ab1,ab2\n", "other.csv"))
    assert e.value.hints[0] == NO_HEADER
    assert e.value.hints[1].endswith(f"head -n 1 {tmp_path / 'other.csv'}")
    with pytest.raises(InputError, match="expected a column 'patient'"):
        documents(path, text="Note", group="patient")
    with pytest.raises(InputError, match=r"expected a column 'x\*'"):
        documents(path, text="Note", numeric=("x*",))


def test_a_table_without_names_is_recognised(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "1,0.5,g\n2,-0.5,b\n")
    with pytest.raises(InputError) as caught:
        documents(path, text="text")
    assert "--no-header" in caught.value.hints[0]


def test_very_many_columns_are_not_all_listed(tmp_path: Path) -> None:
    path = csv_file(tmp_path, ",".join(f"column{i}" for i in range(1000)) + "\n")
    with pytest.raises(InputError, match="and 980 more"):
        documents(path, text="text", label="column3")


def test_a_missing_file_suggests_the_nearest(tmp_path: Path) -> None:
    csv_file(tmp_path, "text\na\n")
    with pytest.raises(InputError, match="there is no such file or folder") as caught:
        open_source(tmp_path / "note.csv")
    assert caught.value.hints == (f"did you mean {tmp_path / 'notes.csv'}?",)
    with pytest.raises(InputError, match="there is no such file or folder"):
        open_source(tmp_path / "no" / "such" / "place.csv")
    with pytest.raises(InputError, match="there is no such file or folder"):
        open_source(tmp_path / "notes.csv" / "below.csv")


def test_a_path_that_is_no_path() -> None:
    with pytest.raises(InputError, match="is no path"):
        open_source("bad\0name.csv")


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"\n\n  \n", "\n".encode("utf-16")])
@pytest.mark.parametrize("name", ["notes.csv", "notes.tsv", "notes.jsonl"])
def test_an_empty_file(tmp_path: Path, content: bytes, name: str) -> None:
    with pytest.raises(InputError, match=r"found an empty file|it is blank"):
        documents(csv_file(tmp_path, content, name))


def test_a_header_only(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no document in it"):
        documents(csv_file(tmp_path, "text,label\n"))


def test_only_empty_texts(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "text,label\n,a\n   ,b\n")
    with pytest.raises(InputError, match=r"all 2 were skipped \(2 × empty text\)") as caught:
        documents(path)
    assert caught.value.hints[0] == "the first was notes.csv line 2: expected text, found none"


def test_only_labels_that_the_study_does_not_have(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "text,label\nx,a\ny,b\n")
    with pytest.raises(InputError, match=r"all 2 were skipped \(2 × unknown label\)"):
        documents(path, labels=("1", "0"))


def test_invalid_utf8_is_named_by_line_and_byte(tmp_path: Path) -> None:
    path = csv_file(tmp_path, b"text,label\ngood,a\ncaf\xe9,b\n")
    source = open_source(path, SourceOptions(encoding="utf-8"))
    assert [d.text for d in source.documents()] == ["good"]
    assert [str(p) for p in source.problems] == [
        "notes.csv line 3: byte 0xe9 at byte 21 of the file is not UTF-8"
    ]


def test_a_broken_surrogate_in_utf16_costs_its_line(tmp_path: Path) -> None:
    good = "text,label\ngood,a\n".encode("utf-16-le")
    path = csv_file(
        tmp_path, b"\xff\xfe" + good + b"\x00\xd8,\0b\0\n\0" + "z,c\n".encode("utf-16-le")
    )
    source = open_source(path)
    assert [d.text for d in source.documents()] == ["good", "z"]
    assert "is not UTF-16-LE" in next(iter(source.problems)).reason


def binary_files() -> dict[str, Callable[[Path], None]]:
    def workbook(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("xl/workbook.xml", "<x/>")

    return {
        "a PNG image": lambda p: p.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR") and None,
        "a zip archive": workbook,
        "gzip": lambda p: p.write_bytes(b"\x1f\x8b\x08\0\0\0\0\0") and None,
        "a PDF": lambda p: p.write_bytes(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n") and None,
        "Parquet": lambda p: p.write_bytes(b"PAR1\x15\x04\x15") and None,
        "binary data": lambda p: p.write_bytes(bytes(range(9)) * 100) and None,
    }


@pytest.mark.parametrize("what", binary_files())
@pytest.mark.parametrize("name", ["notes.csv", "notes.jsonl"])
def test_a_binary_file(tmp_path: Path, what: str, name: str) -> None:
    path = tmp_path / name
    binary_files()[what](path)
    with pytest.raises(InputError, match=f"expected text, found {what}"):
        documents(path)


def test_text_that_begins_like_a_binary_file_is_text(tmp_path: Path) -> None:
    assert len(documents(csv_file(tmp_path, "GIF8,text\n1,a\n"))) == 1


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spam").mkdir()
    csv_file(tmp_path / "spam", "hello", "a.txt")
    (tmp_path / "locked").mkdir()
    scandir = os.scandir

    def guarded(path: object) -> object:
        if Path(str(path)).name in forbidden:
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", guarded)
    forbidden = {"locked"}
    source = open_source(tmp_path)
    assert [d.text for d in source.documents()] == ["hello"]
    (problem,) = source.problems
    assert (problem.kind, str(problem.origin)) == (ProblemKind.UNREADABLE, "locked")
    assert "may not be read by this user" in problem.reason
    forbidden = {tmp_path.name}
    with pytest.raises(InputError, match="may not be read by this user") as caught:
        documents(tmp_path)
    assert caught.value.hints[0].startswith("chmod u+r")


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = csv_file(tmp_path, "text\na\n")

    def refuse(self: Path, mode: str = "r") -> object:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match="may not be read by this user"):
        documents(path)


def test_links_that_lead_in_circles(tmp_path: Path) -> None:
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    with pytest.raises(InputError, match="the link leads back to itself"):
        open_source(loop)
    loop.unlink()
    inner = tmp_path / "spam"
    inner.mkdir()
    csv_file(inner, "hello", "a.txt")
    (inner / "again").symlink_to(tmp_path)
    (inner / "gone.txt").symlink_to(tmp_path / "nowhere")
    source = open_source(tmp_path)
    assert [d.text for d in source.documents()] == ["hello"]
    assert [str(p) for p in source.problems] == [
        "spam/again: a link that leads back to a folder above it; not followed",
        f"spam/gone.txt: {inner / 'gone.txt'}: there is no such file or folder",
    ]


def test_a_linked_file_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(csv_file(tmp_path, "text\na\n"))
    assert len(documents(tmp_path / "link.csv")) == 1


def test_a_pipe_and_a_device_do_not_hang(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="found a pipe"):
        documents(pipe)
    with pytest.raises(InputError, match="found a character device"):
        documents(Path(os.devnull))
    (tmp_path / "texts").mkdir()
    csv_file(tmp_path / "texts", "hello", "a.txt")
    os.mkfifo(tmp_path / "texts" / "b.txt")
    source = open_source(tmp_path / "texts")
    assert [d.text for d in source.documents()] == ["hello"]
    assert [str(p) for p in source.problems] == ["b.txt: expected a file, found a pipe"]


@pytest.mark.parametrize("kind", [Format.FOLDER, Format.BRAT])
def test_a_file_where_a_folder_is_expected(tmp_path: Path, kind: Format) -> None:
    with pytest.raises(InputError, match=f"format {kind.value} expects a folder, found a file"):
        documents(csv_file(tmp_path, "text\na\n"), format=kind)


def test_a_folder_where_a_file_is_expected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="format csv expects a file, found a folder"):
        documents(tmp_path, format=Format.CSV)
    with pytest.raises(InputError, match="format of a file or a folder, found memory"):
        documents(csv_file(tmp_path, "text\na\n"), format=Format.MEMORY)


@pytest.mark.parametrize("encoding", ["utf-9", "", "rot13", "base64"])
def test_an_encoding_that_there_is_not(encoding: str) -> None:
    with pytest.raises(InputError, match="there is no text encoding of that name"):
        SourceOptions(encoding=encoding)


@pytest.mark.parametrize("delimiter", ["", ",,", "\n", '"'])
def test_a_delimiter_that_cannot_be_one(delimiter: str) -> None:
    with pytest.raises(InputError, match="delimiter: expected one character"):
        DelimitedFormat(delimiter=delimiter)


def test_limits_that_allow_nothing() -> None:
    with pytest.raises(InputError, match="limit document_bytes: expected at least 1, found 0"):
        SourceLimits(document_bytes=0)
    with pytest.raises(InputError, match="label separator: it is empty"):
        SourceOptions(label_separator="")


def test_problems_are_counted_beyond_those_that_are_kept(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "text,label\nok,a\n" + ",a\n" * 500)
    source = open_source(path, SourceOptions(limits=SourceLimits(problems=7)))
    assert len(list(source.documents())) == 1
    assert len(source.problems) == 500
    assert len(list(source.problems)) == 7


def test_no_error_quotes_text(tmp_path: Path) -> None:
    secret = "confidential"
    content = (
        f'text,label,age\n"{secret}"x,a,1\n{secret},,1\n{secret},a\n{secret},a,{secret}\nok,a,1\n'
    )
    source = open_source(csv_file(tmp_path, content), SourceOptions(numeric=("age",)))
    assert len(list(source.documents())) == 1
    assert len(source.problems) == 4
    assert all(secret not in str(problem) for problem in source.problems)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("notes.data", b"text,label\na,b\n", Format.CSV),
        ("notes.txt", b"text\tlabel\na\tb\n", Format.TSV),
        ("notes.txt", b"text,label\na,b\n", Format.CSV),
        ("notes.log", b' {"text": "a"}\n', Format.JSONL),
        ("notes", b"PAR1....", Format.PARQUET),
        ("notes", b"ARROW1..", Format.ARROW),
        ("notes.NDJSON", b"", Format.JSONL),
    ],
)
def test_a_format_is_found_by_name_or_look(
    tmp_path: Path, name: str, content: bytes, expected: Format
) -> None:
    assert open_source(csv_file(tmp_path, content, name)).format is expected
