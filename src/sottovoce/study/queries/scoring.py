"""The number formats of a model that scores on ciphertexts, from public numbers.

The solve gives θ with more digits than labels need. Both holders truncate their shares (one dealt
truncation), multiply each column by its public factor (idf, bias), and truncate the product. The
result fits a ring as short as the largest possible score allows, and the scores of several
documents share one ciphertext.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.errors import BoundError, InputError
from sottovoce.hints import Hint, PlanSetting
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.protocols.shares.handover import ModelPlan
from sottovoce.protocols.shares.labels.row_scores import SHORT_BITS, RowPlan
from sottovoce.protocols.shares.labels.verdict import VerdictPlan
from sottovoce.protocols.shares.rings import Ring
from sottovoce.study.choices import LabelsOn
from sottovoce.study.plan import StudyPlan
from sottovoce.study.queries.thresholds import shift_scale
from sottovoce.study.release import Opens
from sottovoce.text.columns import GRID
from sottovoce.text.features import NORM_PARTS

# A column's factor is a multiple of 2^-14: exact for idf and columns, 0.07 % off for a bias of 0.3.
# Factors of kernel columns have more bits.
_FACTOR_BITS = 14
_NORM_BITS = NORM_PARTS.bit_length() - 1
# The error of a score is about 2^-20 times the number of words in a document.
_TEXT_BITS = 20
# Further columns are multiples of 1/1024 of the norm, so their weights have as many more bits.
_COLUMN_BITS = 30
# Labels on shares use fewer bits if rows can then be sent in short words; with these bits scores of
# unit rows have an error of about 2^-16.
_SHORTEST_BITS = 12
_WORD_BITS = 61
# On shares the norm of a row is written in two columns, 64·a + b. Its weight is small and
# multiplied by large numbers, so a second weight, 64 times as large, makes it more precise.
NORM_STEP = 64


@dataclass(frozen=True)
class ScorePlan:
    """The public numbers of scores, on which coordinator, evaluator and peers must agree."""

    factors: tuple[int, ...]
    classes: int
    exclusive: bool
    solution: Scale
    row_norm: float
    largest_norm: float
    reach: int
    room: int
    bits: int = _TEXT_BITS
    factor_bits: int = _FACTOR_BITS
    on_shares: bool = False

    @classmethod
    def fit(
        cls,
        plan: StudyPlan,
        idf_halves: tuple[int, ...],
        solution: Scale,
        *,
        on_shares: bool = False,
    ) -> Self:
        """Return the plan for θ at the scale of the solve's result.

        On shares, sealed scores have as many bits as short words have room for.
        """
        fitted = replace(cls._fit(plan, idf_halves, solution), on_shares=on_shares)
        if not on_shares or fitted.bits != _TEXT_BITS or plan.release.opens is not Opens.LABELS:
            return fitted
        for bits in range(_TEXT_BITS, _SHORTEST_BITS - 1, -1):
            shorter = replace(fitted, bits=bits)
            if shorter.ring.bits <= SHORT_BITS:
                return shorter
        return fitted

    @classmethod
    def _fit(cls, plan: StudyPlan, idf_halves: tuple[int, ...], solution: Scale) -> Self:
        weighting, fraction_bits = plan.weighting, factor_bits(plan)
        idf = (*idf_halves, *plan.beside.tail_halves)
        halves = np.array(idf if weighting.idf else (2,) * len(idf), np.float64)
        further = sum(column.width for column in plan.columns)
        factors = np.concatenate(
            [
                halves / 2,
                plan.beside.units / NORM_PARTS,
                np.full(further, 1 / (NORM_PARTS * GRID)),
                [weighting.bias / NORM_PARTS],
            ]
        )
        largest = max(1.0, weighting.tf_cap * float(np.linalg.norm(halves / 2)))
        norm_parts = math.ceil(NORM_PARTS * largest)
        other = 1 + sum(factor.reach for factor in plan.columns) + plan.beside.reach
        reach = weighting.tf_cap * len(halves) + norm_parts * other
        return cls(
            tuple(int(factor) for factor in np.rint(np.ldexp(factors, fraction_bits))),
            plan.labels.width,
            plan.labels.exclusive,
            solution,
            row_norm(plan),
            largest + 1 / NORM_PARTS,
            reach,
            plan.key_bits - 2 - plan.kappa,
            bits=score_bits(plan),
            factor_bits=fraction_bits,
        )

    def rows(self, documents: int) -> RowPlan:
        """The plan of scores on shares: one more column than the model has factors."""
        return RowPlan(documents, len(self.factors) + 1, self.classes, self.ring)

    def split_norms(self, rows: sparse.csr_array) -> sparse.csr_array:
        """Return integer rows whose last column, the norm, is split into its remainder and 64s."""
        width = rows.shape[1]
        last = rows.indices == width - 1
        norms = np.zeros(rows.shape[0], np.int64)
        owners = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        norms[owners[last]] = rows.data[last]
        data = np.where(last, rows.data % NORM_STEP, rows.data)
        wide = sparse.csr_array((data, rows.indices, rows.indptr), shape=(rows.shape[0], width))
        column = sparse.csr_array((norms // NORM_STEP)[:, np.newaxis])
        joined = sparse.csr_array(sparse.hstack([wide, column], format="csr"))
        joined.sum_duplicates()
        return joined

    @property
    def shape(self) -> tuple[int, int]:
        """Features and classes of the model."""
        return len(self.factors), self.classes

    @property
    def factor_scale(self) -> Scale:
        """The scale of a factor."""
        return Scale(self.factor_bits, self._largest_factor)

    @cached_property
    def _largest_factor(self) -> int:
        largest = max(map(abs, self.factors))
        return max(largest, NORM_STEP * abs(self.factors[-1])) if self.on_shares else largest

    @property
    def first_cut(self) -> int:
        """The number of bits that are cut from θ before it is multiplied; at least 1."""
        spare = self.solution.bits + self._largest_factor.bit_length() - _WORD_BITS
        wanted = self.solution.fraction_bits - self.bits - 10
        return max(1, spare, wanted)

    @property
    def second_cut(self) -> int:
        """The number of bits that are cut from the product; at least 1."""
        left = self.solution.fraction_bits - self.first_cut + self.factor_bits - self.bits
        if left < 1:
            raise BoundError(
                f"scores: θ has {self.solution.fraction_bits} fraction bits, too few for scores",
                hints=("raise the penalty",),
            )
        return left

    @cached_property
    def weights(self) -> Scale:
        """The scale of a folded weight of the model."""
        cut = (self.solution.bound >> self.first_cut) + 1
        return Scale(self.bits, (cut * self._largest_factor >> self.second_cut) + 1)

    @cached_property
    def score(self) -> Scale:
        """The scale of a score; by Cauchy and Schwarz it is far below the sum of all weights."""
        theta = math.ldexp(self.solution.bound, -self.solution.fraction_bits)
        rounding = self.reach * 2
        largest = math.ldexp(self.largest_norm * self.row_norm * theta, self.bits)
        bound = max(math.ceil(largest) + rounding, 2 * self.weights.bound)
        return Scale(self.bits, bound).plus(self.shift)

    @property
    def shift(self) -> Scale:
        """The scale of the number that a public threshold subtracts from a score."""
        return shift_scale(self.largest_norm, bits=self.bits)

    def verdict(self, documents: int) -> VerdictPlan:
        """Return the plan of labels: the winner of exclusive classes, else the scores' signs."""
        if self.exclusive:
            return VerdictPlan(documents, self.classes, self.score)
        return VerdictPlan(documents * self.classes, 1, self.score)

    @property
    def ring(self) -> Ring:
        """The ring in which scores are read."""
        return self.verdict(1).ring

    @cached_property
    def slots(self) -> Slots:
        """The slots with as many whole documents' scores as fit, and κ bits left free."""
        documents = self.documents
        if not documents:
            raise InputError(
                f"scores: {self.classes} classes of {self._slot_bits} bits do not fit into one "
                "ciphertext",
                hints=(
                    Hint(
                        PlanSetting("labels_on", "shares"),
                        " has no such limit, and needs a dealer for the asker",
                    ),
                ),
            )
        return Slots(self._slot_bits, documents * self.classes)

    @property
    def _slot_bits(self) -> int:
        """The bits of a joined score: of a number, or of what a sum mod 2^b may grow to."""
        exact = self.classes == 1 and not self.on_shares
        return self.ring.bits + 1 if exact else self._row_bits

    @property
    def _row_bits(self) -> int:
        """The bits of a score in the product of a row, whose bound is a sum over its words."""
        return (self.reach << self.ring.bits).bit_length() + 1

    @property
    def documents(self) -> int:
        """The number of documents whose scores fit into a ciphertext."""
        return self.room // self._slot_bits // self.classes

    @property
    def batch(self) -> int:
        """The number of documents in a ciphertext; queries are padded to a multiple of it.

        On shares, if one document's scores do not fit into a ciphertext, documents come one by one.
        """
        return max(1, self.documents) if self.on_shares else self.slots.count // self.classes

    @cached_property
    def model(self) -> ModelPlan:
        """The plan of the encrypted model: all classes of a word in one ciphertext."""
        slots = Slots(self._row_bits, self.classes)
        return ModelPlan(self.shape, self.weights, self.ring, slots)

    def fold(self, words: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return a share of θ times the public factors."""
        factors = np.array(self.factors, np.int64).astype(np.uint64)
        return words * factors[:, np.newaxis]

    def with_norms(self, folded: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return a share of the folded model, with a second last weight if rows have two norms."""
        if not self.on_shares:
            return folded
        return np.concatenate([folded, folded[-1:] * np.uint64(NORM_STEP)])

    @property
    def kept_shape(self) -> tuple[int, int]:
        """The shape of the shares that the holders keep."""
        return len(self.factors) + self.on_shares, self.classes

    def folded(self, theta: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return θ folded in the clear, as the oracle of the sealed model."""
        grid = np.array(self.factors, np.float64)[:, np.newaxis] * theta
        if self.on_shares:
            grid = np.concatenate([grid, NORM_STEP * grid[-1:]])
        return np.rint(np.ldexp(grid, self.bits - self.factor_bits)).astype(np.int64)


def largest_batch(plan: StudyPlan) -> int:
    """Return the most documents that one ciphertext of a study can hold.

    The actual number depends on the dictionary and the solve: longer rows and larger weights leave
    room for fewer documents. This is the number for one word and weight 0; with many classes it is
    one.
    """
    fitted = ScorePlan.fit(plan, (0,), Scale(2 * score_bits(plan), 1))
    # Labels on shares are asked for in smaller batches, as where sums grow mod 2^b.
    return max(1, replace(fitted, on_shares=plan.labels_on is LabelsOn.SHARES).documents)


def score_bits(plan: StudyPlan) -> int:
    """Return the fraction bits of scores and folded weights."""
    return _COLUMN_BITS if plan.columns or plan.beside.dense else _TEXT_BITS


def factor_bits(plan: StudyPlan) -> int:
    """Return the fraction bits of a column's factor: its unit, divided by the parts of a norm."""
    return max(_FACTOR_BITS, plan.beside.bits + _NORM_BITS)


def norm_bits(plan: StudyPlan) -> int:
    """Return the fraction bits of the norm's weight, if it is folded with the factors."""
    return factor_bits(plan) - _NORM_BITS


def counting_ring(plan: StudyPlan, ring: Ring, *, peers: int) -> Ring:
    """Return the ring in which counts of a ROC are shared, as short as the largest joint count.

    An evaluation has at most as many documents of a peer as its budget. The coordinator keeps no
    more bits than this of a tally, whatever an asker makes it open.
    """
    return Ring(min(ring.bits, max(3, (plan.budget * peers).bit_length())))


def half_slots(slots: Slots) -> int:
    """Return half a slot in every slot; with it, packed values are never negative."""
    half = 1 << (slots.width - 1)
    return sum(half << slots.width * place for place in range(slots.count))


def slots_of(residues: Sequence[int], slots: Slots, ring: Ring) -> NDArray[np.uint64]:
    """Return every slot of every residue mod 2^b.

    A value's two shares are read from two residues. Carries between slots are lost, so the sum of
    the two shares may be off by one unit in the last place.
    """
    width, count, mask = slots.width, slots.count, (1 << ring.bits) - 1
    words = [residue >> width * place & mask for residue in residues for place in range(count)]
    return np.array(words, np.uint64)


def row_norm(plan: StudyPlan) -> float:
    """Return the largest length of a row: text, other blocks, columns of at most 1 each, bias."""
    text = 1.0
    if not plan.weighting.scaled:
        text = plan.weighting.tf_cap**2 * (plan.features + plan.beside.tail)
    return math.sqrt(text + plan.beside.square + len(plan.columns) + plan.weighting.bias**2)
