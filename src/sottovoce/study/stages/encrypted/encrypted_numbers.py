"""The encoding of the numbers of engine paillier, from the public facts of a study."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import Entropy
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import Ciphertext, Layout, Plain, PublicKey, encrypt
from sottovoce.protocols.blind_sum import CiphertextSpace, SummedVector
from sottovoce.protocols.blind_sum.plan import Plan
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.moment_check import EncryptedMomentBounds
from sottovoce.protocols.two_party.solve import SolvePlan
from sottovoce.rados.moments import Moments
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.scoring import ScorePlan, row_norm
from sottovoce.study.stages.centring import END_PARTS
from sottovoce.study.stages.contributions import penalties_of
from sottovoce.study.stages.encrypted.descent_numbers import DescentNumbers
from sottovoce.study.stages.encrypted.uploads import OwnRows, TablePlan, root_bits
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.stages.row_limits import RowLimits
from sottovoce.study.stages.sampling import reach
from sottovoce.study.study import Study
from sottovoce.study.totals import Totals, row_weight

# θ has a relative error of about 2^-13; A an error of 2^-18 for each peer.
_TOLERANCE = 2.0**-13
_FRACTION_BITS = 26
MATRIX_BITS = 18
_COEFFICIENT_BITS = 16
# Fraction bits of rows and block columns, if A is a product of encrypted ones.
_COLUMN_BITS = 12


@dataclass(frozen=True, repr=False)
class Own:
    """A peer's input: its moments, or block columns in partition `features`, or rows to send.

    Learner `rado-descent` samples rados from `edges`.
    """

    moments: Moments
    columns: NDArray[np.float64] | None = None
    brought: OwnRows | None = None
    edges: tuple[NDArray[np.float64], ...] = ()


@dataclass(frozen=True)
class EncryptedNumbers:
    """The public numbers of a study's encrypted solves.

    `penalties` has a row for every penalty of the plan. All solves share one interval, which
    holds the spectrum for each of them, so that moments are packed once.
    """

    study: Study
    penalties: NDArray[np.float64]
    documents: int
    ceiling: float
    scores: ScorePlan

    @classmethod
    def of(cls, study: Study, prepared: Prepared, parts: int) -> Self:
        """Return the numbers for an agreed upper end of the spectrum."""
        plan = study.plan
        width = plan.width - prepared.totals.absent
        penalties = np.array([penalties_of(plan, width, each) for each in plan.candidates])
        if not plan.arrangement.by_features:
            # Large plaintexts have room for rows of full weight, so the penalty grows instead.
            penalties /= row_weight(prepared.totals.rows)
        ceiling, lowest = parts / END_PARTS, float(penalties.min())
        longest = reach(plan, prepared.totals.rows, penalty=lowest, ceiling=ceiling)
        solution = Scale.covering(2 * longest, fraction_bits=_FRACTION_BITS)
        scores = ScorePlan.fit(plan, prepared.idf_halves, solution)
        return cls(study, penalties, prepared.totals.rows, ceiling, scores)

    @property
    def width(self) -> int:
        """The number of columns of a row."""
        return int(self.penalties.shape[1])

    @property
    def solve(self) -> SolvePlan:
        """The plan of a solve; every class and every penalty has a solve with the same numbers."""
        return SolvePlan(
            self.width,
            lower=float(self.penalties.min()),
            upper=self.ceiling + float(self.penalties.max()),
            reach=reach(
                self.study.plan,
                self.documents,
                penalty=float(self.penalties.min()),
                ceiling=self.ceiling,
            ),
            tolerance=_TOLERANCE,
            fraction_bits=_FRACTION_BITS,
            matrix_bits=self.matrix_bits,
            coefficient_bits=_COEFFICIENT_BITS,
            masking=Masking(self.study.plan.kappa),
        )

    @property
    def matrix_bits(self) -> int:
        """The fraction bits of A, or of the product if A is one."""
        if not self.study.multiplies_sealed:
            return MATRIX_BITS
        return 2 * (_COLUMN_BITS + root_bits(self.study.plan.rados))

    @property
    def column_scale(self) -> Scale:
        """The scale of block columns, whose entries are at most √count."""
        return Scale.covering(sqrt(self.documents), fraction_bits=_COLUMN_BITS)

    @property
    def matrix_scale(self) -> Scale:
        """The scale of A, whose entries are no larger than its largest eigenvalue."""
        return self.solve.matrix_scale(self.ceiling)

    @property
    def vector_scale(self) -> Scale:
        """The scale of b, whose entries are bounded by Cauchy and Schwarz."""
        return self.solve.vector_scale(sqrt(self.documents * self.ceiling))

    def sealed(self, own: Own, key: PublicKey, *, entropy: Entropy) -> list[Ciphertext]:
        """Return a peer's A (or its block columns) and one b for each class, encrypted."""
        slots = self.solve.slots(key.plaintext_bits)
        vectors = [Plain.of(column, self.vector_scale) for column in own.moments.products.T]
        if own.columns is None:
            matrix = encrypt(
                key, Plain.of(own.moments.second, self.matrix_scale), slots=slots, entropy=entropy
            )
        else:
            matrix = encrypt(key, Plain.of(own.columns, self.column_scale), entropy=entropy)
        return [matrix, *(encrypt(key, vector, slots=slots, entropy=entropy) for vector in vectors)]

    def table(self, totals: Totals, rows: int) -> TablePlan:
        """Return the plan by which a peer's rows are sent to its intermediary."""
        plan = self.study.plan
        heaviest = float(totals.weights(plan.class_weight).max())
        longest = max(1.0, plan.weighting.bias)
        return TablePlan(
            rows,
            self.width,
            plan.rados,
            row_scale=Scale.covering(longest * sqrt(heaviest), fraction_bits=_COLUMN_BITS),
            edge_scale=self.solve.vector_scale(longest * heaviest),
            edges=self.scores.classes,
        )

    def heaviest(self, peers: int) -> EncryptedMomentBounds:
        """Return upper bounds on the moments of all rows."""
        plan, norm = self.study.plan, row_norm(self.study.plan)
        limits = RowLimits.of(plan, multiplied=self.study.multiplies_sealed)
        return EncryptedMomentBounds(
            trace=limits.trace * self.documents * norm**2,
            length=limits.length * self.documents * norm * sqrt(self.scores.classes),
            peers=peers,
        )

    def sum_plan(self, party: PartyContext, key: PublicKey, peers: Sequence[str]) -> Plan:
        """Return the blind sum of ciphertexts at the evaluator."""
        slots, width = self.solve.slots(key.plaintext_bits), self.width
        plan = party.study.plan
        if plan.arrangement.by_features:
            spaces = [CiphertextSpace(key, Layout((plan.blocks, width)), self.column_scale)]
        else:
            spaces = [CiphertextSpace(key, Layout((width, width), slots), self.matrix_scale)]
        vector = CiphertextSpace(key, Layout((width,), slots), self.vector_scale)
        spaces += [vector] * self.scores.classes
        parts = [
            SummedVector(party.study.roster.evaluator, f"moments {number}", space)
            for number, space in enumerate(spaces)
        ]
        return Plan(party.round("contributions", peers), tuple(parts))

    def uploaded(self, mine: OwnRows) -> OwnRows:
        """Return the rows and edges that a peer sends to its intermediary."""
        return mine

    def row_slots(self, plaintext_bits: int) -> Slots:
        """Return the slots of packed rows."""
        return self.solve.slots(plaintext_bits)

    @property
    def theta_scale(self) -> Scale:
        """The scale of one class's θ after the solve."""
        return self.solve.direction_scale

    def theta_layout(self, plaintext_bits: int) -> Layout:
        """The layout of θ of one class."""
        return Layout((self.width,), self.solve.slots(plaintext_bits))

    def forms(self, plaintext_bits: int) -> tuple[tuple[Layout, Scale], ...]:
        """Return the forms of moments that an intermediary builds: A, and one b a class."""
        slots, width = self.solve.slots(plaintext_bits), self.width
        vector = (Layout((width,), slots), self.vector_scale)
        second = (Layout((width, width), slots), self.matrix_scale)
        return (second, *(vector for _ in range(self.scores.classes)))

    def penalty(self, index: int) -> Plain:
        """Return λΓ on the grid of A."""
        scale = self.solve.matrix_scale(float(self.penalties.max()))
        return Plain.of(np.diag(self.penalties[index]), scale)


LearnerNumbers: TypeAlias = EncryptedNumbers | DescentNumbers


def numbers_of(study: Study, prepared: Prepared, parts: int) -> LearnerNumbers:
    """Return the numbers of the plan's learner, for an agreed upper end of the spectrum."""
    kind = DescentNumbers if study.plan.descends else EncryptedNumbers
    return kind.of(study, prepared, parts)
