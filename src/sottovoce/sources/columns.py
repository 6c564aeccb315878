"""Finding columns by name, and saying what there is when one is not there."""

from collections import Counter
from difflib import get_close_matches

from sottovoce.errors import InputError
from sottovoce.sources.problems import shown

_LISTED = 20


def find_columns(
    columns: tuple[str, ...], wanted: tuple[str, ...], *, option: str, name: str
) -> tuple[str, ...]:
    """The `wanted` columns, each of which must be among `columns`."""
    for column in wanted:
        if column not in columns:
            raise missing_column(column, columns, option=option, name=name)
    return wanted


def missing_column(wanted: str, columns: tuple[str, ...], *, option: str, name: str) -> InputError:
    """The error that lists the columns there are and suggests the nearest."""
    listed = ", ".join(shown(column) for column in columns[:_LISTED])
    more = f" and {len(columns) - _LISTED:,} more" if len(columns) > _LISTED else ""
    hints = [f"{option} {_quoted(near)}" for near in _nearest(wanted, columns)]
    if columns and columns == tuple(str(number + 1) for number in range(len(columns))):
        hints = [f"columns without names are counted from 1: {option} 1"]
    elif columns and all(_looks_like_data(column) for column in columns[:_LISTED]):
        hints.append("the first row looks like data, not like names: --no-header")
    if not hints:
        what = option.removeprefix("--").replace("group", "group (patient, author)")
        hints.append(f"{option} COLUMN names the column that holds the {what}")
    return InputError(
        f"{name}: expected a column {shown(wanted)}, found {listed or 'none'}{more}",
        hints=tuple(hints),
    )


def check_unique(columns: tuple[str, ...], used: tuple[str, ...], *, name: str) -> None:
    """Refuse a column that is used and whose name stands twice, because it could be either."""
    counts = Counter(columns)
    for column in used:
        if counts[column] > 1:
            raise InputError(
                f"{name}: expected one column {shown(column)}, found {counts[column]} of that name",
                hints=("rename one of them in the first line of the file",),
            )


def repeated(columns: tuple[str, ...]) -> tuple[str, ...]:
    """The names that stand more than once."""
    return tuple(column for column, count in Counter(columns).items() if count > 1)


def _nearest(wanted: str, columns: tuple[str, ...]) -> list[str]:
    folded = {column.strip().casefold(): column for column in columns}
    close = get_close_matches(wanted.strip().casefold(), folded, n=1, cutoff=0.6)
    return [folded[match] for match in close]


def _quoted(column: str) -> str:
    return column if column.isidentifier() else shown(column)


def _looks_like_data(column: str) -> bool:
    words = column.strip().replace(".", "", 1).lstrip("+-")
    return words == "" or words.isdecimal() or len(words) == 1
