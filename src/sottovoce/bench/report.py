"""One way to show measurements: a table for people, JSON for scripts."""

import json
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

Row = Mapping[str, object]


def figure(value: object) -> str:
    """A number as people read it: three digits that matter, thousands apart."""
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
        print(json.dumps({**facts, "rows": [dict(row) for row in rows]}))  # noqa: T201 - the output of the command
        return
    table = Table(title=title, title_justify="left", caption_justify="left")
    table.caption = " · ".join(f"{name} {figure(value)}" for name, value in facts.items())
    columns = list(dict.fromkeys(name for row in rows for name in row))
    for name in columns:
        numeric = any(isinstance(row.get(name), int | float) for row in rows)
        table.add_column(name.replace("_", " "), justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(figure(row.get(name)) for name in columns))
    Console().print(table)
