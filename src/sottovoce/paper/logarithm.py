"""S.Log: logarithms of encrypted numbers, as sums of reciprocals, in the trips of one division.

    evaluator                                                  key holder
    log x = ∫₀¹ (x − 1)/(1 + t(x − 1)) dt = Σ_i v_i·(1 − 1/(1 + t_i(x − 1))), for public nodes t_i
    Goldschmidt's steps for all of v_i/(1 + t_i(x − 1)) at once (see `goldschmidt`)
      ── MaskedTruncation: the quotients, packed ─────────▶     cuts
      ◀── Truncated: one value a ciphertext ───────────────
    adds them up

The numbers' range, 0 < lower ≤ x ≤ upper, is public; they are divided by a number near its
middle √(lower·upper) first, whose logarithm is added in the end. Gauss and Legendre's nodes make
the error of the sum fall geometrically: a range of 1 : 1000 takes some twenty. Nobody can see
whether a number is within its range: the caller is responsible for that. A range that touches 0 is
refused.

The evaluator learns nothing; the key holder sees how many quotients there are, the number of
steps and noise within 2^−κ. Both follow the protocol and do not pool what they saw. The error
is bounded by public numbers (`LogPlan.error_bound`), from the nodes, the steps and cutting.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, log, log2, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import Entropy
from sottovoce.errors import BoundError, InputError, MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import Encrypted, Plain, SecretKey, Unsent, outer
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.two_party.goldschmidt import (
    GoldschmidtSteps,
    constant,
    rounded_down,
    settle,
)
from sottovoce.protocols.two_party.lines import line_rule
from sottovoce.protocols.two_party.masks import Masking, filled
from sottovoce.protocols.two_party.truncation import truncate, truncation_rule

MOST_NODES = 256
# What the ranges of divisors are widened by, so that rounded coefficients stay inside.
_MARGIN = Fraction(1, 1 << 16)


@dataclass(frozen=True, slots=True)
class Node:
    """One of the reciprocals: `weight`/(at + slope·x) where at + slope·x lies around 1."""

    at: Fraction
    slope: Fraction
    weight: Fraction


@dataclass(frozen=True)
class LogPlan:
    """Everything public about logarithms: lower ≤ x ≤ upper, the scale of x, the tolerance.

    Results are off by at most about `tolerance`.
    """

    lower: float
    upper: float
    input_bits: int
    tolerance: float = 2.0**-12
    masking: Masking = field(default_factory=Masking)

    def __post_init__(self) -> None:
        if not 0 < self.lower <= self.upper < float("inf"):
            raise InputError(
                "S.Log: expected numbers in a range above 0, "
                f"found {self.lower:g} to {self.upper:g}",
                hints=("0 has no logarithm; add a public constant to the numbers",),
            )
        if not 0 < self.tolerance < 1:
            raise InputError(f"S.Log: expected 0 < tolerance < 1, found {self.tolerance:g}")
        if self._count > MOST_NODES:
            raise InputError(
                f"S.Log: expected a range that {MOST_NODES} nodes are enough for, "
                f"found {self.lower:g} to {self.upper:g}"
            )

    @property
    def input_scale(self) -> Scale:
        """The scale of the numbers."""
        return Scale.covering(Fraction(self.upper), fraction_bits=self.input_bits)

    @cached_property
    def middle(self) -> Fraction:
        """The factor near 1/√(lower·upper) that brings the numbers around 1."""
        return rounded_down(Fraction(1 / sqrt(self.lower) / sqrt(self.upper)))

    @property
    def _count(self) -> int:
        """The number of nodes: m leave about 2π·ρ^(−2m−1), ρ = (√x + 1)/(√x − 1) at the ends."""
        middle = float(self.middle)
        root = sqrt(max(self.upper * middle, 1 / (self.lower * middle)))
        if root <= 1:
            return 1
        fall = 2 * log((root + 1) / (root - 1))
        return max(1, ceil(log(4 * 2 * pi / self.tolerance) / fall - 1 / 2))

    @cached_property
    def _rule(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Nodes t and factors v = w/t, as few as a quarter of the tolerance allows."""
        ends = np.array([self.lower, self.upper]) * float(self.middle)
        count = self._count
        while True:
            places, weights = np.polynomial.legendre.leggauss(count)
            t = (1 + places) / 2
            v = weights / 2 / t
            # The rule's error grows towards the ends of the range, on either side of 1.
            sums = (v * (1 - 1 / (1 + np.multiply.outer(ends - 1, t)))).sum(axis=1)
            if np.abs(sums - np.log(ends)).max() <= self.tolerance / 4:
                return t, v
            count += 1

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The reciprocals: 1 + t(x·middle − 1), brought around 1, with their weights."""
        made = []
        for t, v in zip(*(map(Fraction, part.tolist()) for part in self._rule), strict=True):
            low, high = self._ends(1 - t, t * self.middle)
            centre = 2 / (low + high)
            made.append(Node((1 - t) * centre, t * self.middle * centre, v * centre))
        return tuple(made)

    def _ends(self, at: Fraction, slope: Fraction) -> tuple[Fraction, Fraction]:
        return at + slope * Fraction(self.lower), at + slope * Fraction(self.upper)

    @cached_property
    def course(self) -> GoldschmidtSteps:
        """The steps for all reciprocals."""
        ends = [self._ends(node.at, node.slope) for node in self.nodes]
        low = min(low for low, _ in ends)
        largest = [node.weight / least for node, (least, _) in zip(self.nodes, ends, strict=True)]
        return GoldschmidtSteps(
            low * (1 - _MARGIN),
            max(high for _, high in ends) + low * _MARGIN,
            self.tolerance / 4 / float(sum(largest)),
            max(largest),
            self.result_bits,
            self.masking,
        )

    @property
    def result_bits(self) -> int:
        """Fraction bits of the result: a unit for every node is a part of the tolerance."""
        return ceil(log2(8 * len(self.nodes) / self.tolerance))

    @property
    def coefficient_bits(self) -> int:
        """Fraction bits of the nodes' coefficients, more than divisors keep."""
        course = self.course
        return max(
            course.fraction_bits + 8 + max(0, ceil(log2(self.upper))), course.numerator_bits + 1
        )

    @property
    def steps(self) -> int:
        """The number of trips: Goldschmidt's, and one to cut the quotients."""
        return self.course.steps + 1

    @property
    def result_scale(self) -> Scale:
        """Logarithms as they come out."""
        largest = max(abs(log(self.lower)), abs(log(self.upper))) + self.error_bound()
        return Scale.covering(largest, fraction_bits=self.result_bits)

    @property
    def start_scales(self) -> tuple[Scale, Scale]:
        """The first lines: divisors below 2, and weights."""
        bits = self.coefficient_bits + self.input_bits
        weight = max(node.weight for node in self.nodes)
        return Scale(bits, 2 << bits), Scale.covering(weight, fraction_bits=self.coefficient_bits)

    def slots(self, plaintext_bits: int) -> Slots:
        """Return slots for the quotients."""
        return self.course.slots(plaintext_bits, *self.start_scales)

    def error_bound(self) -> float:
        """The largest error of a logarithm, from the nodes, the steps and cutting."""
        ends = [self._ends(node.at, node.slope)[0] for node in self.nodes]
        largest = [float(n.weight / least) for n, least in zip(self.nodes, ends, strict=True)]
        divided = float(self.course.error_bound(largest).sum())
        rounded = sum(largest) * 2.0**-self.course.fraction_bits + 2.0**-self.result_bits
        return self.tolerance / 4 + divided + rounded + len(largest) * 2.0**-self.result_bits

    def coefficients(self) -> Iterator[tuple[int, int, int]]:
        """For every node: at (on the grid of slope·x), slope and weight, as integers."""
        unit = 1 << self.coefficient_bits
        for node in self.nodes:
            yield (
                round(node.at * unit) << self.input_bits,
                round(node.slope * unit),
                round(node.weight * unit),
            )

    @property
    def offset(self) -> int:
        """The number to which negative quotients are added: Σ v − log(middle), in result units."""
        exact = float(self._rule[1].sum()) - log(self.middle)
        return round(exact * (1 << self.result_bits))


def logarithm(x: Encrypted, plan: LogPlan, *, entropy: Entropy) -> Party[Unsent]:
    """S.Log at the evaluator: ⟨⟨log x⟩⟩ of a vector, one value a ciphertext."""
    _check(x, plan)
    ats, slopes, weights = (list(part) for part in zip(*plan.coefficients(), strict=True))
    divisor, numerator = plan.start_scales
    shape = (len(x) * len(slopes),)
    slope = Plain(filled(slopes, (len(slopes),)), Scale(plan.coefficient_bits, max(slopes)))
    at = Plain(filled(ats * len(x), shape), divisor)
    spread = outer(x, slope).reshaped(*shape).within(divisor) + at
    D = spread.within(divisor).packed(plan.slots(x.key.plaintext_bits))
    N = constant(Plain(filled(weights * len(x), shape), numerator), D)
    settled = yield from settle(D, N, plan.course, entropy=entropy)
    bits = settled.scale.fraction_bits - plan.result_bits
    cut = yield from truncate(settled, bits, entropy=entropy, masking=plan.masking)
    sums = cut.reshaped(len(x), len(slopes)).sum(axis=1)
    offset = Plain(
        filled([plan.offset] * len(x), x.shape), Scale(plan.result_bits, abs(plan.offset))
    )
    return (offset - sums).within(plan.result_scale)


def logarithm_rules(
    key: SecretKey, plan: LogPlan, *, vectors: int = 1, entropy: Entropy
) -> list[AnswerRule[Any]]:
    """The rules for a key holder: the trips of this number of `vectors`."""
    return [
        line_rule(key, budget=vectors * plan.course.steps, entropy=entropy),
        truncation_rule(key, budget=vectors, entropy=entropy),
    ]


def _check(x: Encrypted, plan: LogPlan) -> None:
    """Refuse numbers that do not fit the plan, before anything is sent."""
    if len(x.shape) != 1 or x.slots is not None or x.scale.fraction_bits != plan.input_bits:
        raise MismatchError(
            f"S.Log: expected a vector, one value a ciphertext, with {plan.input_bits} fraction "
            f"bits, found {x.layout} with {x.scale.fraction_bits}"
        )
    if x.scale.bound > plan.input_scale.bound:
        raise BoundError(
            f"S.Log: expected numbers up to {plan.upper:g}, found a bound of "
            f"{x.scale.bound / 2**plan.input_bits:.6g}",
            hints=("use a wider range in the plan",),
        )
