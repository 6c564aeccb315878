"""Rados: π_σ = ½ Σ (σ_i + y_i) x_i, the sum of the edge vectors of a random half of the documents.

Written as π_σ = ½ (Σ σ_i x_i + Σ y_i x_i), so that one pass over the documents
serves every class (`signed_sums`), in plaintext as under encryption.

Documents can be recovered from rados of sparse text. So rados are for a site's own use, or for
encryption.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sottovoce.errors import InputError, MismatchError
from sottovoce.rados.moments import RadoMoments
from sottovoce.rados.rows import (
    Discreet,
    Floats,
    Rows,
    as_labels,
    as_rows,
    as_targets,
    as_weights,
    require_some,
    weighted,
)
from sottovoce.rados.signatures import RandomSignatures, Signatures


@dataclass(frozen=True, repr=False)
class Part(Discreet):
    """One peer's documents as rows, and their labels −1 and +1."""

    rows: Rows
    labels: Floats

    @classmethod
    def of(cls, rows: Any, labels: Any) -> Self:
        """Check the rows (finite, some) and the labels (−1 or +1, one a row)."""
        checked = as_rows(rows)
        require_some(checked)
        return cls(checked, as_labels(labels, rows=checked.shape[0]))


def signed_sums(rows: Any, signatures: Signatures) -> Floats:
    """Σ_i σ_i x_i for every signature: n × d, in one pass over the documents."""
    documents = as_rows(rows)
    if documents.shape[0] != signatures.documents:
        raise MismatchError(
            f"signatures: expected signs for {documents.shape[0]} documents, "
            f"found {signatures.documents}"
        )
    sums = np.zeros((signatures.count, documents.shape[1]))
    for part, signs in signatures.blocks():
        sums += signs.astype(np.float64) @ documents[part]
    return sums


def rados(part: Part, signatures: Signatures) -> Floats:
    """The rados of the given signatures, as rows."""
    return (signed_sums(part.rows, signatures) + part.labels @ part.rows) / 2


def random_rados(part: Part, *, count: int, rng: np.random.Generator) -> Floats:
    """`count` rados of distinct uniform signatures, as rows."""
    return rados(part, RandomSignatures.draw(count, len(part.labels), rng=rng))


def united_rados(parts: Sequence[Part], *, count: int, rng: np.random.Generator) -> Floats:
    """`count` rados in all, dealt evenly to the peers, each from that peer's own documents.

    As signatures of the union a peer's rados leave everybody else's documents out,
    so two peers' rados can only coincide where both are empty: just one peer may
    draw the empty one.
    """
    if count < len(parts):
        raise InputError(
            f"rados: expected at least one rado for each of {len(parts)} peers, found {count}"
        )
    shares = [len(share) for share in np.array_split(np.arange(count), len(parts))]
    drawn = []
    for number, (part, share) in enumerate(zip(parts, shares, strict=True)):
        empty = None if number == 0 else -part.labels
        signatures = RandomSignatures.draw(share, len(part.labels), rng=rng, exclude=empty)
        drawn.append(rados(part, signatures))
    return np.concatenate(drawn)


@dataclass(frozen=True, repr=False)
class RadoFamily(Discreet):
    """Rados of several classes under one set of signatures.

    They differ from class to class by a constant only, so one pass over the
    documents serves all classes, and all of them share one covariance.
    """

    halves: Floats
    offsets: Floats

    @classmethod
    def of(cls, rows: Any, targets: Any, signatures: Signatures, *, weights: Any = None) -> Self:
        """Rados π = ½ Σ (√w_i σ_i + w_i y_i) x_i, for every column y of `targets`.

        A weight counts once: the mean is ½XᵀWY and the covariance ¼XᵀWX, as for a document that is
        repeated w times.
        """
        documents = as_rows(rows)
        require_some(documents)
        columns = as_targets(targets, rows=documents.shape[0])
        if weights is None:
            return cls(signed_sums(documents, signatures) / 2, (documents.T @ columns) / 2)
        heavy = as_weights(weights, rows=documents.shape[0])
        spread = weighted(documents, np.sqrt(heavy))
        offsets = documents.T @ (heavy[:, np.newaxis] * columns)
        return cls(signed_sums(spread, signatures) / 2, offsets / 2)

    @property
    def classes(self) -> int:
        """The number of classes."""
        return int(self.offsets.shape[1])

    def rados(self, column: int) -> Floats:
        """The rados of one class, as rows."""
        return self.halves + self.offsets[:, column]

    def moments(self) -> RadoMoments:
        """Moments of the sample, centred by its own mean; the mean has a column per class."""
        sample = RadoMoments.sampled(self.halves)
        return RadoMoments(sample.mean + self.offsets, sample.covariance)
