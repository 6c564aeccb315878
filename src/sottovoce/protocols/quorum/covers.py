"""Sharings of zero that hide an opened share anew, whatever a member was told before.

    dealers (t + 1)            every set A of n − t members
      │ a seed for each set that it is the first dealer of ─▶│
      │        z(x) = Σ_A c_A · x · Π_{j not in A} (x − j),   c_A from the seed of A

A member adds its share z(i) to what it gives to be opened. z is 0 at 0 and has degree t + 1, so an
opening of degree 2t gives the same value. A member needs the seeds of its own sets alone, because
the others' terms are 0 at its point. c_A is drawn for one opening, bound to everything that was
opened before it (`OpenedHistory`). So a copy of a member's folder that is told another value than
the member was before adds another z from there on: its second share under a dealt mask says nothing
about the first one. Who learns what: nobody learns anything; at most t members that pool, with or
without the opener, lack the seed of a set to which the copied member belongs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from math import prod

from sottovoce.entropy import Expansion
from sottovoce.numbers.residues import Base, Planes
from sottovoce.protocols.quorum.members import Quorum

Group = tuple[str, ...]
_PURPOSE = "quorum/cover/v1"
# So many terms are added up before they are reduced; more of them would take memory.
_TOGETHER = 8


def groups_dealt(quorum: Quorum, dealer: str) -> list[Group]:
    """Return the sets of members whose seeds this dealer draws, in order.

    Every set has one of the t + 1 dealers, and the first of them draws its seed.
    """
    groups = combinations(quorum.members, len(quorum.members) - quorum.threshold)
    return [
        group
        for group in groups
        if next(name for name in quorum.dealers if name in group) == dealer
    ]


@dataclass(frozen=True)
class Covers:
    """One member's seeds of sharings of zero."""

    quorum: Quorum
    point: int
    seeds: Mapping[Group, bytes] = field(repr=False)

    def covered(self, share: Planes, bound_to: bytes) -> Planes:
        """Add a share of zero of degree t + 1, bound to the opening."""
        base, groups = Base(len(share)), list(self.seeds)
        for start in range(0, len(groups), _TOGETHER):
            part = groups[start : start + _TOGETHER]
            streams = (Expansion(self.seeds[group], _PURPOSE, bound_to) for group in part)
            terms = [share, *(base.draw(stream, *share.shape[1:]) for stream in streams)]
            share = base.combine(terms, [1, *map(self._factor, part)])
        return share

    def _factor(self, group: Group) -> int:
        others = (name for name in self.quorum.members if name not in group)
        return self.point * prod(self.point - self.quorum.point(name) for name in others)
