"""The program behind the command `sottovoce`: its commands, its options, its exit codes."""

import os
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer

from sottovoce import __version__
from sottovoce.cli import home, shell_words
from sottovoce.cli.terminal import event_text, screen
from sottovoce.errors import SottovoceError

_COMMANDS = {
    "demo": ("demo", "Three made-up hospitals learn together, sealed."),
    "study": ("study", None),
    "serve": ("serve", "Serve all studies of this coordinator at one port."),
    "join": ("join", "Take part in a study."),
    "assist": ("assist", "Compute for others, on numbers that nobody here can read."),
    "status": ("status", "Show the progress of this site's studies."),
    "classify": ("classify", "Label new documents with a trained study."),
    "evaluate": ("evaluate", "Measure the model, here and over all sites."),
    "export": ("export", "Write a released model to a file."),
    "report": ("report", "Write one study as a page with pictures."),
    "console": ("console", "Show the studies in a browser on this machine."),
    "ledger": ("ledger", None),
    "withdraw": ("withdraw", "Withdraw from a study (what was added up stays)."),
    "hand": ("hand", "Give the model again to a peer that lost its disk."),
    "backup": ("backup", "Copy this site's whole folder into one file."),
    "restore": ("backup", "Restore a site's folder from such a file."),
    "data": ("data", None),
    "encoder": ("encoder", None),
    "rados": ("rados", None),
    "keys": ("keys", None),
    "notes": ("notes", "Write synthetic clinical notes to try things with."),
    "table1": ("table1", "Reproduce the paper's table, its figures beside ours."),
    "attack": ("attack", "Reconstruct notes from rados that were not encrypted."),
}
"""Every command with its module and its line in the list; groups bring their own."""


def _version(asked: bool) -> None:
    if asked:
        screen.say(f"sottovoce {__version__}")
        raise typer.Exit


def root(
    ctx: typer.Context,
    _: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Several owners of confidential text train one classifier together."""
    home.take_settings(ctx)


def program_of(names: Iterable[str]) -> typer.Typer:
    """The program with only these commands: loading all of them takes time."""
    program = typer.Typer(
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
    program.callback()(root)
    for name in names:
        module_name, short_help = _COMMANDS[name]
        module = import_module(f"sottovoce.cli.commands.{module_name}")
        if short_help is None:
            program.add_typer(module.app, name=name)
        else:
            program.command(short_help=short_help)(getattr(module, name))
    return program


@cache
def whole_program() -> typer.Typer:
    """The program with all its commands."""
    return program_of(_COMMANDS)


def __getattr__(name: str) -> Any:
    """`app` is the whole program, made when it is asked for."""
    if name == "app":
        return whole_program()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


shell_words.propose_commands_of(whole_program)


def main() -> NoReturn:
    """Run the command; a user's mistake is one line with hints, never a stack trace."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets a question mark in its place.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.exit(run(program_of(named(sys.argv[1:])), name="sottovoce"))


def named(words: Sequence[str]) -> Sequence[str]:
    """The command that the arguments name, or all commands if they name none."""
    completes = "_SOTTOVOCE_COMPLETE" in os.environ
    return words[:1] if words and words[0] in _COMMANDS and not completes else tuple(_COMMANDS)


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
        # The rest of the buffer cannot be written either, and Python would try it once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        reason = (error.strerror or type(error).__name__).lower()
        message = f"{error.filename or 'output'}: cannot be read or written ({reason})"
        return event_text.tell_words(message, kind="file", code=event_text.OURS)


def _result(program: typer.Typer, name: str) -> int:
    try:
        return program(prog_name=name, standalone_mode=False) or 0
    finally:
        sys.stdout.flush()
