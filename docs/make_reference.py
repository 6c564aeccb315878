"""The pages of the site that are made from the code: every command, every setting, Python."""

import inspect
import re
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import typer

import sottovoce
from sottovoce.cli import app
from sottovoce.config.study_file import example
from sottovoce.study.evaluations.figures import Evaluation

_WIDTH = 80
MADE = "Made from the code by `docs/make_reference.py` when the site is built.\n\n"


def command_help() -> str:
    """What every command says about itself."""
    program = typer.main.get_command(app)
    parts = [f"# Every command\n\n{MADE}"]
    parts += (
        f"## {path}\n\n```text\n{text}\n```\n\n" for path, text in _helps(program, "sottovoce")
    )
    return "".join(parts).rstrip() + "\n"


def _helps(command: Any, path: str) -> list[tuple[str, str]]:
    context = typer.Context(command, info_name=path, terminal_width=96, max_content_width=96)
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    pages = [(path, text)]
    for name, inner in getattr(command, "commands", {}).items():
        pages += _helps(inner, f"{path} {name}")
    return pages


def settings() -> str:
    """A whole study.toml, as `study create --example` prints it."""
    head = "# Settings of a study\n\n"
    intro = (
        "`sottovoce study create --example` prints this. Settings of a site stand in "
        "[commands.md](../commands.md#settings), and its policy in "
        "[how to write a policy](../how-to/policy.md).\n\n"
    )
    return f"{head}{MADE}{intro}```toml\n{example().rstrip()}\n```\n"


def python() -> str:
    """The classes that people use, from their docstrings."""
    parts = [f"# Python\n\n{MADE}"]
    for name in sorted(sottovoce.__all__):
        member = getattr(sottovoce, name)
        if not name.startswith("_"):
            parts.append(_described(name, member))
    parts.append(_described("Evaluation", Evaluation))
    return "".join(parts).rstrip() + "\n"


def _described(name: str, member: Any) -> str:
    text = f"## {name}\n\n```python\n{name}{_signature(member)}\n```\n\n{_prose(member)}\n\n"
    if inspect.isclass(member):
        for method, held in sorted(vars_of(member).items()):
            text += f"### {name}.{method}\n\n"
            if callable(held):
                text += f"```python\n{method}{_signature(held)}\n```\n\n"
            text += f"{_prose(held)}\n\n"
    return text


def vars_of(owner: type) -> dict[str, Any]:
    """The public methods and properties that are ours."""
    return {
        name: held
        for name, held in inspect.getmembers(owner)
        if not name.startswith("_") and _is_ours(held)
    }


def _is_ours(held: Any) -> bool:
    if isinstance(held, cached_property):
        return True
    made = held.fget if isinstance(held, property) else held
    return inspect.isroutine(made) and str(made.__module__).startswith("sottovoce")


class _AsWritten(str):
    """Words that a signature shows as they are."""

    __slots__ = ()
    __repr__ = str.__str__


def _signature(member: Any) -> str:
    """The parameters as a person would write them, one a line where they are many."""
    try:
        known = inspect.signature(member)
    except (TypeError, ValueError):
        return ""
    given = [
        parameter.replace(
            annotation=_type(parameter.annotation), default=_default(parameter.default)
        )
        for parameter in known.parameters.values()
        if parameter.name != "self"
    ]
    comes = known.empty if inspect.isclass(member) else _type(known.return_annotation)
    text = str(known.replace(parameters=given, return_annotation=comes))
    if len(text) <= _WIDTH:
        return text
    inside, _, after = text[1:].rpartition(")")
    return "(\n" + "".join(f"    {line},\n" for line in _listed(inside)) + f"){after}"


def _listed(text: str) -> list[str]:
    """The parts between commas that no bracket holds."""
    parts = [""]
    for piece in text.split(", "):
        opened = sum(map(parts[-1].count, "[({")) > sum(map(parts[-1].count, "])}"))
        if opened:
            parts[-1] += f", {piece}"
        else:
            parts.append(piece)
    return parts[1:]


def _type(annotation: Any) -> Any:
    """A type without the modules that its names come from."""
    if annotation is inspect.Parameter.empty:
        return annotation
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)
    return _AsWritten(re.sub(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[\w+\]\]", "ndarray", text))


def _default(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return _AsWritten(f'"{value}"')
    return _AsWritten("...") if "factory" in repr(value) else value


def _prose(member: Any) -> str:
    """A docstring as Markdown; its parameters as a block, because they are aligned."""
    text = inspect.getdoc(member) or ""
    prose, line, parameters = text.partition("Parameters\n----------\n")
    return f"{prose}\n```text\n{parameters.rstrip()}\n```" if line else prose


PAGES = {
    Path("reference/command-help.md"): command_help,
    Path("reference/settings.md"): settings,
    Path("reference/python.md"): python,
}
