"""A look at the bones of a message before anything is allocated for its flesh."""

from dataclasses import dataclass

from sottovoce.errors import MalformedError

MAX_DEPTH = 16
# Every item costs a Python object, up to a hundred bytes for one that came. What is long (words,
# residues, ciphertexts) travels as one item, so no message needs many.
MAX_ITEMS = 2**18

# A fixed-size header's remaining bytes, by its first byte: the integers of msgpack.
_INTEGERS = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
# The width of the length that follows, by first byte: bytes, then text, then arrays.
_BLOBS = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
_ARRAYS = {0xDC: 2, 0xDD: 4}
_NONE_FALSE_TRUE = (0xC0, 0xC2, 0xC3)
# The header of bytes of 64 KB and more, and its size.
_LONG, _LONG_HEADER = 0xC6, 5
# The least number for which a header is the shortest, by its first byte.
_LEAST = {
    0xCC: 2**7, 0xCD: 2**8, 0xCE: 2**16, 0xCF: 2**32,
    0xC4: 0, 0xC5: 2**8, 0xC6: 2**16,
    0xD9: 2**5, 0xDA: 2**8, 0xDB: 2**16,
    0xDC: 2**4, 0xDD: 2**16,
}  # fmt: skip
# Integers below zero: the least magnitude for which this header is the shortest.
_LEAST_BELOW = {0xD0: 2**5 + 1, 0xD1: 2**7 + 1, 0xD2: 2**15 + 1, 0xD3: 2**31 + 1}


@dataclass(frozen=True, slots=True)
class LongBytes:
    """The place of bytes of 64 KB and more in a message: where their header and they begin."""

    header: int
    start: int
    end: int


def check_skeleton(data: bytes, what: str = "message") -> list[LongBytes]:
    """Walk every header of `data` once; raise `MalformedError` unless each promise is kept.

    Return the places of long bytes. After this, a decoder allocates no more than the bytes that
    really came and at most `MAX_ITEMS` small objects: every item of every array is there, nothing
    is nested too deeply, nothing follows the end, and there is no float, map or extension. Every
    header is the shortest that could stand there, so that what was read is written again with the
    very same bytes.
    """
    position, open_items, left = 0, [1], MAX_ITEMS - 1
    long = []
    while open_items:
        if not open_items[-1]:
            open_items.pop()
            continue
        open_items[-1] -= 1
        header = position
        position, items = _header(data, header, what)
        if data[header] == _LONG:
            long.append(LongBytes(header, header + _LONG_HEADER, position))
        if items > len(data) - position:
            raise MalformedError(f"message: an array promises {items} items, more than its bytes")
        left -= items
        if left < 0:
            raise MalformedError(f"message: expected at most {MAX_ITEMS} items, found more")
        if items:
            if len(open_items) == MAX_DEPTH:
                raise MalformedError(f"message: nested deeper than {MAX_DEPTH} levels")
            open_items.append(items)
    if position != len(data):
        raise MalformedError(f"message: {len(data) - position} bytes after its end")
    return long


def _header(data: bytes, position: int, what: str) -> tuple[int, int]:
    """Return the position of the next header, and the number of items that this one opens."""
    if position >= len(data):
        raise MalformedError(f"message: ends at byte {len(data)}, inside a value")
    first = data[position]
    position += 1
    length, items = 0, 0
    if first <= 0x7F or first >= 0xE0 or first in _NONE_FALSE_TRUE:
        pass
    elif 0x90 <= first <= 0x9F:
        items = first & 0x0F
    elif 0xA0 <= first <= 0xBF:
        length = first & 0x1F
    elif first in _INTEGERS:
        length = _INTEGERS[first]
        _check_shortest(first, data[position : position + length], what)
    elif first in _BLOBS:
        width = _BLOBS[first]
        _check_shortest(first, data[position : position + width], what)
        length = width + int.from_bytes(data[position : position + width])
    elif first in _ARRAYS:
        width = _ARRAYS[first]
        _check_shortest(first, data[position : position + width], what)
        items = int.from_bytes(data[position : position + width])
        length = width
    else:
        raise MalformedError(f"message: byte {position - 1} opens a type that never travels")
    if length > len(data) - position:
        raise MalformedError(f"message: ends at byte {len(data)}, inside a value")
    return position + length, items


def _check_shortest(first: int, number: bytes, what: str) -> None:
    """Refuse a header where a shorter one would say the same."""
    if first in _LEAST_BELOW:
        shortest = -int.from_bytes(number, signed=True) >= _LEAST_BELOW[first]
    else:
        shortest = int.from_bytes(number) >= _LEAST[first]
    if not shortest:
        raise MalformedError(f"{what}: not the one encoding of its value")
