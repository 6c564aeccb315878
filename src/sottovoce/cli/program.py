"""The program behind the command `sottovoce`: its commands, its options, its exit codes."""

import os
import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from sottovoce import __version__
from sottovoce.cli import event_text, home, screen, shell_words
from sottovoce.cli.commands import (
    attack,
    backup,
    classify,
    console,
    data,
    demo,
    encoder,
    evaluate,
    export,
    hand,
    join,
    keys,
    ledger,
    notes,
    report,
    serve,
    status,
    study,
    table1,
    withdraw,
)
from sottovoce.errors import SottovoceError

app = typer.Typer(
    name="sottovoce",
    help="Several owners of confidential text train one classifier together, "
    "and nobody sees anybody else's text.",
    epilog="\b\nBegin here:\n  sottovoce demo\n"
    "  sottovoce data inspect YOUR.csv --text COLUMN --label COLUMN\n"
    "Every command has --help with examples.\n\n"
    "\b\nExit codes: 0 done, 1 a mistake at this site, 2 a wrong option, 3 another\n"
    "party's fault or a study that was stopped, 4 no consent, 130 interrupted.\n\n"
    "\b\nEvery option but secrets may stand in sottovoce.toml in this site's folder\n"
    "(--text of `join` as text under [join]), and in the environment\n"
    "(SOTTOVOCE_JOIN_TEXT).",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain text: boxes leave an explanation a dozen characters wide at 80 columns.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(short_help="Three made-up hospitals learn together, sealed.")(demo.demo)
app.add_typer(study.app, name="study")
app.command(short_help="Serve all studies of this coordinator at one port.")(serve.serve)
app.command(short_help="Take part in a study.")(join.join)
app.command(short_help="How far the studies of this site are.")(status.status)
app.command(short_help="Label new documents with a trained study.")(classify.classify)
app.command(short_help="How good the model is, here and over all sites.")(evaluate.evaluate)
app.command(short_help="A released model as a file of its own.")(export.export)
app.command(short_help="One study on one page, with pictures.")(report.report)
app.command(short_help="The same in a browser, on this machine.")(console.console)
app.add_typer(ledger.app, name="ledger")
app.command(short_help="Withdraw from a study (sums that were made stay).")(withdraw.withdraw)
app.command(short_help="The model again for a peer that lost its disk.")(hand.hand)
app.command(short_help="This site's whole folder in one file.")(backup.backup)
app.command(short_help="A site's folder again, from such a file.")(backup.restore)
app.add_typer(data.app, name="data")
app.add_typer(encoder.app, name="encoder")
app.add_typer(keys.app, name="keys")
app.command(short_help="Write made-up clinical notes, to try things on.")(notes.notes)
app.command(short_help="The paper's table, its figures beside ours.")(table1.table1)
app.command(short_help="Get notes back from rados that were not encrypted.")(attack.attack)

shell_words.propose_commands_of(app)


def _version(asked: bool) -> None:
    if asked:
        screen.say(f"sottovoce {__version__}")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    _: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Several owners of confidential text train one classifier together."""
    home.take_settings(ctx)


def main() -> None:
    """Run the command; a mistake of the user's is one line and hints, never a stack trace."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets a question mark in its place.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.exit(run(app, name="sottovoce"))


def run(program: typer.Typer, *, name: str) -> int:
    """Run a program's command, say what went wrong, and return its exit code."""
    event_text.note_json(asked=False)
    shell_words.note_home(None)
    try:
        return event_text.tell_code(_result(program, name))
    except SottovoceError as error:
        return event_text.tell(error)
    except event_text.UsageError as error:
        return event_text.tell_usage(error)
    except (KeyboardInterrupt, typer.Abort):
        return event_text.tell_code(event_text.INTERRUPTED)
    except OSError as error:
        # What is still in the buffer cannot be written either, and would be tried once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        reason = (error.strerror or type(error).__name__).lower()
        message = f"{error.filename or 'output'}: cannot be read or written ({reason})"
        return event_text.tell_words(message, kind="file", code=event_text.OURS)


def _result(program: typer.Typer, name: str) -> int:
    try:
        return program(prog_name=name, standalone_mode=False) or 0
    finally:
        sys.stdout.flush()
