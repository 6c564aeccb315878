"""A source of documents, which can be read any number of times, one document at a time.

Which problems are fatal, and what the others cost:

    fatal (InputError)     nothing at that path, not a regular file, not readable,
                           not text, an unknown encoding, a header that cannot be
                           read, a column that is not there, no usable document
    costs its own row      bytes outside the encoding, a NUL byte, a row that is
                           malformed, ragged or too long, a value of another type,
                           a missing or unknown label, a missing group, no text
    costs its own file     (folders, BRAT) unreadable, too long, without its pair
    costs its own line     (BRAT) an annotation that is malformed, whose offsets do
                           not match the text, or that refers to nothing
"""

from collections import Counter
from collections.abc import Iterator
from typing import Protocol

from sottovoce.errors import InputError
from sottovoce.hints import ShellCommand
from sottovoce.sources.columns import Header
from sottovoce.sources.options import Format, SourceOptions
from sottovoce.sources.problems import Loss, Problems, SourceProblem
from sottovoce.text.documents import Document

_NOTES = 20


class Findings:
    """The findings of one pass over a source: progress, notes and counts."""

    def __init__(self, *, keep: int = 100) -> None:
        self.problems = Problems(keep=keep)
        self.notes: dict[str, None] = {}
        self.annotations: Counter[str] = Counter()
        self.done = 0
        self.total: int | None = None
        self.began = 0
        """The position at which the first record of a stretch began."""
        self.ended = 0
        """The position of the first record after a stretch."""
        self.lines = 0
        """The number of lines between the two."""

    def note(self, words: str) -> None:
        """Keep a note for the user; each note is kept once, and not too many."""
        if words and len(self.notes) < _NOTES:
            self.notes[words] = None


class Reader(Protocol):
    """The interface that every kind of source implements."""

    @property
    def format(self) -> Format:
        """The kind of source."""

    @property
    def name(self) -> str:
        """The name of the source in messages."""

    def header(self) -> Header:
        """The columns that are known before everything is read."""

    def read(self, findings: Findings) -> Iterator[Document | SourceProblem]:
        """Yield every document, and every problem in its place."""


class Source:
    """Documents from one place; `findings` are those of the latest pass."""

    def __init__(self, reader: Reader, options: SourceOptions) -> None:
        """Read with `reader` according to `options`; nothing is opened yet."""
        self.reader = reader
        self.options = options
        self.findings = Findings(keep=options.limits.problems)

    def __repr__(self) -> str:
        return f"Source({self.name!r}, format={self.format.value!r})"

    @property
    def name(self) -> str:
        """The name of the source in messages."""
        return self.reader.name

    @property
    def format(self) -> Format:
        """The kind of source."""
        return self.reader.format

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are known before everything is read."""
        return self.reader.header().columns

    @property
    def header(self) -> Header:
        """Return the columns, and whether a message may list them."""
        return self.reader.header()

    @property
    def problems(self) -> Problems:
        """The problems of the latest pass."""
        return self.findings.problems

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for a user on how the latest pass read the source."""
        return tuple(self.findings.notes)

    def outcomes(self) -> Iterator[Document | SourceProblem]:
        """Yield every document and every problem in order, also if no document is usable."""
        self.findings = findings = Findings(keep=self.options.limits.problems)
        for outcome in self.reader.read(findings):
            if isinstance(outcome, SourceProblem):
                findings.problems.add(outcome)
            yield outcome

    def documents(self) -> Iterator[Document]:
        """Yield every usable document in order; raise InputError at the end if there was none."""
        usable = False
        for outcome in self.outcomes():
            if isinstance(outcome, Document):
                usable = True
                yield outcome
        if not usable:
            raise self.nothing_usable()

    def __iter__(self) -> Iterator[Document]:
        return self.documents()

    def nothing_usable(self) -> InputError:
        """Return the error for a source without a single usable document."""
        lost = self.problems.documents
        if not lost:
            return InputError(f"{self.name}: there is no document in it")
        first = next((p for p in self.problems if p.cost is Loss.DOCUMENT), None)
        hints = [f"the first was {first}"]
        if self.format is not Format.MEMORY:
            hints.append(ShellCommand(f"sottovoce data inspect {self.name}"))
        return InputError(
            f"{self.name}: no document can be used: "
            f"all {lost:,} were skipped ({self.problems.summary()})",
            hints=tuple(hints),
        )
