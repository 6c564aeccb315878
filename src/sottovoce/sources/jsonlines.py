"""JSON Lines: one object a line, one document an object."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from sottovoce.errors import InputError
from sottovoce.sources.encodings import HEAD_BYTES, TextEncoding, find_encoding
from sottovoce.sources.files import open_file
from sottovoce.sources.lines import Line, Lines
from sottovoce.sources.options import Format, SourceOptions
from sottovoce.sources.problems import Kind, Problem
from sottovoce.sources.rows import Row, RowReader, select
from sottovoce.sources.source import Findings
from sottovoce.text.documents import Document, Origin

_HEAD_ROWS = 100
_CUT = "Input data was truncated"
"""How many objects are looked at to learn which columns there are."""


class JsonLinesReader:
    """Reads one JSON Lines file."""

    format = Format.JSONL

    def __init__(self, path: Path, options: SourceOptions) -> None:
        """Read `path`; nothing is opened yet."""
        self._path = path
        self._options = options
        self.name = str(path)

    def columns(self) -> tuple[str, ...]:
        """The names in the first hundred objects."""
        with open_file(self._path) as file:
            return self._columns(file, self._encoding(file))

    def read(self, findings: Findings) -> Iterator[Document | Problem]:
        """One document a line; blank lines are passed over."""
        with open_file(self._path) as file:
            encoding = self._encoding(file)
            findings.note(encoding.note)
            findings.total = self._path.stat().st_size
            columns = self._columns(file, encoding)
            rows: RowReader | None = None
            lines = Lines(file, encoding, limit=self._options.limits.document_bytes)
            for line in lines:
                findings.done = lines.passed
                origin = Origin(self._path.name, line.number, "line")
                row = _object(line, origin)
                if isinstance(row, Problem):
                    yield row
                elif row is not None:
                    rows = rows or RowReader(
                        select(columns, self._options, name=self.name), self._options
                    )
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

    def _columns(self, file: BinaryIO, encoding: TextEncoding) -> tuple[str, ...]:
        names: dict[str, None] = {}
        seen = 0
        for line in Lines(file, encoding, limit=self._options.limits.document_bytes):
            row = _object(line, Origin(self._path.name))
            if isinstance(row, dict):
                names.update(dict.fromkeys(row))
            seen += row is not None
            if seen == _HEAD_ROWS:
                break
        return tuple(names)


def _object(line: Line, origin: Origin) -> Row | Problem | None:
    """The object on a line, the problem with it, or None for a blank line."""
    if line.flaw:
        return Problem(origin, *line.flaw)
    if line.text.isspace():
        return None
    try:
        found = msgspec.json.decode(line.text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        reason = str(error).replace("JSON is", "the JSON is")
        return Problem(origin, Kind.MALFORMED, reason.replace(_CUT, "the JSON is truncated"))
    except RecursionError:
        return Problem(origin, Kind.MALFORMED, "the JSON is nested too deeply")
    if not isinstance(found, dict):
        return Problem(
            origin, Kind.MALFORMED, f"expected a JSON object, found {type(found).__name__}"
        )
    return found
