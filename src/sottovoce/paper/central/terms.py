"""The public terms of a central learner, before and after its totals are known."""

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, inf, sqrt
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import BoundError, InputError, MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Layout, Plain, PublicKey
from sottovoce.paper.central.messages import PublicTotals
from sottovoce.protocols.blind_sum import CiphertextSpace, Plan, Round, SummedVector, WordSpace
from sottovoce.protocols.casting import Cast
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.solve import SolvePlan
from sottovoce.rados import Moments

Floats = NDArray[np.float64]

# Largest eigenvalues are sent in units of 2^−8, rounded up.
_CEILING_BITS = 8
_DIGITS = 2
# Eigenvalues of a singular second moment come out this far below 0, relatively.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Precision:
    """The fraction bits of θ, of the moments and of the iteration's constants.

    Half a unit of 2^−matrix_bits for each peer stands in every entry of A; divided
    by the smallest penalty it bounds what rounding can move θ.
    """

    tolerance: float = 2.0**-11
    fraction_bits: int = 24
    matrix_bits: int = 12
    coefficient_bits: int = 14
    masking: Masking = field(default_factory=Masking)


@dataclass(frozen=True)
class RoundedTotals:
    """Sums over all peers, each rounded up to two digits, from which the bounds follow.

    `documents` is their number (or weight), `ceiling` the sum of the peers' largest
    eigenvalues, which the largest of the sum cannot exceed (Weyl).
    """

    documents: int
    ceiling: float

    @classmethod
    def of(cls, words: NDArray[np.uint64]) -> Self:
        """The totals that the peers' words add up to."""
        documents, ceiling = (int(word) for word in words)
        if not (documents and ceiling):
            raise InputError("totals: all documents are zero")
        unit = 2**_CEILING_BITS
        spread = ceil(_rounded_up(Fraction(ceiling, unit)) * unit) / unit
        return cls(int(_rounded_up(Fraction(documents))), spread)

    @staticmethod
    def words(moments: Moments) -> NDArray[np.uint64]:
        """Return one peer's summand of the totals."""
        ceiling = float(np.linalg.eigvalsh(moments.second)[-1])
        # Rounding in the eigenvalue is far below the unit that is added here.
        words = [ceil(moments.weight), ceil(ceiling * 2**_CEILING_BITS) + 1]
        return np.array(words, dtype=np.uint64)

    @classmethod
    def heard(cls, message: PublicTotals) -> Self:
        """Return the totals in the coordinator's message."""
        return cls(message.documents, message.ceiling / 2**_CEILING_BITS)

    def public(self) -> PublicTotals:
        """Return the coordinator's message with the totals."""
        return PublicTotals(self.documents, round(self.ceiling * 2**_CEILING_BITS))

    @property
    def product_bound(self) -> float:
        """No entry of XᵀY is larger, for targets up to 1: Cauchy and Schwarz."""
        return sqrt(self.documents * self.ceiling)


@dataclass(frozen=True)
class CentralTerms:
    """The terms that all parties agreed on first: parties, penalty and precision.

    `penalties` is Γ's diagonal: λ for every feature, ελ for a distrusted one.
    """

    study: str
    cast: Cast
    penalties: tuple[float, ...]
    precision: Precision = field(default_factory=Precision)
    fewest: int = 3

    def __post_init__(self) -> None:
        if not self.penalties or not all(0 < value < inf for value in self.penalties):
            raise InputError(
                "penalty: expected a number above 0 for every feature, "
                f"found {min(self.penalties, default=0.0):g}",
                hints=("without a penalty the moments need not be positive definite",),
            )

    @property
    def features(self) -> int:
        """The number of features."""
        return len(self.penalties)

    def round(self, name: str, peers: tuple[str, ...]) -> Round:
        """The first attempt at one of the blind sums of this study."""
        cast = self.cast
        return Round(
            self.study,
            name,
            peers,
            fewest=self.fewest,
            coordinator=cast.coordinator,
            evaluator=cast.evaluator,
        )

    def totals_sum(self) -> Plan:
        """The blind sum of the totals, which coordinator and evaluator both open."""
        cast = self.cast
        parts = [SummedVector(name, "totals/v1", WordSpace((2,))) for name in _receivers(cast)]
        return Plan(self.round("totals", cast.peers), tuple(parts))

    def solve_plan(self, totals: RoundedTotals) -> SolvePlan:
        """The solve of A + Γ, from public numbers alone.

        With Z = XΓ^(−½), Γ^½θ = (ZᵀZ + I)⁻¹ZᵀY is no longer than ½‖Y‖.
        """
        lowest = min(self.penalties)
        precision = self.precision
        return SolvePlan(
            self.features,
            lower=lowest,
            upper=totals.ceiling + max(self.penalties),
            reach=sqrt(totals.documents / lowest) / 2,
            tolerance=precision.tolerance,
            fraction_bits=precision.fraction_bits,
            matrix_bits=precision.matrix_bits,
            coefficient_bits=precision.coefficient_bits,
            masking=precision.masking,
        )


@dataclass(frozen=True)
class MomentTerms:
    """The scales of moments once the totals are known, and the space of their sum.

    `peers` are those whose totals were counted: bounds hold for them alone.
    """

    terms: CentralTerms
    totals: RoundedTotals
    peers: tuple[str, ...]

    @property
    def plan(self) -> SolvePlan:
        """The plan of the solve."""
        return self.terms.solve_plan(self.totals)

    @property
    def matrix_scale(self) -> Scale:
        """Entries of A are no larger than its largest eigenvalue."""
        return self.plan.matrix_scale(self.totals.ceiling)

    @property
    def vector_scale(self) -> Scale:
        """Entries of b."""
        return self.plan.vector_scale(self.totals.product_bound)

    def written(self, moments: Moments) -> tuple[Plain, Plain]:
        """A peer's A and b in fixed point; what does not belong raises before anything is sent."""
        features = self.terms.features
        if (moments.features, moments.classes) != (features, 1):
            raise MismatchError(
                f"moments: expected {features} features and 1 class, found {moments.features} "
                f"and {moments.classes}"
            )
        second = moments.second
        spectrum = np.linalg.eigvalsh(second)
        smallest, largest = float(spectrum[0]), float(spectrum[-1])
        if smallest < -_ROUNDING * abs(largest):
            raise InputError(
                "moments: expected a positive semidefinite second moment, found the eigenvalue "
                f"{smallest:.6g}"
            )
        if largest > self.totals.ceiling or moments.weight > self.totals.documents:
            raise BoundError(
                f"moments: expected a largest eigenvalue of at most {self.totals.ceiling:g} and "
                f"at most {self.totals.documents} documents, found {largest:.6g} and "
                f"{moments.weight:g}",
                hints=("the totals must hold for all peers together",),
            )
        return (
            Plain.of(second, self.matrix_scale),
            Plain.of(moments.products[:, 0], self.vector_scale),
        )

    def moments_sum(self, key: PublicKey) -> Plan:
        """The blind sum of ⟨⟨A⟩⟩ and ⟨⟨b⟩⟩ at the evaluator."""
        terms, plan = self.terms, self.plan
        slots, features = plan.slots(key.plaintext_bits), terms.features
        spaces = (
            CiphertextSpace(key, Layout((features, features), slots), self.matrix_scale),
            CiphertextSpace(key, Layout((features,), slots), self.vector_scale),
        )
        parts = [
            SummedVector(terms.cast.evaluator, purpose, space)
            for purpose, space in zip(("second/v1", "products/v1"), spaces, strict=True)
        ]
        return Plan(terms.round("moments", self.peers), tuple(parts))

    def penalty(self) -> Plain:
        """Γ on the grid of A."""
        scale = self.plan.matrix_scale(max(self.terms.penalties))
        return Plain.of(np.diag(self.terms.penalties), scale)


def _receivers(cast: Cast) -> tuple[str, str]:
    return cast.coordinator, cast.evaluator


def _rounded_up(value: Fraction) -> Fraction:
    """Return the next number of two digits; integers of up to two digits are unchanged."""
    places = len(str(int(value))) - _DIGITS if value >= 1 else -_DIGITS
    unit = Fraction(10) ** places
    return ceil(value / unit) * unit
