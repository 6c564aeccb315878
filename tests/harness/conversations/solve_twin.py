"""The sealed solve by a trusted friend: the same integers, from the same dealt randomness."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.protocols.runner import Outcome
from sottovoce.protocols.shares.holders import DealtSeed
from sottovoce.protocols.shares.iteration import dealt_together
from sottovoce.protocols.shares.material import Context, Ledger, Material
from sottovoce.protocols.shares.plan import ShareSolvePlan

Integers = NDArray[Any]


def solve_plainly(
    plan: ShareSolvePlan, matrix: Integers, vectors: Integers, masks: list[Integers]
) -> tuple[Integers, Integers]:
    """θ and the residual as Python integers, rounded by the low bits of the dealt masks."""
    residual = vectors.astype(object) * 2**plan.lift
    theta, direction = residual * 0, residual * 0
    for step, mask in zip(plan.steps, masks, strict=True):
        dividend = direction * (step.momentum << plan.scale_bits) + residual * step.gain
        assert abs(dividend).max() < 2**62, "the plan promised that this cannot be"
        lifted = dividend + 2**62
        direction = (lifted + mask) // 2**plan.shift - mask // 2**plan.shift
        direction -= 2**62 // 2**plan.shift
        theta = theta + direction
        residual = residual - matrix.astype(object).dot(direction)
        theta, direction, residual = (
            part * 2**step.doublings for part in (theta, direction, residual)
        )
    return theta, residual


def dealt_masks(outcome: Outcome, plan: ShareSolvePlan, context: Context) -> list[Integers]:
    """The r of every step, which only the dealer and both holders together could know."""
    seeds = [outcome.views[name].of(DealtSeed)[0].seed for name in ("coordinator", "evaluator")]
    first = Material(seeds[0], "first", context, ledger=Ledger())
    second = Material(seeds[1], "second", context, ledger=Ledger())
    masks: list[Integers] = []
    for steps in dealt_together(plan):
        streams = (half.stream("division", steps.start) for half in (first, second))
        halves = [stream.words(len(steps), *plan.shape) for stream in streams]
        masks += list((halves[0] + halves[1]).astype(object))
    return masks


def signed(words: NDArray[np.uint64]) -> Integers:
    return words.view(np.int64).astype(object)
