"""Plans and values of rounds with masks between pairs of peers."""

from typing import Any

import numpy as np

from sottovoce.protocols.blind_sum import (
    Round,
    SummedVector,
    WordSpace,
)
from sottovoce.protocols.blind_sum.plan import Plan

PEERS = ("alice", "bob", "carol", "dave")


def names(count: int) -> tuple[str, ...]:
    return tuple(f"peer {index:02}" for index in range(count))


def plan_for(peers: tuple[str, ...], *, shape: tuple[int, ...] = (6,), fewest: int = 3) -> Plan:
    """The engine `shares`: one half to each of C and E; and three more words to E."""
    return Plan(
        Round("study", "moments", peers, fewest=fewest),
        (
            SummedVector("coordinator", "half", WordSpace(shape)),
            SummedVector("evaluator", "half", WordSpace(shape)),
            SummedVector("evaluator", "rest", WordSpace((3,))),
        ),
    )


def values_for(plan: Plan, seed: int = 0) -> dict[str, tuple[Any, ...]]:
    """Small values, as documents give them: a forgotten mask would show."""
    rng = np.random.default_rng(seed)
    made = {}
    for name in plan.this.peers:
        values: list[Any] = []
        for part in plan.parts:
            small = rng.integers(-1000, 1000, part.space.shape)
            values.append(small.astype(np.int64).view(np.uint64))
        made[name] = tuple(values)
    return made
