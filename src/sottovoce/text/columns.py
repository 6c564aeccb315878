"""Further columns besides the text: categories and words one-hot, numbers by public bounds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from math import isfinite, isqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import InputError
from sottovoce.text.documents import Document, Value
from sottovoce.text.labels import label_name
from sottovoce.text.tokenizing.tokens import WordTokenizer

GRID = 64
"""Columns are multiples of 1/64, so that encrypted scoring uses the same numbers."""

ROW = "row"
"""The word that every row of a table without text has."""


class Column(Protocol):
    """A further column of the source, and the features for it."""

    @property
    def name(self) -> str:
        """The column's name in the source."""

    @property
    def width(self) -> int:
        """The number of its features."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Its name and those of its values."""

    @property
    def reach(self) -> int:
        """The largest sum of its features, in units of 1/GRID."""

    def encode(self, value: Value, *, where: str) -> list[int]:
        """Return its features in units of 1/GRID; errors name `where` the value was."""


@dataclass(frozen=True, slots=True)
class Categorical:
    """One feature per value of a public list; another or a missing value has none of them."""

    name: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) < len(self.values):
            raise InputError(
                f"column {self.name}: expected different values, "
                f"found {', '.join(self.values) or 'none'}"
            )

    @property
    def width(self) -> int:
        """The number of its features."""
        return len(self.values)

    @property
    def texts(self) -> tuple[str, ...]:
        """Its name and those of its values."""
        return self.name, *self.values

    @property
    def reach(self) -> int:
        """The same as GRID, because only one feature is not 0."""
        return GRID

    def encode(self, value: Value, *, where: str) -> list[int]:  # noqa: ARG002 - every value is fine
        """Return GRID at the value's own feature, 0 elsewhere."""
        name = None if value is None else label_name(value)
        return [GRID if name == known else 0 for known in self.values]


@dataclass(frozen=True, slots=True)
class Numeric:
    """A number between public bounds, scaled to [-1, 1]; beyond a bound it counts as the bound.

    `missing` replaces a missing value, which is an error without it.
    """

    name: str
    low: float
    high: float
    missing: float | None = None

    def __post_init__(self) -> None:
        if not (isfinite(self.low) and isfinite(self.high) and self.low < self.high):
            raise InputError(
                f"column {self.name}: expected finite bounds low < high, "
                f"found {self.low:g} and {self.high:g}"
            )

    @property
    def width(self) -> int:
        """One feature."""
        return 1

    @property
    def texts(self) -> tuple[str, ...]:
        """Its name."""
        return (self.name,)

    @property
    def reach(self) -> int:
        """The bounds are public."""
        return GRID

    def encode(self, value: Value, *, where: str) -> list[int]:
        """The number in units of 1/GRID."""
        number = self._number(value, where)
        scaled = (2 * number - self.low - self.high) / (self.high - self.low)
        return [round(GRID * min(max(scaled, -1.0), 1.0))]

    def _number(self, value: Value, where: str) -> float:
        if value is None or value == "":
            if self.missing is not None:
                return self.missing
        elif (number := _parsed(value)) is not None:
            return number
        raise InputError(
            f"{where}: expected a number in column {self.name}, "
            f"found {'nothing' if value in {None, ''} else 'something else'}",
            hints=("choose a value for missing numbers: Numeric(..., missing=0.0)",),
        )


@dataclass(frozen=True, slots=True)
class Wording:
    """A column of text: one feature for every word of a public list.

    Its words together have length 1, like the words of a document: k words are 1/√k each. A missing
    text has none.
    """

    name: str
    words: tuple[str, ...]

    def __post_init__(self) -> None:
        cut = [token for word in self.words for token in _words_of(word)]
        if not self.words or len(set(cut)) < len(self.words) or len(cut) > len(self.words):
            raise InputError(
                f"column {self.name}: expected different single words, "
                f"found {', '.join(self.words) or 'none'}"
            )

    @property
    def width(self) -> int:
        """The number of its features."""
        return len(self.words)

    @property
    def texts(self) -> tuple[str, ...]:
        """Its name and its words."""
        return self.name, *self.words

    @property
    def reach(self) -> int:
        """The largest sum of all its words, each rounded."""
        return max(self._parts(count) * count for count in range(1, self.width + 1))

    def encode(self, value: Value, *, where: str) -> list[int]:  # noqa: ARG002 - every text is fine
        """Return the same number for every listed word in the text, 0 elsewhere."""
        has = set() if value is None else set(_words_of(str(value)))
        known = [token in has for word in self.words for token in _words_of(word)]
        parts = self._parts(max(1, sum(known)))
        return [parts if there else 0 for there in known]

    @staticmethod
    def _parts(count: int) -> int:
        # Rounded down: a row is never longer than 1.
        return isqrt(GRID * GRID // count)


def _words_of(text: str) -> list[str]:
    """Return the words of a text in the form that the dictionary uses."""
    reader = WordTokenizer()
    return [token for piece in reader.pieces(text) for token in reader.fold(piece)]


def _parsed(value: str | float) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if isfinite(number) else None


def as_row(document: Document) -> Document:
    """Return a row of a table as a document of one common word; copies of a row form a group."""
    group = repr(sorted(document.columns.items())) if document.group is None else document.group
    return replace(document, text=ROW, group=group)


def encode_columns(columns: Sequence[Column], documents: Sequence[Document]) -> NDArray[np.int64]:
    """Return the columns' features, documents × width, in units of 1/GRID."""
    width = sum(column.width for column in columns)
    if not width:
        return np.zeros((len(documents), 0), np.int64)
    rows = [[x for column in columns for x in _encoded(column, document)] for document in documents]
    return np.array(rows, np.int64).reshape(len(documents), width)


def _encoded(column: Column, document: Document) -> list[int]:
    if column.name not in document.columns:
        near = get_close_matches(column.name, document.columns, n=1)
        raise InputError(
            f"{document.origin}: expected a column {column.name}, "
            f"found {', '.join(document.columns) or 'none'}",
            hints=(f"did you mean {near[0]}?",) if near else (),
        )
    return column.encode(document.columns[column.name], where=str(document.origin))
