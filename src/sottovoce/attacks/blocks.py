"""Reconstruction from block sums: the sum over a block of one row is that row."""

import numpy as np

from sottovoce.attacks.exposure import ExposedBlocks
from sottovoce.attacks.recovered import Recovered, worth_telling
from sottovoce.rados.rows import Floats

# A row of text leaves most features empty; sums over many rows and noise do not.
_SPARSE = 0.25
_LEAST_WIDTH = 32


def attack_blocks(exposed: ExposedBlocks) -> tuple[Recovered, ...]:
    """Return the rows of blocks of one; without counts, rows that look like single ones."""
    if exposed.counts is not None:
        rows = exposed.sums[exposed.counts == 1]
        return worth_telling(Recovered.from_edge(row) for row in rows)
    return worth_telling(Recovered.from_edge(row) for row in exposed.sums if _looks_single(row))


def _looks_single(row: Floats) -> bool:
    """Return whether a row has one sign and few features, like text in the clear."""
    present = int(np.count_nonzero(row))
    one_sign = bool((row >= 0).all() or (row <= 0).all())
    return one_sign and len(row) >= _LEAST_WIDTH and 0 < present <= _SPARSE * len(row)
