"""What two holders opened between them: each adds its own share to what it was sent."""

import numpy as np
from numpy.typing import NDArray

from sottovoce.protocols.runner import Outcome
from sottovoce.protocols.shares.holders import MaskedShare


def opened_words(
    outcome: Outcome,
    *kinds: type[MaskedShare],
    first: str = "coordinator",
    second: str = "evaluator",
) -> NDArray[np.uint64]:
    """Every opened word of these kinds (all masked kinds where none is named), mod 2^64."""
    halves = [
        [
            message
            for message in outcome.views[name].of(MaskedShare)
            if isinstance(message, kinds or MaskedShare)
        ]
        for name in (first, second)
    ]
    assert len(halves[0]) == len(halves[1]) > 0
    return np.concatenate(
        [(a.words.array() + b.words.array()).ravel() for a, b in zip(*halves, strict=True)]
    )
