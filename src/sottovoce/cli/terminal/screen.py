"""The only module that prints to the terminal: outside text is escaped, never read as markup."""

import json
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING, Any
from unicodedata import combining, east_asian_width

import typer

from sottovoce.node.awaited import awaited
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
    kept = _WHOLE.sub(lambda match: match[0].replace(" ", "\N{NO-BREAK SPACE}"), line)
    lines = wrap(
        kept.replace("\t", " "),
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ") + end


def tell(words: str, facts: object, *, as_json: bool, err: bool = False) -> None:
    """Print the result of a command: words for people, or the same facts for scripts."""
    if as_json:
        say_json(facts, err=err)
    else:
        say(words, err=err)


def say_json(content: object, *, err: bool = False) -> None:
    """Print one line of JSON, which a terminal never folds."""
    say_json_text(json.dumps(content, ensure_ascii=False), err=err)


def say_json_text(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Print a text that is already JSON."""
    typer.echo(escaped_json(text), nl=nl, err=err)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print columns, each as wide as its widest cell, without modules that take time to load.

    On a terminal that is too narrow, the widest columns break between words.
    """
    cells = [[escaped_lines(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    if sys.stdout.isatty():
        widths = _fitted(widths, cells, shutil.get_terminal_size().columns)
    lines = [
        line for row in cells for line in zip_longest(*map(_in_lines, row, widths), fillvalue="")
    ]
    lines.insert(1, tuple("─" * width for width in widths))
    for line in lines:
        filled = (
            part + " " * (width - _width(part)) for part, width in zip(line, widths, strict=True)
        )
        typer.echo("  ".join(filled).rstrip())


def _fitted(widths: list[int], cells: Sequence[Sequence[str]], room: int) -> list[int]:
    """Narrower columns, the widest first, down to their longest words."""
    least = [
        max(_width(word) for cell in column for word in (cell.split() or [""]))
        for column in zip(*cells, strict=True)
    ]
    fitted = list(widths)
    while sum(fitted) + 2 * (len(fitted) - 1) > room:
        spare = [width if width > low else 0 for width, low in zip(fitted, least, strict=True)]
        if not any(spare):
            break
        fitted[spare.index(max(spare))] -= 1
    return fitted


def _in_lines(cell: str, width: int) -> list[str]:
    """The cell, broken between words where it is wider than its column."""
    if _width(cell) <= width:
        return [cell]
    return wrap(cell, width, break_long_words=False, break_on_hyphens=False)


def _width(cell: str) -> int:
    """The width of a cell on a terminal."""
    return sum(
        0 if combining(character) else 1 + (east_asian_width(character) in {"F", "W"})
        for character in cell
    )


def console(*, err: bool = False) -> "Console":
    """A terminal for tables and bars."""
    from sottovoce.cli.terminal.escaping_console import EscapingConsole

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
    return f"waits for {names(whom)} ({awaited(what)}) {limit}"
