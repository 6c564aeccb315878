"""The values that may travel: frozen records, arrays of words, vectors of big integers.

A field is an int of at most 64 bits, a bool, a str, bytes, a tuple, another
`Value`, or a type for which the codec was given a hook. Never a float (a number
that travels is an integer with a scale), a list, a dict or a set.
"""

from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING, Self, TypeAlias

import msgspec

from sottovoce.errors import MalformedError, MismatchError
from sottovoce.wire.tags import kebab

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_DIMENSIONS = 8
# Where one side is 0 the others need no bytes, and numpy still refuses those that it cannot hold.
MAX_SIDES = 2**40


Blob: TypeAlias = bytes | memoryview
"""Bytes that may be long: a view of an array, or of the message that they came in."""


class Value(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=kebab):
    """A frozen record that has exactly one encoding: its tag, then its fields in order."""

    def __repr__(self) -> str:
        # The fields may be masks, shares or ciphertexts: a log sees their names only.
        return f"{type(self).__name__}({', '.join(self.__struct_fields__)})"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return []


class Words(Value, frozen=True):
    """An array of 64-bit words: its shape, and the words in little-endian order."""

    shape: tuple[int, ...]
    data: Blob

    def __post_init__(self) -> None:
        _check_array(self.shape, self.data, width=8)

    @classmethod
    def of(cls, array: "NDArray[np.uint64]") -> Self:
        """The words of an array mod 2^64."""
        return cls(array.shape, bytes(_view_of(array, width=8)))

    @classmethod
    def viewing(cls, array: "NDArray[np.uint64]") -> Self:
        """The same without a copy: nobody may write to the array until these words were sent."""
        return cls(array.shape, _view_of(array, width=8))

    def array(self) -> "NDArray[np.uint64]":
        """The words as an array that cannot be written to (no copy is made)."""
        import numpy as np

        words = np.frombuffer(self.data, dtype="<u8")
        return words.astype(np.uint64, copy=False).reshape(self.shape)

    def __repr__(self) -> str:
        return f"Words(shape={self.shape})"


class ShortWords(Value, frozen=True):
    """An array of 32-bit words: its shape, and the words in little-endian order."""

    shape: tuple[int, ...]
    data: Blob

    def __post_init__(self) -> None:
        _check_array(self.shape, self.data, width=4)

    @classmethod
    def of(cls, array: "NDArray[np.uint32]") -> Self:
        """The words of an array mod 2^32."""
        return cls(array.shape, bytes(_view_of(array, width=4)))

    @classmethod
    def viewing(cls, array: "NDArray[np.uint32]") -> Self:
        """The same without a copy: nobody may write to the array until these words were sent."""
        return cls(array.shape, _view_of(array, width=4))

    def array(self) -> "NDArray[np.uint32]":
        """The words as an array that cannot be written to (no copy is made)."""
        import numpy as np

        words = np.frombuffer(self.data, dtype="<u4")
        return words.astype(np.uint32, copy=False).reshape(self.shape)

    def __repr__(self) -> str:
        return f"ShortWords(shape={self.shape})"


def _view_of(array: "NDArray[np.unsignedinteger]", *, width: int) -> memoryview:
    """The words of an array in little-endian order, without a copy where they lie so."""
    import numpy as np

    if array.dtype != np.dtype(f"u{width}"):
        raise MismatchError(f"words: expected an array of uint{8 * width}, found {array.dtype}")
    ordered = np.ascontiguousarray(array, dtype=f"<u{width}")
    return ordered.reshape(-1).view(np.uint8).data


def _check_array(shape: tuple[int, ...], data: Blob, *, width: int) -> None:
    """Refuse what is not an array of words of this size."""
    if len(shape) > MAX_DIMENSIONS or any(side < 0 for side in shape):
        raise ValueError(f"words: expected at most {MAX_DIMENSIONS} sides, none negative")
    if prod(shape) * width != len(data):
        raise ValueError(
            f"words: expected {prod(shape) * width} bytes for the shape {shape}, found {len(data)}"
        )
    if prod(max(side, 1) for side in shape) > MAX_SIDES:
        raise ValueError("words: expected sides that an array can have, found larger ones")


class Integers(Value, frozen=True):
    """A vector of integers 0 <= value < modulus, each in as many bytes as the modulus needs.

    The modulus itself does not travel: both sides know it, and `read` refuses
    values that are not below it.
    """

    width: int
    data: bytes

    def __post_init__(self) -> None:
        if self.width < 1 or len(self.data) % self.width:
            raise ValueError(
                f"integers: expected a multiple of {self.width} bytes, found {len(self.data)}"
            )

    @classmethod
    def of(cls, values: Iterable[int], *, modulus: int) -> Self:
        """The residues `values`; raises `MismatchError` if one is not reduced."""
        width = width_of(modulus)
        numbers = [int(value) for value in values]
        if any(not 0 <= number < modulus for number in numbers):
            raise MismatchError("integers: expected residues below the modulus, found one outside")
        return cls(width, b"".join(number.to_bytes(width) for number in numbers))

    def read(self, *, modulus: int) -> list[int]:
        """The residues, or `MalformedError` where the width or a value is not the modulus' own."""
        width = width_of(modulus)
        if self.width != width:
            raise MalformedError(f"integers: expected a width of {width} bytes, found {self.width}")
        numbers = [
            int.from_bytes(self.data[start : start + width])
            for start in range(0, len(self.data), width)
        ]
        if any(number >= modulus for number in numbers):
            raise MalformedError("integers: expected residues below the modulus, found one above")
        return numbers

    def __len__(self) -> int:
        return len(self.data) // self.width

    def __repr__(self) -> str:
        return f"Integers({len(self)} of {self.width} bytes)"


def width_of(modulus: int) -> int:
    """The number of bytes that hold every residue of `modulus`."""
    if modulus < 2:
        raise MismatchError(f"integers: expected a modulus of at least 2, found {modulus}")
    return ((modulus - 1).bit_length() + 7) // 8
