"""Reads the numbers that a party received as an attacker would, each in several ways.

Values that cannot be read as numbers are left out; nothing here raises.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from scipy import sparse

from sottovoce.numbers.residues import Base
from sottovoce.rados.rows import Floats
from sottovoce.wire.residues import Residues
from sottovoce.wire.values import Integers, ShortWords, Words

RING = 2**64
# The depth to which nested lists are followed.
_DEPTH = 6
# float64 holds no larger whole numbers, and squares of them must not overflow either.
_FLOAT_BITS = 500


@dataclass(frozen=True, eq=False)
class ArrayReading:
    """One array under one interpretation."""

    how: str
    values: Floats = field(repr=False)


def readings(item: Any, *, modulus: int | None = None) -> list[ArrayReading]:
    """An item as plain numbers, as signed numbers mod 2^64, and as signed numbers mod N."""
    arrays: list[ArrayReading] = []
    for array in arrays_of(item):
        ways = [("as numbers", array)]
        if array.dtype.kind in "iuO":
            ways.append(("signed mod 2^64", signed(array, RING)))
            if modulus is not None:
                ways.append(("signed mod N", signed(array, modulus)))
        kept: list[Floats] = []
        for how, values in ways:
            numbers = _floats(values)
            if numbers is not None and not any(np.array_equal(numbers, other) for other in kept):
                kept.append(numbers)
                arrays.append(ArrayReading(how, numbers))
    return arrays


def arrays_of(item: Any, depth: int = _DEPTH) -> Iterator[Any]:
    """The arrays of numbers in an item: itself, or, where it is ragged, its parts."""
    if item is None or isinstance(item, str | bytes) or depth == 0:
        return
    item = _opened(item)
    try:
        array = item if isinstance(item, np.ndarray) else np.asarray(item)
    except (ValueError, TypeError, OverflowError):
        array = None
    if array is not None and _is_numeric(array):
        if array.size:
            yield array
    elif isinstance(item, list | tuple) or (isinstance(array, np.ndarray) and array.ndim):
        for part in item:
            yield from arrays_of(part, depth - 1)


def _opened(item: Any) -> Any:
    """Return the content of messages and containers."""
    matrix: Any = item
    if type(item) in _OPENERS:
        return _OPENERS[type(item)](item)
    if isinstance(item, msgspec.Struct):
        return [getattr(item, name) for name in item.__struct_fields__]
    if isinstance(item, dict):
        return list(item.values())
    return matrix.toarray() if sparse.issparse(item) else item


def _of_short(words: ShortWords) -> Any:
    return words.array().view(np.int32).astype(np.int64)


def _of_integers(integers: Integers) -> list[int]:
    width, data = integers.width, integers.data
    return [int.from_bytes(data[at : at + width]) for at in range(0, len(data), width)]


def _of_residues(residues: Residues) -> Any:
    planes = residues.planes()
    return Base(len(planes)).signed(planes)


_OPENERS: dict[type, Callable[[Any], Any]] = {
    Words: Words.array,
    ShortWords: _of_short,
    Integers: _of_integers,
    Residues: _of_residues,
}


def signed(array: Any, modulus: int) -> Any:
    """Whole numbers as the representatives of least size modulo `modulus`."""
    if modulus == RING and array.dtype.kind in "iu":
        return array.astype(np.uint64).view(np.int64)
    flat = [(int(value) + modulus // 2) % modulus - modulus // 2 for value in array.ravel()]
    return np.array(flat, dtype=object).reshape(array.shape)


def _is_numeric(array: Any) -> bool:
    if array.dtype.kind in "biuf":
        return True
    return array.dtype == object and all(
        isinstance(value, int | np.integer) for value in array.ravel()
    )


def _floats(array: Any) -> Floats | None:
    """As float64 (scaled down where a number is too large for it), or None where one is none."""
    if array.dtype == object:
        excess = max((int(value).bit_length() for value in array.ravel()), default=0) - _FLOAT_BITS
        if excess > 0:
            shifted = [int(value) >> excess for value in array.ravel()]
            array = np.array(shifted, dtype=object).reshape(array.shape)
    values = np.asarray(array, dtype=np.float64)
    return values if bool(np.isfinite(values).all()) else None


def combined(items: Iterable[Any], *, most: int) -> Iterator[ArrayReading]:
    """Sums and differences mod 2^64 of whole-number arrays of one shape: two shares make a value.

    At most the first `most` arrays of a shape are combined with each other.
    """
    shapes: dict[tuple[int, ...], list[Any]] = {}
    for item in items:
        for array in arrays_of(item):
            if array.dtype.kind in "iuO" and array.size > 1:
                shapes.setdefault(array.shape, []).append(array)
    for arrays in shapes.values():
        words = [signed(array, RING).astype(np.int64) for array in arrays[:most]]
        for index, plane in enumerate(words):
            for other in words[index + 1 :]:
                yield ArrayReading("sum mod 2^64", (plane + other).astype(np.float64))
                yield ArrayReading("difference mod 2^64", (plane - other).astype(np.float64))
