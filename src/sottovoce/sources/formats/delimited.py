"""CSV and TSV: records are read one at a time, and only a broken record itself is left out.

A record may span lines (quoted line breaks). If its quotes never close, or it grows past the limit,
only its first line is dropped: the lines after it are read again as records of their own.
"""

import csv
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Self

from sottovoce.errors import InputError
from sottovoce.sources.columns import Header
from sottovoce.sources.encodings import HEAD_BYTES, TextEncoding, find_encoding
from sottovoce.sources.files import open_file, size_of
from sottovoce.sources.lines import Flaw, Lines, TextLine, next_line, too_long
from sottovoce.sources.options import Format, SourceOptions, named
from sottovoce.sources.parting.stretches import Stretch, stretches_of_bytes
from sottovoce.sources.problems import ProblemKind, SourceProblem
from sottovoce.sources.rows import Row, RowReader, asks_for, select
from sottovoce.sources.source import Findings
from sottovoce.text.documents import Document, Origin
from sottovoce.wire.formula_guard import unguarded

if TYPE_CHECKING:
    import _csv

_DELIMITERS = ",;\t|"
_TRIED_LINES, _TRIED_RECORDS, _TRIED_BYTES = 256, 4, 2**20
"""The number of lines to read to find the first record of a stretch."""


class DelimitedRecord(NamedTuple):
    """The fields of one record, the line that it starts on, and what is wrong with it."""

    line: int
    fields: list[str]
    flaw: Flaw | None = None


class _CutShortError(Exception):
    """The current record cannot be finished."""


class _Feed:
    """Passes lines to the csv module and remembers those of the current record."""

    def __init__(self, lines: Lines, limit: int) -> None:
        self._lines = lines
        self._limit = limit
        self._again: deque[TextLine] = deque()
        self._size = 0
        self.held: list[TextLine] = []
        self.flaw: Flaw | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else next(self._lines)
        self.held.append(line)
        self._size += len(line.text)
        if self._size > self._limit:
            raise _CutShortError
        if line.flaw:
            self.flaw = self.flaw or line.flaw
            if line.flaw.kind is ProblemKind.TOO_LONG:
                raise _CutShortError
        return line.text

    @property
    def position(self) -> tuple[int, int]:
        """The position of the next record, and the number of lines before it."""
        if self._again:
            return self._again[0].offset, self._again[0].number - 1
        return self._lines.passed, self._lines.number

    def run(self, stop: int) -> list[str]:
        """Return the next lines at once, if none has a flaw or was given up before."""
        return [] if self._again else self._lines.run(stop)

    def back_in_run(self, behind: int) -> None:
        """Read a run again, line by line, after its first `behind` lines."""
        self._lines.back_in_run(behind)

    def begin(self) -> None:
        """Start a new record with the next line."""
        self.held.clear()
        self._size = 0
        self.flaw = None

    def give_up_first(self) -> None:
        """Drop only the record's first line; its other lines are read again."""
        self._again.extendleft(reversed(self.held[1:]))

    def cut_short(self) -> Flaw:
        """Return why the record could not be finished."""
        first = self.held[0].flaw
        if first and first.kind is ProblemKind.TOO_LONG:
            return first
        if self._size > self._limit:
            return Flaw(ProblemKind.TOO_LONG, f"the record's {too_long(self._size, self._limit)}")
        return Flaw(ProblemKind.MALFORMED, "the record ends in a line that is too long")


@dataclass(frozen=True, slots=True)
class _Dialect:
    """The format of records."""

    delimiter: str
    quoted: bool
    limit: int

    def reader(self, lines: Iterable[str]) -> "_csv.Reader":
        """Return the csv module's reader of such records."""
        if self.quoted:
            return csv.reader(lines, delimiter=self.delimiter, strict=True)
        return csv.reader(lines, delimiter=self.delimiter, quoting=csv.QUOTE_NONE)


def records(
    lines: Lines, dialect: _Dialect, *, stop: int | None = None, findings: Findings | None = None
) -> Iterator[DelimitedRecord]:
    """Yield the records of a delimited file; blank lines are skipped.

    Only records that begin before `stop` are read; `findings` notes where the next one begins.
    """
    # The csv module has one limit for the whole process; a reader may only raise it.
    csv.field_size_limit(max(csv.field_size_limit(), dialect.limit))
    feed = _Feed(lines, dialect.limit)
    reader = dialect.reader(feed)
    while True:
        if stop is not None and findings is not None:
            yield from _run_of_records(feed, dialect, stop)
            findings.ended, findings.lines = feed.position
            if findings.ended >= stop:
                return
        feed.begin()
        try:
            fields = next(reader)
        except StopIteration:
            return
        except _CutShortError:
            yield DelimitedRecord(feed.held[0].number, [], feed.cut_short())
            feed.give_up_first()
        except csv.Error as error:
            flaw = feed.held[0].flaw or Flaw(ProblemKind.MALFORMED, _in_words(error))
            yield DelimitedRecord(feed.held[0].number, [], flaw)
            feed.give_up_first()
        else:
            if fields:
                yield DelimitedRecord(feed.held[0].number, fields, feed.flaw)


def _run_of_records(feed: _Feed, dialect: _Dialect, stop: int) -> Iterator[DelimitedRecord]:
    """Yield records of lines that are read at once, three times as fast as one by one.

    After a record that is broken, or continues beyond these lines, the rest is read one by one.
    """
    while feed.position[0] < stop:
        first = feed.position[1] + 1
        lines = feed.run(stop)
        if not lines:
            return
        reader, behind = dialect.reader(lines), 0
        try:
            for fields in reader:
                if fields:
                    yield DelimitedRecord(first + behind, fields)
                behind = reader.line_num
        except csv.Error:
            feed.back_in_run(behind)
            return


def _in_words(error: csv.Error) -> str:
    words = str(error)
    if "expected after" in words:
        return "expected a delimiter after a closing quote, found something else"
    if "end of data" in words:
        return "expected a closing quote, found the end of the file"
    if "new-line character" in words:
        return "expected the end of the line, found a carriage return inside it"
    return "expected a record of the table, found none"


@dataclass(frozen=True, slots=True)
class _Shape:
    """The format and the columns that the beginning of a delimited file shows."""

    encoding: TextEncoding
    delimiter: str
    columns: tuple[str, ...]


class DelimitedReader:
    """Reads one CSV or TSV file."""

    def __init__(self, path: Path, options: SourceOptions, *, format: Format) -> None:  # noqa: A002 - the word for it
        self._path = path
        self._options = options
        self.format = format
        self.name = str(path)

    def header(self) -> Header:
        """Return the names in the first record, which may be data if no requested name is in it."""
        return self._header(self._shape())

    def stretches(self) -> tuple[Stretch, ...]:
        """Return stretches of lines, if lines end in the single byte LF; the header is in none."""
        shape = self._shape()
        if shape.encoding.newline != b"\n":
            return ()
        with open_file(self._path) as file:
            lines = Lines(file, shape.encoding, limit=self._options.limits.document_bytes)
            records = self._records(lines, shape.delimiter)
            if self._options.table.header:
                next(records, None)
            start, before = lines.passed, lines.number
        first, *others = stretches_of_bytes(self._path, start=start) or (None,)
        return () if first is None else (replace(first, before=before), *others)

    def read(
        self, findings: Findings, stretch: Stretch | None = None
    ) -> Iterator[Document | SourceProblem]:
        """Yield one document for each record."""
        shape = self._shape()
        header = self._header(shape)
        rows = RowReader(select(header, self._options), self._options)
        for origin, row in self._rows(shape, rows.selection.columns, findings, stretch):
            document = row if isinstance(row, SourceProblem) else rows.read(row, origin)
            if isinstance(document, SourceProblem) and not header.certain:
                # A reason names columns, and these names may be the first document.
                document = replace(document, reason=str(document.kind))
            yield document

    def _header(self, shape: _Shape) -> Header:
        certain = not self._options.table.header or asks_for(shape.columns, self._options)
        return Header(self.name, shape.columns, certain)

    def rows(self, findings: Findings) -> Iterator[tuple[Origin, Row | SourceProblem]]:
        """Yield every record as a row of all columns, for tables that do not hold documents."""
        shape = self._shape()
        return self._rows(shape, shape.columns, findings)

    def _rows(
        self,
        shape: _Shape,
        columns: tuple[str, ...],
        findings: Findings,
        stretch: Stretch | None = None,
    ) -> Iterator[tuple[Origin, Row | SourceProblem]]:
        self._note(shape, findings)
        places = [(column, shape.columns.index(column)) for column in columns]
        expected = len(shape.columns)
        limit, name = self._options.limits.document_bytes, self._path.name
        with open_file(self._path) as file:
            findings.total = size_of(self._path)
            if stretch is None:
                lines = Lines(file, shape.encoding, limit=limit)
                below = self._below_header(lines, shape)
            else:
                findings.began = self._beginning(file, shape, stretch)
                lines = Lines(
                    file, shape.encoding, limit=limit, start=findings.began, number=stretch.before
                )
                dialect = self._dialect(shape.delimiter)
                below = records(lines, dialect, stop=stretch.stop, findings=findings)
            for record in below:
                findings.done = lines.passed
                origin = Origin(name, record.line, "line")
                if record.flaw:
                    yield origin, SourceProblem(origin, *record.flaw)
                elif len(record.fields) != expected:
                    reason = f"expected {expected} fields, found {len(record.fields)}"
                    yield origin, SourceProblem(origin, ProblemKind.RAGGED, reason)
                else:
                    fields = record.fields
                    yield origin, {column: unguarded(fields[place]) for column, place in places}

    def _note(self, shape: _Shape, findings: Findings) -> None:
        findings.note(shape.encoding.note)
        if shape.delimiter != self._usual_delimiter():
            findings.note(f"fields are separated by {shape.delimiter!r}")
        findings.note(self._header(shape).repeated)

    def _below_header(self, lines: Lines, shape: _Shape) -> Iterator[DelimitedRecord]:
        records = self._records(lines, shape.delimiter)
        if self._options.table.header:
            next(records, None)
        return records

    def _beginning(self, file: BinaryIO, shape: _Shape, stretch: Stretch) -> int:
        """Guess the first record of a stretch from the lines near its start.

        The first line from which a few records have the right number of fields: a line inside
        a quoted text rarely looks like one. The listing of all stretches notices a wrong guess.
        """
        if not stretch.guessed:
            return stretch.start
        first = place = next_line(file, stretch.start)
        dialect = replace(self._dialect(shape.delimiter), limit=_TRIED_BYTES)
        for _ in range(_TRIED_LINES):
            if place >= stretch.stop:
                break
            lines = Lines(file, shape.encoding, limit=_TRIED_BYTES, start=place)
            some = list(islice(records(lines, dialect), _TRIED_RECORDS))
            if all(not record.flaw and len(record.fields) == len(shape.columns) for record in some):
                return place
            place = next_line(file, place + 1)
        return first

    def _dialect(self, delimiter: str) -> _Dialect:
        limit = self._options.limits.document_bytes
        return _Dialect(delimiter, self._options.table.quoted, limit)

    def _records(self, lines: Lines, delimiter: str) -> Iterator[DelimitedRecord]:
        return records(lines, self._dialect(delimiter))

    def _usual_delimiter(self) -> str:
        return "\t" if self.format is Format.TSV else ","

    def _shape(self) -> _Shape:
        with open_file(self._path) as file:
            head = file.read(HEAD_BYTES)
            encoding = find_encoding(head, stated=self._options.encoding, name=self.name)
            limit = self._options.limits.document_bytes
            first: dict[str, DelimitedRecord] = {}
            for delimiter in self._candidates():
                lines = Lines(file, encoding, limit=limit)
                record = next(self._records(lines, delimiter), None)
                if record is None:
                    raise InputError(
                        f"{self.name}: expected a header and rows, found an empty file"
                    )
                if record.flaw and record.flaw.kind is not ProblemKind.MALFORMED:
                    raise self._bad_header(record)  # it would be empty under any delimiter
                first[delimiter] = record
        readable = [delimiter for delimiter in first if not first[delimiter].flaw]
        if not readable:
            raise self._bad_header(next(iter(first.values())))
        delimiter = max(readable, key=lambda d: self._fitness(first[d].fields))
        return _Shape(encoding, delimiter, self._names(first[delimiter].fields))

    def _candidates(self) -> str:
        stated = self._options.table.delimiter
        if stated is not None:
            return stated
        return "\t" if self.format is Format.TSV else _DELIMITERS

    def _fitness(self, fields: list[str]) -> tuple[int, int]:
        """Rate a first record: by requested columns found in it, then by the number of fields."""
        asked = {
            *named(self._options.text),
            *named(self._options.label),
            *named(self._options.group),
        }
        return len(asked.intersection(self._names(fields))), len(fields)

    def _names(self, fields: list[str]) -> tuple[str, ...]:
        if not self._options.table.header:
            return tuple(str(number) for number in range(1, len(fields) + 1))
        names = tuple(unguarded(field.strip()) for field in fields)
        if not any(names):
            raise InputError(
                f"{self.name}: expected the names of columns in the first line, and it is blank",
                hints=("remove the blank line", "--no-header if the table has no names"),
            )
        return names

    def _bad_header(self, record: DelimitedRecord) -> InputError:
        reason = record.flaw.reason if record.flaw else "no fields"
        return InputError(
            f"{self.name}: the header (line {record.line}) cannot be read: {reason}",
            hints=(
                "is this a table of text? --format says what it is, --encoding how it is written",
            ),
        )
