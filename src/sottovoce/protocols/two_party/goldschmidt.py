"""Goldschmidt's iteration: D and N are multiplied by the same factors until D is 1 and N is N/D.

    evaluator                                                  key holder
    every step, for packed vectors D and N:
      ── MaskedLines ⟨⟨D + 2^ℓ + ρ⟩⟩, ⟨⟨N + 2^ℓ' + ρ'⟩⟩ ──▶     cuts, multiplies
      ◀── LineProducts: both spread, ⟨⟨D²⟩⟩, ⟨⟨D·N⟩⟩ ───────
    D ← α(2D − D²), N ← α(2N − D·N)

The range of D is public, and so are the number of steps and the factors α, which centre D's range
around 1 after every step. A wide range shrinks by a factor of 4 a step (Newton's own steps give 2),
and quadratically later. S.Div and S.Log are built on it. The evaluator learns nothing; the key
holder sees the length, the number of steps and noise within 2^−κ. Both follow the protocol and do
not pool what they saw.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, expm1, floor, log2

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sottovoce.entropy import Entropy
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import Encrypted, Plain, Unsent
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.two_party.lines import cut_and_multiply
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.truncation import Cut

# The number of significant bits of the factors α, and of the first factor c.
FACTOR_BITS = 10


@dataclass(frozen=True, slots=True)
class Move:
    """One step: α in units of 2^−FACTOR_BITS, the least D before, D's distance from 1 after it."""

    factor: int
    least: Fraction
    distance: Fraction


def rounded_down(exact: Fraction) -> Fraction:
    """Round a factor down to FACTOR_BITS significant bits, so that its product is cheap."""
    bits = max(0, FACTOR_BITS - exact.numerator.bit_length() + exact.denominator.bit_length())
    return Fraction(floor(exact * (1 << bits)), 1 << bits)


def moves_between(
    low: Fraction, high: Fraction, *, unit: Fraction, tolerance: float
) -> tuple[Move, ...]:
    """Return the steps for D from `low` to `high`, cut to a `unit`, to half of the tolerance."""
    moves: list[Move] = []
    while not moves or moves[-1].distance > tolerance / 2:
        cut_low, cut_high = low - unit, high + unit
        least = min(cut_low * (2 - cut_low), cut_high * (2 - cut_high))
        least = Fraction(floor(least / unit**2), 1) * unit**2
        # With α rounded down D stays below 2, where the next step still leads to 1.
        factor = floor(2 / (least + 1) * (1 << FACTOR_BITS))
        low, high = least * factor / (1 << FACTOR_BITS), Fraction(factor, 1 << FACTOR_BITS)
        moves.append(Move(factor, cut_low, max(1 - low, high - 1)))
    return tuple(moves)


@dataclass(frozen=True)
class GoldschmidtSteps:
    """Goldschmidt's steps for divisors that were scaled to between `low` and `high`, around 1.

    Everything in here is public: divisors have `fraction_bits`, and end within `tolerance` of 1.
    `reach` bounds the quotients, which have `quotient_bits`.
    """

    low: Fraction
    high: Fraction
    tolerance: float
    reach: Fraction
    quotient_bits: int
    masking: Masking

    @property
    def fraction_bits(self) -> int:
        """The fraction bits of divisors: cutting the smallest loses a part of the tolerance."""
        return ceil(log2(16 / self.tolerance / float(self.low)))

    @property
    def numerator_bits(self) -> int:
        """The fraction bits of numerators: cutting them loses less than a unit of the quotient."""
        return self.quotient_bits + ceil(log2(self.magnification)) + 1

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        """Every step, until D is within half of the tolerance of 1."""
        unit = Fraction(1, 1 << self.fraction_bits)
        return moves_between(self.low, self.high, unit=unit, tolerance=self.tolerance)

    @property
    def steps(self) -> int:
        """The number of trips."""
        return len(self.moves)

    @property
    def magnification(self) -> float:
        """The factor by which an error of one unit in every step may grow in the quotient."""
        return float(sum(1 / move.least for move in self.moves))

    @property
    def divisor_scale(self) -> Scale:
        """The scale of divisors when they are multiplied: below 2."""
        return Scale(self.fraction_bits, 2 << self.fraction_bits)

    @property
    def numerator_scale(self) -> Scale:
        """The scale of numerators when they are multiplied: quotients times divisors, rounded."""
        spare = ceil(2 * self.magnification) + 2
        bound = ceil(2 * self.reach * (1 << self.numerator_bits)) + spare
        return Scale(self.numerator_bits, bound)

    def whole(self, cut: Scale) -> Scale:
        """Return the scale of divisors or numerators after a step, before they are cut."""
        return cut.refined(self.fraction_bits + FACTOR_BITS)

    def error_bound(self, quotients: ArrayLike) -> NDArray[np.float64]:
        """Return the largest error of each of these quotients."""
        end = float(self.moves[-1].distance)
        drift = expm1(self.magnification * 2.0**-self.fraction_bits)
        lost = self.magnification * 2.0**-self.numerator_bits
        magnitudes = np.abs(np.asarray(quotients, dtype=np.float64))
        return np.asarray(magnitudes * (end + (1 + end) * drift) + (1 + end) * (1 + drift) * lost)

    def slots(self, plaintext_bits: int, *starts: Scale) -> Slots:
        """Return slots that hold all masked values, also first lines (of the scales `starts`)."""
        wholes = [self.whole(self.divisor_scale), self.whole(self.numerator_scale), *starts]
        return Slots.fit(
            max(scale.bound for scale in wholes),
            plaintext_bits=plaintext_bits,
            mask_bits=self.masking.kappa,
        )

    def cuts(self, divisor: Scale, numerator: Scale) -> list[Cut]:
        """Return the cuts of lines of these scales before a step."""
        return [
            Cut(whole.fraction_bits - scale.fraction_bits, scale, self.masking)
            for whole, scale in ((divisor, self.divisor_scale), (numerator, self.numerator_scale))
        ]


def constant(plain: Plain, like: Encrypted) -> Unsent:
    """Return public numbers in a tensor's layout; nothing hides them until they are masked."""
    residues = like.key.embedded(like.layout.pack(plain.integers))
    return Unsent(like.key, tuple(like.key.square.reduced(residues)), like.layout, plain.scale)


def settle(D: Unsent, N: Unsent, course: GoldschmidtSteps, *, entropy: Entropy) -> Party[Unsent]:
    """Run Goldschmidt's steps: return ⟨⟨N/D⟩⟩ for D in the course's range, both packed, uncut."""
    f = course.fraction_bits
    for move in course.moves:
        cuts = course.cuts(D.scale, N.scale)
        lines = yield from cut_and_multiply([D, N], cuts, entropy=entropy)
        D, N = (
            ((value * (2 << f)).divided(f) - product) * move.factor
            for value, product in zip(lines.values, lines.products, strict=True)
        )
        D = D.divided(FACTOR_BITS).within(course.whole(course.divisor_scale))
        N = N.divided(FACTOR_BITS).within(course.whole(course.numerator_scale))
    return N
