"""The point from which everybody measures rows, close to the column means.

Text has a large common mean, which makes up most of the largest eigenvalue of its moments. With
rows measured from the mean, a solve takes far fewer steps. A guess of the mean follows from the
published idf, and `centre = "idf"` uses only that; else the guess is corrected to the nearest 1/128
of the joint mean (joint_mean.py). With rows x = (u, β), the point μ and a bias of β' instead of β,
everybody adds up moments of x' = (u − μ, β'). The model stays the same:

    θ·x = φ·x'   with   θ_u = φ_u   and   β θ_b = β' φ_b − μ·φ_u,
    λ(θ_u Γ θ_u + θ_b²) = λ φ_u Γ φ_u + (g·φ)²   with   g = √λ (−μ, β') / β,

so ridge regression in φ with the penalty λΓ + g gᵀ is ridge regression in θ, whatever μ and β' are.
A bad guess costs steps but never changes the model.

Both ends of the spectrum follow from what peers tell (spectrum.py). Write the matrix in φ as
[N, t; tᵀ, D], D = β'²(m + λ/β²).
Eliminating the bias leaves N − ttᵀ/D, which is the same matrix for every μ, and at least λΓ.
With H ≥ λ_max(N) and q ≥ |t|²/D, the whole matrix lies between ℓD/(ℓ + q + D), ℓ = min λΓ, and
the largest eigenvalue of [H, √(qD); √(qD), D]. For N, all peers' own largest eigenvalues add up
(Weyl), and for q all peers' own m|mean − μ|² (Cauchy and Schwarz). A peer contributes both numbers,
rounded up, and only their sums over all peers are opened.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sottovoce.numbers.ring import Words, to_ring
from sottovoce.numbers.rounding import rounded_up
from sottovoce.protocols.shares.triangle import Triangle
from sottovoce.rados.moments import Moments
from sottovoce.study.arrangement import Arrangement
from sottovoce.study.choices import Centre, Contribution, DictionaryKind
from sottovoce.study.plan import StudyPlan
from sottovoce.study.queries.scoring import norm_bits
from sottovoce.study.stages.spectrum import upper_end
from sottovoce.text.reading import Level

Floats = NDArray[np.float64]

# Ends of spectra are sent in units of 1/256, shares of the lower end in units of 1/1024.
END_PARTS = 256
WHOLE = 1024
# The joint mean is published in units of 1/128.
MEAN_PARTS = 128
# The largest length of the point's words and tail, whose length in a row is at most 1.
_LONGEST = 0.5
# The largest length of the mean of kernel columns, as a multiple of the guess, and of vectors of
# length 1.
_BEYOND_GUESS = 1.15
_MEAN_OF_VECTORS = 0.5
# Peers write the bias as 1/32; holders multiply it so that both ends are closest.
_UNIT = 2.0**-5
# The ratios of D to H that are tried, and the factor by which documents may be fewer than
# published: totals are rounded up to two digits, and peers may have left since.
_ALL = ((0.3, 0.6, 1.0, 1.6), 1.1)
_FEWER = ((2.0, 4.0), 11.0)


@dataclass(frozen=True)
class Ends:
    """Both ends of the spectrum of one solve, less the penalty, as sent to dealer and peers."""

    ceiling_parts: int
    floor_share: int = WHOLE

    def condition(self, penalties: Floats) -> float:
        """Return the ratio of the upper end to the lower one."""
        top = self.ceiling_parts / END_PARTS + float(penalties.max())
        return top * WHOLE / (self.floor_share * float(penalties.min()))


@dataclass(frozen=True)
class ToldSpectrum:
    """A peer's bounds of its spectrum, in parts, or the sum of all peers' bounds."""

    largest: int = 0
    """An upper bound of the largest eigenvalue."""
    apart: int = 0
    """An upper bound of m|mean − μ|², if rows are measured from a point."""

    @property
    def words(self) -> Words:
        """Return both as words for a sum over peers."""
        return np.array([self.largest, self.apart], np.uint64)

    @classmethod
    def opened(cls, sums: Iterable[int]) -> Self:
        """Return the sums over all peers, rounded up once more."""
        largest, apart = (rounded_up(int(total)) for total in sums)
        return cls(largest, apart)


@dataclass(frozen=True)
class Reference:
    """The point, on a grid of 2^-bits that suits a model's factors exactly, and the rows' bias.

    Its first columns are the words, and with the tail those of `text`; the others together are no
    longer than `longest`.
    """

    point: tuple[int, ...]
    bias: float
    bits: int = 10
    words: int = 0
    text: int = 0
    longest: float = 0.0

    @classmethod
    def of(cls, plan: StudyPlan, idf_halves: Sequence[int]) -> Self | None:
        """Return the point that follows from the idf; None if idf does not determine means.

        A word with idf i is in e^(1 − i) of all documents. Occurrences are assumed to be
        independent, and rows to have the average length. Signs of the tail cancel.
        """
        if not is_moved(plan):
            return None
        idf = np.array(idf_halves, np.float64) / 2
        rate = -np.log1p(-np.minimum(np.exp(1 - idf), 0.98))
        first, second = _capped_moments(rate, plan.weighting.tf_cap)
        mean = first * idf / math.sqrt(max(float(second @ idf**2), 1e-9))
        mean *= min(1.0, _LONGEST / max(float(np.linalg.norm(mean)), 1e-9))
        whole = np.concatenate([mean, np.zeros(plan.beside.tail), plan.beside.means])
        # Rounded towards zero, so that rounding does not make the point longer.
        bits = norm_bits(plan)
        grid = np.trunc(np.ldexp(whole, bits)).astype(np.int64)
        words, tail = len(idf_halves), plan.beside.tail
        longest = longest_beside(plan)
        return cls(tuple(grid.tolist()), plan.weighting.bias, bits, words, words + tail, longest)

    @property
    def mean(self) -> Floats:
        """Return the point in real numbers."""
        return np.ldexp(np.array(self.point, np.float64), -self.bits)

    def apart_from(self, totals: Floats, *, weight: float) -> NDArray[np.int64]:
        """Return how far the mean of rows with these totals lies from the point, by column."""
        mean = totals[: len(self.point)] / max(weight, 1e-9)
        return np.rint(MEAN_PARTS * (mean - self.mean)).astype(np.int64)

    def correction(self, apart: Floats) -> NDArray[np.int64]:
        """Return for every column the steps from the point to the joint mean, `apart` from it.

        They are smaller where the point would otherwise become longer than allowed.
        """
        parts = [
            _steps_within(here, distances, longest)
            for (here, longest), distances in zip(
                self._parts(self.mean), np.split(apart, [self.text]), strict=True
            )
        ]
        return np.concatenate(parts)

    def corrected(self, steps: NDArray[np.int64]) -> Self | None:
        """Return the point moved by these steps, a column each; None if it would be too long."""
        moved = self.mean + steps / MEAN_PARTS
        if any(np.linalg.norm(part) > longest + 1e-9 for part, longest in self._parts(moved)):
            return None
        grid = np.array(self.point, np.int64) + steps * (2**self.bits // MEAN_PARTS)
        return replace(self, point=tuple(grid.tolist()))

    def _parts(self, point: Floats) -> tuple[tuple[Floats, float], tuple[Floats, float]]:
        """Return the columns of text and the others, each with the largest length allowed."""
        text, others = np.split(point, [self.text])
        return (text, _LONGEST), (others, self.longest)

    def move(self, moments: Moments) -> None:
        """Measure a peer's own moments from the point, in place, with the bias that peers write."""
        moments.move(np.append(self.mean, self.bias - _UNIT))

    def figures(self, moved: Moments) -> tuple[float, float]:
        """Return a peer's figures about its moments: its largest eigenvalue and m|mean − μ|²."""
        apart = float(moved.totals[:-1] @ moved.totals[:-1]) / max(moved.weight, 1e-9)
        return upper_end(moved.upper[:-1, :-1]), apart

    def ends(
        self, spectrum: ToldSpectrum, penalties: Floats, *, weight: float, all_peers: bool
    ) -> "Interval":
        """Return both ends of the joint spectrum, from the sums of peers' contributions."""
        shares, slack = _ALL if all_peers else _FEWER
        imagined = float(penalties[-1]) / self.bias**2
        tilt = imagined * float(self.mean @ self.mean)
        bounds = _Bounds(
            spectrum.largest / END_PARTS + float(penalties[:-1].max()) + tilt,
            spectrum.apart / END_PARTS + tilt,
            weight + imagined,
            weight / slack + imagined,
        )
        return min(
            (bounds.interval(share, penalties) for share in shares),
            key=lambda interval: interval.ends.condition(penalties),
        )

    def tilt(self, penalties: Floats, times: int) -> Floats:
        """Return g; ggᵀ is the penalty of the bias."""
        factor = math.sqrt(float(penalties[-1])) / self.bias
        return factor * np.append(-self.mean, times * _UNIT)

    def border(self, matrix: Words, times: int) -> Words:
        """Return the numbers to add to the last column of a share of the matrix for this bias."""
        triangle = Triangle(len(self.point) + 1)
        factors = np.full(triangle.side, times - 1, np.uint64)
        factors[-1] = times * times - 1
        return matrix[triangle.last_column()] * factors

    def bias_factors(self, times: int) -> tuple[int, tuple[int, ...]]:
        """Return the factors of φ_b and of φ_u (which is subtracted) in β θ_b, for scores."""
        return int(math.ldexp(times * _UNIT, self.bits)), self.point

    def bias_row(self, words: Words, times: int) -> Words:
        """Return a share of β θ_b from one of φ, folded for scores; it is on the grid, so exact."""
        point = to_ring(np.array(self.point, np.int64))
        unit, _ = self.bias_factors(times)
        row: Words = words[-1] * np.uint64(unit) - (words[:-1] * point[:, None]).sum(axis=0)
        return row


@dataclass(frozen=True)
class Interval:
    """Both ends, and the factor by which holders multiply the bias that peers wrote."""

    ends: Ends
    times: int


@dataclass(frozen=True)
class _Bounds:
    """H and q of the joint matrix, and the largest and smallest ratio of D to β'²."""

    high: float
    apart: float
    most: float
    least: float

    def interval(self, share: float, penalties: Floats) -> Interval:
        """Return both ends if D is about this share of H."""
        times = max(1, int(math.sqrt(share * self.high / self.most) / _UNIT))
        square = (times * _UNIT) ** 2
        most, least = square * self.most, square * self.least
        half = (self.high - most) / 2
        top = (self.high + most) / 2 + math.hypot(half, math.sqrt(self.apart * most))
        lowest = float(penalties[:-1].min())
        return Interval(
            Ends(
                math.ceil((top - float(penalties.max())) * END_PARTS),
                max(1, int(WHOLE * least / (lowest + self.apart + least))),
            ),
            times,
        )


def is_moved(plan: StudyPlan) -> bool:
    """Return whether rows are measured from a point, which needs a published idf of documents."""
    return (
        plan.dictionary is DictionaryKind.JOINT
        and plan.weighting.idf
        and plan.weighting.bias > 0
        and plan.level is Level.DOCUMENT
        and plan.contribution is Contribution.EXACT
        and plan.arrangement == Arrangement()
        and not plan.columns
    )


def is_corrected(plan: StudyPlan) -> bool:
    """Return whether that point is corrected by the joint mean."""
    return is_moved(plan) and plan.centre is Centre.MEAN


def longest_beside(plan: StudyPlan) -> float:
    """Return the largest length of the point's encoder and kernel columns.

    It takes digits of all moments, so there is little room beyond what the guess says of kernel
    columns. Of vectors nothing is known beforehand.
    """
    beside = plan.beside
    vectors = _MEAN_OF_VECTORS * beside.encoder_weight if beside.vectors else 0.0
    return math.hypot(_BEYOND_GUESS * float(np.linalg.norm(beside.means)), vectors)


def moved_norm(plan: StudyPlan) -> float:
    """Return the largest length of a row measured from the point."""
    other = math.sqrt(plan.beside.square) + longest_beside(plan)
    # The reported upper end is rounded up, and the bias is added to it. For vectors with a large
    # mean, that can exceed the sum of all squares.
    room = math.sqrt(2) if plan.beside.dense else 1.0
    return room * math.hypot(1 + _LONGEST, other, _UNIT)


def _steps_within(here: Floats, apart: Floats, longest: float) -> NDArray[np.int64]:
    """Return the steps from a part of the point towards a mean, none if all are too long."""
    for tenths in range(10, 0, -1):
        wanted = (here + apart / MEAN_PARTS) * tenths / 10
        steps = np.rint(MEAN_PARTS * (wanted - here))
        if np.linalg.norm(here + steps / MEAN_PARTS) <= longest:
            return steps.astype(np.int64)
    return np.zeros(len(apart), np.int64)


def _capped_moments(rate: Floats, cap: int) -> tuple[Floats, Floats]:
    """Return mean and mean square of occurrences at this rate, counted up to the cap."""
    term = np.exp(-rate)
    below, first, second = term.copy(), np.zeros_like(rate), np.zeros_like(rate)
    for number in range(1, cap + 1):
        tail = 1 - below
        first += tail
        second += (2 * number - 1) * tail
        term = term * rate / number
        below += term
    return first, second
