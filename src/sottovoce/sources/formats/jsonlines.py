"""Reads JSON: one object on each line, or one array of objects; each is a document."""

from collections.abc import Iterator
from pathlib import Path

from sottovoce.sources.annotations.json_spans import marks_in
from sottovoce.sources.annotations.marks import marked
from sottovoce.sources.columns import Header
from sottovoce.sources.formats.json_records import JsonRecords
from sottovoce.sources.options import Format, SourceOptions
from sottovoce.sources.parting.stretches import Stretch
from sottovoce.sources.problems import SourceProblem
from sottovoce.sources.rows import RowReader, select
from sottovoce.sources.source import Findings
from sottovoce.text.documents import Document

HEAD_ROWS = 100
"""The number of objects that are read to find the columns."""


class JsonLinesReader:
    """Reads one file of JSON objects."""

    format = Format.JSONL

    def __init__(self, path: Path, options: SourceOptions) -> None:
        self._options = options
        self._records = JsonRecords(path, options)
        self.name = str(path)

    def header(self) -> Header:
        """Return the names in the first hundred objects."""
        names: dict[str, None] = {}
        for row in self._records.first(HEAD_ROWS):
            names.update(dict.fromkeys(row))
        return Header(self.name, tuple(names))

    def stretches(self) -> tuple[Stretch, ...]:
        """Return stretches of lines."""
        return self._records.stretches()

    def read(
        self, findings: Findings, stretch: Stretch | None = None
    ) -> Iterator[Document | SourceProblem]:
        """Yield one document for each object, with its spans; blank lines are skipped."""
        rows: RowReader | None = None
        for origin, row in self._records.read(findings, stretch):
            if isinstance(row, SourceProblem):
                yield row
            else:
                rows = rows or RowReader(select(self.header(), self._options), self._options)
                document = rows.read(row, origin)
                if isinstance(document, SourceProblem):
                    yield document
                else:
                    marks = marks_in(row, qualified=self._options.qualified)
                    yield from marked(document, marks, findings, self._options)
