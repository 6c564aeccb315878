"""The public plan of a descent on encrypted rados, settled before anything is sent.

One step, from θ and the point `ahead` of it, on n rados of d features:

    x = −π·ahead        w = exp(x − top), squarings        pull = Σwπ / Σw
    θ' = shrink·ahead + rate·pull        ahead' = θ' + momentum·(θ' − θ)

`rate`, `shrink` = 1 − 2·rate·γ and the momentum are multiples of 2^−6, so that a run
on ciphertexts and its plaintext twin use the very same numbers. The maker of the plan promises the
ranges, because nobody can see whether they hold: exponents within `bound` of the schedule's centre,
and a loss between `floor` and `ceiling`.

A `centred` plan needs no promise. Exponents are counted from their own mean. That gives all weights
a common factor, which changes no pull, and by convexity Σw ≥ n·exp(−bound). Every step checks,
sealed, that exponents stay within their bound (range_check.py). θ goes no further than `furthest`
times the longest rado, by the schedule alone.
"""

from dataclasses import dataclass, field
from math import exp, inf

from sottovoce.errors import InputError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.protocols.rado_descent.range_check import RangeCheck
from sottovoce.protocols.two_party.exponential import ExpPlan
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.truncation import Cut
from sottovoce.rados import Schedule

COEFFICIENT_BITS = 6
_UNITS = 1 << COEFFICIENT_BITS


@dataclass(frozen=True)
class Ranges:
    """The ranges of a descent: |π| ≤ reach, |θ| ≤ theta, and the loss (log mean exp) between."""

    reach: float
    theta: float = 8.0
    floor: float = -6.0
    ceiling: float = 1.0

    def __post_init__(self) -> None:
        if not (0 < self.reach < inf and 0 < self.theta < inf and self.floor < self.ceiling):
            raise InputError(
                "descent: expected ranges above 0 and a floor below the ceiling, found "
                f"{self.reach:g}, {self.theta:g}, {self.floor:g} and {self.ceiling:g}"
            )


@dataclass(frozen=True)
class Bits:
    """Fraction bits of rados, of θ, of weights, and of the dividend."""

    rado: int = 14
    theta: int = 18
    weight: int = 26
    inverse: int = 22
    pull: int = 24


@dataclass(frozen=True)
class DescentPlan:
    """The public numbers of one descent: `features`, `rados`, schedule, penalty γ, ranges.

    `centred`: exponents are counted from their mean, and checked.
    """

    features: int
    rados: int
    schedule: Schedule
    penalty: float
    ranges: Ranges
    bits: Bits = field(default_factory=Bits)
    masking: Masking = field(default_factory=Masking)
    centred: bool = False

    def __post_init__(self) -> None:
        if self.centred and (self.rados & (self.rados - 1) or self.schedule.centre):
            raise InputError(
                "descent: expected a power of 2 of rados and no other centre where exponents are "
                f"counted from their mean, found {self.rados} and {self.schedule.centre:g}"
            )
        if self.features < 1 or self.rados < 1:
            raise InputError(
                f"descent: expected at least 1 feature and 1 rado, found {self.features} and "
                f"{self.rados}"
            )
        for name, value in (("rate", self.schedule.rate), ("shrinkage", self._shrinkage)):
            if value * _UNITS != round(value * _UNITS) or not 0 <= value <= 2:
                raise InputError(
                    f"descent: expected a {name} from 0 to 2 in units of 1/{_UNITS}, "
                    f"found {value:g}"
                )
        if self.schedule.momentum_bits != COEFFICIENT_BITS:
            raise InputError(
                f"descent: expected momentum in {COEFFICIENT_BITS} bits, "
                f"found {self.schedule.momentum_bits}",
                hints=(f"Schedule(…, momentum_bits={COEFFICIENT_BITS})",),
            )
        if self.schedule.bound != round(self.schedule.bound):
            raise InputError(
                f"descent: expected a whole bound on exponents, found {self.schedule.bound:g}"
            )

    @property
    def _shrinkage(self) -> float:
        return 1 - 2 * self.schedule.rate * self.penalty

    # Coefficients, in units of 2^−6.

    @property
    def rate(self) -> int:
        """The factor of the pull in θ."""
        return round(self.schedule.rate * _UNITS)

    @property
    def shrink(self) -> int:
        """The factor of the point ahead in θ."""
        return round(self._shrinkage * _UNITS)

    def momentum(self, step: int) -> int:
        """The factor of the last movement."""
        return round(self.schedule.momentum(step) * _UNITS)

    # Scales.

    @property
    def rado_scale(self) -> Scale:
        """The scale of rados."""
        return Scale.covering(self.ranges.reach, fraction_bits=self.bits.rado)

    @property
    def centring_bits(self) -> int:
        """The extra fraction bits of n·π − Σπ, where exponents are counted from their mean."""
        return self.rados.bit_length() - 1 if self.centred else 0

    @property
    def column_scale(self) -> Scale:
        """The scale of rados by feature, from which exponents are computed."""
        bits = self.bits.rado + self.centring_bits
        reach = self.ranges.reach * (2 if self.centred else 1)
        return Scale.covering(reach, fraction_bits=bits)

    @property
    def theta_scale(self) -> Scale:
        """The scale of θ and of the point ahead of it, after a cut."""
        return Scale.covering(self.ranges.theta, fraction_bits=self.bits.theta)

    @property
    def exponentials(self) -> ExpPlan:
        """The plan of weights: S.Exp of exponents around the schedule's centre."""
        squarings, bound = self.schedule.squarings, round(self.schedule.bound)
        return ExpPlan(
            bound,
            squarings,
            fraction_bits=squarings + 20,
            input_bits=self.bits.theta + self.bits.rado + self.centring_bits,
            masking=self.masking,
        )

    @property
    def range_check(self) -> RangeCheck:
        """The check of exponents, which only the lengths of θ and rados bound before it."""
        bits = self.exponentials.input_bits
        longest = 2 * self.ranges.reach * self.ranges.theta
        return RangeCheck(
            Scale.covering(longest, fraction_bits=bits),
            self.rados,
            round(self.schedule.bound),
            self.masking,
        )

    @property
    def weight_cut(self) -> Cut:
        """The cut of weights before they enter the sums."""
        whole = self.exponentials.result_scale
        bits = whole.fraction_bits - self.bits.weight
        return Cut(bits, whole.truncated(bits), self.masking)

    @property
    def total_range(self) -> tuple[float, float]:
        """The range of Σw; rounding takes less than half of its lower end."""
        top, ranges = self.schedule.top, self.ranges
        return (
            self.rados * exp(ranges.floor - top) / 2,
            self.rados * min(1.0, exp(ranges.ceiling - top)),
        )

    @property
    def total_scale(self) -> Scale:
        """The scale of Σw."""
        return Scale.covering(self.total_range[1], fraction_bits=self.bits.weight)

    @property
    def sum_scale(self) -> Scale:
        """The scale of Σwπ: no entry is larger than Σw times the rados' reach."""
        reach = self.total_range[1] * self.ranges.reach
        return Scale.covering(reach, fraction_bits=self.bits.weight + self.bits.rado)

    @property
    def pull_bits(self) -> int:
        """The fraction bits of Σwπ / Σw after the division."""
        return self.bits.inverse + self.bits.pull

    @property
    def pull_scale(self) -> Scale:
        """The scale of Σwπ / Σw, a weighted mean of rados, with room for rounding errors."""
        return Scale.covering(2 * self.ranges.reach, fraction_bits=self.pull_bits)

    @property
    def following_scale(self) -> Scale:
        """θ before it is cut."""
        return self.theta_scale.refined(self.pull_bits + COEFFICIENT_BITS - self.bits.theta)

    @property
    def ahead_scale(self) -> Scale:
        """The scale of the point ahead of θ before it is cut."""
        return self.following_scale.refined(COEFFICIENT_BITS)

    @property
    def ahead_cut(self) -> Cut:
        """The cut of the point ahead before it enters the exponents."""
        bits = self.ahead_scale.fraction_bits - self.bits.theta
        return Cut(bits, self.theta_scale, self.masking)

    # Slots.

    def rado_slots(self, plaintext_bits: int) -> Slots:
        """The slots of vectors with a value for each rado: exponents, their powers, and weights."""
        if not self.centred:
            return self.exponentials.slots(plaintext_bits)
        exponentials = self.exponentials
        largest = (exponentials.start_scale.bound, exponentials.result_scale.bound)
        return Slots.fit(
            max(*largest, self.range_check.largest),
            plaintext_bits=plaintext_bits,
            mask_bits=self.masking.kappa,
        )

    def feature_slots(self, plaintext_bits: int) -> Slots:
        """The slots of vectors with a value for each feature: sums, pulls and θ."""
        return Slots.fit(
            max(self.sum_scale.bound, self.ahead_scale.bound),
            plaintext_bits=plaintext_bits,
            mask_bits=self.masking.kappa,
        )


def furthest(schedule: Schedule, shrink: float) -> float:
    """Return the largest length of θ, or of the point ahead, in lengths of the longest pull.

    Both are public linear combinations of pulls, and a pull is a weighted mean of rados.
    """
    longest = 0.0
    for pulled in range(schedule.steps):
        theta = ahead = 0.0
        thetas, aheads = [], []
        for step in range(schedule.steps):
            following = shrink * ahead + (schedule.rate if step == pulled else 0.0)
            ahead = following + schedule.momentum(step) * (following - theta)
            theta = following
            thetas.append(abs(theta))
            aheads.append(abs(ahead))
        longest += max(*thetas, *aheads)
    return longest
