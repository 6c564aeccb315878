"""Problems of a source, with place and reason: all are counted, and listed up to a bound.

A reason never quotes text, because this software protects text. It names files, lines, bytes,
columns and (shortened) labels.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from shlex import quote

from sottovoce.text.documents import Origin
from sottovoce.text.labels import is_label


class ProblemKind(StrEnum):
    """Why something was left out; the value is the phrase that people see."""

    ENCODING = "bytes outside the encoding"
    NUL = "NUL byte"
    TOO_LONG = "too long"
    MALFORMED = "malformed row"
    RAGGED = "wrong number of fields"
    WRONG_TYPE = "value of another type"
    EMPTY_TEXT = "empty text"
    NO_LABEL = "no label"
    UNKNOWN_LABEL = "unknown label"
    REJECTED = "answer other than accept"
    DISAGREEMENT = "annotators disagree"
    NO_GROUP = "no group"
    NOT_A_NUMBER = "not a number"
    UNREADABLE = "unreadable file"
    UNPAIRED = "one half of a pair missing"
    MALFORMED_ANNOTATION = "malformed annotation line"
    WRONG_OFFSET = "offsets that do not match the text"
    DANGLING = "reference to something that is not there"


class Loss(StrEnum):
    """What a problem costs: a whole document, or one line of its annotation."""

    DOCUMENT = "document"
    ANNOTATION = "annotation"


@dataclass(frozen=True, slots=True)
class SourceProblem:
    """One thing that was left out."""

    origin: Origin
    kind: ProblemKind
    reason: str
    cost: Loss = Loss.DOCUMENT
    spelling: tuple[str, str] | None = None
    """A label in the source, and the known label from which it differs only in case or space."""

    def __str__(self) -> str:
        return f"{self.origin}: {self.reason}"

    def moved(self, lines: int) -> "SourceProblem":
        """Return the same problem, this number of lines further down."""
        position = self.origin.position
        if not lines or position is None:
            return self
        return replace(self, origin=replace(self.origin, position=position + lines))


class Problems:
    """The problems of one pass, counted by kind; the first of each kind are kept to be shown."""

    def __init__(self, *, keep: int = 100) -> None:
        """Keep the first `keep` problems of each kind, and count them all."""
        self._keep = keep
        self._kept: list[SourceProblem] = []
        self._kept_of: Counter[ProblemKind] = Counter()
        self.counts: Counter[ProblemKind] = Counter()
        self.spellings: Counter[tuple[str, str]] = Counter()
        self.documents = 0
        self.annotations = 0

    def add(self, problem: SourceProblem) -> None:
        """Count `problem`, and keep it if few of its kind were kept before."""
        self.counts[problem.kind] += 1
        if problem.spelling is not None:
            self.spellings[problem.spelling] += 1
        if problem.cost is Loss.DOCUMENT:
            self.documents += 1
        else:
            self.annotations += 1
        if self._kept_of[problem.kind] < self._keep:
            self._kept_of[problem.kind] += 1
            self._kept.append(problem)

    def join(self, later: "Problems", *, lines: int = 0) -> None:
        """Add the problems of a part that was read separately, and begins `lines` lines later."""
        self.counts += later.counts
        self.spellings += later.spellings
        self.documents += later.documents
        self.annotations += later.annotations
        for problem in later:
            if self._kept_of[problem.kind] < self._keep:
                self._kept_of[problem.kind] += 1
                self._kept.append(problem.moved(lines))

    def __len__(self) -> int:
        return self.documents + self.annotations

    def __iter__(self) -> Iterator[SourceProblem]:
        """Yield the kept problems, in the order in which they were found."""
        return iter(tuple(self._kept))

    def summary(self) -> str:
        """Return the counts in words, the most frequent kind first."""
        return ", ".join(f"{count:,} × {kind}" for kind, count in self.counts.most_common())

    def sentences(self) -> Iterator[str]:
        """Yield sentences for people about these problems; they quote no text."""
        if self.documents:
            rows = "row is" if self.documents == 1 else "rows are"
            yield f"{self.documents:,} {rows} left out ({self.summary()})"
        outside = self.counts[ProblemKind.UNKNOWN_LABEL]
        if outside:
            rows = "row has" if outside == 1 else "rows have"
            yield f"{outside:,} {rows} a label that the study does not have"
        for (name, meant), count in self.spellings.most_common():
            yield f"{count:,} of them say {name!r}, which is {meant!r} but for case or space"
        if self.spellings:
            yield f"to take them: {label_map_option(self.spellings)}"


def label_map_option(spellings: Iterable[tuple[str, str]]) -> str:
    """Return the option that maps labels to others, ready for a shell."""
    pairs = ",".join(f"{name}={meant}" for name, meant in sorted(spellings))
    return f"--label-map {quote(pairs)}"


def shown(name: object) -> str:
    """Return a label's or a column's name for a message; of a longer text only its word count.

    A JSON object may have texts as its names.
    """
    words = str(name)
    return repr(words) if is_label(words) else f"one of {len(words.split()):,} words"
