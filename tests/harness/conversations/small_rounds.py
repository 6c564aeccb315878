"""Small rounds of pairwise masks, and what their receivers saw."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.protocols.blind_sum import (
    Round,
    SummedVector,
    WordSpace,
)
from sottovoce.protocols.blind_sum.dealing import Dealing, TwoShares
from sottovoce.protocols.blind_sum.keys import OwnKeys
from sottovoce.protocols.blind_sum.plan import Plan

PEERS = ("alice", "bob", "carol", "dave", "erin")

C, E = "coordinator", "evaluator"


def plan_for(
    peers: tuple[str, ...] = PEERS, *, size: int = 4, receivers: tuple[str, ...] = (C, E)
) -> Plan:
    parts = tuple(SummedVector(receiver, "half", WordSpace((size,))) for receiver in receivers)
    return Plan(Round("study", "moments", peers), parts)


def small(plan: Plan) -> dict[str, tuple[NDArray[np.uint64], ...]]:
    space: Any = plan.parts[0].space
    return {
        name: tuple(np.full(space.shape, 7 + index, np.uint64) for _ in plan.parts)
        for index, name in enumerate(plan.this.peers)
    }


@dataclasses.dataclass
class Watched:
    """The secrets of all peers of a run, by name, and what everybody agreed on."""

    own: dict[str, OwnKeys] = dataclasses.field(default_factory=dict)
    held: dict[str, dict[str, TwoShares]] = dataclasses.field(default_factory=dict)
    dealings: dict[str, Dealing] = dataclasses.field(default_factory=dict)
