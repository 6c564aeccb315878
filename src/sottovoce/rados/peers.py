"""Peers in plaintext: how documents are dealt, and how what peers hold is joined.

These are the arrangements that the secure protocols copy: the union of peers'
rados, the sum of peers' moments, and block rados joined before any product.
"""

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from sottovoce.errors import InputError
from sottovoce.rados.moments import Moments, RadoMoments
from sottovoce.rados.observations import Part, RadoFamily
from sottovoce.rados.signatures import RandomSignatures


def deal(rows: Any, labels: Any, *, peers: int, rng: np.random.Generator) -> list[Part]:
    """Deal documents to `peers` peers at random, as evenly as can be."""
    whole = Part.of(rows, labels)
    documents = len(whole.labels)
    if peers < 1:
        raise InputError(f"peers: expected at least 1, found {peers}")
    if peers > documents:
        raise InputError(
            f"peers: expected at most as many as there are documents ({documents}), found {peers}"
        )
    hands = np.array_split(rng.permutation(documents), peers)
    return [Part(whole.rows[hand], whole.labels[hand]) for hand in hands]


def exact_moments(parts: Sequence[Part]) -> RadoMoments:
    """Moments over all rados of all peers: what joint training on the union would use."""
    own = [RadoMoments.exact(Moments.of(part.rows, part.labels)) for part in parts]
    return reduce(add, own)


def summed_moments(parts: Sequence[Part], *, count: int, rng: np.random.Generator) -> RadoMoments:
    """Moments of `count` sampled rados in all, each peer's centred by its own mean, then added."""
    if count < len(parts):
        raise InputError(
            f"rados: expected at least one rado for each of {len(parts)} peers, found {count}"
        )
    shares = [len(share) for share in np.array_split(np.arange(count), len(parts))]
    own = []
    for part, share in zip(parts, shares, strict=True):
        signatures = RandomSignatures.draw(share, len(part.labels), rng=rng)
        own.append(RadoFamily.of(part.rows, part.labels, signatures).moments())
    return reduce(add, own)
