"""What members of a quorum could put together from everything that they received."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from sottovoce.entropy import Expansion
from sottovoce.numbers.residues import PRIMES, Base, Planes, combined, drawn
from sottovoce.protocols.quorum.members import Quorum, weights
from sottovoce.protocols.quorum.sums import ContributionPlane, ContributionSeed
from sottovoce.protocols.view import View

Shares = dict[str, dict[str, Planes]]


def contributed_shares(views: Mapping[str, View], purpose: str) -> Shares:
    """By peer and member, the shares of what peers brought to the sums of this purpose."""
    by_place: Shares = defaultdict(dict)
    for member, view in views.items():
        planes: dict[str, dict[int, Planes]] = defaultdict(dict)
        for item in view.received:
            message = item.message
            if not isinstance(message, ContributionSeed | ContributionPlane):
                continue
            name, length, count = _label(message.context)
            if not name.startswith(f"{purpose}/"):
                continue
            if isinstance(message, ContributionPlane):
                planes[item.sender][message.plane] = message.share.planes()[0]
                continue
            for plane in range(count):
                stream = Expansion(message.seed, f"quorum/sum/{name}/{plane}/v1", message.context)
                planes[item.sender][plane] = drawn(stream, length, PRIMES[plane])
        for peer, by_plane in planes.items():
            by_place[peer][member] = np.array([by_plane[plane] for plane in sorted(by_plane)])
    return by_place


def _label(context: bytes) -> tuple[str, int, int]:
    size = int.from_bytes(context[:4])
    name, length, count = context[4 : 4 + size].decode().rsplit("/", 2)
    return name, int(length), int(count)


def guessed(shares: Mapping[str, Planes], members: Sequence[str], quorum: Quorum) -> Planes:
    """What the shares of these members give if they are taken for enough of them."""
    points = tuple(quorum.point(name) for name in members)
    values = [shares[name] for name in members]
    result = np.empty_like(values[0])
    for plane in range(len(result)):
        factors = weights(points, 0, PRIMES[plane])
        result[plane] = combined([value[plane] for value in values], factors, PRIMES[plane])
    return result


def integers(planes: Planes) -> np.ndarray:
    """Residues as signed integers."""
    return Base(len(planes)).signed(planes)
