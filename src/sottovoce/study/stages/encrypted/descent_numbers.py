"""The encoding of the numbers of learner `rado-descent`, from the public facts of a study.

The j-th rado of the study is the sum of every peer's own j-th rado: a signature of the union of all
documents consists of signatures of each peer's documents. So rados add up under masks as moments
do, and nobody holds those of one peer. A rado takes each document with probability q = 2/m. On n
rados the loss represents one over documents only while exponents vary by less than about ln n,
which is not so for rados of all m documents.

Rados are read as 2^e times smaller, so that their variance in every direction is at most 1 (by c,
the agreed upper end of the spectrum): one schedule then suits all studies. Penalties below 1/32
of that variance would leave the range of exponentials, and count as 1/32.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, floor, ldexp, log2
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.entropy import Entropy, Expansion
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import Ciphertext, Layout, Plain, PublicKey, encrypt
from sottovoce.protocols.blind_sum import CiphertextSpace, SummedVector
from sottovoce.protocols.blind_sum.plan import Plan
from sottovoce.protocols.rado_descent.plan import Bits, DescentPlan, Ranges, furthest
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.rados import Schedule
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.scoring import ScorePlan, row_norm
from sottovoce.study.stages.centring import END_PARTS
from sottovoce.study.stages.encrypted.uploads import OwnRows, TablePlan
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.study import Study
from sottovoce.study.totals import Totals

Floats = NDArray[np.float64]

# The average number of documents in a rado, and a number exceeded with probability 2^-88.
DOCUMENTS_A_RADO = 2
MOST_DOCUMENTS = 32
STEPS, BOUND, SQUARINGS = 12, 12.0, 10
_BITS = Bits(rado=12, theta=16, weight=34, inverse=22, pull=32)
UNITS = 64
# The smallest part of θ that every step removes, in units of 1/64.
LEAST_SHRINKAGE = 4
_LEAST_CEILING = 2.0**-20
_DRAWN = "study/rado-descent/v1"


@dataclass(frozen=True)
class DescentNumbers:
    """The public numbers of a study's descents, one for every class."""

    study: Study
    totals: Totals
    width: int
    ceiling: float
    idf_halves: tuple[int, ...] = field(repr=False)

    @classmethod
    def of(cls, study: Study, prepared: Prepared, parts: int) -> Self:
        """Return the numbers for an agreed upper end of the spectrum."""
        width = study.plan.width - prepared.totals.absent
        ceiling = max(parts / END_PARTS, _LEAST_CEILING)
        return cls(study, prepared.totals, width, ceiling, prepared.idf_halves)

    @property
    def chance(self) -> float:
        """The probability that a document is in a rado."""
        return min(0.5, DOCUMENTS_A_RADO / self.totals.rows)

    @property
    def _heaviest(self) -> float:
        return float(self.totals.weights(self.study.plan.class_weight).max())

    @property
    def _variance(self) -> float:
        """Return the largest variance of rados in any direction."""
        return self.chance * self.ceiling * self._heaviest

    @property
    def shrink_bits(self) -> int:
        """The bits by which rados are read as smaller numbers; below 0 they are read as larger."""
        return ceil(log2(self._variance) / 2)

    @property
    def reach(self) -> float:
        """The largest length of a rado."""
        longest = MOST_DOCUMENTS * row_norm(self.study.plan) * self._heaviest
        return ldexp(longest, -self.shrink_bits)

    @cached_property
    def descent(self) -> DescentPlan:
        """The descent of every class."""
        variance = ldexp(self._variance, -2 * self.shrink_bits)
        rate = floor(UNITS * min(2.0, 1 / variance)) / UNITS
        (alpha,) = self.study.plan.alphas
        asked = rate * ldexp(self.chance * alpha, -2 * self.shrink_bits)
        shrinkage = min(UNITS, max(LEAST_SHRINKAGE, round(UNITS * asked))) / UNITS
        schedule = Schedule(STEPS, rate, BOUND, SQUARINGS, momentum_bits=6)
        longest = furthest(schedule, 1 - shrinkage) * self.reach
        return DescentPlan(
            self.width,
            self.study.plan.rados,
            schedule,
            shrinkage / (2 * rate),
            Ranges(self.reach, theta=1.01 * longest, floor=0.0, ceiling=BOUND),
            bits=_BITS,
            masking=Masking(self.study.plan.kappa),
            centred=True,
        )

    @property
    def unit_bits(self) -> int:
        """The bits by which scores read θ as smaller: half of a logit, which is near −1 and 1."""
        return self.shrink_bits + 1

    @property
    def theta_scale(self) -> Scale:
        """The scale of a descent's θ, read as the weights of rows."""
        whole = self.descent.following_scale
        return Scale(whole.fraction_bits + self.unit_bits, whole.bound)

    @cached_property
    def scores(self) -> ScorePlan:
        """The scale of scores."""
        return ScorePlan.fit(self.study.plan, self.idf_halves, self.theta_scale)

    def theta_layout(self, plaintext_bits: int) -> Layout:
        """The layout of θ of one class."""
        return Layout((self.width,), self.descent.feature_slots(plaintext_bits))

    def forms(self, plaintext_bits: int) -> tuple[tuple[Layout, Scale], ...]:
        """The forms of sent rados: for each class one row a rado, and one row a feature."""
        plan = self.descent
        rows = Layout((plan.rados, self.width), plan.feature_slots(plaintext_bits))
        columns = Layout((self.width, plan.rados), plan.rado_slots(plaintext_bits))
        both = ((rows, plan.rado_scale), (columns, plan.column_scale))
        return both * self.study.plan.labels.width

    def drawn(self, edges: Sequence[Floats], *, seed: bytes) -> list[Floats]:
        """Return a peer's own part of every rado, for every class, from its own signatures."""
        taken = self.taken(len(edges[0]), seed=seed)
        return [ldexp(1.0, -self.shrink_bits) * (taken @ own) for own in edges]

    def taken(self, documents: int, *, seed: bytes) -> sparse.csr_array:
        """Return which documents are in each rado: those whose sign is the label's."""
        stream, limit = Expansion(seed, _DRAWN), np.uint64(floor(ldexp(self.chance, 63)))
        rows = [
            np.flatnonzero(stream.words(documents) >> np.uint64(1) < limit)
            for _ in range(self.descent.rados)
        ]
        ends = np.cumsum([0, *map(len, rows)])
        ones = np.ones(ends[-1], np.int64)
        shape = (len(rows), documents)
        return sparse.csr_array((ones, np.concatenate(rows), ends), shape=shape)

    def sealed(
        self, edges: Sequence[Floats], key: PublicKey, *, seed: bytes, entropy: Entropy
    ) -> list[Ciphertext]:
        """At a peer: return its encrypted part of all rados in both forms, for every class."""
        plan, plains = self.descent, []
        for own in self.drawn(edges, seed=seed):
            rows = Plain.of(own, plan.rado_scale).integers.astype(object)
            centred = (rows * plan.rados - rows.sum(axis=0)).T
            plains += [Plain(rows, plan.rado_scale), Plain(centred, plan.column_scale)]
        forms = self.forms(key.plaintext_bits)
        return [
            encrypt(key, plain, slots=layout.slots, entropy=entropy)
            for plain, (layout, _) in zip(plains, forms, strict=True)
        ]

    def uploaded(self, mine: OwnRows) -> OwnRows:
        """Return the edges that a peer sends to its intermediary, all classes side by side."""
        return OwnRows(ldexp(1.0, -self.shrink_bits) * np.hstack(mine.edges), ())

    def row_slots(self, plaintext_bits: int) -> Slots:
        """Return the slots of packed rows."""
        return self.descent.feature_slots(plaintext_bits)

    def table(self, totals: Totals, rows: int) -> TablePlan:
        """Return the plan by which a peer's edges are sent to its intermediary."""
        del totals  # the same as ours
        longest = ldexp(row_norm(self.study.plan) * self._heaviest, -self.shrink_bits)
        scale = Scale.covering(longest, fraction_bits=_BITS.rado)
        return TablePlan(
            rows,
            self.width * self.study.plan.labels.width,
            0,
            row_scale=scale,
            edge_scale=scale,
            edges=0,
        )

    def sum_plan(self, party: PartyContext, key: PublicKey, peers: Sequence[str]) -> Plan:
        """Return the blind sum of ciphertexts at the evaluator."""
        to = party.study.roster.evaluator
        forms = self.forms(key.plaintext_bits)
        parts = tuple(
            SummedVector(to, f"rados {number}", CiphertextSpace(key, *form))
            for number, form in enumerate(forms)
        )
        return Plan(party.round("contributions", peers), parts)
