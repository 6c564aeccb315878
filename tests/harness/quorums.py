"""Quorums in tests: members, shared values, and one conversation about them."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from harness.entropy import SeededEntropy
from sottovoce.numbers.residues import Base, Planes
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.quorum.dealing import QuorumMember, QuorumPrograms, run
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import Opener, Opening
from sottovoce.protocols.quorum.sharing import put_together, split
from sottovoce.protocols.runner import Meddler, Outcome
from sottovoce.protocols.shares.material import Context

OPENER = "coordinator"
SIZES = [(3, 1), (4, 1), (5, 2), (9, 4)]


def quorum_of(members: int, threshold: int) -> Quorum:
    names = [f"site{place}" for place in range(1, members + 1)]
    return Quorum.of(names, threshold=threshold, opener=OPENER)


def here(quorum: Quorum, attempt: int = 0) -> Context:
    return Context.among("flu", quorum.members, attempt=attempt)


def shared(
    quorum: Quorum, values: Any, base: Base | None = None, *, degree: int = 0, seed: int = 11
) -> dict[str, Planes]:
    """Everybody's shares of some integers, of degree t unless told."""
    degree = degree or quorum.threshold
    secret = (base or Base()).of(np.asarray(values))
    streams = [SeededEntropy(seed + place) for place in range(degree)]
    return split(secret, streams, degree=degree, quorum=quorum)


def talk(
    quorum: Quorum,
    member: Callable[[QuorumMember], Party[Any]],
    openings: Iterable[Opening],
    *,
    seed: int = 1,
    meddler: Meddler | None = None,
) -> Outcome:
    """Members and the opener, who opens what it is told to."""

    def opener(party: Opener) -> Party[Planes | None]:
        value = None
        for opening in openings:
            value = yield from party.open(opening)
        return value

    entropy = SeededEntropy(seed)
    programs = QuorumPrograms(member, opener)
    return run(programs, quorum, here(quorum), entropy=entropy, meddler=meddler)


def joined(quorum: Quorum, outcome: Outcome, *, degree: int = 0) -> Planes:
    """What the members' results are shares of."""
    shares = {name: outcome.results[name] for name in quorum.members}
    return put_together(shares, degree=degree or quorum.threshold, quorum=quorum, what="result")
