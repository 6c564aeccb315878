"""A hash of a list; a short path proves that one entry belongs to it.

    root ── node ── node ── leaf      the path of an entry: what stands beside it on its way up
              │        └─── leaf
              └──── node ── …

Leaves and nodes are hashed for different purposes, so no node can be passed off as an entry. The
last of an odd number of nodes moves up unchanged. The checker knows the length of the list, and so
where that happens.
"""

from collections.abc import Sequence

from sottovoce.errors import MalformedError
from sottovoce.protocols.identities import digest

_LEAF, _NODE = "blind-sum/leaf/v1", "blind-sum/node/v1"


def root_of(entries: Sequence[bytes]) -> bytes:
    """32 bytes that stand for all entries in their order."""
    level = _leaves(entries)
    while len(level) > 1:
        level = _above(level)
    return level[0]


def paths_of(entries: Sequence[bytes]) -> list[tuple[bytes, ...]]:
    """The path of every entry: the hashes that lead from the entry alone to the root."""
    levels = [_leaves(entries)]
    while len(levels[-1]) > 1:
        levels.append(_above(levels[-1]))
    return [
        tuple(
            level[place >> height ^ 1]
            for height, level in enumerate(levels)
            if place >> height ^ 1 < len(level)
        )
        for place in range(len(entries))
    ]


def root_from(entry: bytes, place: int, path: Sequence[bytes], *, count: int) -> bytes:
    """The root to which a path leads from an entry, at its place among `count`."""
    here, beside = digest(_LEAF, entry), list(path)
    while count > 1:
        if place ^ 1 < count:
            if not beside:
                raise MalformedError("the path ends before the root")
            other = beside.pop(0)
            here = digest(_NODE, other, here) if place % 2 else digest(_NODE, here, other)
        place, count = place // 2, (count + 1) // 2
    if beside:
        raise MalformedError("the path is longer than the way to the root")
    return here


def _leaves(entries: Sequence[bytes]) -> list[bytes]:
    return [digest(_LEAF, entry) for entry in entries]


def _above(level: list[bytes]) -> list[bytes]:
    pairs = [level[start : start + 2] for start in range(0, len(level), 2)]
    return [digest(_NODE, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
