"""Adds `--home` to the commands in our hints, so that they work where they are typed."""

import re
import shlex
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

import typer

_COMMAND = re.compile(r"\bsottovoce((?: [a-z][a-z0-9]*)+)(?! --home| --help)\b")
_given: ContextVar[Path | None] = ContextVar("the folder that --home gave", default=None)
_roots: list[Callable[[], Any]] = []


def propose_commands_of(program: Callable[[], typer.Typer]) -> None:
    """Set the program whose commands appear in our messages; it is made once, when needed."""
    _roots[:] = [cache(lambda: typer.main.get_command(program()))]


def note_home(home: Path | None) -> None:
    """Remember the folder of --home; one from the environment needs no reminder."""
    _given.set(home)


def placed(words: str) -> str:
    """The same text, in which every command that takes `--home` has ours."""
    home = _given.get()
    if home is None:
        return words
    option = f" --home {shlex.quote(str(home))}"

    def at_home(command: re.Match[str]) -> str:
        names = _path(command[1].split())
        end = command.start(1) + sum(len(name) + 1 for name in names)
        typed = words[command.start() : end]
        return (typed + option if _takes_home(names) else typed) + words[end : command.end()]

    return _COMMAND.sub(at_home, words)


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
