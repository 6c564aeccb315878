"""Exact moments of sparse documents beside scipy's own products XᵀX and XᵀY."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.timing import interleaved
from sottovoce.errors import InputError
from sottovoce.rados import Moments
from sottovoce.rados.rows import Floats


@dataclass(frozen=True)
class MadeUpCorpus:
    """How large a made-up corpus is: documents of distinct words out of `features`."""

    documents: int = 100_000
    features: int = 2_048
    words: int = 100

    def __post_init__(self) -> None:
        """Refuse documents that need more distinct words than there are."""
        if self.words > self.features:
            raise InputError(
                f"words: expected at most as many as features ({self.features}), found {self.words}"
            )

    def rows(self, rng: np.random.Generator) -> Any:
        """Unit rows of `words` positive weights each, at uniformly chosen features."""
        size = 4_096
        chosen = [
            np.argpartition(
                rng.random((min(size, self.documents - start), self.features)),
                self.words - 1,
                axis=1,
            )[:, : self.words]
            for start in range(0, self.documents, size)
        ]
        columns = np.sort(np.concatenate(chosen), axis=1)
        weights = rng.random(columns.shape)
        weights /= np.linalg.norm(weights, axis=1, keepdims=True)
        starts = np.arange(0, columns.size + 1, self.words)
        return sparse.csr_array(
            (weights.ravel(), columns.ravel().astype(np.int32), starts.astype(np.int32)),
            shape=(self.documents, self.features),
        )


def measure(corpus: MadeUpCorpus, *, rounds: int) -> Sequence[Mapping[str, object]]:
    """Seconds of ours and of scipy's: CPU time on one core, wall time on two."""
    rng = np.random.default_rng(0)
    X = corpus.rows(rng)
    Y = rng.choice([-1.0, 1.0], (corpus.documents, 1))

    def partner() -> tuple[Any, Any]:
        return X.T @ X, X.T @ Y

    def ours(cores: int) -> Floats:
        return Moments.of(X, Y, workers=cores).second

    rows = []
    for cores, clock in ((1, time.process_time), (2, time.perf_counter)):
        rivals: dict[str, Callable[[], object]] = {"ours": partial(ours, cores), "scipy": partner}
        seconds = interleaved(rivals, rounds=rounds, clock=clock)
        rows.append(
            {
                "cores": cores,
                "clock": "cpu" if cores == 1 else "wall",
                "ours_seconds": seconds["ours"],
                "scipy_seconds": seconds["scipy"],
                "ratio": seconds["ours"] / seconds["scipy"],
                "largest_difference": _difference(X, Y, partner(), cores=cores),
            }
        )
    return rows


def _difference(X: Any, Y: Any, theirs: tuple[Any, Any], *, cores: int) -> float:
    """How far ours is from scipy's result, relative to the largest entry."""
    ours = Moments.of(X, Y, workers=cores)
    second, products = theirs[0].toarray(), theirs[1]
    return float(
        max(
            np.abs(ours.second - second).max() / np.abs(second).max(),
            np.abs(ours.products - products).max() / np.abs(products).max(),
        )
    )
