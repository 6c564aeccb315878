"""A document of a source: text, label, group, columns, spans, and its origin."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import isfinite
from typing import Self

from sottovoce.errors import InputError

Label = str | int | float | bool
"""A label in the source's form; `text.labels` gives it its one name."""

Value = str | int | float | bool | None
"""The value of a further column in one row; None if the source has none."""


class NestedJson(str):
    """The JSON of an object or a list in the source, which is copied and never read."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """The place of a document for error messages, such as `notes.csv line 12`."""

    source: str
    position: int | None = None
    unit: str = "row"

    def __str__(self) -> str:
        return (
            self.source if self.position is None else f"{self.source} {self.unit} {self.position}"
        )


UNKNOWN = Origin("document")


@dataclass(frozen=True, slots=True, order=True)
class Fragment:
    """A contiguous stretch of a document's text, in code points: text[start:end]."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise InputError(
                f"fragment: expected 0 <= start <= end, found {self.start} and {self.end}"
            )

    def overlaps(self, other: Self) -> bool:
        """Return whether the two share at least one character."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class Span:
    """An annotated entity: its type, and the one or more fragments that it covers."""

    type: str
    fragments: tuple[Fragment, ...]
    name: str = ""

    def __post_init__(self) -> None:
        if not self.fragments:
            raise InputError(f"span {self.name or self.type}: it has no fragment")


@dataclass(frozen=True, slots=True)
class Document:
    """One document; `label` is None if the source has none, `group` if none was asked for.

    A document of several labels at once (multi-label) has a tuple of them, which may be empty.
    `columns` holds the further columns (categorical and numeric) by name, `kept` the unchanged
    values that are copied to a labelled table. `spans` holds annotated entities, which may nest,
    overlap and be discontinuous. Its repr shows its origin and nothing of its text.
    """

    text: str = field(repr=False)
    label: Label | tuple[Label, ...] | None = field(default=None, repr=False)
    group: str | None = field(default=None, repr=False)
    columns: Mapping[str, Value] = field(default_factory=dict, hash=False, repr=False)
    spans: tuple[Span, ...] = field(default=(), repr=False)
    origin: Origin = UNKNOWN
    kept: Mapping[str, Value] = field(default_factory=dict, hash=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse NaN and infinity as labels."""
        if isinstance(self.label, str):
            return
        for label in self.label if isinstance(self.label, tuple) else (self.label,):
            if isinstance(label, float) and not isfinite(label):
                raise InputError(
                    f"{self.origin}: expected a label, found {label}",
                    hints=("leave rows without a label out: frame.dropna(subset=[…])",),
                )


def digest_of(documents: Iterable[Document]) -> bytes:
    """Return a digest (32 bytes) of the documents' content, in order, without their origins."""
    running = hashlib.blake2b(digest_size=32, person=b"sottovoce/texts")
    for document in documents:
        further = repr(
            (document.label, document.group, sorted(document.columns.items()), document.spans)
        )
        for text in (document.text, further):
            data = text.encode("utf-8", "surrogatepass")
            running.update(len(data).to_bytes(8) + data)
    return running.digest()


@dataclass(frozen=True, slots=True, repr=False)
class PackedDocuments:
    """Documents as a few columns of builtins, which are fast to send between processes.

    Columns that are only copied to a labelled table are left out.
    """

    text: str
    lengths: list[int]
    labels: list[Label | tuple[Label, ...] | None]
    groups: list[str | None]
    columns: list[Mapping[str, Value]] | None
    spans: list[list[tuple[str, list[tuple[int, int]], str]]] | None
    origins: list[tuple[str, int | None, str]]

    @classmethod
    def of(cls, documents: Sequence[Document]) -> Self:
        """Pack documents; columns and spans only if there are any."""
        return cls(
            "".join([document.text for document in documents]),
            [len(document.text) for document in documents],
            [document.label for document in documents],
            [document.group for document in documents],
            [document.columns for document in documents]
            if any(document.columns for document in documents)
            else None,
            [_bare(document.spans) for document in documents]
            if any(o.spans for o in documents)
            else None,
            [(o.origin.source, o.origin.position, o.origin.unit) for o in documents],
        )

    def documents(self) -> list[Document]:
        """Return the packed documents."""
        ends = list(accumulate(self.lengths))
        places = zip(ends, self.lengths, strict=True)
        count = len(ends)
        return list(
            map(
                Document,
                [self.text[end - length : end] for end, length in places],
                self.labels,
                self.groups,
                self.columns or [{}] * count,
                [()] * count if self.spans is None else map(_dressed, self.spans),
                [Origin(*origin) for origin in self.origins],
            )
        )


def _bare(spans: Iterable[Span]) -> list[tuple[str, list[tuple[int, int]], str]]:
    return [(span.type, [(f.start, f.end) for f in span.fragments], span.name) for span in spans]


def _dressed(spans: Iterable[tuple[str, list[tuple[int, int]], str]]) -> tuple[Span, ...]:
    return tuple(Span(t, tuple(Fragment(*at) for at in where), name) for t, where, name in spans)
