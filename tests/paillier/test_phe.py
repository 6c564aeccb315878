"""Ciphertexts of python-paillier decrypt here, and ours there, under the same primes."""

from math import gcd
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phe import paillier as phe

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import (
    InsecureToyPublicKey,
    InsecureToySecretKey,
    Plain,
    Profile,
    SecretKey,
    Unsent,
    decrypt,
    encrypt,
)
from sottovoce.paillier.layout import Layout

PROFILES = pytest.mark.parametrize("profile", list(Profile))
SCALE = Scale(0, 2**100)
VALUES = st.lists(st.integers(-(2**100), 2**100), min_size=1, max_size=4)


def theirs(key: SecretKey) -> tuple[Any, Any]:
    public = phe.PaillierPublicKey(key.public.modulus)
    return public, phe.PaillierPrivateKey(public, key.p, key.q)


@PROFILES
@given(VALUES)
@settings(max_examples=10)
def test_ours_decrypt_there(profile: Profile, values: list[int]) -> None:
    key = toy_key(profile)
    public, private = theirs(key)
    for owner in (key, key.public):
        sealed = encrypt(
            owner, Plain(np.array(values, dtype=object), SCALE), entropy=SeededEntropy(1)
        )
        numbers = [phe.EncryptedNumber(public, int(r)) for r in (sealed + sealed).residues]
        assert [private.decrypt(number) for number in numbers] == [2 * v for v in values]


@PROFILES
@given(VALUES)
@settings(max_examples=10)
def test_theirs_decrypt_here(profile: Profile, values: list[int]) -> None:
    key = toy_key(profile)
    public, _ = theirs(key)
    numbers = [public.encrypt(value) for value in values]
    residues = key.public.square.reduced([n.ciphertext() for n in numbers])
    result = Unsent(key.public, tuple(residues), Layout((len(values),)), SCALE)
    assert decrypt(key, result).integers.tolist() == values
    assert decrypt(key, result * 3 - result).integers.tolist() == [2 * v for v in values]


def test_a_key_made_there_works_here() -> None:
    while True:
        public, private = phe.generate_paillier_keypair(n_length=512)
        p, q = sorted((int(private.p), int(private.q)))
        if p % 4 == q % 4 == 3 and gcd(p - 1, q - 1) == 2:
            break
    key = InsecureToySecretKey(InsecureToyPublicKey(Profile.TEXTBOOK, p * q), p, q)
    sealed = encrypt(key, Plain(np.array([7, -8]), Scale(0, 9)), entropy=SeededEntropy(1))
    numbers = [phe.EncryptedNumber(public, int(r)) for r in sealed.residues]
    assert [private.decrypt(number) for number in numbers] == [7, -8]


def test_at_full_size_too(real_key: SecretKey) -> None:
    public, private = theirs(real_key)
    sealed = encrypt(
        real_key.public, Plain(np.array([-12345]), Scale(0, 99999)), entropy=SeededEntropy(1)
    )
    assert private.decrypt(phe.EncryptedNumber(public, int(sealed.residues[0]))) == -12345
    number = public.encrypt(67890).ciphertext()
    assert real_key.residues(real_key.public.square.reduced([number])) == [67890]
