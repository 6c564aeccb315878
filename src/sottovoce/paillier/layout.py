"""The positions of a tensor's values in its ciphertexts."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import InputError, MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots, symmetric, triangle
from sottovoce.paillier.keys import PublicKey


@dataclass(frozen=True, slots=True)
class Layout:
    """The shape of a tensor, and how its values share ciphertexts.

    Without `slots` every value has a ciphertext of its own. With slots a vector,
    or each row of a matrix, fills as few ciphertexts as it can; a `symmetric`
    matrix fills them with its upper triangle.

    A `covered` tensor has a mask uniform in Z_N on every ciphertext: its numbers are elements of
    Z_N, without sign, bound or slots, until the masks are removed.
    """

    shape: tuple[int, ...]
    slots: Slots | None = None
    symmetric: bool = False
    covered: bool = False

    def __post_init__(self) -> None:
        if len(self.shape) > 2 or any(size < 0 for size in self.shape):
            raise InputError(f"layout: expected at most a matrix, found shape {self.shape}")
        if self.slots is not None and not self.shape:
            raise InputError("layout: a scalar has a ciphertext of its own, expected no slots")
        if self.symmetric and (
            self.slots is None or len(self.shape) != 2 or self.shape[0] != self.shape[1]
        ):
            raise InputError(
                f"layout: expected a packed square matrix to be symmetric, found {self.shape}"
            )

    @property
    def lines(self) -> int:
        """The number of lines; each starts a ciphertext of its own."""
        return 1 if self.symmetric or len(self.shape) < 2 else self.shape[0]

    @property
    def line_values(self) -> int:
        """The number of values in a line."""
        if self.symmetric:
            return self.shape[0] * (self.shape[0] + 1) // 2
        return self.shape[-1] if self.shape else 1

    @property
    def line_ciphertexts(self) -> int:
        """The number of ciphertexts that a line fills."""
        if self.slots is None:
            return self.line_values
        return self.slots.plaintexts_for(self.line_values)

    @property
    def ciphertexts(self) -> int:
        """The number of ciphertexts that the tensor fills."""
        return self.lines * self.line_ciphertexts

    def check_same(self, other: "Layout", what: str) -> None:
        """Raise unless both have the same shape, slots and cover; the error names which differ."""
        for name, here, there in (
            ("shapes", self.shape, other.shape),
            ("slots", self.slots, other.slots),
            ("symmetries", self.symmetric, other.symmetric),
            ("covers", self.covered, other.covered),
        ):
            if here != there:
                raise MismatchError(f"{what}: {name} differ, {here} beside {there}")

    def cover(self, covered: bool = True) -> "Layout":  # noqa: FBT001, FBT002 - names a state, not a mode
        """The same layout with (or without) masks on it."""
        return replace(self, covered=covered)

    def pack(self, integers: NDArray[Any]) -> list[int]:
        """One plaintext for each ciphertext."""
        if integers.shape != self.shape:
            raise MismatchError(f"pack: shapes differ, {self.shape} beside {integers.shape}")
        if self.slots is None:
            return [int(value) for value in integers.ravel().tolist()]
        if self.symmetric:
            return self.slots.pack_all(_vector(triangle(integers)))
        return [
            plaintext
            for line in integers.reshape(self.lines, -1)
            for plaintext in self.slots.pack_all(_vector(line))
        ]

    def unpack(self, plaintexts: list[int]) -> NDArray[np.object_]:
        """The integers of centred plaintexts."""
        if self.slots is None:
            values = plaintexts
        else:
            step, length = self.line_ciphertexts, self.line_values
            values = [
                value
                for line in range(self.lines)
                for value in self.slots.unpack_all(
                    plaintexts[line * step : (line + 1) * step], length
                )
            ]
        integers = np.empty(len(values), dtype=object)
        integers[:] = values
        if self.symmetric:
            return symmetric(integers, self.shape[0])  # type: ignore[return-value]
        return integers.reshape(self.shape)

    def __str__(self) -> str:
        size = " × ".join(map(str, self.shape)) or "scalar"
        packed = f" in {self.slots.count} slots of {self.slots.width} bits" if self.slots else ""
        return f"{size}{packed}{', symmetric' * self.symmetric}{', covered' * self.covered}"


def check_room(key: PublicKey, layout: Layout, scale: Scale, what: str) -> Scale:
    """Return the scale, after checking that its values fit their slots and the plaintext."""
    slots = layout.slots
    if slots is not None and slots.bits > key.plaintext_bits:
        raise MismatchError(
            f"{what}: {slots.count} slots of {slots.width} bits do not fit into the "
            f"{key.plaintext_bits} bits of a plaintext"
        )
    if slots is None or layout.covered:
        return scale.check_fits(key.plaintext_bound, what)
    slots.check_holds(scale.bound, what)
    return scale


def _vector(line: NDArray[Any]) -> list[int]:
    return [int(value) for value in line.tolist()]
