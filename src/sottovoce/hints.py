"""Hints: what people can do about an error, with its commands and settings as data."""

from collections.abc import Callable
from typing import Any, Self


class ShellCommand(str):
    """A command as people type it."""

    __slots__ = ()


class PlanSetting(str):
    """A setting of a study with a value that would do; Ellipsis stands for values of your own."""

    __slots__ = ("name", "value")
    name: str
    value: Any

    def __new__(cls, name: str, value: Any) -> Self:
        """Write it as Python does."""
        setting = super().__new__(cls, f"{name}={_in_python(value)}")
        setting.name, setting.value = name, value
        return setting

    def __reduce__(self) -> tuple[type[Self], tuple[str, Any]]:
        return type(self), (self.name, self.value)

    @property
    def in_toml(self) -> str:
        """The setting as study.toml has it."""
        return f"{self.name} = {_in_toml(self.value)}"


class Hint(str):
    """A hint that is put together of words, commands and settings, and keeps them.

    For example `Hint("or agree on fewer: ", PlanSetting("min_peers", 2))`.
    """

    __slots__ = ("pieces",)
    pieces: tuple[str, ...]

    def __new__(cls, *pieces: str) -> Self:
        """Join the pieces."""
        hint = super().__new__(cls, "".join(pieces))
        hint.pieces = pieces
        return hint

    def __reduce__(self) -> tuple[type[Self], tuple[str, ...]]:
        return type(self), self.pieces


def rewritten(hint: str, write: Callable[[str], str]) -> str:
    """The hint, with every command and setting in it as `write` returns it."""
    pieces = hint.pieces if isinstance(hint, Hint) else (hint,)
    return "".join(
        write(piece) if isinstance(piece, ShellCommand | PlanSetting) else piece for piece in pieces
    )


def _in_python(value: Any) -> str:
    if isinstance(value, tuple):
        comma = "," if len(value) == 1 and value[0] is not ... else ""
        return f"({', '.join(map(_in_python, value))}{comma})"
    return _scalar(value)


def _in_toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_in_toml, value))}]"
    return str(value).lower() if isinstance(value, bool) else _scalar(value)


def _scalar(value: Any) -> str:
    if value is ...:
        return "…"
    return f'"{value}"' if isinstance(value, str) else repr(value)
