"""Reads the JSON of annotation tools; people's decisions become labels and spans."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sottovoce.sources.annotations.marks import Mark, marked
from sottovoce.sources.columns import Header
from sottovoce.sources.formats.json_records import JsonRecords
from sottovoce.sources.formats.jsonlines import HEAD_ROWS
from sottovoce.sources.lines import Flaw
from sottovoce.sources.options import Format, SourceOptions
from sottovoce.sources.problems import SourceProblem
from sottovoce.sources.rows import Row, RowReader, select
from sottovoce.sources.source import Findings
from sottovoce.text.documents import Document, Label

LABEL = "label"


@dataclass(frozen=True, slots=True)
class Decided:
    """People's decision about one text; `fields` are the other values of its object."""

    fields: Row = field(repr=False)
    labels: tuple[Label, ...] = ()
    marks: tuple[Mark, ...] = ()
    flaw: Flaw | None = None


class Tool(Protocol):
    """The format in which one tool writes decisions."""

    format: Format

    def wrote(self, record: Row) -> bool:
        """Return whether an object looks like one of this tool's."""

    def decided(self, record: Row, options: SourceOptions) -> Decided:
        """Read the decision from an object of the tool's export."""


class ToolReader:
    """Reads one export of an annotation tool."""

    def __init__(self, path: Path, options: SourceOptions, tool: Tool) -> None:
        self._options = options
        self._records = JsonRecords(path, options)
        self._tool = tool
        self.format = tool.format
        self.name = str(path)

    def header(self) -> Header:
        """Return the fields' names in the first hundred objects, and `label` if one has it."""
        names: dict[str, None] = {}
        labelled = False
        for record in self._records.first(HEAD_ROWS):
            decided = self._tool.decided(record, self._options)
            names.update(dict.fromkeys(decided.fields))
            labelled = labelled or bool(decided.labels) or decided.flaw is not None
        if labelled:
            names[LABEL] = None
        return Header(self.name, tuple(names))

    def read(self, findings: Findings) -> Iterator[Document | SourceProblem]:
        """Yield one document for each object with a decision."""
        rows: RowReader | None = None
        for origin, record in self._records.read(findings):
            if isinstance(record, SourceProblem):
                yield record
                continue
            decided = self._tool.decided(record, self._options)
            if decided.flaw is not None and not self._options.unlabelled:
                yield SourceProblem(origin, *decided.flaw)
                continue
            rows = rows or RowReader(select(self.header(), self._options), self._options)
            document = rows.read(_row(decided), origin)
            if isinstance(document, SourceProblem):
                yield document
                continue
            yield from marked(document, decided.marks, findings, self._options)


def _row(decided: Decided) -> Row:
    """Return the fields with the label; several labels are a list."""
    if not decided.labels:
        return decided.fields
    label = decided.labels[0] if len(decided.labels) == 1 else list(decided.labels)
    return {**decided.fields, LABEL: label}
