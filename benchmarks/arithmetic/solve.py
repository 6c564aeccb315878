"""The sealed solve of text moments, all three parties together, beside numpy's plain solve."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import interleaved
from sottovoce.cli.terminal.measurements import Row
from sottovoce.entropy import SystemEntropy
from sottovoce.numbers import ring
from sottovoce.protocols.runner import Outcome
from sottovoce.protocols.shares.contribution import MomentScales
from sottovoce.protocols.shares.course import System
from sottovoce.protocols.shares.holders import Trio
from sottovoce.protocols.shares.material import Context
from sottovoce.protocols.shares.plan import ShareSolvePlan
from sottovoce.protocols.shares.solve import SystemShare, run

Floats = NDArray[np.float64]
Progress = Callable[[str], None]

TRIO = Trio("coordinator", "evaluator", "dealer")
PENALTY = 1.0
# What two to ten peers' largest eigenvalues add up to, beside that of their sum.
SLACK = 1.02
WORDS = 25
TOPICS = 12


@dataclass(frozen=True)
class SolveProblem:
    """Moments of made-up text without their column means, and how they are shared."""

    second: Floats
    products: Floats
    plan: ShareSolvePlan
    shares: tuple[SystemShare, SystemShare]

    @classmethod
    def of(cls, documents: int, features: int, classes: int) -> "SolveProblem":
        """Frequent and rare words, some of them more frequent in one class."""
        second, products = _moments(documents, features, classes)
        scales = MomentScales.fit(weight=documents, penalty=PENALTY)
        ceiling = SLACK * float(np.linalg.eigvalsh(second)[-1]) + PENALTY
        plan = ShareSolvePlan.fit(
            System(features, classes, documents, PENALTY, ceiling),
            matrix_bits=scales.matrix.fraction_bits,
            vector_bits=scales.vectors.fraction_bits,
        )
        entropy = SystemEntropy()
        matrix, vectors = (ring.share(words, entropy) for words in scales.encode(second, products))
        penalties = np.full(features, PENALTY)
        first, other = (
            SystemShare(*parts, penalties) for parts in zip(matrix, vectors, strict=True)
        )
        return cls(second, products, plan, (first, other))

    def plain(self) -> Floats:
        """What numpy makes of it."""
        matrix = self.second + PENALTY * np.eye(len(self.second))
        return np.asarray(np.linalg.solve(matrix, self.products), np.float64)

    def sealed(self) -> Outcome:
        """What two holders and a dealer make of it."""
        context = Context.among("bench", ["alice", "bob", "carol"])
        return run(self.plan, self.shares, TRIO, context, entropy=SystemEntropy())

    def error(self, outcome: Outcome) -> float:
        """How far the sealed solution is from numpy's, relative to its length."""
        words = outcome.results[TRIO.first] + outcome.results[TRIO.second]
        plain = self.plain()
        apart = np.linalg.norm(ring.decode(words, self.plan.solution) - plain)
        return float(apart / np.linalg.norm(plain))


def measure(
    *,
    features: Sequence[int],
    classes: int = 1,
    documents: int = 4000,
    rounds: int = 3,
    progress: Progress = lambda _: None,
) -> list[Row]:
    """One row per number of features: CPU seconds of all three parties, and of numpy."""
    rows: list[Row] = []
    for count in features:
        progress(f"moments of {count} features")
        problem = SolveProblem.of(documents, count, classes)
        progress(f"solving for {count} features")
        outcome = problem.sealed()
        seconds = interleaved({"ours": problem.sealed, "plain": problem.plain}, rounds=rounds)
        rows.append(
            {
                "features": count,
                "classes": classes,
                "steps": len(problem.plan.steps),
                "seconds": seconds["ours"],
                "numpy_seconds": seconds["plain"],
                "ratio": seconds["ours"] / seconds["plain"],
                "error": problem.error(outcome),
                "bytes_sent": outcome.traffic.total_bytes,
            }
        )
    return rows


def _moments(documents: int, features: int, classes: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(2.0, features + 2)
    taste = frequency * np.exp(0.7 * rng.standard_normal((TOPICS, features)))
    topic = rng.integers(0, TOPICS, documents)
    rows = np.zeros((documents, features))
    for kind in range(TOPICS):
        mine = np.flatnonzero(topic == kind)
        words = rng.choice(features, (len(mine), WORDS), p=taste[kind] / taste[kind].sum())
        np.add.at(rows, (mine[:, None], words), 1.0)
    rows *= -np.log(frequency / frequency.sum())
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    targets = np.where(topic[:, None] % max(2, classes) == np.arange(classes), 1.0, -1.0)
    rows -= rows.mean(axis=0)
    return rows.T @ rows, rows.T @ (targets - targets.mean(axis=0))
