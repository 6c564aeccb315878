"""Finds columns by name, and explains which columns there are if one is missing.

Column names may be text: the first row of a table without a header, or the keys of a JSON object.
So a message quotes only names that the user's command gave or that look like identifiers, and calls
every other column by its number.
"""

import unicodedata
from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches
from shlex import quote

from sottovoce.errors import InputError
from sottovoce.sources.problems import shown

_LISTED = 20
# The similarity from which on a name is suggested; if it may be text, it must be the same.
_NEAR, _SAME = 0.6, 1.0
_NAME_CHARACTERS, _WIDE_CHARACTERS = 32, 6
AGREED = "[columns]"
"""In place of an option: the study named the column."""


@dataclass(frozen=True, slots=True)
class Header:
    """The columns of the source `name`, and whether a message may list them.

    The first row of a delimited file holds names, or data if the file has no header. This is not
    known until one of the requested columns is found in it, so until then it is not quoted.
    """

    name: str
    columns: tuple[str, ...]
    certain: bool = True

    def find(self, wanted: tuple[str, ...], *, option: str) -> tuple[str, ...]:
        """Return the `wanted` columns; a missing one is an error."""
        for column in wanted:
            if column not in self.columns:
                raise self.missing(column, option=option)
        return wanted

    def missing(self, wanted: str, *, option: str) -> InputError:
        """Return the error that suggests the nearest column, and lists all if that is safe."""
        near = _nearest(wanted, self.columns, cutoff=_NEAR if self.certain else _SAME)
        hints = [f"{option} {_quoted(column)}" for column in near]
        if option == AGREED:
            hints = [f"the study has this column: name yours {_quoted(wanted)}"]
        numbers = tuple(str(number + 1) for number in range(len(self.columns)))
        if self.columns and self.columns == numbers and option != AGREED:
            hints = [f"columns without names are counted from 1: {option} 1"]
        if not self.certain:
            hints += [
                "if the first row holds data and not names: --no-header",
                f"to see the names that it has: head -n 1 {quote(self.name)}",
            ]
        if not hints:
            what = option.removeprefix("--").replace("group", "group (patient, author)")
            hints.append(f"{option} COLUMN names the column that holds the {what}")
        return InputError(
            f"{self.name}: expected a column {shown(wanted)}, found {self.listed}",
            hints=tuple(hints),
        )

    @property
    def listed(self) -> str:
        """The columns in the form in which a message may show them."""
        count = len(self.columns)
        if not self.certain:
            return f"{count:,} column{'s' if count != 1 else ''}, none of them of that name"
        names = ", ".join(self.called(column) for column in self.columns[:_LISTED])
        more = f" and {count - _LISTED:,} more" if count > _LISTED else ""
        return f"{names or 'none'}{more}"

    def called(self, column: str) -> str:
        """Return a column's name for a message, or its number if the name could be text."""
        return repr(column) if is_name(column) else f"number {self.columns.index(column) + 1}"

    def check_unique(self, used: tuple[str, ...]) -> None:
        """Refuse a used column whose name occurs twice, because it is ambiguous."""
        counts = Counter(self.columns)
        for column in used:
            if counts[column] > 1:
                called = f"one column {shown(column)}" if self.certain else "every name once"
                raise InputError(
                    f"{self.name}: expected {called}, found {counts[column]} of that name",
                    hints=("rename one of them in the first line of the file",),
                )

    @property
    def repeated(self) -> str:
        """Return a sentence about names that occur more than once; empty if there are none."""
        twice = tuple(column for column, count in Counter(self.columns).items() if count > 1)
        if not twice:
            return ""
        names = ", ".join(map(self.called, twice)) if self.certain else f"{len(twice):,}"
        return f"columns of the same name, not used: {names}"


def _nearest(wanted: str, columns: tuple[str, ...], *, cutoff: float) -> list[str]:
    """Return the column with the nearest name; one that may be text must differ only in case."""
    asked = wanted.strip().casefold()
    by_folded = ((column.strip().casefold(), column) for column in columns)
    folded = {name: column for name, column in by_folded if is_name(column) or name == asked}
    close = get_close_matches(asked, folded, n=1, cutoff=cutoff)
    return [folded[match] for match in close]


def is_name(column: str) -> bool:
    """Return whether this looks like an identifier, not like words of a text.

    Scripts without spaces write a sentence in a dozen wide characters.
    """
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in column)
    joined = column.replace("-", "_").replace(".", "_")
    short = len(column) <= _NAME_CHARACTERS and wide <= _WIDE_CHARACTERS
    return short and (joined.isidentifier() or column.isdecimal())


def shown_column(column: str) -> str:
    """Return the name of a column matched by `*`, for a message about its values."""
    return repr(column) if is_name(column) else f"one with a name of {len(column.split()):,} words"


def _quoted(column: str) -> str:
    return column if column.isidentifier() else shown(column)
