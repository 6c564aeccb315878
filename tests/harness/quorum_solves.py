"""Text moments that a quorum solves for, with their plan, in tests."""

from dataclasses import dataclass

import numpy as np

from harness.entropy import SeededEntropy
from harness.examples.text_moments import Floats, text_moments
from harness.quorums import here, joined, quorum_of, shared
from sottovoce.numbers.residues import Base
from sottovoce.numbers.ring import from_ring
from sottovoce.protocols.quorum.dealing import QuorumPrograms, run
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.plan import QuorumPlan
from sottovoce.protocols.quorum.solve import SystemPart, open_solve, solve
from sottovoce.protocols.runner import Meddler, Outcome
from sottovoce.protocols.shares.contribution import MomentScales
from sottovoce.protocols.shares.course import System
from sottovoce.protocols.shares.plan import ShareSolvePlan


@dataclass
class Case:
    """Text moments, shared among a quorum, with their plan."""

    quorum: Quorum
    second: Floats
    products: Floats
    documents: int
    penalties: Floats
    ceiling: float = 0.0

    def __post_init__(self) -> None:
        features, classes = self.products.shape
        penalty = float(self.penalties.min())
        top = float(np.linalg.eigvalsh(self.second)[-1] * 1.02 + self.penalties.max())
        scales = MomentScales.fit(weight=self.documents, row_norm=1.05, penalty=penalty)
        system = System(features, classes, self.documents, penalty, self.ceiling or top)
        fit = ShareSolvePlan.fit(
            system,
            matrix_bits=scales.matrix.fraction_bits,
            vector_bits=scales.vectors.fraction_bits,
        )
        self.plan = QuorumPlan(fit, self.quorum)
        packed, columns = scales.encode(self.second, self.products)
        matrices = shared(self.quorum, from_ring(packed))
        vectors = shared(self.quorum, from_ring(columns), seed=90)
        self.parts = {
            name: SystemPart(matrices[name], vectors[name], self.penalties)
            for name in self.quorum.members
        }

    @property
    def exact(self) -> Floats:
        return np.linalg.solve(self.second + np.diag(self.penalties), self.products)

    def run(self, meddler: Meddler | None = None) -> Outcome:
        programs = QuorumPrograms(
            lambda member: solve(member, self.plan, self.parts[member.name]),
            lambda opener: open_solve(opener, self.plan),
        )
        entropy = SeededEntropy(3)
        return run(programs, self.quorum, here(self.quorum), entropy=entropy, meddler=meddler)

    def theta(self, outcome: Outcome) -> Floats:
        value = Base().signed(joined(self.quorum, outcome))
        return np.ldexp(value.astype(np.float64), -self.plan.solve.solution.fraction_bits)


def case(members: int, threshold: int, *, classes: int = 1, **changes: float) -> Case:
    moments = text_moments(120, 24, classes)
    penalties = np.ones(len(moments.second))
    return Case(
        quorum_of(members, threshold), moments.second, moments.products, 120, penalties, **changes
    )
