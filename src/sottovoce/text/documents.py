"""A document as its source found it: text, label, group, columns, spans, and where it lay."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Self

from sottovoce.errors import InputError

Label = str | int | float | bool
"""A label as it stood in the source; `text.labels` gives it its one name."""

Value = str | int | float | bool | None
"""What a further column holds in one row; None where the source has nothing."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a document lay, in the words of an error message: `notes.csv line 12`."""

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
        """Whether the two share at least one character."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class Span:
    """An annotated entity: its type, and the one or more fragments that it covers."""

    type: str
    fragments: tuple[Fragment, ...]
    name: str = ""

    def __post_init__(self) -> None:
        if not self.fragments:
            raise InputError(f"span {self.name or self.type}: expected a fragment, found none")


@dataclass(frozen=True, slots=True)
class Document:
    """One document; `label` is None where the source has none, `group` where none was asked for.

    A document of several labels at once (multi-label) has a tuple of them, which may be empty.
    `columns` holds the further columns (categorical and numeric) by name.
    `spans` holds annotated entities, which may nest, overlap and be discontinuous.
    A log sees where it lay, and nothing of what it says.
    """

    text: str = field(repr=False)
    label: Label | tuple[Label, ...] | None = field(default=None, repr=False)
    group: str | None = field(default=None, repr=False)
    columns: Mapping[str, Value] = field(default_factory=dict, hash=False, repr=False)
    spans: tuple[Span, ...] = field(default=(), repr=False)
    origin: Origin = UNKNOWN

    def __post_init__(self) -> None:
        """A label that is not a number is no label."""
        for label in self.label if isinstance(self.label, tuple) else (self.label,):
            if isinstance(label, float) and not isfinite(label):
                raise InputError(f"{self.origin}: expected a label, found {label}")
