"""What two holders opened between them: each adds its own share to what it was sent."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from sottovoce.protocols.runner import Outcome
from sottovoce.protocols.shares.holders import MaskedShare
from sottovoce.protocols.shares.iteration import StepShares
from sottovoce.protocols.shares.multiplier import DirectionShare
from sottovoce.protocols.shares.truncation import DividendShare
from sottovoce.protocols.view import View

Words = NDArray[np.uint64]


def opened_words(
    outcome: Outcome,
    *kinds: type[MaskedShare],
    first: str = "coordinator",
    second: str = "evaluator",
) -> Words:
    """Every opened word of these kinds (all masked kinds where none is named), mod 2^64."""
    halves = [
        [words for kind, words in masked_shares(outcome.views[name]) if issubclass(kind, wanted)]
        for wanted in (kinds or (MaskedShare,),)
        for name in (first, second)
    ]
    assert len(halves[0]) == len(halves[1]) > 0
    return np.concatenate([(a + b).ravel() for a, b in zip(*halves, strict=True)])


def masked_shares(view: View) -> Iterator[tuple[type[MaskedShare], Words]]:
    """What a holder was sent of masked values, kind by kind: of a step two come together."""
    messages = [item.message for item in view.received]
    for kind in (DividendShare, DirectionShare):
        yield from ((kind, words) for words in shares_among(messages, kind))
    for message in view.of(MaskedShare):
        if not isinstance(message, DividendShare | DirectionShare):
            yield type(message), message.words.array()


def shares_among(messages: Iterable[object], kind: type[MaskedShare]) -> Iterator[Words]:
    """A holder's shares of one kind, in order, also those of a step that come with another."""
    for message in messages:
        if isinstance(message, kind):
            yield message.words.array()
        elif isinstance(message, StepShares) and kind in {DividendShare, DirectionShare}:
            half = message.dividend if kind is DividendShare else message.direction
            yield half.array()
