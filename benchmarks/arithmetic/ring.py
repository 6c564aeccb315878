"""Products mod 2^64 beside numpy's own integer product, and beside one read of the matrix."""

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.timing import interleaved
from sottovoce.cli.terminal.measurements import Row
from sottovoce.entropy import SystemEntropy
from sottovoce.errors import InputError
from sottovoce.numbers.ring import LIMBS, NUMPY

# Right-hand sides of one product: one class, a dozen, a score.
COLUMNS = (1, 12, 20)
# numpy's integer product of much larger squares takes minutes.
SQUARE = 512


def measure(*, features: int, rounds: int) -> list[Row]:
    """One row per operation: how often a second of CPU time allows it, here and there."""
    if features < 1 or rounds < 1:
        raise InputError(
            f"bench ring: expected at least 1 feature and 1 round, found {features} and {rounds}"
        )
    entropy = SystemEntropy()
    matrix = entropy.words(features, features)
    rows: list[Row] = []
    for count in COLUMNS:
        x = entropy.words(features, count)
        ours, theirs = partial(LIMBS.matvec, matrix, x), partial(NUMPY.matvec, matrix, x)
        rows.append(_row(f"matvec{count}", "numpy", ours, theirs, rounds=rounds))
    ours = partial(LIMBS.matvec, matrix, entropy.words(features))
    read = partial(np.bitwise_xor.reduce, matrix, axis=None)
    rows.append(_row("matvec1", "one read of the matrix", ours, read, rounds=rounds))
    left, right = entropy.words(SQUARE, SQUARE), entropy.words(SQUARE, SQUARE)
    ours, theirs = partial(LIMBS.matmul, left, right), partial(NUMPY.matmul, left, right)
    rows.append(_row(f"matmul{SQUARE}", "numpy", ours, theirs, rounds=rounds))
    return rows


def _row(
    operation: str,
    partner: str,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    *,
    rounds: int,
) -> Row:
    ours()
    theirs()
    seconds = interleaved({"ours": ours, "theirs": theirs}, rounds=rounds)
    return {
        "operation": operation,
        "partner": partner,
        "ours": 1 / seconds["ours"],
        "theirs": 1 / seconds["theirs"],
        "ratio": seconds["theirs"] / seconds["ours"],
    }
