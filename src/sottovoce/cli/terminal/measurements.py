"""One way to show measurements: a table for people, JSON for scripts."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from sottovoce.cli.terminal import screen

if TYPE_CHECKING:
    from rich.console import JustifyMethod

Row = Mapping[str, object]

_EDGES = 3
"""Characters that a column needs beside its content."""


def figure(value: object) -> str:
    """A number for people: three significant digits, separated thousands."""
    if isinstance(value, float):
        if value == 0:
            return "0"
        if abs(value) >= 100:
            return f"{value:,.0f}"
        return f"{value:.3g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "" if value is None else str(value)


def show(facts: Row, rows: Sequence[Row], *, title: str, as_json: bool) -> None:
    """Print `rows` under `facts`: as a table headed `title`, or as one JSON object."""
    if as_json:
        screen.say_json_text(as_text({**facts, "rows": [dict(row) for row in rows]}))
        return
    console = screen.console()
    console.print(title, style="bold")
    for drawn in tables(rows, width=console.width):
        console.print(drawn)
    if facts:
        line = " · ".join(f"{name} {figure(value)}" for name, value in facts.items())
        console.print(line, style="dim")


def as_text(facts: Row) -> str:
    """One JSON object; NaN and infinities become null, because JSON has no word for them."""
    return json.dumps(_finite(facts), allow_nan=False)


def _finite(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value


def tables(rows: Sequence[Row], *, width: int) -> list[Table]:
    """The rows as tables that break no word at `width`.

    One line for each row; with too many columns, one column for each row; with too many of these,
    one table for each row.
    """
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[name.replace("_", " "), *(figure(row.get(name)) for row in rows)] for name in columns]
    if _fits(cells, width):
        figures = [any(isinstance(row.get(name), int | float) for row in rows) for name in columns]
        return [_drawn(cells, figures, width)]
    names, *others = [list(line) for line in zip(*cells, strict=True)]
    if _fits([names, *others], width):
        return [_drawn([names, *others], [False, *(True for _ in others)], width)]
    return [_drawn([names, other], [False, True], width) for other in others]


def _drawn(cells: Sequence[Sequence[str]], numeric: Sequence[bool], width: int) -> Table:
    """A table of columns, each headed by its first cell."""
    drawn = Table()
    widths = _widths(cells, _room(cells, width))
    for column, right, wide in zip(cells, numeric, widths, strict=True):
        justify: JustifyMethod = "right" if right else "left"
        drawn.add_column(column[0], justify=justify, width=wide, overflow="fold")
    for line in list(zip(*cells, strict=True))[1:]:
        drawn.add_row(*line)
    return drawn


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int]:
    """As wide as the content; if that is too wide, headings are broken first, then the rest."""
    widths = [max(map(len, column)) for column in columns]
    words = _narrowest(columns)
    bodies = [max(word, *map(len, column[1:])) for word, column in zip(words, columns, strict=True)]
    for least in (bodies, words):
        while sum(widths) > room and widths != least:
            slack = [wide - few for wide, few in zip(widths, least, strict=True)]
            widths[slack.index(max(slack))] -= 1
    return widths


def _fits(columns: Sequence[Sequence[str]], width: int) -> bool:
    return sum(_narrowest(columns)) <= _room(columns, width)


def _room(columns: Sequence[Sequence[str]], width: int) -> int:
    return width - _EDGES * len(columns) - 1


def _narrowest(columns: Sequence[Sequence[str]]) -> list[int]:
    """The longest word of each column."""
    return [max((len(w) for cell in column for w in cell.split()), default=1) for column in columns]
