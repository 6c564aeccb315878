"""One-time material of a dealer, bound to one attempt, with a ledger that each is used once.

If a mask U were used again with one peer less, (A − U) − (A' − U) would be that peer's part. So
every mask is derived from the study, the round, the attempt, the agreed set of peers and its
purpose; a second request for the same mask is an error. If an input or the set of peers changes,
the attempt number rises and everything is dealt again.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, Self

from sottovoce.entropy import SEED_BYTES, Entropy, Expansion
from sottovoce.errors import InputError, MisuseError

DIGEST_BYTES = 32

Half = Literal["first", "second"]


@dataclass(frozen=True)
class Context:
    """The study, round, attempt and peers to which one-time material is bound."""

    study: str
    round: int
    attempt: int
    peers: bytes

    def __post_init__(self) -> None:
        if not self.study:
            raise InputError("context: the name of the study is empty")
        if not all(0 <= number < 2**32 for number in (self.round, self.attempt)):
            raise InputError(
                f"context: expected a round and an attempt from 0 to 2^32 − 1, "
                f"found {self.round} and {self.attempt}"
            )
        if len(self.peers) != DIGEST_BYTES:
            raise InputError(
                f"context: expected a hash of the agreed peers of {DIGEST_BYTES} bytes, "
                f"found {len(self.peers)}",
                hints=("Context.among(study, peers, round=…, attempt=…) hashes the set",),
            )

    @classmethod
    def among(cls, study: str, peers: Iterable[str], *, round: int = 0, attempt: int = 0) -> Self:  # noqa: A002 - PROTOCOLS.md's word
        """The context of a study among these peers, whatever their order."""
        digest = blake2b(digest_size=DIGEST_BYTES, person=b"sottovoce/peers")
        for name in sorted(set(peers)):
            encoded = name.encode()
            digest.update(len(encoded).to_bytes(4) + encoded)
        return cls(study, round, attempt, digest.digest())

    def encode(self) -> bytes:
        """The context as bytes, one encoding per context."""
        name = self.study.encode()
        numbers = self.round.to_bytes(4) + self.attempt.to_bytes(4)
        return len(name).to_bytes(4) + name + numbers + self.peers

    def __str__(self) -> str:
        return f"study {self.study!r}, round {self.round}, attempt {self.attempt}"


class Ledger:
    """The record of one party's used material, kept for the whole study."""

    def __init__(self, spent: Iterable[bytes] = ()) -> None:
        """Go on from what was `spent` before a restart."""
        self._spent = set(spent)

    @property
    def spent(self) -> frozenset[bytes]:
        """The record that must be kept for a restart."""
        return frozenset(self._spent)

    def spend(self, context: Context, purpose: str) -> None:
        """Record the one use of material; a second use raises."""
        label = purpose.encode()
        framed = len(label).to_bytes(4) + label + context.encode()
        entry = blake2b(framed, digest_size=16, person=b"sottovoce/ledger").digest()
        if entry in self._spent:
            raise MisuseError(
                f"one-time material: {purpose!r} of {context} was used already",
                hints=("raise the attempt, and have everything dealt again",),
            )
        self._spent.add(entry)


class Material:
    """One half of the material dealt for a context: a seed from which every mask is drawn once.

    Its holder and the dealer each have one, with a ledger of their own.
    """

    def __init__(self, seed: bytes, half: Half, context: Context, *, ledger: Ledger) -> None:
        """Hold the `seed` of one `half`; the `ledger` belongs to the party that draws."""
        if len(seed) != SEED_BYTES:
            raise MisuseError(f"material: expected a seed of {SEED_BYTES} bytes, found {len(seed)}")
        self._seed = seed
        self._half = half
        self._context = context
        self._ledger = ledger

    @property
    def context(self) -> Context:
        """The context to which it is bound, the same for both halves."""
        return self._context

    def stream(self, purpose: str, index: int = 0) -> Entropy:
        """Return the uniform stream for one step of a purpose; a second request raises."""
        name = f"{self._half}/{purpose}/{index}"
        self._ledger.spend(self._context, name)
        return Expansion(self._seed, f"shares/{name}/v1", self._context.encode())

    def __repr__(self) -> str:
        return f"Material(<secret>, {self._half} half, {self._context})"
