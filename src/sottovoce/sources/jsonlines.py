"""JSON Lines: one object a line, one document an object."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from sottovoce.errors import InputError
from sottovoce.sources.columns import Header
from sottovoce.sources.encodings import HEAD_BYTES, TextEncoding, find_encoding
from sottovoce.sources.files import open_file
from sottovoce.sources.lines import Lines, TextLine
from sottovoce.sources.options import Format, SourceOptions
from sottovoce.sources.problems import ProblemKind, SourceProblem
from sottovoce.sources.rows import Row, RowReader, select
from sottovoce.sources.source import Findings
from sottovoce.text.documents import Document, Origin

_HEAD_ROWS = 100
"""How many objects are looked at to learn which columns there are."""
_BYTE = re.compile(r"\(byte \d+\)")


class JsonLinesReader:
    """Reads one JSON Lines file."""

    format = Format.JSONL

    def __init__(self, path: Path, options: SourceOptions) -> None:
        """Read `path`; nothing is opened yet."""
        self._path = path
        self._options = options
        self.name = str(path)

    def header(self) -> Header:
        """The names in the first hundred objects."""
        with open_file(self._path) as file:
            return self._header(file, self._encoding(file))

    def read(self, findings: Findings) -> Iterator[Document | SourceProblem]:
        """One document a line; blank lines are passed over."""
        with open_file(self._path) as file:
            encoding = self._encoding(file)
            findings.note(encoding.note)
            findings.total = self._path.stat().st_size
            header = self._header(file, encoding)
            rows: RowReader | None = None
            lines = Lines(file, encoding, limit=self._options.limits.document_bytes)
            for line in lines:
                findings.done = lines.passed
                origin = Origin(self._path.name, line.number, "line")
                row = _object(line, origin)
                if isinstance(row, SourceProblem):
                    yield row
                elif row is not None:
                    rows = rows or RowReader(select(header, self._options), self._options)
                    yield rows.read(row, origin)

    def _encoding(self, file: BinaryIO) -> TextEncoding:
        head = file.read(HEAD_BYTES)
        encoding = find_encoding(head, stated=self._options.encoding, name=self.name)
        start = head[encoding.mark :].decode(encoding.name, "replace").lstrip()
        if not start:
            raise InputError(f"{self.name}: expected an object a line, found an empty file")
        if start.startswith("["):
            raise InputError(
                f"{self.name}: expected an object a line (JSON Lines), found one JSON array",
                hints=(f"jq -c '.[]' {self.name} > {self._path.with_suffix('.jsonl')}",),
            )
        return encoding

    def _header(self, file: BinaryIO, encoding: TextEncoding) -> Header:
        names: dict[str, None] = {}
        seen = 0
        for line in Lines(file, encoding, limit=self._options.limits.document_bytes):
            row = _object(line, Origin(self._path.name))
            if isinstance(row, dict):
                names.update(dict.fromkeys(row))
            seen += row is not None
            if seen == _HEAD_ROWS:
                break
        return Header(self.name, tuple(names))


def _object(line: TextLine, origin: Origin) -> Row | SourceProblem | None:
    """The object on a line, the problem with it, or None for a blank line."""
    if line.flaw:
        return SourceProblem(origin, *line.flaw)
    if line.text.isspace():
        return None
    try:
        found = msgspec.json.decode(line.text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return SourceProblem(origin, ProblemKind.MALFORMED, _in_words(error))
    except RecursionError:
        return SourceProblem(origin, ProblemKind.MALFORMED, "the JSON is nested too deeply")
    if not isinstance(found, dict):
        return SourceProblem(
            origin, ProblemKind.MALFORMED, f"expected a JSON object, found {type(found).__name__}"
        )
    return found


def _in_words(error: Exception) -> str:
    """Where the JSON breaks off; the decoder's own words could quote it."""
    for known in ("truncated", "out of range"):
        if known in str(error):
            return f"the JSON is {known}" if known == "truncated" else f"a number is {known}"
    place = _BYTE.search(str(error))
    return f"the JSON is malformed {place[0]}" if place else "the JSON is malformed"
