"""Basic-block rados, for peers that hold different features of the same entities.

Entities with the same values s of the shared features and the same label y form
a block. Each peer adds up y·x of its own features over every block; sums of one
block are lifted to the joint coordinates and added, before any product:

    π_(s,y) = count · lift(y s) + Σ_peers lift(π_(s,y) of that peer)

The sum of a block of one row is that row. So blocks below a minimum size never leave the peer: they
are dropped and counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.errors import InputError, MismatchError
from sottovoce.rados.moments import Moments
from sottovoce.rados.observations import Part
from sottovoce.rados.rows import Discreet, Floats, as_rows


def lift(values: Floats, positions: NDArray[np.intp], *, features: int) -> Floats:
    """Return columns at their positions among all features, with zeros elsewhere."""
    if values.shape[1] != len(positions):
        raise MismatchError(
            f"lift: expected {len(positions)} columns, one per position, found {values.shape[1]}"
        )
    if len(positions) and not (positions.min() >= 0 and positions.max() < features):
        raise MismatchError(f"lift: expected positions from 0 to {features - 1}")
    lifted = np.zeros((values.shape[0], features))
    lifted[:, positions] = values
    return lifted


@dataclass(frozen=True, repr=False)
class BlockSums(Discreet):
    """One peer's sums per block, and the numbers of dropped blocks and rows."""

    shared: Floats
    labels: Floats
    counts: NDArray[np.intp]
    sums: Floats
    dropped_blocks: int
    dropped_rows: int

    @classmethod
    def of(cls, shared: Any, own: Any, labels: Any, *, minimum: int = 3) -> Self:
        """Add up the peer's `own` features over every block of at least `minimum` rows."""
        if minimum < 1:
            raise InputError(f"blocks: expected a minimum of at least 1 row, found {minimum}")
        part = Part.of(own, labels)
        keys = as_rows(shared, what="shared features")
        if not isinstance(keys, np.ndarray) or keys.shape[0] != len(part.labels):
            raise MismatchError(
                f"shared features: expected a dense matrix of {len(part.labels)} rows, "
                f"found shape {keys.shape}"
            )
        signed = np.column_stack([keys, part.labels])
        blocks, members, counts = np.unique(signed, axis=0, return_inverse=True, return_counts=True)
        kept = counts >= minimum
        if not kept.any():
            raise InputError(
                f"blocks: expected at least one block of {minimum} rows, found {len(blocks)} "
                f"block(s), the largest of {counts.max()} row(s)",
                hints=("share fewer or coarser features, so that blocks grow",),
            )
        sums = _sums(part, members.ravel(), blocks=len(blocks))
        return cls(
            shared=blocks[kept, :-1],
            labels=blocks[kept, -1],
            counts=counts[kept],
            sums=sums[kept],
            dropped_blocks=int((~kept).sum()),
            dropped_rows=int(counts[~kept].sum()),
        )


def _sums(part: Part, members: NDArray[np.intp], *, blocks: int) -> Floats:
    members_of: Any = sparse.csr_array(
        (part.labels, (members, np.arange(len(members)))), shape=(blocks, len(members))
    )
    sums = members_of @ part.rows
    return np.asarray(sums if isinstance(sums, np.ndarray) else sums.toarray())


@dataclass(frozen=True, repr=False)
class EnumeratedBlocks(Discreet):
    """One peer's weighted block columns over a public enumeration: dropped blocks are zeros.

    A column is Σ x over the block, divided by √count; its target is √count, so that a block
    stands for `count` rows whose target is the class. The label's sign cancels in products.
    """

    columns: Floats
    roots: Floats
    dropped_blocks: int
    dropped_rows: int

    @classmethod
    def of(cls, rows: Any, members: NDArray[np.int64], *, blocks: int, minimum: int) -> Self:
        """Add up rows by the number of their block; blocks below `minimum` rows are dropped."""
        checked = as_rows(rows)
        counts = np.bincount(members, minlength=blocks)
        if len(members) != checked.shape[0] or len(counts) != blocks:
            raise MismatchError(
                f"blocks: expected one of {blocks} blocks for each of {checked.shape[0]} rows, "
                f"found {len(members)} numbers below {len(counts)}"
            )
        kept = counts >= max(minimum, 1)
        if not kept.any():
            raise InputError(
                f"blocks: expected at least one block of {minimum} rows, found "
                f"{int((counts > 0).sum())} block(s), the largest of {counts.max(initial=0)} "
                "row(s)",
                hints=("share fewer or coarser features, so that blocks grow",),
            )
        roots = np.sqrt(np.where(kept, counts, 0.0))
        scale = np.divide(1.0, roots, out=np.zeros(blocks), where=kept)
        places = (members, np.arange(len(members)))
        weighed: Any = sparse.csr_array((scale[members], places), shape=(blocks, len(members)))
        sums = weighed @ checked
        lost = ~kept & (counts > 0)
        return cls(
            np.asarray(sums if isinstance(sums, np.ndarray) else sums.toarray()),
            roots,
            int(lost.sum()),
            int(counts[lost].sum()),
        )


@dataclass(frozen=True, repr=False)
class BlockRados(Discreet):
    """Joined block rados as rows, the number of entities of each, and what was dropped."""

    vectors: Floats
    counts: NDArray[np.intp]
    dropped_blocks: int
    dropped_rows: int

    def moments(self) -> Moments:
        """Count-weighted: a block stands for `count` rows of target 1, so it weighs 1/count."""
        return Moments.of(self.vectors, self.counts, weights=1 / self.counts)


@dataclass(frozen=True)
class JointLayout:
    """The position of every feature in the joint coordinates: shared ones, and each peer's own."""

    shared: tuple[int, ...]
    own: tuple[tuple[int, ...], ...]

    @property
    def features(self) -> int:
        """The number of joint coordinates."""
        return len(self.shared) + sum(len(positions) for positions in self.own)

    def __post_init__(self) -> None:
        """Refuse a layout that omits a coordinate or uses one twice."""
        taken = sorted([*self.shared, *(place for own in self.own for place in own)])
        if taken != list(range(len(taken))):
            raise InputError(
                "layout: expected every coordinate from 0 on exactly once, "
                f"found {taken[:12]}{' …' if len(taken) > 12 else ''}"
            )


def join_blocks(parts: Sequence[BlockSums], layout: JointLayout) -> BlockRados:
    """The block rados of all peers; every peer must have seen the same blocks."""
    if len(parts) != len(layout.own):
        raise MismatchError(f"blocks: expected {len(layout.own)} peers, found {len(parts)}")
    first = parts[0]
    for number, part in enumerate(parts[1:], start=2):
        same = (
            np.array_equal(part.shared, first.shared)
            and np.array_equal(part.labels, first.labels)
            and np.array_equal(part.counts, first.counts)
        )
        if not same:
            raise MismatchError(
                f"blocks: peer {number} does not have the blocks and counts of peer 1; "
                "peers must hold the same entities"
            )
    features = layout.features
    weight = (first.labels * first.counts)[:, np.newaxis]
    vectors = lift(weight * first.shared, np.array(layout.shared, dtype=np.intp), features=features)
    for part, positions in zip(parts, layout.own, strict=True):
        vectors += lift(part.sums, np.array(positions, dtype=np.intp), features=features)
    return BlockRados(vectors, first.counts, first.dropped_blocks, first.dropped_rows)
