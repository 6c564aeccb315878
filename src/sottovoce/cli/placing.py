"""Commands that we propose work where they are typed: they name the folder that `--home` gave."""

import re
import shlex
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

import typer

_COMMAND = re.compile(r"\bsottovoce((?: [a-z][a-z0-9]*)+)(?! --home| --help)\b")
_given: ContextVar[Path | None] = ContextVar("the folder that --home gave", default=None)


def note_home(home: Path | None) -> None:
    """Remember the folder that this command was given; one of the environment stays there."""
    _given.set(home)


def placed(words: str) -> str:
    """The same words, every command in them with our `--home`, if it takes one."""
    home = _given.get()
    if home is None:
        return words
    option = f" --home {shlex.quote(str(home))}"

    def at_home(found: re.Match[str]) -> str:
        names = _path(found[1].split())
        end = found.start(1) + sum(len(name) + 1 for name in names)
        said = words[found.start() : end]
        return (said + option if _takes_home(names) else said) + words[end : found.end()]

    return _COMMAND.sub(at_home, words)


def _path(names: list[str]) -> tuple[str, ...]:
    """As many of the first words as name a command."""
    command = _root()
    for count, name in enumerate(names):
        command = getattr(command, "commands", {}).get(name)
        if command is None:
            return tuple(names[:count])
    return tuple(names)


def _takes_home(names: tuple[str, ...]) -> bool:
    command = _root()
    for name in names:
        command = command.commands[name]
    return any(one.name == "home" for one in command.params)


@cache
def _root() -> Any:
    from sottovoce.cli import app

    return typer.main.get_command(app)
