"""The command `sottovoce`: what people type, and how it answers."""

import sys
from typing import Annotated

import typer

from sottovoce import __version__
from sottovoce.cli import attack, bench, data, demo, keys, notes, table1
from sottovoce.errors import SottovoceError

app = typer.Typer(
    name="sottovoce",
    help="Several owners of confidential text train one classifier together, "
    "and nobody sees anybody else's text.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo.demo)
app.add_typer(data.app, name="data")
app.add_typer(keys.app, name="keys")
app.command()(notes.notes)
app.command()(table1.table1)
app.command()(attack.attack)
app.add_typer(bench.app, name="bench")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"sottovoce {__version__}")
        raise typer.Exit


@app.callback()
def root(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Several owners of confidential text train one classifier together."""


def main() -> None:
    """Run the command; a mistake of the user's is one line and hints, never a stack trace."""
    try:
        app()
    except SottovoceError as error:
        typer.secho(f"error: {error}", err=True, fg=typer.colors.RED)
        for hint in error.hints:
            typer.echo(f"hint: {hint}", err=True)
        sys.exit(1)
