"""Settings in TOML; every error names its file, line and key."""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeVar

from sottovoce.errors import InputError
from sottovoce.hints import PlanSetting, rewritten
from sottovoce.wire.printable import MAX_WORDS, fault_in

T = TypeVar("T")

_TABLE = re.compile(r"\s*\[\[?\s*(?P<name>[^\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""\s*(?P<key>(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*[\w"'-]+)*)\s*=""")
_MISTAKE = re.compile(r"(?P<reason>.*) \(at line (?P<line>\d+), column \d+\)")
_FENCES = ('"""', "'''")

KeyPath = tuple[str, ...]


@dataclass(frozen=True)
class SettingKind:
    """A kind of value: how errors call it, and how it is read from what TOML has."""

    expected: str
    read: Callable[[Any], Any]
    """The value, or a ValueError or TypeError."""


@dataclass(frozen=True)
class SettingsText:
    """A TOML text, parsed; `name` is what messages call it."""

    name: str
    text: str
    values: Mapping[str, Any]
    lines: Mapping[KeyPath, int]

    @classmethod
    def parse(cls, text: str, *, name: str) -> "SettingsText":
        """The settings of a text, or where it stops being TOML."""
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            mistake = _MISTAKE.fullmatch(str(error))
            place = f"line {mistake['line']}" if mistake else "its end"
            reason = (mistake["reason"] if mistake else str(error).partition(" (at ")[0]).lower()
            raise InputError(
                f"{name}, {place}: not TOML: {reason}",
                hints=('a setting is written as: key = "text", or key = 3, or key = ["a", "b"]',),
            ) from None
        return cls(name, text, values, _lines(text))

    def line(self, *path: str) -> int:
        """The line of a setting, else of its table, else the first."""
        while path:
            if path in self.lines:
                return self.lines[path]
            path = path[:-1]
        return 1

    def fault(self, path: KeyPath, expected: str, actual: str, *hints: str) -> InputError:
        """The error for one setting."""
        return self.at(path, f"expected {expected}, found {actual}", hints)

    def at(self, path: KeyPath, reason: str, hints: tuple[str, ...]) -> InputError:
        """The error for what is wrong at a place of this text."""
        line = self.line(*path)
        place = f"{self.name}, line {line}: {'.'.join(path)}"
        return InputError(reason, hints=hints, place=place, setting=".".join(path), line=line)

    def in_file(self, error: InputError, *path: str) -> InputError:
        """A study's error about a setting, with its line, and hints as study.toml has them."""
        hints = (rewritten(hint, _in_toml) for hint in error.hints)
        return self.at(path, error.reason, tuple(hints))

    def missing(self, path: KeyPath, expected: str, *hints: str) -> InputError:
        """The error for a setting that is not there."""
        at = f", line {self.line(*path)}" if path[:1] in self.lines else ""
        return InputError(
            f"{self.name}{at}: {'.'.join(path)}: expected {expected}, found nothing", hints=hints
        )

    def table(self, name: str) -> Mapping[str, Any]:
        """The table of that name; empty where there is none."""
        values = self.values.get(name, {})
        if not isinstance(values, dict):
            raise self.fault((name,), f"a table [{name}]", shown(values), f"write [{name}]")
        return values

    def check_known(self, known: Iterable[str], *table: str) -> None:
        """Refuse a key that nobody reads, and name the nearest that somebody does."""
        names = tuple(known)
        held = self.table(table[0]) if table else self.values
        for part in table[1:]:
            held = held.get(part, {})
        for key in held:
            if key not in names:
                raise self.unknown((*table, key), names)

    def unknown(self, path: KeyPath, names: Iterable[str]) -> InputError:
        """The error for a key that nobody reads: the nearest that somebody does, else all."""
        known = tuple(names)
        near = get_close_matches(path[-1], known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(known)}"
        if not path[:-1] and isinstance(self.values[path[-1]], dict):
            return self.fault(path, "a table of this file", f"[{path[-1]}]", hint)
        what = f"a setting of [{'.'.join(path[:-1])}]" if path[:-1] else "a table first"
        return self.fault(path, what, path[-1], hint)

    def take(self, path: KeyPath, kind: SettingKind, default: T, *hints: str) -> Any | T:
        """The value of a setting as its kind reads it, or the default where it is not there."""
        table: Any = self.values
        for part in path[:-1]:
            table = table.get(part, {})
        if path[-1] not in table:
            return default
        value = table[path[-1]]
        try:
            return kind.read(value)
        except InputError as error:
            raise self.at(path, error.message, hints) from None
        except (ValueError, TypeError):
            raise self.fault(path, kind.expected, shown(value), *hints) from None


def _in_toml(piece: str) -> str:
    return piece.in_toml if isinstance(piece, PlanSetting) else piece


def shown(value: object) -> str:
    """A value as people would write it, cut where it is long."""
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, dict):
        text = "a table"
    else:
        text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def is_text(value: Any) -> str:
    """Text that is not empty, in printable characters; line breaks count as spaces."""
    if not isinstance(value, str) or not value.strip():
        raise TypeError
    text = " ".join(value.split())
    fault = fault_in(text, most=MAX_WORDS)
    if fault:
        raise InputError(fault)
    return text


def is_whole(value: Any) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value


def is_number(value: Any) -> float:
    """A number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return float(value)


def is_truth(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise TypeError
    return value


def listed(item: Callable[[Any], T]) -> Callable[[Any], tuple[T, ...]]:
    """A list of such items, at least one."""

    def read(value: Any) -> tuple[T, ...]:
        if not isinstance(value, list) or not value:
            raise TypeError
        return tuple(item(element) for element in value)

    return read


TEXT = SettingKind('a text in quotes, such as "north"', is_text)
WHOLE = SettingKind("a whole number", is_whole)
NUMBER = SettingKind("a number", is_number)
TRUTH = SettingKind("true or false", is_truth)
TEXTS = SettingKind('a list of texts, such as ["one", "two"]', listed(is_text))


def one_of(names: Iterable[str]) -> SettingKind:
    """One of several words; a word that is registered later counts too."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in list(names):
            raise InputError(f"expected one of {', '.join(names)}, found {shown(value)}")
        return str(value)

    return SettingKind("one of several words", read)


def _lines(text: str) -> Mapping[KeyPath, int]:
    """The line of every table and key; text in several lines is passed over."""
    lines: dict[KeyPath, int] = {}
    table: KeyPath = ()
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        if fence:
            fence = "" if fence in line else fence
            continue
        if head := _TABLE.match(line):
            table = _path(head["name"])
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            lines.setdefault((*table, *_path(key["key"])), number)
            fence = next((mark for mark in _FENCES if line.count(mark) == 1), "")
    return lines


def _path(name: str) -> KeyPath:
    return tuple(part.strip().strip("\"'") for part in name.split("."))
