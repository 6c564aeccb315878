"""The point from which everybody measures its rows: a public guess of the column means.

Text has a large common mean, and that is most of the largest eigenvalue of its moments.
Measured from the mean, a solve takes far fewer steps. The true mean is nobody's business; a
good guess of it follows from the published idf. With rows x = (u, β), the point μ and a bias
of β' instead of β, everybody adds up moments of x' = (u − μ, β'). The model stays the same:

    θ·x = φ·x'   with   θ_u = φ_u   and   β θ_b = β' φ_b − μ·φ_u,
    λ(θ_u Γ θ_u + θ_b²) = λ φ_u Γ φ_u + (g·φ)²   with   g = √λ (−μ, β') / β,

so ridge regression in φ with the penalty λΓ + g gᵀ *is* ridge regression in θ, whatever μ and
β' are. A bad guess costs steps; none gives another model.

Both ends of the spectrum are certain. Write the matrix in φ as [N, t; tᵀ, D], D = β'²(m + λ/β²).
Eliminating the bias leaves N − ttᵀ/D, which is the same matrix for every μ, and at least λΓ.
With H ≥ λ_max(N) and q ≥ |t|²/D, the whole matrix lies between ℓD/(ℓ + q + D), ℓ = min λΓ, and
the largest eigenvalue of [H, √(qD); √(qD), D]. For N, every peer's own largest eigenvalues add
up (Weyl), and so do, for q, every peer's own m|mean − μ|² (Cauchy and Schwarz). A peer tells
one number, at least as large as its eigenvalue and as eight times its m|mean − μ|². Nobody can
guess the mean of an encoder's vectors so well: with them it is once m|mean − μ|², which no
eigenvalue is below.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sottovoce.numbers.ring import Words, to_ring
from sottovoce.protocols.shares.triangle import Triangle
from sottovoce.rados.moments import Moments
from sottovoce.study.arrangement import Arrangement
from sottovoce.study.plan import Contribution, DictionaryKind, StudyPlan
from sottovoce.study.queries.scoring import norm_bits
from sottovoce.study.stages.spectrum import upper_end
from sottovoce.text.reading import Level

Floats = NDArray[np.float64]

# Ends of spectra travel in units of 1/256, shares of the lower one in units of 1/1024.
END_PARTS = 256
WHOLE = 1024
# Of words the point is not longer than this.
_LONGEST = 0.5
# Peers write the bias as 1/32; holders multiply it to where both ends are closest.
_UNIT = 2.0**-5
_TELL = 8
# What D should be of H, and how many times fewer documents there may be than was published:
# totals are rounded up to two digits, and peers may have left since.
_ALL = (0.6, 1.1)
_FEWER = (4.0, 11.0)


@dataclass(frozen=True)
class Ends:
    """Both ends of the spectrum of one solve, less the penalty: what dealer and peers are told."""

    ceiling_parts: int
    floor_share: int = WHOLE


@dataclass(frozen=True)
class Reference:
    """The point, on a grid of 2^-bits that a model's factors hit exactly, and the rows' bias."""

    point: tuple[int, ...]
    bias: float
    bits: int = 10
    tell: int = _TELL

    @classmethod
    def of(cls, plan: StudyPlan, idf_halves: Sequence[int]) -> Self | None:
        """The point that follows from the idf, where that tells of means: documents of text.

        A word with idf i is in e^(1 − i) of all documents; occurrences are taken as
        independent, and a row as long as rows are on average. Signs of the tail cancel.
        """
        if not is_moved(plan):
            return None
        idf = np.array(idf_halves, np.float64) / 2
        rate = -np.log1p(-np.minimum(np.exp(1 - idf), 0.98))
        first, second = _capped_moments(rate, plan.weighting.tf_cap)
        mean = first * idf / math.sqrt(max(float(second @ idf**2), 1e-9))
        mean *= min(1.0, _LONGEST / max(float(np.linalg.norm(mean)), 1e-9))
        whole = np.concatenate([mean, np.zeros(plan.beside.tail), plan.beside.means])
        # Towards zero, so that rounding makes nothing longer.
        bits = norm_bits(plan)
        grid = np.trunc(np.ldexp(whole, bits)).astype(np.int64)
        tell = 1 if plan.beside.dense else _TELL
        return cls(tuple(grid.tolist()), plan.weighting.bias, bits, tell)

    @property
    def mean(self) -> Floats:
        """The point in real numbers."""
        return np.ldexp(np.array(self.point, np.float64), -self.bits)

    def move(self, moments: Moments) -> None:
        """Measure a peer's own moments from the point, with the bias that travels."""
        moments.move(np.append(self.mean, self.bias - _UNIT))

    def told(self, moved: Moments) -> float:
        """What a peer tells of its moments: enough for both ends."""
        apart = float(moved.totals[:-1] @ moved.totals[:-1]) / max(moved.weight, 1e-9)
        return max(upper_end(moved.upper[:-1, :-1]), self.tell * apart)

    def ends(self, parts: int, penalties: Floats, *, weight: float, all_peers: bool) -> "Interval":
        """Both ends of the joint spectrum, from the sum of what peers told."""
        told = parts / END_PARTS
        share, slack = _ALL if all_peers else _FEWER
        lowest, highest = float(penalties[:-1].min()), float(penalties[:-1].max())
        imagined = float(penalties[-1]) / self.bias**2
        tilt = imagined * float(self.mean @ self.mean)
        high, apart = told + highest + tilt, told / self.tell + tilt
        times = max(1, int(math.sqrt(share * high / (weight + imagined)) / _UNIT))
        square = (times * _UNIT) ** 2
        most, least = square * (weight + imagined), square * (weight / slack + imagined)
        half = (high - most) / 2
        top = (high + most) / 2 + math.hypot(half, math.sqrt(apart * most))
        return Interval(
            Ends(
                math.ceil((top - float(penalties.max())) * END_PARTS),
                max(1, int(WHOLE * least / (lowest + apart + least))),
            ),
            times,
        )

    def tilt(self, penalties: Floats, times: int) -> Floats:
        """g, of which ggᵀ is the penalty of the bias."""
        factor = math.sqrt(float(penalties[-1])) / self.bias
        return factor * np.append(-self.mean, times * _UNIT)

    def border(self, matrix: Words, times: int) -> Words:
        """What is to be added to the last column of a share of the matrix for that bias."""
        triangle = Triangle(len(self.point) + 1)
        factors = np.full(triangle.side, times - 1, np.uint64)
        factors[-1] = times * times - 1
        return matrix[triangle.last_column()] * factors

    def bias_factors(self, times: int) -> tuple[int, tuple[int, ...]]:
        """By what φ_b is multiplied, and what of φ_u is taken off, to give β θ_b for scores."""
        return int(math.ldexp(times * _UNIT, self.bits)), self.point

    def bias_row(self, words: Words, times: int) -> Words:
        """A share of β θ_b from one of φ, folded for scores: on the grid, hence exact."""
        point = to_ring(np.array(self.point, np.int64))
        unit, _ = self.bias_factors(times)
        row: Words = words[-1] * np.uint64(unit) - (words[:-1] * point[:, None]).sum(axis=0)
        return row


@dataclass(frozen=True)
class Interval:
    """Both ends, and how many times what peers wrote the bias is."""

    ends: Ends
    times: int


def is_moved(plan: StudyPlan) -> bool:
    """Whether rows are measured from a point: it takes a published idf of documents."""
    return (
        plan.dictionary is DictionaryKind.JOINT
        and plan.weighting.idf
        and plan.weighting.bias > 0
        and plan.level is Level.DOCUMENT
        and plan.contribution is Contribution.EXACT
        and plan.arrangement == Arrangement()
        and not plan.columns
    )


def moved_norm(plan: StudyPlan) -> float:
    """How long a row measured from the point can be."""
    other = math.sqrt(plan.beside.square) + float(np.linalg.norm(plan.beside.means))
    # What is told of the upper end is rounded up, and the bias comes on top of it: with vectors
    # that have a large mean, that can be more than the sum of all squares.
    room = math.sqrt(2) if plan.beside.dense else 1.0
    return room * math.hypot(1 + _LONGEST, other, _UNIT)


def _capped_moments(rate: Floats, cap: int) -> tuple[Floats, Floats]:
    """Mean and mean square of occurrences that come at this rate, counted up to the cap."""
    term = np.exp(-rate)
    below, first, second = term.copy(), np.zeros_like(rate), np.zeros_like(rate)
    for number in range(1, cap + 1):
        tail = 1 - below
        first += tail
        second += (2 * number - 1) * tail
        term = term * rate / number
        below += term
    return first, second
