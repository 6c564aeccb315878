"""Reads Excel workbooks (.xlsx) that have one sheet, as a stream of rows."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sottovoce.errors import InputError
from sottovoce.sources.columns import Header
from sottovoce.sources.files import open_file
from sottovoce.sources.options import Format, SourceOptions
from sottovoce.sources.packed import UNPACKED_FREE, UNPACKED_RATIO
from sottovoce.sources.problems import SourceProblem, shown
from sottovoce.sources.rows import RowReader, asks_for, select
from sottovoce.sources.source import Findings
from sottovoce.text.documents import Document, Origin

_OLE = b"\xd0\xcf\x11\xe0"
_SAVE = "save that sheet as CSV (UTF-8), and name the file"


class WorkbookReader:
    """Reads one workbook that has one sheet with content."""

    format = Format.XLSX

    def __init__(self, path: Path, options: SourceOptions) -> None:
        self._path = path
        self._options = options
        self.name = str(path)

    def header(self) -> Header:
        """Return the names in the first row that is not blank."""
        with self._rows() as rows:
            return self._header(next(rows, None))

    def read(self, findings: Findings) -> Iterator[Document | SourceProblem]:
        """Yield one document for each row; blank rows are skipped."""
        with self._rows() as rows:
            header = self._header(next(rows, None))
            findings.note(header.repeated)
            reader = RowReader(select(header, self._options), self._options)
            for number, values in rows:
                findings.done = number
                row = dict(zip(header.columns, values, strict=False))
                document = reader.read(row, Origin(self._path.name, number, "row"))
                if isinstance(document, SourceProblem) and not header.certain:
                    # A reason names columns, and these names may be the first document.
                    document = replace(document, reason=str(document.kind))
                yield document

    def _header(self, first: tuple[int, tuple[Any, ...]] | None) -> Header:
        if first is None:
            raise InputError(f"{self.name}: expected a header and rows, found an empty sheet")
        if not self._options.table.header:
            return Header(self.name, tuple(str(place) for place in range(1, len(first[1]) + 1)))
        names = tuple("" if value is None else str(value).strip() for value in first[1])
        return Header(self.name, names, asks_for(names, self._options))

    @contextmanager
    def _rows(self) -> Iterator[Iterator[tuple[int, tuple[Any, ...]]]]:
        """Yield the rows that are not blank, with their numbers; the first has the names."""
        openpyxl = _library(self.name)
        with open_file(self._path) as file:
            self._check(file)
            try:
                book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            except (KeyError, ValueError, OSError, zipfile.BadZipFile, SyntaxError) as error:
                # SyntaxError is the XML parser's. The library's own message could quote a cell.
                raise self._unreadable(error) from error
            try:
                sheet = self._only_sheet(book)
                numbered = enumerate(sheet.iter_rows(values_only=True), 1)
                yield self._filled(numbered)
            finally:
                book.close()

    def _filled(self, rows: Any) -> Iterator[tuple[int, tuple[Any, ...]]]:
        named = self._options.table.header
        try:
            for number, values in rows:
                if any(value not in (None, "") for value in values):
                    if not named:
                        # If the first row is data, it is read for the names, and then again as a
                        # row.
                        yield number, values
                        named = True
                    yield number, values
        except (KeyError, ValueError, OSError, zipfile.BadZipFile, SyntaxError) as error:
            raise self._unreadable(error) from error

    def _only_sheet(self, book: Any) -> Any:
        filled = [sheet for sheet in book.worksheets if _has_content(sheet)]
        if len(filled) > 1:
            names = ", ".join(shown(sheet.title) for sheet in filled)
            raise InputError(
                f"{self.name}: expected one sheet with content, found {len(filled)}: {names}",
                hints=(_SAVE,),
            )
        if not filled:
            raise InputError(f"{self.name}: expected a header and rows, found empty sheets")
        return filled[0]

    def _check(self, file: Any) -> None:
        """Refuse a file that is not a workbook, or one that would fill the memory."""
        head = file.read(8)
        file.seek(0)
        if head.startswith(_OLE):
            raise InputError(
                f"{self.name}: only .xlsx without a password can be read, and this is no such file",
                hints=("save it as .xlsx without a password", _SAVE),
            )
        try:
            with zipfile.ZipFile(file) as archive:
                size = sum(member.file_size for member in archive.infolist())
                packed = sum(member.compress_size for member in archive.infolist())
        except (zipfile.BadZipFile, ValueError) as error:
            raise self._unreadable(error) from error
        file.seek(0)
        most = max(UNPACKED_FREE, UNPACKED_RATIO * packed)
        if size > most:
            raise InputError(
                f"{self.name}: expected at most {most:,} bytes once unpacked, found {size:,}"
            )

    def _unreadable(self, error: Exception) -> InputError:
        return InputError(
            f"{self.name}: expected a workbook (.xlsx), found a file that cannot be read as such "
            f"({type(error).__name__})",
            hints=(_SAVE,),
        )


def _has_content(sheet: Any) -> bool:
    return any(
        value not in (None, "") for row in sheet.iter_rows(values_only=True) for value in row
    )


def _library(name: str) -> Any:
    try:
        import openpyxl
    except ImportError as error:
        raise InputError(
            f"{name}: workbooks need the package openpyxl, which is not installed",
            hints=("pip install 'sottovoce[frames]'",),
        ) from error
    return openpyxl
