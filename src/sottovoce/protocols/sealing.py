"""Sealed boxes: bytes that only one party can read, and that only one party can have written.

RFC 9180 (HPKE) in its authenticated mode with X25519, HKDF-SHA256 and
ChaCha20-Poly1305, one box a call. The keys belong to one round and are signed
by pinned identities; the carrier of a box (the coordinator) learns its size,
which depends on public numbers only because the content is padded to it.
"""

import hashlib
import hmac
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from sottovoce.entropy import Entropy
from sottovoce.errors import BoundError, MalformedError, ViolationError

KEY_BYTES = 32
# The sender's ephemeral key, the tag, and the length of the content.
OVERHEAD = KEY_BYTES + 16 + 4

_KEM = b"KEM" + (0x0020).to_bytes(2)
_SUITE = b"HPKE" + (0x0020).to_bytes(2) + (0x0001).to_bytes(2) + (0x0003).to_bytes(2)
_AUTHENTICATED = b"\x02"


@dataclass(frozen=True)
class X25519Key:
    """A Diffie–Hellman key of one round."""

    secret: bytes = field(repr=False)

    @classmethod
    def draw(cls, entropy: Entropy) -> Self:
        """A new key."""
        return cls(entropy.read(KEY_BYTES))

    @cached_property
    def public(self) -> bytes:
        """The public half."""
        return self._private.public_key().public_bytes_raw()

    @cached_property
    def _private(self) -> X25519PrivateKey:
        return X25519PrivateKey.from_private_bytes(self.secret)

    def agree(self, public: bytes) -> bytes:
        """The secret that only the holders of the two keys know."""
        try:
            theirs = X25519PublicKey.from_public_bytes(public)
            return self._private.exchange(theirs)
        except ValueError as error:
            raise ViolationError("the X25519 public key is degenerate") from error


@dataclass(frozen=True)
class Address:
    """The address of a box: the two keys, the round (`info`), and a public `label`."""

    sender: bytes
    recipient: bytes
    info: bytes
    label: bytes


def seal(content: bytes, address: Address, *, key: X25519Key, size: int, entropy: Entropy) -> bytes:
    """A box from the holder of `key` with the content padded to `size` bytes."""
    if len(content) > size:
        raise BoundError(f"box: expected at most {size} bytes, found {len(content)}")
    padded = b"".join((len(content).to_bytes(4), content, bytes(size - len(content))))
    ephemeral = X25519Key.draw(entropy)
    shared = ephemeral.agree(address.recipient) + key.agree(address.recipient)
    aead, nonce = _schedule(shared, ephemeral.public, address)
    return ephemeral.public + aead.encrypt(nonce, padded, address.label)


def unseal(box: bytes, address: Address, *, key: X25519Key) -> bytes:
    """Return the content of a box for the holder of `key`; raise `MalformedError` if it changed."""
    if len(box) < OVERHEAD:
        raise MalformedError(f"box: expected at least {OVERHEAD} bytes, found {len(box)}")
    ephemeral = box[:KEY_BYTES]
    shared = key.agree(ephemeral) + key.agree(address.sender)
    aead, nonce = _schedule(shared, ephemeral, address)
    try:
        padded = aead.decrypt(nonce, memoryview(box)[KEY_BYTES:], address.label)
    except InvalidTag as error:
        raise MalformedError("box: it is not one from this sender for us") from error
    length = int.from_bytes(padded[:4])
    content, padding = padded[4 : 4 + length], padded[4 + length :]
    if len(content) != length or padding.count(0) != len(padding):
        raise MalformedError("box: the padding after its content is not all zeros")
    return content


def _schedule(shared: bytes, ephemeral: bytes, address: Address) -> tuple[ChaCha20Poly1305, bytes]:
    """RFC 9180, sections 4.1 and 5.1: the cipher and its nonce for one box."""
    kem_context = ephemeral + address.recipient + address.sender
    secret = _expand(
        _extract(b"", b"eae_prk", shared, suite=_KEM), b"shared_secret", kem_context, suite=_KEM
    )
    context = _AUTHENTICATED + _extract(b"", b"psk_id_hash", b"")
    context += _extract(b"", b"info_hash", address.info)
    secret = _extract(secret, b"secret", b"")
    nonce = _expand(secret, b"base_nonce", context, length=12)
    return ChaCha20Poly1305(_expand(secret, b"key", context)), nonce


def _extract(salt: bytes, label: bytes, material: bytes, *, suite: bytes = _SUITE) -> bytes:
    return hmac.digest(salt, b"HPKE-v1" + suite + label + material, hashlib.sha256)


def _expand(
    secret: bytes, label: bytes, info: bytes, *, length: int = 32, suite: bytes = _SUITE
) -> bytes:
    """HKDF-Expand of at most one block."""
    labeled = length.to_bytes(2) + b"HPKE-v1" + suite + label + info
    return hmac.digest(secret, labeled + b"\x01", hashlib.sha256)[:length]
