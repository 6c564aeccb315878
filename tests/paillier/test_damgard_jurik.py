"""Longer plaintexts under the same types: against a textbook's decryption, in plain integers."""

from math import lcm

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from sottovoce.errors import BoundError, InputError, MalformedError, MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import Ciphertext, Plain, decrypt, encrypt
from sottovoce.paillier.damgard_jurik import (
    InsecureToyLongPublicKey,
    InsecureToyLongSecretKey,
    lengthened,
)

SHORT = toy_key(bits=768)
KEYS = {s: lengthened(SHORT, s) for s in (1, 2, 3)}


def textbook(key: InsecureToyLongSecretKey, ciphertext: int) -> int:
    """Damgård and Jurik's own algorithm: d is 1 mod N^s and 0 mod λ, then digit by digit."""
    n, s = key.public.modulus, key.public.length
    order = lcm(key.p - 1, key.q - 1)
    d = order * pow(order, -1, n**s)
    a = pow(ciphertext, d, n ** (s + 1))
    i = 0
    for j in range(1, s + 1):
        t1 = (a % n ** (j + 1) - 1) // n
        t2 = i
        factorial = 1
        for k in range(2, j + 1):
            i -= 1
            factorial *= k
            t2 = t2 * i % n**j
            t1 = (t1 - t2 * n ** (k - 1) * pow(factorial, -1, n**j)) % n**j
        i = t1
    return i


def whole(key: InsecureToyLongSecretKey) -> Scale:
    return Scale(0, key.public.plaintext_bound)


@pytest.mark.parametrize("s", KEYS)
def test_what_is_encrypted_is_what_the_textbook_decrypts(s: int) -> None:
    key, modulus = KEYS[s], KEYS[s].public.plaintexts
    bound = key.public.plaintext_bound
    numbers = [SeededEntropy(s).below(bound), -bound]
    plain = Plain(np.array(numbers, object), whole(key))
    sealed = encrypt(key.public, plain, entropy=SeededEntropy(s))
    assert [textbook(key, int(c)) for c in sealed.residues] == [
        number % modulus for number in numbers
    ]
    assert decrypt(key, sealed).integers.tolist() == numbers
    owned = encrypt(key, plain, entropy=SeededEntropy(s + 10))
    assert textbook(key, int(owned.residues[0])) == numbers[0]


@pytest.mark.parametrize("s", KEYS)
@settings(max_examples=3)
@given(seed=st.integers(0, 2**20), data=st.data())
def test_every_number_comes_back(s: int, seed: int, data) -> None:
    key = KEYS[s]
    bound = key.public.plaintext_bound
    numbers = [data.draw(st.integers(-bound, bound)), 0, 1, -1, bound]
    sealed = encrypt(key, Plain(np.array(numbers, object), whole(key)), entropy=SeededEntropy(seed))
    assert decrypt(key, sealed).integers.tolist() == numbers


@pytest.mark.parametrize("s", KEYS)
def test_sums_products_and_vectors_as_for_every_tensor(s: int) -> None:
    key, entropy = KEYS[s], SeededEntropy(s)
    reach = 2 ** (500 * s)
    x = Plain(np.array([reach - 1, -reach, 12345], object), Scale(0, reach))
    y = Plain(np.array([7, -9, 11], object), Scale(0, 16))
    sealed = encrypt(key.public, x, entropy=entropy)
    other = encrypt(key.public, y, entropy=entropy)
    assert decrypt(key, sealed + other).integers.tolist() == (x.integers + y.integers).tolist()
    assert decrypt(key, sealed - other).integers.tolist() == (x.integers - y.integers).tolist()
    assert decrypt(key, sealed * -31).integers.tolist() == (x.integers * -31).tolist()
    assert int(decrypt(key, sealed.dot(y)).integers) == int(x.integers @ y.integers)
    assert int(decrypt(key, sealed.sum()).integers) == sum(x.integers)
    even = (sealed + sealed).halved()
    assert decrypt(key, even.fresh(entropy=entropy)).integers.tolist() == x.integers.tolist()
    asked = (sealed + other).for_key_holder(entropy=entropy)
    assert decrypt(key, asked).integers.tolist() == (x.integers + y.integers).tolist()


@pytest.mark.parametrize("s", KEYS)
def test_a_longer_plaintext_packs_more_values_and_adds_them_slot_by_slot(s: int) -> None:
    key, entropy = KEYS[s], SeededEntropy(9)
    slots = Slots.fit(2**30, plaintext_bits=key.public.plaintext_bits, additions=2)
    assert slots.count >= s * Slots.fit(2**30, plaintext_bits=767, additions=2).count
    numbers = np.random.default_rng(s).integers(-(2**30), 2**30, 120)
    plain = Plain(numbers, Scale(0, 2**30))
    sealed = encrypt(key.public, plain, slots=slots, entropy=entropy)
    assert len(sealed.residues) == -(-120 // slots.count)
    assert decrypt(key, sealed + sealed).integers.tolist() == (2 * numbers).tolist()
    data = sealed.to_bytes()
    assert decrypt(key, Ciphertext.from_bytes(data, key=key.public)).integers.tolist() == list(
        numbers
    )
    assert len(data) > len(sealed.residues) * key.public.ciphertext_bytes


def test_keys_have_one_encoding_with_their_length_in_it() -> None:
    for s, key in KEYS.items():
        public = InsecureToyLongPublicKey.from_bytes(key.public.to_bytes())
        secret = InsecureToyLongSecretKey.from_bytes(key.to_bytes())
        assert (public, secret) == (key.public, key)
        assert public.length == secret.public.length == s
    assert len({key.public.fingerprint for key in (SHORT, *KEYS.values())}) == 4
    with pytest.raises(MalformedError, match="expected s from 1 to 8, found 9"):
        InsecureToyLongPublicKey.from_bytes(SHORT.public.to_bytes() + bytes([9]))
    with pytest.raises(MalformedError):
        InsecureToyLongPublicKey.from_bytes(SHORT.public.to_bytes())
    with pytest.raises(InputError, match="expected s from 1 to 8, found 0"):
        lengthened(SHORT, 0)


def test_what_has_no_room_is_refused_and_keys_do_not_mix() -> None:
    key = KEYS[2]
    with pytest.raises(BoundError):
        encrypt(key.public, Plain(np.array([1]), Scale(0, 2**1600)), entropy=SeededEntropy(1))
    encrypted = encrypt(key.public, Plain(np.array([1]), Scale(0, 2)), entropy=SeededEntropy(1))
    other = encrypt(SHORT.public, Plain(np.array([1]), Scale(0, 2)), entropy=SeededEntropy(1))
    with pytest.raises(MismatchError, match="keys differ"):
        encrypted + other
    with pytest.raises(MalformedError):
        Ciphertext.from_bytes(encrypted.to_bytes(), key=SHORT.public)
