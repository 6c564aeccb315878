"""Finding columns by name, and saying what there is when one is not there."""

from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches
from shlex import quote

from sottovoce.errors import InputError
from sottovoce.sources.problems import shown
from sottovoce.text.labels import is_label

_LISTED = 20
# How near a name must be to be suggested; where it may be the first row of a text, the same.
_NEAR, _SAME = 0.6, 1.0


@dataclass(frozen=True, slots=True)
class Header:
    """The columns of the source `name`, and whether a message may list them.

    The first row of a delimited file holds names, or it holds data and the file has no header.
    Until one of the columns that were asked for stands in it, nobody knows, so it is not quoted.
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
        numbers = tuple(str(number + 1) for number in range(len(self.columns)))
        if self.columns and self.columns == numbers:
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
            return f"{count:,} column{'s' if count != 1 else ''}, none of them called so"
        names = ", ".join(shown(column) for column in self.columns[:_LISTED])
        more = f" and {count - _LISTED:,} more" if count > _LISTED else ""
        return f"{names or 'none'}{more}"

    def check_unique(self, used: tuple[str, ...]) -> None:
        """Refuse a column that is used and whose name stands twice: it could be either."""
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
        """What to tell about names that stand more than once; empty where there are none."""
        twice = tuple(column for column, count in Counter(self.columns).items() if count > 1)
        if not twice:
            return ""
        names = ", ".join(map(shown, twice)) if self.certain else f"{len(twice):,}"
        return f"columns of the same name, not used: {names}"


def _nearest(wanted: str, columns: tuple[str, ...], *, cutoff: float) -> list[str]:
    """A column that is called nearly so; where it may be text, only what was asked for itself."""
    folded = {column.strip().casefold(): column for column in columns if is_label(column)}
    close = get_close_matches(wanted.strip().casefold(), folded, n=1, cutoff=cutoff)
    return [folded[match] for match in close]


def _quoted(column: str) -> str:
    return column if column.isidentifier() else shown(column)
