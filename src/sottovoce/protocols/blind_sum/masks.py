"""Masks that cancel: of each pair one adds and one subtracts a stream; each peer adds its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sottovoce.entropy import Expansion
from sottovoce.errors import ViolationError
from sottovoce.protocols.blind_sum.dealing import Dealing
from sottovoce.protocols.blind_sum.keys import OwnKeys
from sottovoce.protocols.blind_sum.spaces import Space
from sottovoce.protocols.identities import digest
from sottovoce.protocols.sealing import X25519Key


@dataclass(frozen=True)
class SummedVector:
    """One vector that is added up: who receives the sum, what it is for, and where it lives."""

    receiver: str
    purpose: str
    space: Space[Any]


@dataclass(frozen=True)
class Masker:
    """One peer's masks, once the set is agreed."""

    dealing: Dealing
    me: str
    own: OwnKeys

    def mask(self, part: SummedVector) -> Any:
        """The whole mask for one part: the peer's own stream, and one with each neighbour."""
        mask = part.space.mask()
        mask.add(_self_stream(self.dealing, part, self.own.seed), 1)
        for other in self.dealing.neighbours(self.me):
            stream = _pair_stream(self.dealing, part, self.own.pair, other)
            mask.add(stream, _sign(self.me, other))
        return mask


def left_mask(
    dealing: Dealing, part: SummedVector, seeds: Mapping[str, bytes], pairs: Mapping[str, X25519Key]
) -> Any:
    """Return the mask left on the sum: self-masks of its peers, pair masks with peers that left.

    `seeds` are those of the peers in the sum, `pairs` the keys of the peers that
    dealt shares and are not in it: no peer is in both.
    """
    assert not seeds.keys() & pairs.keys()
    mask = part.space.mask()
    for seed in seeds.values():
        mask.add(_self_stream(dealing, part, seed), 1)
    for gone, key in pairs.items():
        for peer in dealing.neighbours(gone):
            if peer in seeds:
                mask.add(_pair_stream(dealing, part, key, peer), _sign(peer, gone))
    return mask


def _sign(me: str, other: str) -> int:
    """Return 1 for the peer that adds the common stream, −1 for the one that subtracts it."""
    return 1 if me < other else -1


def _self_stream(dealing: Dealing, part: SummedVector, seed: bytes) -> Expansion:
    return Expansion(seed, "blind-sum/self/v1", _context(dealing, part))


def _pair_stream(dealing: Dealing, part: SummedVector, key: X25519Key, other: str) -> Expansion:
    try:
        shared = key.agree(dealing.keyring.keys[other].pair)
    except ViolationError as error:
        raise error.by(other) from error
    return Expansion(shared, "blind-sum/pair/v1", _context(dealing, part))


def _context(dealing: Dealing, part: SummedVector) -> bytes:
    """Study, round, attempt, the agreed set with its keys (all in one hash), and the purpose."""
    return digest("blind-sum/mask/v1", dealing.hash, part.receiver.encode(), part.purpose.encode())
