"""The public terms of the printed learner: the parties, the rados and their scale, Γ, a ceiling."""

from dataclasses import dataclass, field
from math import ceil, inf, log2

import numpy as np

from sottovoce.errors import BoundError, InputError, MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Layout, Plain, PublicKey
from sottovoce.paper.inversion.hyperpower import InvPlan
from sottovoce.protocols.blind_sum import CiphertextSpace, Plan, Round, SummedVector
from sottovoce.protocols.casting import Cast
from sottovoce.protocols.two_party.masks import Masking


@dataclass(frozen=True)
class PrintedTerms:
    """The terms that all parties agreed on before anything is sent.

    Every peer makes `rados_each` rados on `rado_scale`; `ceiling` is above every
    eigenvalue of their covariance (its trace always is). `by_protocol_1` makes them as the
    paper does, from encrypted documents, labels and signatures; else a peer makes its own.
    """

    study: str
    cast: Cast
    penalties: tuple[float, ...]
    rados_each: int
    rado_scale: Scale
    ceiling: float
    order: int = 2
    tolerance: float = 2.0**-14
    fraction_bits: int = 40
    fewest: int = 3
    masking: Masking = field(default_factory=Masking)
    by_protocol_1: bool = False

    def __post_init__(self) -> None:
        if not self.penalties or not all(0 < value < inf for value in self.penalties):
            raise InputError(
                "penalty: expected a number above 0 for every feature, "
                f"found {min(self.penalties, default=0.0):g}",
                hints=("without a penalty the covariance need not be positive definite",),
            )
        if self.rados_each < 1 or not 0 < self.ceiling < inf:
            raise InputError(
                "printed learner: expected at least 1 rado a peer and a ceiling above 0, found "
                f"{self.rados_each} and {self.ceiling:g}"
            )

    @property
    def features(self) -> int:
        """The number of features."""
        return len(self.penalties)

    @property
    def rados(self) -> int:
        """n: the rados of all peers."""
        return self.rados_each * len(self.cast.peers)

    def written(self, rados: object) -> Plain:
        """A peer's rados in fixed point; what does not belong raises before anything is sent."""
        rows = np.asarray(rados, dtype=np.float64)
        if rows.shape != (self.rados_each, self.features):
            raise MismatchError(
                f"rados: expected {self.rados_each} of {self.features} features, "
                f"found shape {rows.shape}"
            )
        try:
            return Plain.of(rows, self.rado_scale)
        except BoundError as error:
            raise BoundError(f"rados: {error.message}", hints=error.hints) from None

    # Scales.

    @property
    def sum_scale(self) -> Scale:
        """Σπ over all peers: n times the mean b."""
        return self.rado_scale.sum_of(self.rados)

    @property
    def centred_scale(self) -> Scale:
        """n·π − Σπ."""
        return self.rado_scale.times_integer(self.rados).plus(self.sum_scale)

    @property
    def product_scale(self) -> Scale:
        """One peer's Σuuᵀ, which is n² times larger than the paper's."""
        return self.centred_scale.times(self.centred_scale).sum_of(self.rados_each)

    @property
    def shrink_bits(self) -> int:
        """n³ times the covariance is read as so many bits smaller."""
        return 3 * ceil(log2(self.rados))

    @property
    def factor(self) -> float:
        """The rest of n³ then, between ⅛ and 1."""
        return float(self.rados**3 / 2**self.shrink_bits)

    @property
    def inversion(self) -> InvPlan:
        """The inversion of factor·(A + Γ)."""
        return InvPlan(
            self.features,
            lower=self.factor * min(self.penalties),
            upper=self.factor * (self.ceiling + max(self.penalties)),
            order=self.order,
            tolerance=self.tolerance,
            fraction_bits=self.fraction_bits,
            matrix_bits=self.product_scale.fraction_bits + self.shrink_bits,
            masking=self.masking,
        )

    @property
    def theta_scale(self) -> Scale:
        """θ as it comes out: n² times the product of the inverse and Σπ, read as smaller."""
        whole = self.sum_scale.dot(self.inversion.result_scale, self.features)
        whole = whole.times_integer(self.rados**2)
        return Scale(whole.fraction_bits + self.shrink_bits, whole.bound)

    def penalty(self) -> Plain:
        """factor·Γ on the grid of the inversion."""
        diagonal = self.factor * np.diag(self.penalties)
        return Plain.of(diagonal, self.inversion.matrix_scale(float(diagonal.max())))

    # Blind sums at the evaluator.

    def round(self, name: str, *, fewest: int) -> Round:
        """The first attempt at one of the two sums."""
        cast = self.cast
        return Round(
            self.study,
            name,
            cast.peers,
            fewest=fewest,
            coordinator=cast.coordinator,
            evaluator=cast.evaluator,
        )

    def sums(self, key: PublicKey) -> Plan:
        """SM.Add of every peer's own sum of rados; all of them must be there."""
        space = CiphertextSpace(
            key, Layout((self.features,)), self.rado_scale.sum_of(self.rados_each)
        )
        return self._plan("sums", space)

    def products(self, key: PublicKey) -> Plan:
        """SM.Add of every peer's own sum of outer products, of the same peers."""
        shape = (self.features, self.features)
        return self._plan("products", CiphertextSpace(key, Layout(shape), self.product_scale))

    def _plan(self, name: str, space: CiphertextSpace) -> Plan:
        # The mean counts every peer's rados, so nobody may be missing in either sum.
        everybody = max(self.fewest, len(self.cast.peers))
        part = SummedVector(self.cast.evaluator, f"{name}/v1", space)
        return Plan(self.round(name, fewest=everybody), (part,))
