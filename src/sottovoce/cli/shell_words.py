"""Adds `--home` to the commands in our hints, so that they work where they are typed."""

import shlex
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

import typer

from sottovoce.hints import ShellCommand, rewritten

_given: ContextVar[Path | None] = ContextVar("the folder that --home gave", default=None)
_roots: list[Callable[[], Any]] = []


def propose_commands_of(program: Callable[[], typer.Typer]) -> None:
    """Set the program whose commands appear in our messages; it is made once, when needed."""
    _roots[:] = [cache(lambda: typer.main.get_command(program()))]


def note_home(home: Path | None) -> None:
    """Remember the folder of --home; one from the environment needs no reminder."""
    _given.set(home)


def placed(*pieces: str) -> str:
    """The pieces joined; in hints every command that takes `--home` has ours."""
    home = _given.get()
    if home is None:
        return "".join(pieces)

    def at_home(piece: str) -> str:
        return _at_home(piece, home) if isinstance(piece, ShellCommand) else piece

    return "".join(rewritten(piece, at_home) for piece in pieces)


def _at_home(command: str, home: Path) -> str:
    program, *words = command.split(" ")
    names = _path(words)
    if not _takes_home(names) or {"--home", "--help"} & set(words):
        return command
    return " ".join([program, *names, "--home", shlex.quote(str(home)), *words[len(names) :]])


def _path(names: list[str]) -> tuple[str, ...]:
    """The longest beginning of these words that names a command."""
    command = root_command()
    for count, name in enumerate(names):
        command = getattr(command, "commands", {}).get(name)
        if command is None:
            return tuple(names[:count])
    return tuple(names)


def _takes_home(names: tuple[str, ...]) -> bool:
    command = root_command()
    for name in names:
        command = command.commands[name]
    return any(option.name == "home" for option in command.params)


def root_command() -> Any:
    """The program with all its commands, even if only one was loaded to run."""
    return _roots[0]()
