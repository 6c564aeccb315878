"""The dealt verdict: documents per second of CPU time, and what each comparison takes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import interleaved
from sottovoce.cli.terminal.measurements import Row
from sottovoce.entropy import SystemEntropy
from sottovoce.numbers import ring
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.ring import Words
from sottovoce.protocols.runner import Outcome
from sottovoce.protocols.shares.comparison import (
    Corrections,
    deal_comparisons,
    draw_roots,
    evaluate,
    hash_key,
)
from sottovoce.protocols.shares.holders import Trio
from sottovoce.protocols.shares.labels.verdict import VerdictPlan, run
from sottovoce.protocols.shares.material import Context

Progress = Callable[[str], None]

TRIO = Trio("coordinator", "alice", "dealer")
# Scores that fill a word, and such as a study has: 20 fraction bits, values up to some thousands.
SCORE_BITS = (61, 36)


@dataclass(frozen=True)
class Batch:
    """Scores of documents as two shares, with the labels that must come out."""

    plan: VerdictPlan
    shares: tuple[Words, Words]
    labels: NDArray[np.int64]

    @classmethod
    def of(cls, documents: int, classes: int, bits: int) -> "Batch":
        """Uniform scores of so many bits; two classes are told apart by one score's sign."""
        bound = 2**bits - 1
        columns = classes if classes > 2 else 1
        scores = np.random.default_rng(0).integers(-bound, bound, (documents, columns))
        labels = scores.argmax(axis=1) if columns > 1 else (scores[:, 0] >= 0).astype(np.int64)
        plan = VerdictPlan(documents, columns, Scale(0, bound))
        return cls(plan, ring.share(ring.to_ring(scores), SystemEntropy()), labels)

    def run(self) -> Outcome:
        """The whole conversation of coordinator, asker and dealer."""
        context = Context.among("bench", ["alice", "bob"])
        outcome = run(self.plan, self.shares, TRIO, context, entropy=SystemEntropy())
        if not (outcome.results[TRIO.second] == self.labels).all():
            raise AssertionError("the verdict gave a wrong label")
        return outcome


def measure(
    *,
    documents: int = 20_000,
    classes: Sequence[int] = (2, 12),
    rounds: int = 5,
    progress: Progress = lambda _: None,
) -> list[Row]:
    """One row per number of classes and size of scores, every label checked."""
    rows: list[Row] = []
    for count in classes:
        for bits in SCORE_BITS:
            progress(f"{count} classes, scores of {bits} bits")
            rows.append(_row(Batch.of(documents, count, bits), count, bits, rounds))
    return rows


def _row(batch: Batch, classes: int, bits: int, rounds: int) -> Row:
    documents = batch.plan.documents
    levels = batch.plan.ring.bits - 1
    entropy = SystemEntropy()
    secret, point = (entropy.words(documents) >> np.uint64(64 - levels) for _ in range(2))
    roots = draw_roots(entropy, documents), draw_roots(entropy, documents)

    def deal() -> Corrections:
        return deal_comparisons(
            secret, np.ones_like(secret), roots, bits=levels, key=hash_key(b"bench")
        )

    keys = deal()
    sent = batch.run().traffic.total_bytes
    seconds = interleaved(
        {
            "all": batch.run,
            "deal": deal,
            "hold": lambda: evaluate(roots[0], keys, point, first=True),
        },
        rounds=rounds,
    )
    return {
        "classes": classes,
        "score_bits": bits,
        "documents_per_s": documents / seconds["all"],
        "comparisons_dealt_per_s": documents / seconds["deal"],
        "comparisons_held_per_s": documents / seconds["hold"],
        "key_bytes": 24 * levels + 8,
        "bytes_per_document": sent / documents,
    }
