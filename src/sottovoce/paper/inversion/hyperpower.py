"""The public numbers of an inversion: steps, trips, scales and exactness."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, log2

import numpy as np

from sottovoce.errors import InputError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import Plain
from sottovoce.protocols.two_party.goldschmidt import (
    FACTOR_BITS,
    Move,
    moves_between,
    rounded_down,
)
from sottovoce.protocols.two_party.masks import Masking

ORDERS = (2, 3, 7)
# Trips and products of a step after the first, and how many of them the first one saves.
_TRIPS = {2: 1, 3: 3, 7: 5}
_PRODUCTS = {2: 2, 3: 3, 7: 5}
_SAVED = {2: 0, 3: 2, 7: 2}
# In units of what is cut off, how far the powers of E in one step may be off together.
_NOISE = {3: 32, 7: 128}


@dataclass(frozen=True)
class InvPlan:
    """Everything public about one inversion: the size, the interval of the spectrum, the order.

    The relative error of the inverse is at most `tolerance`, in the spectral norm. The matrix has
    `matrix_bits` fraction bits; the iteration uses `fraction_bits`. `start` is the factor c, by
    default for the middle of the interval.
    """

    size: int
    lower: float
    upper: float
    order: int = 2
    tolerance: float = 2.0**-14
    fraction_bits: int = 40
    matrix_bits: int = 24
    start: float | None = None
    masking: Masking = field(default_factory=Masking)

    def __post_init__(self) -> None:
        if self.size < 1 or not 0 < self.lower <= self.upper < float("inf"):
            raise InputError(
                "S.Inv: expected a size of at least 1 and 0 < lower <= upper, found "
                f"{self.size}, {self.lower:g} and {self.upper:g}",
                hints=("lower is the regularisation λ, which must be above 0",),
            )
        if self.order not in ORDERS:
            raise InputError(f"S.Inv: expected an order of 2, 3 or 7, found {self.order}")
        if not 0 < self.tolerance < 1:
            raise InputError(f"S.Inv: expected 0 < tolerance < 1, found {self.tolerance:g}")
        if self.start is not None and not 0 < self.start < 2 / self.upper:
            raise InputError(
                f"S.Inv: expected a start above 0 and below 2/upper = {2 / self.upper:g}, outside "
                f"of which the iteration runs away, found {self.start:g}",
                hints=("1/trace is always inside",),
            )
        if self.fraction_bits < self._needed_bits:
            raise InputError(
                f"S.Inv: expected at least {self._needed_bits} fraction bits for this interval "
                f"and tolerance, found {self.fraction_bits}"
            )

    @cached_property
    def factor(self) -> Fraction:
        """The factor c."""
        middle = 2 / (Fraction(self.lower) + Fraction(self.upper))
        return rounded_down(middle if self.start is None else Fraction(self.start))

    @property
    def low(self) -> Fraction:
        """The lower end of the spectrum of Â."""
        return Fraction(self.lower) * self.factor

    @property
    def high(self) -> Fraction:
        """The upper end of the spectrum of Â, below 2."""
        return Fraction(self.upper) * self.factor

    @property
    def _needed_bits(self) -> int:
        return ceil(log2(16 * self.size / self.tolerance / float(self.low)))

    @property
    def unit(self) -> Fraction:
        """The largest error of cutting a whole matrix, in the spectral norm."""
        return Fraction(self.size, 1 << self.fraction_bits)

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        """The steps of order 2."""
        return moves_between(self.low, self.high, unit=self.unit, tolerance=self.tolerance)

    @cached_property
    def distances(self) -> tuple[float, ...]:
        """A bound on ‖I − Â·X‖ after every step."""
        if self.order == 2:
            return tuple(float(move.distance) for move in self.moves)
        distance, noise = float(max(1 - self.low, self.high - 1)), _NOISE[self.order]
        lengths: list[float] = []
        while not lengths or distance > self.tolerance / 2:
            distance = distance**self.order + noise * float(self.unit)
            lengths.append(distance)
        return tuple(lengths)

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.distances)

    @property
    def trips(self) -> int:
        """The number of trips: those of all steps, and one that turns the result upright."""
        return self.steps * _TRIPS[self.order] - _SAVED[self.order] + 1

    @property
    def products(self) -> int:
        """The number of products of matrices."""
        if self.order == 2:
            return max(0, 2 * self.steps - 2)
        return self.steps * _PRODUCTS[self.order] - _SAVED[self.order]

    def error_bound(self) -> float:
        """The largest error of A⁻¹, in the spectral norm."""
        largest = 1 / float(self.low)
        drift = 0.0
        if self.order == 2:
            magnified = float(sum(1 / move.least for move in self.moves))
            drift = magnified * float(self.unit) * (1 + largest)
        bound = largest * self.distances[-1] + drift + float(self.unit)
        return bound * float(self.factor)

    @property
    def small(self) -> Scale:
        """Cut matrices whose norm stays small: Â, M, and all powers of E."""
        return Scale(self.fraction_bits, 8 << self.fraction_bits)

    @property
    def large(self) -> Scale:
        """Cut X, which converges to Â⁻¹."""
        return Scale(self.fraction_bits, ceil(2 / self.low) << self.fraction_bits)

    @property
    def whole_bits(self) -> int:
        """Fraction bits of matrices before they are cut."""
        return 2 * self.fraction_bits + (FACTOR_BITS if self.order == 2 else 0)

    @property
    def start_bits(self) -> int:
        """Fraction bits of c, so that Â has something to be cut."""
        least = self.fraction_bits - self.matrix_bits + 1
        return max(self.factor.denominator.bit_length() - 1, least)

    @property
    def result_scale(self) -> Scale:
        """The inverse as it comes out."""
        return self.large.times(Scale(self.start_bits, self.start_factor))

    @property
    def start_factor(self) -> int:
        """The factor c in units of 2^−start_bits."""
        return int(self.factor * (1 << self.start_bits))

    def matrix_scale(self, magnitude: float) -> Scale:
        """The scale in which contributions to A are encoded."""
        return Scale.covering(magnitude, fraction_bits=self.matrix_bits)

    def slots(self, plaintext_bits: int) -> Slots:
        """Slots that hold the parts of a masked product, which contain masks themselves."""
        reach = max(self.small.bits, self.large.bits) + self.masking.kappa + 1
        part = self.size * max(self.small.bound, self.large.bound) << reach
        spare = self.whole_bits - 2 * self.fraction_bits + 2
        return Slots.fit(
            part << spare, plaintext_bits=plaintext_bits, mask_bits=self.masking.kappa + 1
        )

    def identity(self, bits: int, times: int = 1) -> Plain:
        """The identity, or a multiple of it, with this number of fraction bits."""
        eye = np.eye(self.size, dtype=np.int64).astype(object)
        return Plain(eye * (times << bits), Scale(bits, times << bits))
