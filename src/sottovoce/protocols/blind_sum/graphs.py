"""The graphs of masks and the orders of rings, which every party can recompute.

Up to 30 peers every pair shares a mask. Above, each peer shares masks with k
neighbours on a circle, as in Bell et al. 2020: upload and work grow with log P
instead of P. Nobody chooses the order of the circle. It follows from all keys of the round and a
random number of the evaluator. The evaluator commits to that number before it sees a key, and
reveals it when it has seen all keys (keys.py). So no peer knows the number when it chooses its key,
and the evaluator knows no key when it chooses the number.

k is the smallest even number, at least 30, with which the chance that any peer
has k/2+1 colluding neighbours is at most 2^−40, if a fifth of all peers collude:
40 of 100 peers, 118 of 1,000. An attempt that is broken off draws another circle,
so a few hundred attempts do not change that.

Why k neighbours are enough, and with which threshold:

- A peer's seed and pair key are shared among its neighbours and itself, g = k+1
  holders, of whom t = ⌊g/2⌋+1 = k/2+1 are needed. As 2t > g, and as a holder
  gives out one of the two for each peer, nobody can collect t shares of both:
  the same argument as with all peers, where g = P.
- The sum comes out if t of the g holders of every peer stay to the end. If too
  many of one peer's neighbours leave, the attempt fails and reveals nothing.
- What is revealed is one sum per connected component of the graph between those
  that are summed. Every party checks that there is one component; on this circle
  it takes k/2 peers in a row gone, at two places at once, to break it.
- C or E would have to collude with k/2+1 of a peer's neighbours to open that peer's mask. With
  masks between all peers it would take more than half of all peers: this is what the speed costs.
  Where more than a fifth of all peers collude, some peer may have that many colluding neighbours.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb

from sottovoce.entropy import Expansion
from sottovoce.errors import InputError

ALL_UP_TO = 30
# If this share of the peers colludes, the chance that it opens anybody's part is 2^−SAFETY.
COLLUDING_ONE_IN = 5
SAFETY = 40


@dataclass(frozen=True)
class Graph:
    """The neighbours of each peer; all other peers if there are few."""

    neighbours: Mapping[str, tuple[str, ...]]
    complete: bool

    @classmethod
    def over(cls, peers: Sequence[str], *, seed: bytes) -> "Graph":
        """The graph over these peers; `seed` is public, and nobody chose it."""
        if len(peers) <= ALL_UP_TO:
            everybody = {peer: tuple(o for o in peers if o != peer) for peer in peers}
            return cls(everybody, complete=True)
        reach = degree(len(peers)) // 2
        circle = Expansion(seed, "blind-sum/circle/v2").shuffled(peers)
        neighbours = {}
        for place, peer in enumerate(circle):
            near = {circle[(place + step) % len(circle)] for step in range(-reach, reach + 1)}
            neighbours[peer] = tuple(other for other in peers if other in near - {peer})
        return cls(neighbours, complete=False)

    def holders(self, peer: str) -> tuple[str, ...]:
        """The holders of this peer's shares: its neighbours and itself, in a fixed order."""
        return tuple(sorted((*self.neighbours[peer], peer)))

    def connects(self, peers: Collection[str]) -> bool:
        """Whether masks tie all these peers together, so that only their whole sum shows."""
        inside, reached = set(peers), set[str]()
        edge = list(inside)[:1]
        while edge:
            peer = edge.pop()
            if peer not in reached:
                reached.add(peer)
                edge += [other for other in self.neighbours[peer] if other in inside]
        return reached == inside


@lru_cache(maxsize=256)
def degree(peers: int) -> int:
    """Return how many neighbours each of more than 30 peers needs, in integer arithmetic."""
    colluding = -(-peers // COLLUDING_ONE_IN)
    for count in range(ALL_UP_TO, peers - 1, 2):
        exposed = sum(
            comb(colluding, bad) * comb(peers - 1 - colluding, count - bad)
            for bad in range(count // 2 + 1, min(count, colluding) + 1)
        )
        if (peers * exposed << SAFETY) <= comb(peers - 1, count):
            return count
    return peers - 1


def most_rings(peers: int) -> int:
    """Return the most rings in which no peer has the same two neighbours twice.

    With an even number of places around the hub, half a turn gives the same ring backwards.
    """
    return peers - 1 if peers % 2 == 0 else max(1, (peers - 1) // 2)


def rings(peers: Sequence[str], count: int, *, seed: bytes) -> list[tuple[str, ...]]:
    """`count` orders in which a ring visits all peers, with other neighbours in each.

    Walecki's zigzag on a circle of all peers but one, turned from ring to ring:
    the first ⌊(P−1)/2⌋ rings have no edge in common, so that 2·count neighbours
    must pool what they saw to learn a peer's value; with more rings (up to P−1,
    for an even P) no peer has the same two neighbours twice. The places
    follow from `seed`.
    """
    if not 1 <= count <= most_rings(len(peers)):
        raise InputError(f"ring: expected 1 to {most_rings(len(peers))} rings, found {count}")
    hub, *circle = Expansion(seed, "blind-sum/rings/v1").shuffled(peers)
    steps = [(index + 1) // 2 * (1 if index % 2 else -1) for index in range(len(circle))]
    return [
        (hub, *(circle[(turn + step) % len(circle)] for step in steps)) for turn in range(count)
    ]
