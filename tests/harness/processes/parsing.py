"""Commands that are parsed as the program parses them, and not run."""

import re
import shlex
from functools import cache
from typing import Any

import typer
from typer.main import get_command

from sottovoce import cli

COMMAND = re.compile(r"(?<![\w./~-])sottovoce (?=[a-z-])")
"""Where a command begins in a sentence."""
# What the shell takes for itself, and where a sentence goes on after a command.
_SHELL = re.compile(r"\s+(?:[|>&]|\d?<)\s?.*|\s&$")
ELLIPSIS = "…"


def parsed(command: str) -> None:
    """Parse a command; a word or an option that it does not have raises."""
    words = shlex.split(_SHELL.sub("", command))
    assert words[0] == "sottovoce", command
    if words[-1] == ELLIPSIS:
        words[-1] = "--help"
    _tree().main(words[1:], prog_name="sottovoce", standalone_mode=False)


def mentioned(command: str) -> None:
    """Parse the mention of a command, which may leave out what it needs."""
    try:
        parsed(command)
    except typer.BadParameter.__bases__[0] as error:
        lacking = type(error).__name__ in {"MissingParameter", "NoArgsIsHelpError"}
        if not lacking:
            raise AssertionError(f"{command}: {error}") from error


def options_of(words: tuple[str, ...]) -> set[str]:
    """Every option of the command that these words call."""
    command = _tree()
    for word in words:
        if word not in getattr(command, "commands", {}):
            break
        command = command.commands[word]
    return {"--help"} | {
        option for param in command.params for option in (*param.opts, *param.secondary_opts)
    }


def commands_in(text: str) -> list[str]:
    """Every command in a text: in backticks, else up to the end of its line."""
    collected = []
    for line in text.splitlines():
        for quoted in re.findall(r"`([^`]*)`", line):
            collected += [quoted] if quoted.startswith("sottovoce ") else []
        bare = re.sub(r"`[^`]*`", "", line)
        match = COMMAND.search(bare)
        if match:
            collected.append(bare[match.start() :].strip())
    return collected


def is_known(command: str) -> bool:
    """Whether the first word after `sottovoce` is a command at all."""
    return command.split()[1] in {*_tree().commands, "--help", "--version"}


@cache
def _tree() -> Any:
    """The commands, whose work is not done."""
    tree = get_command(cli.app)
    for leaf in _leaves(tree):
        leaf.callback = lambda **_: None
    return tree


def _leaves(command: Any) -> list[Any]:
    below = getattr(command, "commands", {})
    return (
        [leaf for subcommand in below.values() for leaf in _leaves(subcommand)]
        if below
        else [command]
    )
