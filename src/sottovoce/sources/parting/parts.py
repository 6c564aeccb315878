"""Parts of a source that other processes and machines read, and their listing.

A source is listed once: how many documents each part holds, what could not be used, and where the
part begins. A later reader of a part finds the same documents there, or reports that the file
changed.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from sottovoce.errors import InputError
from sottovoce.sources.files import address_of, size_of
from sottovoce.sources.opening import open_source
from sottovoce.sources.options import SourceOptions
from sottovoce.sources.parting.stretches import Stretch, StretchReader
from sottovoce.sources.problems import Problems, SourceProblem
from sottovoce.sources.source import Findings
from sottovoce.text.columns import as_row
from sottovoce.text.documents import Document


@dataclass(frozen=True, slots=True)
class SourcePart:
    """One stretch of a source, read by the process to which this is sent."""

    place: str
    options: SourceOptions
    stretch: Stretch
    size: int | None
    has_text: bool = True

    def documents(self) -> Iterator[Document]:
        """Yield the usable documents, which are the same as when the source was listed."""
        count = 0
        for outcome in self.outcomes(Findings()):
            if isinstance(outcome, Document):
                count += 1
                yield outcome if self.has_text else as_row(outcome)
        if count != self.stretch.documents:
            raise self._changed()

    def outcomes(self, findings: Findings) -> Iterator[Document | SourceProblem]:
        """Yield every document, and every problem in its place."""
        reader = cast("StretchReader", open_source(self.place, self.options).reader)
        if self.size != _size(self.place):
            raise self._changed()
        return reader.read(findings, self.stretch)

    def _changed(self) -> InputError:
        return InputError(
            f"{self.place}: the file was changed since this site joined",
            hints=("do not change it until the training is over",),
        )


@dataclass(frozen=True)
class PartListing:
    """The listing of one part: its ends, its lines, and the problems in it."""

    part: SourcePart
    began: int
    ended: int
    lines: int
    documents: int
    problems: Problems


@dataclass(frozen=True)
class ListedSource:
    """A source in parts, all of which were read once."""

    parts: tuple[SourcePart, ...]
    documents: int
    problems: Problems


Lister = Callable[[SourcePart], PartListing]
Mapping = Callable[[Lister, Iterable[SourcePart]], Iterable[PartListing]]


def parts_of(
    place: str, options: SourceOptions, *, has_text: bool = True
) -> tuple[SourcePart, ...]:
    """Return the parts of a source before they are listed; empty if it is read as a whole."""
    reader = open_source(place, options).reader
    if not hasattr(reader, "stretches"):
        return ()
    return tuple(
        SourcePart(place, options, stretch, _size(place), has_text)
        for stretch in cast("StretchReader", reader).stretches()
    )


def list_parts(parts: tuple[SourcePart, ...], mapping: Mapping) -> ListedSource:
    """List all parts with `mapping`, which runs on the workers, and correct guessed beginnings."""
    listed: list[SourcePart] = []
    problems = Problems(keep=parts[0].options.limits.problems)
    documents, end, lines = 0, parts[0].stretch.start, parts[0].stretch.before
    by_bytes = any(part.stretch.guessed for part in parts)
    for listing in mapping(list_part, parts):
        exact_listing = listing
        if by_bytes and end >= exact_listing.part.stretch.stop:
            continue  # a record of the part before it covers all of this part
        if by_bytes and exact_listing.began != end:
            exact = exact_listing.part.stretch.begun_at(end)
            exact_listing = list_part(replace(exact_listing.part, stretch=exact))
        before = lines if by_bytes else exact_listing.part.stretch.before
        problems.join(exact_listing.problems, lines=before - exact_listing.part.stretch.before)
        stretch = replace(
            exact_listing.part.stretch.begun_at(exact_listing.began),
            before=before,
            documents=exact_listing.documents,
        )
        listed.append(replace(exact_listing.part, stretch=stretch))
        documents, end, lines = (
            documents + exact_listing.documents,
            exact_listing.ended,
            before + exact_listing.lines,
        )
    return ListedSource(tuple(listed), documents, problems)


def list_part(part: SourcePart) -> PartListing:
    """Read one part and return its listing, without any document."""
    findings, documents = Findings(), 0
    problems = Problems(keep=part.options.limits.problems)
    for outcome in part.outcomes(findings):
        if isinstance(outcome, SourceProblem):
            problems.add(outcome)
        else:
            documents += 1
    lines = max(0, findings.lines - part.stretch.before)
    return PartListing(part, findings.began, findings.ended, lines, documents, problems)


def _size(place: str) -> int | None:
    path = Path(place)
    return size_of(path) if address_of(path) or path.is_file() else None
