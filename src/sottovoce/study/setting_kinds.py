"""Checks of the types of settings, before anything is done with a wrong value."""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from sottovoce.errors import InputError


def whole(value: Any, name: str) -> int:
    """Return the number as a Python int, so that it has one encoding."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise _other(name, "a whole number", value)
    return int(value)


def number(value: Any, name: str) -> float:
    """Return a number as a Python float."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise _other(name, "a number", value)
    return float(value)


def numbers(value: Any, name: str) -> tuple[float, ...]:
    """Return several numbers as a tuple."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise _other(name, "numbers", value)
    return tuple(number(item, name) for item in value)


def _other(name: str, expected: str, value: Any) -> InputError:
    shown = repr(value)
    described = shown if len(shown) < 40 else f"a {type(value).__name__}"
    return InputError(f"expected {expected}, found {described}", place=name, setting=name)
