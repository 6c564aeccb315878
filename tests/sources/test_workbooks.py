"""Workbooks: the rows of one sheet, and what is refused by name."""

from datetime import date
from pathlib import Path

import pytest
from openpyxl import Workbook

from sottovoce.errors import InputError
from sottovoce.sources import DelimitedFormat, Format, ProblemKind, SourceOptions, open_source
from sottovoce.sources.inspection import inspect


def workbook(folder: Path, sheets: dict[str, list[tuple[object, ...]]]) -> Path:
    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(folder / "notes.xlsx")
    return folder / "notes.xlsx"


ROWS: list[tuple[object, ...]] = [
    ("note", "dx", "seen", "age"),
    ("fever", "x", date(2020, 1, 2), 40),
    (None, None, None, None),
    ("well\nagain", 1, None, 4.5),
    (None, "y", None, 3),
    (7, "y", None, 3),
]


def test_rows_become_documents(tmp_path: Path) -> None:
    path = workbook(tmp_path, {"empty": [], "notes": ROWS})
    asked = SourceOptions(text="note", label="dx", categorical=("seen",), numeric=("age",))
    source = open_source(path, asked)
    assert source.format is Format.XLSX
    assert source.columns == ("note", "dx", "seen", "age")
    for _ in range(2):
        first, second = source.documents()
        assert (first.text, first.label) == ("fever", "x")
        assert first.columns == {"seen": "2020-01-02 00:00:00", "age": 40}
        assert (second.text, second.label, second.columns["age"]) == ("well\nagain", 1, 4.5)
        assert str(second.origin) == "notes.xlsx row 4"
    assert source.problems.counts == {ProblemKind.EMPTY_TEXT: 1, ProblemKind.WRONG_TYPE: 1}
    assert inspect(source).documents == 2


def test_a_sheet_without_names(tmp_path: Path) -> None:
    path = workbook(tmp_path, {"notes": [("fever", "x"), ("well", "y")]})
    asked = SourceOptions(text="1", label="2", table=DelimitedFormat(header=False))
    assert [document.text for document in open_source(path, asked)] == ["fever", "well"]


def test_bad_workbooks_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected one sheet with content, found 2: 'a', 'b'"):
        list(open_source(workbook(tmp_path, {"a": ROWS, "b": ROWS})))
    with pytest.raises(InputError, match="found empty sheets"):
        list(open_source(workbook(tmp_path, {"a": []})))
    path = workbook(tmp_path, {"a": [("fever", "x")]})
    with pytest.raises(InputError, match="expected a column 'note', found 2 columns"):
        list(open_source(path, SourceOptions(text="note")))
    path = tmp_path / "locked.xlsx"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    with pytest.raises(InputError, match=r"only \.xlsx without a password can be read"):
        list(open_source(path))
    for content in (b"", b"PK\x03\x04 and no more", b"text,label\na,b\n"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"expected a workbook \(\.xlsx\), found"):
            list(open_source(path))
