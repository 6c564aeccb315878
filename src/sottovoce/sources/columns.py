"""Finding columns by name, and saying what there is when one is not there.

The place for column names may hold text: the first row of a table without a header, or the keys of
a JSON object. So a message quotes only names that the command itself gave or that look like
identifiers, and gives every other column by its number.
"""

import unicodedata
from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches
from shlex import quote

from sottovoce.errors import InputError
from sottovoce.sources.problems import shown

_LISTED = 20
# How near a name must be to be suggested; where it may be the first row of a text, the same.
_NEAR, _SAME = 0.6, 1.0
_NAME_CHARACTERS, _WIDE_CHARACTERS = 32, 6
AGREED = "[columns]"
"""In place of an option: the study named the column."""


@dataclass(frozen=True, slots=True)
class Header:
    """The columns of the source `name`, and whether a message may list them.

    The first row of a delimited file holds names, or it holds data and the file has no header.
    Until one of the requested columns is found in it, nobody knows, so it is not quoted.
    """

    name: str
    columns: tuple[str, ...]
    certain: bool = True

    def find(self, wanted: tuple[str, ...], *, option: str) -> tuple[str, ...]:
        """The `wanted` columns, each of which must be there."""
        for column in wanted:
            if column not in self.columns:
                raise self.missing(column, option=option)
        return wanted

    def missing(self, wanted: str, *, option: str) -> InputError:
        """The error that suggests the nearest column, and lists all where that is safe."""
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
        """The columns as a message may show them."""
        count = len(self.columns)
        if not self.certain:
            return f"{count:,} column{'s' if count != 1 else ''}, none of them of that name"
        names = ", ".join(self.called(column) for column in self.columns[:_LISTED])
        more = f" and {count - _LISTED:,} more" if count > _LISTED else ""
        return f"{names or 'none'}{more}"

    def called(self, column: str) -> str:
        """A column as a message may name it: by its number, where its name could be text."""
        return repr(column) if is_name(column) else f"number {self.columns.index(column) + 1}"

    def check_unique(self, used: tuple[str, ...]) -> None:
        """Refuse a used column whose name occurs twice: it could be either."""
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
        """Return a sentence about names that stand more than once; empty where there are none."""
        twice = tuple(column for column, count in Counter(self.columns).items() if count > 1)
        if not twice:
            return ""
        names = ", ".join(map(self.called, twice)) if self.certain else f"{len(twice):,}"
        return f"columns of the same name, not used: {names}"


def _nearest(wanted: str, columns: tuple[str, ...], *, cutoff: float) -> list[str]:
    """The column with the nearest name; one that may be text must differ in case alone."""
    asked = wanted.strip().casefold()
    by_folded = ((column.strip().casefold(), column) for column in columns)
    folded = {name: column for name, column in by_folded if is_name(column) or name == asked}
    close = get_close_matches(asked, folded, n=1, cutoff=cutoff)
    return [folded[match] for match in close]


def is_name(column: str) -> bool:
    """Whether this looks like an identifier, and not like words of a text.

    Scripts without spaces write a sentence in a dozen wide characters.
    """
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in column)
    joined = column.replace("-", "_").replace(".", "_")
    short = len(column) <= _NAME_CHARACTERS and wide <= _WIDE_CHARACTERS
    return short and (joined.isidentifier() or column.isdecimal())


def shown_column(column: str) -> str:
    """A column that `*` stands for, as a message about its values may name it."""
    return repr(column) if is_name(column) else f"one with a name of {len(column.split()):,} words"


def _quoted(column: str) -> str:
    return column if column.isidentifier() else shown(column)
