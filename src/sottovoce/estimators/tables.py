"""Tables as documents without text: every row has its columns, and one word that all rows have.

The weight of that word is the intercept. Column names come from a data frame, or count on
from `x1` where an array has none.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sottovoce.errors import InputError, MismatchError
from sottovoce.study.setting_kinds import number
from sottovoce.text.columns import ROW, Categorical, Column, Numeric, Wording
from sottovoce.text.documents import Document, Origin, Value


@dataclass(frozen=True)
class NamedColumns:
    """Rows of values under the names of their columns."""

    names: tuple[str, ...]
    rows: Sequence[tuple[Value, ...]] = field(repr=False)

    @classmethod
    def of(cls, table: Any, *, who: str, names: Sequence[str] | None = None) -> "NamedColumns":
        """A data frame (pandas, polars) by its names, else an array, whose columns are numbered."""
        if hasattr(table, "columns") and hasattr(table, "__getitem__"):
            own = tuple(str(name) for name in table.columns)
            columns = [_listed(table[name]) for name in table.columns]
            read = cls(own, list(zip(*columns, strict=True)))
        else:
            check_is_table(table, who)
            rows = [tuple(map(_plain, row)) for row in table]
            width = len(rows[0]) if rows else len(names or ())
            if any(len(row) != width for row in rows):
                raise InputError(f"{who}: expected rows of {width} columns each")
            read = cls(tuple(names or (f"x{number + 1}" for number in range(width))), rows)
        read.check(who, names)
        return read

    def check(self, who: str, names: Sequence[str] | None) -> None:
        """Raise unless there are columns, and those that were learnt from."""
        if not self.names:
            raise InputError(f"{who}: the table has no columns")
        wanted = tuple(names or self.names)
        if self.rows and len(self.rows[0]) != len(wanted):
            raise MismatchError(f"{who}: expected {len(wanted)} columns, found {len(self.rows[0])}")
        if set(self.names) != set(wanted):
            raise MismatchError(
                f"{who}: expected the columns {', '.join(wanted)}, found {', '.join(self.names)}"
            )

    def documents(
        self, labels: Sequence[Any], groups: Sequence[Any], *, who: str
    ) -> list[Document]:
        """One document a row; copies of a row without a group belong together."""
        made = []
        for place, (row, label, group) in enumerate(
            zip(self.rows, labels, groups, strict=True), start=1
        ):
            named = repr(row) if group is None else str(group)
            columns = dict(zip(self.names, row, strict=True))
            made.append(Document(ROW, label, named, columns, origin=Origin(who, place)))
        return made


def check_is_table(table: Any, who: str) -> None:
    """Refuse what has no rows of columns, by what it is."""
    dimensions = getattr(table, "ndim", None)
    if hasattr(table, "toarray"):
        raise InputError(
            f"{who}: expected a dense table, found a sparse one", hints=("X.toarray()",)
        )
    if dimensions is None and (isinstance(table, str) or not isinstance(table, Sequence)):
        raise InputError(f"{who}: expected a table of rows and columns, found {kind_of(table)}")
    if dimensions is None:
        rows = (isinstance(row, list | tuple | np.ndarray) for row in table)
        dimensions = 2 if all(rows) else 1
    if dimensions != 2:
        alone = ("one row: X.reshape(1, -1)", "one column: X.reshape(-1, 1)")
        raise InputError(
            f"{who}: expected a table of rows and columns, found {dimensions} "
            f"dimension{'s' if dimensions != 1 else ''}",
            hints=alone if dimensions == 1 else (),
        )


def kind_of(thing: Any) -> str:
    """Name the type of a value, in words for people."""
    if thing is None or (isinstance(thing, float) and np.isnan(thing)):
        return "nothing"
    if isinstance(thing, str):
        return "a text"
    name = type(thing).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def is_table(thing: Any) -> bool:
    """Whether this is a data frame or rows of values, rather than a list of texts."""
    if hasattr(thing, "columns") or getattr(thing, "ndim", 1) == 2:
        return True
    if isinstance(thing, list | tuple) and thing:
        return isinstance(thing[0], list | tuple | np.ndarray)
    return False


def columns_of(
    names: Iterable[str],
    *,
    bounds: tuple[float, float] | Mapping[str, tuple[float, float]],
    categories: Mapping[str, Sequence[Any]],
    missing: float | None,
    wordings: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Column, ...]:
    """Return the kind of each column: a number, one of public categories, or listed words."""
    known = tuple(names)
    if not isinstance(categories, Mapping):
        raise InputError(
            f"categories: expected the values of columns by their names, found {categories!r}",
            hints=('categories={"ward": ("eye", "heart")}',),
        )
    if missing is not None:
        missing = number(missing, "missing")
    wordings = wordings or {}
    both = (*categories, *wordings, *(bounds if isinstance(bounds, Mapping) else ()))
    stranger = next((name for name in both if name not in known), None)
    if stranger is not None:
        raise InputError(f"columns: expected one of {', '.join(known)}, found {stranger!r}")
    return tuple(
        Wording(name, _values(name, wordings[name]))
        if name in wordings
        else _column(name, bounds, categories, missing)
        for name in known
    )


def _column(
    name: str,
    bounds: tuple[float, float] | Mapping[str, tuple[float, float]],
    categories: Mapping[str, Sequence[Any]],
    missing: float | None,
) -> Column:
    if name in categories:
        return Categorical(name, _values(name, categories[name]))
    if isinstance(bounds, Mapping) and name not in bounds:
        raise InputError(
            f"column {name}: expected public bounds or categories, found neither",
            hints=(f'bounds={{"{name}": (low, high)}} or categories={{"{name}": (…)}}',),
        )
    low, high = _ends(bounds[name] if isinstance(bounds, Mapping) else bounds)
    return Numeric(name, low, high, missing)


def _values(name: str, values: Any) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(
            f"categories: expected the values of column {name}, found {values!r}",
            hints=(f'categories={{"{name}": ("one", "other")}}',),
        )
    return tuple(str(value) for value in values)


def _ends(bounds: Any) -> tuple[float, float]:
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise InputError(
            f"bounds: expected (low, high), found {bounds!r}", hints=("bounds=(0.0, 100.0)",)
        )
    return number(bounds[0], "bounds"), number(bounds[1], "bounds")


def _listed(column: Any) -> list[Value]:
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    return [_plain(value) for value in values]


def _plain(value: Any) -> Value:
    """Python's own type of a value; what is not a number is nothing."""
    plain: Any = value.item() if hasattr(value, "item") else value
    if isinstance(plain, float) and np.isnan(plain):
        return None
    return plain if isinstance(plain, str | int | float | bool) else None
