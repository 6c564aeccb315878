"""The only module that prints to the terminal: outside text is escaped, never read as markup."""

import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from textwrap import wrap
from typing import TYPE_CHECKING, Any
from unicodedata import combining, east_asian_width

import typer

from sottovoce.wire.printable import escaped_json, escaped_lines

if TYPE_CHECKING:
    from rich.console import Console

_COMMANDS = ("hint: ", "next: ", "sottovoce ")
# What stays on one line: a command, and a moment.
_WHOLE = re.compile(r"`[^`]*`|\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)? UTC")


def say(text: object = "", *, nl: bool = True, err: bool = False, **style: Any) -> None:
    """Print text with control characters escaped; `style` applies to all of it."""
    shown = escaped_lines(str(text))
    if (sys.stderr if err else sys.stdout).isatty():
        shown = folded(shown, shutil.get_terminal_size().columns)
    typer.secho(shown, nl=nl, err=err, **style)


def folded(text: str, width: int) -> str:
    """Break long lines between words; a command stays whole, because somebody may copy it."""
    return "\n".join(_folded(line, width) for line in text.split("\n"))


def _folded(line: str, width: int) -> str:
    if len(line) <= width or line.lstrip().startswith(_COMMANDS):
        return line
    indent, end = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
    kept = _WHOLE.sub(lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), line)
    lines = wrap(
        kept.replace("\t", " "),
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ") + end


def say_json(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Print a text that is already JSON."""
    typer.echo(escaped_json(text), nl=nl, err=err)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print columns, each as wide as its widest cell, without modules that take time to load."""
    cells = [[escaped_lines(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["─" * width for width in widths])
    for row in cells:
        filled = (
            cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)
        )
        typer.echo("  ".join(filled).rstrip())


def _width(cell: str) -> int:
    """The width of a cell on a terminal."""
    return sum(
        0 if combining(character) else 1 + (east_asian_width(character) in {"F", "W"})
        for character in cell
    )


def console(*, err: bool = False) -> "Console":
    """A terminal for tables and bars."""
    from sottovoce.cli.escaping_console import EscapingConsole

    return EscapingConsole(stderr=err, highlight=False, markup=False, emoji=False)


def moment(seconds: float) -> str:
    """A moment in UTC, for people."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def names(listed: tuple[str, ...]) -> str:
    """The names in one line."""
    return ", ".join(listed) or "nobody"


def waiting(what: str, whom: tuple[str, ...], until: float) -> str:
    """A sentence that says who is waited for, for what, and until when (0: without limit)."""
    limit = f"until {moment(until)}" if until else "for as long as it takes"
    return f"waits for {names(whom)} ({what}) {limit}"
