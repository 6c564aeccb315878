"""Fixed point: integers with a scale and a bound on their magnitude.

A real number x is written as the integer round(x · 2^f), with one f for a whole tensor (an exponent
per value would reveal how large each value is). The bound is that of every possible entry, not of
the actual ones. So it can be computed, and refused, before anything is computed or sent.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isfinite
from numbers import Rational
from operator import index
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sottovoce.errors import BoundError, InputError, MismatchError

Integers = NDArray[np.int64] | NDArray[np.object_]

INT64_BOUND = 2**63 - 1
# Far more bits than any plaintext has.
MAX_BITS = 2**16 - 1
# Below this many bits a float64 holds round(x · 2^f) without overflow, whatever x within it.
_FLOAT_BITS = 1023
# Up to this f, ldexp(·, −f) of a float64 of at least 1 in magnitude is exact (no subnormals).
_EXACT_SHIFT = 1000


@dataclass(frozen=True, slots=True)
class Scale:
    """The meaning of an integer (value = integer / 2**fraction_bits) and its largest size.

    Every operation on values has a counterpart here, which gives the scale of the result. No digit
    is lost, and nothing can overflow unnoticed.
    """

    fraction_bits: int
    bound: int

    def __post_init__(self) -> None:
        # Only plain integers, because a numpy integer would wrap around in the products below.
        object.__setattr__(self, "fraction_bits", _plain(self.fraction_bits, "fraction_bits"))
        object.__setattr__(self, "bound", _plain(self.bound, "bound"))
        # Scales also come from other parties, which must not make us shift by billions of bits.
        if max(self.fraction_bits, self.bound.bit_length()) > MAX_BITS:
            raise BoundError(
                f"scale: expected at most {MAX_BITS} bits, found {self.fraction_bits} behind the "
                f"point and a bound of {self.bound.bit_length()}"
            )

    @classmethod
    def covering(cls, magnitude: float | Fraction, *, fraction_bits: int) -> Self:
        """The scale of real numbers from −magnitude to magnitude, ends included."""
        if not (isinstance(magnitude, Rational) or isfinite(magnitude)) or magnitude < 0:
            raise InputError(f"scale: expected a finite magnitude of at least 0, found {magnitude}")
        scale = cls(fraction_bits, 0)
        return cls(scale.fraction_bits, ceil(Fraction(magnitude) * (1 << scale.fraction_bits)))

    @property
    def bits(self) -> int:
        """The smallest ℓ with |integer| < 2^ℓ."""
        return self.bound.bit_length()

    def plus(self, other: "Scale") -> "Scale":
        """The scale of a sum of two."""
        self.check_same_fraction(other, "plus")
        return Scale(self.fraction_bits, self.bound + other.bound)

    def minus(self, other: "Scale") -> "Scale":
        """The scale of a difference."""
        self.check_same_fraction(other, "minus")
        return Scale(self.fraction_bits, self.bound + other.bound)

    def negated(self) -> "Scale":
        """The scale of the opposite: bounds are symmetric."""
        return self

    def times(self, other: "Scale") -> "Scale":
        """The scale of a product, before any truncation."""
        return Scale(self.fraction_bits + other.fraction_bits, self.bound * other.bound)

    def times_integer(self, bound: int) -> "Scale":
        """The scale of a product with integers of magnitude up to `bound`."""
        return Scale(self.fraction_bits, self.bound * _plain(bound, "times_integer: bound"))

    def sum_of(self, count: int) -> "Scale":
        """The scale of a sum of `count` values."""
        return Scale(self.fraction_bits, self.bound * _plain(count, "sum_of: count"))

    def dot(self, other: "Scale", length: int) -> "Scale":
        """The scale of an inner product, or of each entry of a matrix product, over `length`."""
        return self.times(other).sum_of(length)

    def refined(self, bits: int) -> "Scale":
        """The scale after multiplying by 2**bits: the same value on a finer grid."""
        bits = min(_plain(bits, "refined: bits"), MAX_BITS + 1)
        return Scale(self.fraction_bits + bits, self.bound << bits)

    def truncated(self, bits: int) -> "Scale":
        """The scale after dividing by 2**bits, where the result is floor or floor + 1."""
        bits = _plain(bits, "truncated: bits")
        if bits > self.fraction_bits:
            raise BoundError(
                f"truncated: {bits} bits are more than the {self.fraction_bits} behind the point"
            )
        return Scale(self.fraction_bits - bits, (self.bound >> bits) + 1)

    def check_same_fraction(self, other: "Scale", what: str) -> None:
        """Raise unless both have the same number of fraction bits."""
        if self.fraction_bits != other.fraction_bits:
            raise MismatchError(
                f"{what}: scales differ, {self.fraction_bits} fraction bits beside "
                f"{other.fraction_bits}",
                hints=("bring the coarser one to the finer grid with refined()",),
            )

    def check_fits(self, limit: int, what: str) -> Self:
        """Return this scale, or raise if an entry could leave −limit … limit."""
        if self.bound > limit:
            raise BoundError(
                f"{what}: needs magnitudes up to {_magnitude(self.bound)}, "
                f"the limit is {_magnitude(limit)}",
                hints=("use fewer fraction bits, a smaller bound or fewer additions",),
            )
        return self


def encode(array: ArrayLike, scale: Scale) -> Integers:
    """The integers round(x · 2^f), ties to even, exact; int64 where the bound allows, else object.

    The dtype follows from the scale alone, never from the values.
    """
    values = np.asarray(array)
    match values.dtype.kind:
        case "f" if values.dtype.itemsize <= 8:
            return _from_floats(values.astype(np.float64, copy=False), scale)
        case "b" | "i" | "u":
            return _from_integers(values, scale)
        case "O" | "f":
            return _from_objects(values, scale)
        case _:
            raise InputError(f"encode: expected an array of numbers, found dtype {values.dtype}")


def decode(integers: ArrayLike, scale: Scale) -> NDArray[np.float64]:
    """Return the nearest floats to integer / 2^f; raise if an integer exceeds the bound."""
    values = check_integers(integers, scale, "decode")
    if values.dtype == np.int64 and scale.fraction_bits <= _EXACT_SHIFT:
        return np.asarray(np.ldexp(values.astype(np.float64), -scale.fraction_bits))
    unit = 1 << scale.fraction_bits
    try:
        floats = [int(value) / unit for value in values.ravel().tolist()]
    except OverflowError:
        raise BoundError(
            f"decode: a float64 cannot hold a value of {scale.bits - scale.fraction_bits} bits"
        ) from None
    return np.array(floats, dtype=np.float64).reshape(values.shape)


def check_integers(integers: ArrayLike, scale: Scale, what: str) -> Integers:
    """Return the integers as an array, after checking that all are within the bound."""
    values = np.asarray(integers)
    if values.dtype.kind == "O":
        flat = values.ravel().tolist()
        for position, value in enumerate(flat):
            if not isinstance(value, int | np.integer):
                where = _where(position, values.shape)
                raise InputError(f"{what}: expected an integer{where}, found {value!r}")
        values = _objects([int(value) for value in flat], values.shape)
    elif values.dtype.kind not in "iu":
        raise InputError(f"{what}: expected an array of integers, found dtype {values.dtype}")
    _check_within(values, scale.bound, what, scale)
    if values.dtype.kind == "O" or scale.bound <= INT64_BOUND or values.dtype == np.int64:
        return values if values.dtype.kind == "O" else values.astype(np.int64, copy=False)
    return _objects(values.ravel().tolist(), values.shape)


def _from_floats(values: NDArray[np.float64], scale: Scale) -> Integers:
    finite = np.isfinite(values)
    if not finite.all():
        position = int(np.argmin(finite))
        raise InputError(
            f"encode: expected finite numbers, found {values.flat[position]}"
            f"{_where(position, values.shape)}"
        )
    if scale.bits >= _FLOAT_BITS:
        return _from_objects(values.astype(object), scale)
    with np.errstate(over="ignore"):
        # Scaling by a power of two is exact, and so is rounding; a value that overflows exceeds the
        # bound.
        scaled = np.asarray(np.rint(np.ldexp(values, scale.fraction_bits)))
    if scale.bound > INT64_BOUND:
        _check_within(scaled, 2.0**scale.bits, "encode", scale, shown=values)
        integers = _objects([int(value) for value in scaled.ravel().tolist()], values.shape)
        _check_within(integers, scale.bound, "encode", scale, shown=values)
        return integers
    # 2^ℓ is a float without rounding; the bound itself is compared among integers.
    _check_within(scaled, min(2.0**scale.bits, 2.0**63 - 1024), "encode", scale, shown=values)
    narrow = scaled.astype(np.int64)
    _check_within(narrow, scale.bound, "encode", scale, shown=values)
    return narrow


def _from_integers(values: NDArray[Any], scale: Scale) -> Integers:
    if values.dtype.kind == "b":
        values = values.astype(np.int64)
    _check_within(values, scale.bound >> scale.fraction_bits, "encode", scale)
    if scale.bound <= INT64_BOUND:
        # An f of 64 or more leaves room for 0 alone, and numpy's shift is undefined there.
        return np.asarray(values.astype(np.int64) << np.int64(min(scale.fraction_bits, 63)))
    return _objects(
        [value << scale.fraction_bits for value in values.ravel().tolist()], values.shape
    )


def _from_objects(values: NDArray[Any], scale: Scale) -> Integers:
    flat = [
        _rounded(value, scale, _where(position, values.shape))
        for position, value in enumerate(values.ravel().tolist())
    ]
    integers = _objects(flat, values.shape)
    _check_within(integers, scale.bound, "encode", scale, shown=values)
    return integers.astype(np.int64) if scale.bound <= INT64_BOUND else integers


def _rounded(value: object, scale: Scale, where: str) -> int:
    match value:
        case Rational():
            exact = Fraction(int(value.numerator), int(value.denominator))
        case float() | np.floating():
            try:
                exact = Fraction(*value.as_integer_ratio())
            except (OverflowError, ValueError):
                raise InputError(f"encode: expected finite numbers, found {value}{where}") from None
        case _:
            raise InputError(f"encode: expected a number{where}, found {value!r}")
    return round(exact * (1 << scale.fraction_bits))


def _objects(flat: list[int], shape: tuple[int, ...]) -> NDArray[np.object_]:
    integers = np.empty(len(flat), dtype=object)
    integers[:] = flat
    return integers.reshape(shape)


def _check_within(
    values: NDArray[Any],
    limit: float,
    what: str,
    scale: Scale,
    *,
    shown: NDArray[Any] | None = None,
) -> None:
    outside = np.asarray((values > limit) | (values < -limit), dtype=bool)
    if outside.any():
        position = int(np.argmax(outside))
        value = (values if shown is None else shown).flat[position]
        raise BoundError(
            f"{what}: expected magnitudes up to {_magnitude(scale.bound)} at "
            f"{scale.fraction_bits} fraction bits, found {value}{_where(position, values.shape)}",
            hints=("use a larger bound, or scale the values down",),
        )


def _where(position: int, shape: tuple[int, ...]) -> str:
    """Return the place in words: nothing for a scalar, a number or indices for others."""
    if not shape:
        return ""
    place = tuple(int(i) for i in np.unravel_index(position, shape))
    return f" at index {place[0] if len(place) == 1 else place}"


def _magnitude(bound: int) -> str:
    """Return a bound for people: exact if it is short, else its number of bits."""
    return str(bound) if bound.bit_length() <= 64 else f"2^{bound.bit_length()}"


def _plain(value: int, name: str) -> int:
    try:
        plain = int(index(value))
    except TypeError:
        raise InputError(f"scale: expected an integer for {name}, found {value!r}") from None
    if plain < 0:
        raise InputError(f"scale: expected {name} of at least 0, found {plain}")
    return plain
