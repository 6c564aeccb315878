"""Sealed boxes are RFC 9180's, open for one party only, and refuse every change."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from sottovoce.entropy import Entropy
from sottovoce.errors import BoundError, InputError, MalformedError, ViolationError
from sottovoce.protocols.identities import Identity, Pins, digest, framed
from sottovoce.protocols.sealing import (
    KEY_BYTES,
    OVERHEAD,
    Address,
    X25519Key,
    _schedule,
    seal,
    unseal,
)

VECTOR = json.loads(
    (Path(__file__).parents[1] / "vectors" / "hpke_auth.json").read_text(encoding="utf-8")
)
KNOWN = {name: bytes.fromhex(value) for name, value in VECTOR.items() if name != "provenance"}


class _Given(Entropy):
    def read(self, count: int) -> bytes:
        assert count == KEY_BYTES
        return KNOWN["ephemeral_secret"]


def test_the_published_vector() -> None:
    sender, recipient = X25519Key(KNOWN["sender_secret"]), X25519Key(KNOWN["recipient_secret"])
    assert (sender.public, recipient.public) == (KNOWN["sender_public"], KNOWN["recipient_public"])
    address = Address(sender.public, recipient.public, KNOWN["info"], KNOWN["label"])
    ephemeral = X25519Key(KNOWN["ephemeral_secret"])
    shared = ephemeral.agree(recipient.public) + sender.agree(recipient.public)
    cipher, nonce = _schedule(shared, ephemeral.public, address)
    assert nonce == KNOWN["nonce"]
    assert cipher.encrypt(nonce, KNOWN["plaintext"], address.label) == KNOWN["ciphertext"]
    box = seal(b"x", address, key=sender, size=9, entropy=_Given())
    assert box[:KEY_BYTES] == KNOWN["encapsulated"]


def pair() -> tuple[X25519Key, X25519Key, Address]:
    entropy = SeededEntropy(4)
    sender, recipient = X25519Key.draw(entropy), X25519Key.draw(entropy)
    return sender, recipient, Address(sender.public, recipient.public, b"round 1", b"shares")


@given(st.binary(max_size=80), st.integers(0, 50))
def test_a_box_opens_for_its_recipient_and_its_size_tells_nothing(data: bytes, spare: int) -> None:
    sender, recipient, address = pair()
    size = len(data) + spare
    box = seal(data, address, key=sender, size=size, entropy=SeededEntropy(5))
    assert len(box) == size + OVERHEAD
    assert unseal(box, address, key=recipient) == data


def test_a_box_refuses_every_change() -> None:
    sender, recipient, address = pair()
    box = seal(b"secret", address, key=sender, size=10, entropy=SeededEntropy(5))
    for place in range(len(box)):
        changed = bytes([*box[:place], box[place] ^ 1, *box[place + 1 :]])
        with pytest.raises(MalformedError, match="it is not one from this sender"):
            unseal(changed, address, key=recipient)
    for wrong in (
        replace(address, info=b"round 2"),
        replace(address, label=b"other"),
        replace(address, sender=recipient.public),
    ):
        with pytest.raises(MalformedError, match="from this sender for us"):
            unseal(box, wrong, key=recipient)
    with pytest.raises(MalformedError, match="it is not one from this sender"):
        unseal(box, address, key=sender)
    with pytest.raises(MalformedError, match="at least 52 bytes, found 20"):
        unseal(box[:20], address, key=recipient)
    with pytest.raises(BoundError, match="at most 3 bytes, found 6"):
        seal(b"secret", address, key=sender, size=3, entropy=SeededEntropy())


def test_a_box_of_another_sender_is_refused() -> None:
    """Whoever carries boxes knows all public keys, and still cannot write one as somebody else."""
    _, recipient, address = pair()
    carrier = X25519Key.draw(SeededEntropy(9))
    forged = seal(b"mine", address, key=carrier, size=4, entropy=SeededEntropy(5))
    with pytest.raises(MalformedError, match="from this sender"):
        unseal(forged, address, key=recipient)


@pytest.mark.parametrize("padded", [b"\x00\x00\x00\x09abc", b"\x00\x00\x00\x01ab", b"\x00\x00"])
def test_a_content_that_was_padded_otherwise_is_refused(padded: bytes) -> None:
    sender, recipient, address = pair()
    ephemeral = X25519Key.draw(SeededEntropy(6))
    shared = ephemeral.agree(recipient.public) + sender.agree(recipient.public)
    cipher, nonce = _schedule(shared, ephemeral.public, address)
    box = ephemeral.public + cipher.encrypt(nonce, padded + bytes(0), address.label)
    with pytest.raises(MalformedError, match=r"padding after its content|at least 52 bytes"):
        unseal(box, address, key=recipient)


def test_a_degenerate_key_is_refused() -> None:
    sender, recipient, address = pair()
    with pytest.raises(ViolationError, match="is degenerate"):
        sender.agree(bytes(32))
    with pytest.raises(ViolationError, match="is degenerate"):
        sender.agree(b"short")
    assert sender.agree(recipient.public) == recipient.agree(sender.public)
    with pytest.raises(ViolationError, match="degenerate"):
        unseal(bytes(60), address, key=recipient)


def test_identities_sign_for_one_purpose() -> None:
    alice = Identity.draw("alice", SeededEntropy(1))
    pins = Pins.of(alice)
    signature = alice.sign("keys/v1", b"a", b"bc")
    pins.check("alice", signature, "keys/v1", b"a", b"bc")
    for purpose, parts in (
        ("keys/v2", (b"a", b"bc")),
        ("keys/v1", (b"ab", b"c")),
        ("keys/v1", (b"a", b"bc", b"")),
        ("keys/v1a", (b"", b"bc")),
    ):
        with pytest.raises(ViolationError, match=r"alice: 'keys/v.* is not signed by the pinned"):
            pins.check("alice", signature, purpose, *parts)
    with pytest.raises(ViolationError, match="is not signed by the pinned"):
        pins.check("alice", b"short", "keys/v1")
    with pytest.raises(InputError, match="no identity is pinned for 'eve'"):
        pins.check("eve", signature, "keys/v1")
    assert "secret" not in repr(alice)
    assert alice.secret.hex() not in repr(alice)


@given(st.lists(st.binary(max_size=4), max_size=4), st.lists(st.binary(max_size=4), max_size=4))
def test_framing_keeps_parts_apart(parts: list[bytes], others: list[bytes]) -> None:
    assert (framed("x/v1", *parts) == framed("x/v1", *others)) == (parts == others)
    assert (digest("x/v1", *parts) == digest("x/v1", *others)) == (parts == others)
    assert len(digest("x/v1", *parts)) == 32
