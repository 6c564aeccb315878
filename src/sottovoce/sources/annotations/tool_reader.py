"""The JSON of annotation tools, object by object: what people decided becomes label and spans."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from sottovoce.sources.columns import Header
from sottovoce.sources.json_records import JsonRecords
from sottovoce.sources.jsonlines import HEAD_ROWS
from sottovoce.sources.lines import Flaw
from sottovoce.sources.options import Format, SourceOptions
from sottovoce.sources.problems import Loss, ProblemKind, SourceProblem
from sottovoce.sources.rows import Row, RowReader, select
from sottovoce.sources.source import Findings
from sottovoce.text.documents import Document, Fragment, Label, Span

LABEL = "label"


@dataclass(frozen=True, slots=True)
class Mark:
    """A stretch of the text that somebody marked, and what it covers where the tool says so."""

    start: int
    end: int
    type: str
    covered: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Decided:
    """What people decided about one text; `fields` are the other values that came with it."""

    fields: Row = field(repr=False)
    labels: tuple[Label, ...] = ()
    marks: tuple[Mark, ...] = ()
    flaw: Flaw | None = None


class Tool(Protocol):
    """How one tool writes decisions."""

    format: Format

    def wrote(self, record: Row) -> bool:
        """Whether an object looks like one of this tool's."""

    def decided(self, record: Row, options: SourceOptions) -> Decided:
        """What an object of the tool's export says."""


class ToolReader:
    """Reads one export of an annotation tool."""

    def __init__(self, path: Path, options: SourceOptions, tool: Tool) -> None:
        """Read `path`; nothing is opened yet."""
        self._options = options
        self._records = JsonRecords(path, options)
        self._tool = tool
        self.format = tool.format
        self.name = str(path)

    def header(self) -> Header:
        """The names of the fields in the first hundred objects, and the label where one is."""
        names: dict[str, None] = {}
        labelled = False
        for record in self._records.first(HEAD_ROWS):
            found = self._tool.decided(record, self._options)
            names.update(dict.fromkeys(found.fields))
            labelled = labelled or bool(found.labels) or found.flaw is not None
        if labelled:
            names[LABEL] = None
        return Header(self.name, tuple(names))

    def read(self, findings: Findings) -> Iterator[Document | SourceProblem]:
        """One document an object that somebody decided about."""
        rows: RowReader | None = None
        for origin, record in self._records.read(findings):
            if isinstance(record, SourceProblem):
                yield record
                continue
            found = self._tool.decided(record, self._options)
            if found.flaw is not None and not self._options.unlabelled:
                yield SourceProblem(origin, *found.flaw)
                continue
            rows = rows or RowReader(select(self.header(), self._options), self._options)
            document = rows.read(_row(found), origin)
            if isinstance(document, SourceProblem):
                yield document
                continue
            spans = []
            for mark in found.marks:
                span = _span(document.text, mark)
                if isinstance(span, Flaw):
                    yield SourceProblem(origin, *span, Loss.ANNOTATION)
                else:
                    spans.append(span)
            if found.marks:
                findings.found["contiguous spans"] += len(spans)
            yield replace(document, spans=self._named(tuple(spans)))

    def _named(self, spans: tuple[Span, ...]) -> tuple[Span, ...]:
        known = self._options.label_map
        return spans if known is None else known.spans(spans)


def _row(found: Decided) -> Row:
    """The fields with the label: one as it is, several as a list."""
    if not found.labels:
        return found.fields
    one = found.labels[0] if len(found.labels) == 1 else list(found.labels)
    return {**found.fields, LABEL: one}


def _span(text: str, mark: Mark) -> Span | Flaw:
    """The mark in code points of the text; some tools count UTF-16 units, where an emoji is two."""
    for start, end in _places(text, mark):
        fits = 0 <= start < end <= len(text)
        if fits and (mark.covered is None or text[start:end] == mark.covered):
            return Span(mark.type, (Fragment(start, end),))
    reason = f"the text at {mark.start} {mark.end} is not the marked one"
    if mark.covered is None:
        reason = f"expected a place in {len(text):,} characters, found {mark.start} {mark.end}"
    return Flaw(ProblemKind.WRONG_OFFSET, reason)


def _places(text: str, mark: Mark) -> Iterator[tuple[int, int]]:
    yield mark.start, mark.end
    if mark.covered is not None and not text.isascii() and 0 <= mark.start <= mark.end:
        units = text.encode("utf-16-le", "surrogatepass")
        if 2 * mark.end <= len(units):
            start = len(units[: 2 * mark.start].decode("utf-16-le", "replace"))
            yield start, start + len(mark.covered)


def whole_mark(start: object, end: object, kind: object, covered: object = None) -> Mark | None:
    """A mark, where the values are of the types that one has."""
    if isinstance(start, bool) or isinstance(end, bool):
        return None
    if not isinstance(start, int) or not isinstance(end, int) or not isinstance(kind, str):
        return None
    if not kind.strip():
        return None
    return Mark(start, end, kind.strip(), covered if isinstance(covered, str) else None)
