"""Strict bytes: one encoding per key and ciphertext, and everything else refused by name."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from sottovoce.errors import MalformedError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.modular import INT
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import (
    Ciphertext,
    InsecureToyPublicKey,
    InsecureToySecretKey,
    Layout,
    Plain,
    Profile,
    PublicKey,
    SecretKey,
    cipherbytes,
    decrypt,
    encrypt,
)

PROFILES = pytest.mark.parametrize("profile", list(Profile))
Vectors = dict[str, Any]


@PROFILES
def test_keys_come_back_from_their_bytes(profile: Profile) -> None:
    key = toy_key(profile)
    assert InsecureToySecretKey.from_bytes(key.to_bytes()) == key
    assert InsecureToyPublicKey.from_bytes(key.public.to_bytes()) == key.public


@PROFILES
def test_an_ordinary_key_refuses_the_bytes_of_a_toy(profile: Profile) -> None:
    key = toy_key(profile)
    with pytest.raises(MalformedError, match="2048, 3072 or 4096 bits, found 512"):
        SecretKey.from_bytes(key.to_bytes())
    with pytest.raises(MalformedError, match="2048, 3072 or 4096 bits, found 512"):
        PublicKey.from_bytes(key.public.to_bytes())


@PROFILES
@given(st.data())
@settings(max_examples=30)
def test_no_changed_byte_of_a_secret_key_gives_the_same_key(
    profile: Profile, data: st.DataObject
) -> None:
    key = toy_key(profile)
    whole = bytearray(key.to_bytes())
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    try:
        decoded = InsecureToySecretKey.from_bytes(bytes(whole))
    except MalformedError:
        return
    assert decoded != key
    assert decoded.to_bytes() == bytes(whole)


@PROFILES
@pytest.mark.parametrize("twin", ["GMP", "INT"])
@given(
    st.sampled_from([(), (3,), (2, 3), (0,), (2, 2)]),
    st.sets(st.sampled_from(["packed", "covered"])),
    st.integers(0, 90),
    st.integers(0, 2**60),
)
@settings(max_examples=12)
def test_ciphertexts_come_back_from_their_bytes(
    profile: Profile, twin: str, shape: Any, kind: set[str], f: int, bound: int
) -> None:
    key = toy_key(profile)
    key = key.with_arithmetic(INT) if twin == "INT" else key
    slots = Slots.fit(bound, plaintext_bits=511) if "packed" in kind and shape else None
    zeros = Plain(np.zeros(shape, dtype=object), Scale(f, bound))
    sealed = encrypt(
        key, zeros, entropy=SeededEntropy(1), slots=slots, symmetric=bool(slots) and shape == (2, 2)
    )
    if "covered" in kind:
        masks = range(len(sealed.residues))
        sealed = sealed.cover(list(masks)).fresh(entropy=SeededEntropy(2))
    data = sealed.to_bytes()
    decoded = Ciphertext.from_bytes(data, key=key.public)
    assert decoded == sealed
    assert decoded.to_bytes() == data
    assert repr(decoded) == repr(sealed)


@pytest.mark.parametrize("shape", [(2**32 - 1, 0), (0, 2**32 - 1), (0, 0)])
@pytest.mark.parametrize("slots", [None, Slots(32, 4)])
def test_a_matrix_without_numbers_is_refused_before_its_lines_are_counted(
    shape: tuple[int, int], slots: Slots | None
) -> None:
    key = toy_key().public
    data = cipherbytes.encode(key, [], Layout(shape, slots), Scale(0, 5))
    with pytest.raises(MalformedError, match="expected no empty matrix"):
        Ciphertext.from_bytes(data, key=key)


@given(st.data())
@settings(max_examples=60)
def test_a_changed_byte_is_refused_or_is_another_ciphertext(data: st.DataObject) -> None:
    key = toy_key()
    plain = Plain(np.array([1, 2]), Scale(4, 99))
    whole = bytearray(encrypt(key, plain, entropy=SeededEntropy(1), slots=Slots(9, 4)).to_bytes())
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    try:
        decoded = Ciphertext.from_bytes(bytes(whole), key=key.public)
    except MalformedError:
        return
    assert decoded.to_bytes() == bytes(whole)


@given(st.binary(max_size=400))
@settings(max_examples=60)
def test_random_bytes_are_malformed(data: bytes) -> None:
    for read in (
        lambda: Ciphertext.from_bytes(data, key=toy_key().public),
        lambda: Ciphertext.from_bytes(
            bytes([1, 0, 1]) + toy_key().public.identity + data, key=toy_key().public
        ),
        lambda: PublicKey.from_bytes(data),
        lambda: SecretKey.from_bytes(data),
    ):
        with pytest.raises(MalformedError):
            read()


def test_the_stored_keys_read_as_written(vectors: Vectors) -> None:
    for name, stored in vectors["keys"].items():
        secret = SecretKey.from_bytes(bytes.fromhex(stored["secret"]))
        public = PublicKey.from_bytes(bytes.fromhex(stored["public"]))
        assert secret.public == public
        assert name == f"{public.profile} {public.bits}"
        assert public.fingerprint == stored["fingerprint"]
        assert public.identity.hex() == stored["identity"]
        assert secret.to_bytes().hex() == stored["secret"]
        assert public.to_bytes().hex() == stored["public"]


def test_the_stored_ciphertexts_decrypt_as_written(vectors: Vectors) -> None:
    keys = {
        name: SecretKey.from_bytes(bytes.fromhex(stored["secret"]))
        for name, stored in vectors["keys"].items()
    }
    for stored in vectors["ciphertexts"]:
        key, data = keys[stored["key"]], bytes.fromhex(stored["bytes"])
        decoded = Ciphertext.from_bytes(data, key=key.public)
        assert decoded.to_bytes() == data
        opened = decrypt(key, decoded)
        assert opened.integers.tolist() == stored["integers"]
        assert opened.scale.fraction_bits == stored["fraction_bits"]


@pytest.mark.parametrize("kind", ["public keys", "secret keys", "ciphertexts"])
def test_the_stored_mistakes_are_refused(vectors: Vectors, kind: str) -> None:
    key = PublicKey.from_bytes(bytes.fromhex(vectors["keys"]["short 2048"]["public"]))
    read = {
        "public keys": PublicKey.from_bytes,
        "secret keys": SecretKey.from_bytes,
        "ciphertexts": lambda data: Ciphertext.from_bytes(data, key=key),
    }[kind]
    cases = vectors[f"bad {kind}"]
    assert len(cases) > 8
    for case in cases:
        with pytest.raises(MalformedError, match=case["match"]):
            read(bytes.fromhex(case["bytes"]))
