"""The identities of the parties: their own signing keys, and everybody's pinned public keys."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Self

from cryptography.exceptions import InvalidSignature

from sottovoce.entropy import Entropy
from sottovoce.errors import InputError, ViolationError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SIGNATURE_BYTES = 64


@dataclass(frozen=True)
class Identity:
    """A party's signing key. It signs, and does nothing else."""

    name: str
    secret: bytes = field(repr=False)

    @classmethod
    def draw(cls, name: str, entropy: Entropy) -> Self:
        """A new identity."""
        return cls(name, entropy.read(32))

    @cached_property
    def public(self) -> bytes:
        """The public key, which others pin."""
        return self._private.public_key().public_bytes_raw()

    @cached_property
    def _private(self) -> "Ed25519PrivateKey":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        # Loading the key takes longer than signing with it.
        return Ed25519PrivateKey.from_private_bytes(self.secret)

    def __reduce__(self) -> tuple[object, ...]:
        # A loaded key cannot be copied or sent to another process.
        return type(self), (self.name, self.secret)

    def sign(self, purpose: str, *parts: bytes) -> bytes:
        """The signature under these parts for one purpose (with a version, as "keys/v1")."""
        return self._private.sign(framed(purpose, *parts))


@dataclass(frozen=True)
class Pins:
    """The public identity of every party, which people compared out of band."""

    publics: Mapping[str, bytes]

    @classmethod
    def of(cls, *identities: Identity) -> Self:
        """The pins of these identities."""
        return cls({identity.name: identity.public for identity in identities})

    def check(self, name: str, signature: bytes, purpose: str, *parts: bytes) -> None:
        """Refuse, naming the party, what its identity did not sign for this purpose."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        if name not in self.publics:
            raise InputError(f"pins: no identity is pinned for {name!r}")
        try:
            pinned = Ed25519PublicKey.from_public_bytes(self.publics[name])
            pinned.verify(signature, framed(purpose, *parts))
        except (InvalidSignature, ValueError) as error:
            raise ViolationError(
                f"{purpose!r} is not signed by the pinned identity",
                party=name,
            ) from error


@contextmanager
def shown_by(teller: str) -> Iterator[None]:
    """Add to an error which party showed us the signed value: it may have changed it."""
    try:
        yield
    except ViolationError as error:
        raise ViolationError(
            f"{error.message} (shown to us by {teller})", party=error.party
        ) from error


def framed(purpose: str, *parts: bytes | memoryview) -> bytes:
    """Encode the parts so that different parts, or another purpose, never give the same bytes."""
    pieces = (purpose.encode(), *parts)
    return b"".join(len(piece).to_bytes(8) + piece for piece in pieces)


def digest(purpose: str, *parts: bytes | memoryview) -> bytes:
    """32 bytes that stand for the parts, for one purpose."""
    return hashlib.blake2b(framed(purpose, *parts), digest_size=32).digest()
