"""The one door to the terminal: text from outside is shown escaped, and never read as markup."""

from typing import TYPE_CHECKING, Any

import typer

from sottovoce.wire.printable import escaped_json, escaped_lines

if TYPE_CHECKING:
    from rich.console import Console


def say(text: object = "", *, nl: bool = True, err: bool = False, **style: Any) -> None:
    """Print text, every character of it in its place; `style` is ours and applies to all of it."""
    typer.secho(escaped_lines(str(text)), nl=nl, err=err, **style)


def say_json(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Print what is JSON already, with JSON's own escapes."""
    typer.echo(escaped_json(text), nl=nl, err=err)


def console(*, err: bool = False) -> "Console":
    """A terminal for tables and bars."""
    from sottovoce.cli.escaping_console import EscapingConsole

    return EscapingConsole(stderr=err, highlight=False, markup=False, emoji=False)
