"""Marked stretches of a text, and the spans that they become."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sottovoce.sources.lines import Flaw
from sottovoce.sources.options import SourceOptions
from sottovoce.sources.problems import Loss, ProblemKind, SourceProblem
from sottovoce.sources.source import Findings
from sottovoce.text.documents import Document, Fragment, Span


@dataclass(frozen=True, slots=True)
class Mark:
    """A marked stretch of a text, with the covered text if the tool states it."""

    start: int
    end: int
    type: str
    covered: str | None = field(default=None, repr=False)


def marked(
    document: Document, marks: Sequence[Mark], findings: Findings, options: SourceOptions
) -> Iterator[Document | SourceProblem]:
    """Yield the problems of marks that do not fit the text, then the document with its spans."""
    spans = []
    for mark in marks:
        span = _span(document.text, mark)
        if isinstance(span, Flaw):
            yield SourceProblem(document.origin, *span, Loss.ANNOTATION)
        else:
            spans.append(span)
    if marks:
        findings.annotations["contiguous spans"] += len(spans)
    known = options.label_map
    named = tuple(spans) if known is None else known.spans(tuple(spans))
    yield replace(document, spans=named)


def _span(text: str, mark: Mark) -> Span | Flaw:
    """Return the mark in code points; some tools count UTF-16 units, where an emoji is two."""
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
    """Return a mark, or None if the values have wrong types."""
    if isinstance(start, bool) or isinstance(end, bool):
        return None
    if not isinstance(start, int) or not isinstance(end, int) or not isinstance(kind, str):
        return None
    if not kind.strip():
        return None
    return Mark(start, end, kind.strip(), covered if isinstance(covered, str) else None)
