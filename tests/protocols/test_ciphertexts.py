"""Ciphertexts travel under the key that both sides know; arithmetic results do not travel."""

from typing import ClassVar

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from sottovoce.errors import MalformedError, MisuseError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Ciphertext, Plain, decrypt, encrypt
from sottovoce.protocols.ciphertexts import ciphertexts_under
from sottovoce.protocols.conversation import receive, send
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.runner import converse
from sottovoce.wire import Codec


class CarriesCiphertext(Message, frozen=True):
    discloses: ClassVar = Disclosure(
        seen_by="the tests alone", reveals="nothing at all", assuming="that tests may see it"
    )
    value: Ciphertext


def test_a_ciphertext_survives_its_bytes() -> None:
    secret, entropy = toy_key(), SeededEntropy()
    plain = Plain(np.array([1, -2, 3]), Scale(0, 10))
    sent = encrypt(secret.public, plain, entropy=entropy)
    codec = Codec(ciphertexts_under(secret.public))
    programs = {
        "alice": send("bob", CarriesCiphertext(sent)),
        "bob": receive("alice", CarriesCiphertext),
    }
    outcome = converse(programs, codec=codec)
    np.testing.assert_array_equal(
        decrypt(secret, outcome.results["bob"].value).integers, plain.integers
    )
    seen = outcome.views["bob"].numbers(
        lambda leaf: decrypt(secret, leaf).integers if isinstance(leaf, Ciphertext) else None
    )
    assert seen.tolist() == [1, -2, 3]
    with pytest.raises(MalformedError, match=r"CarriesCiphertext|another key"):
        Codec(ciphertexts_under(toy_key(seed=1).public)).decode(
            codec.encode(CarriesCiphertext(sent)), CarriesCiphertext
        )


def test_an_arithmetic_result_has_no_encoding() -> None:
    key, entropy = toy_key().public, SeededEntropy()
    sent = encrypt(key, Plain(np.array([1]), Scale(0, 10)), entropy=entropy)
    codec = Codec(ciphertexts_under(key))
    with pytest.raises(MisuseError, match="Unsent: a value of this type has no encoding"):
        codec.encode(CarriesCiphertext(sent + sent))  # type: ignore[arg-type]
    with pytest.raises(MisuseError, match=r"CarriesCiphertext.value: expected a type that may"):
        Codec().encode(CarriesCiphertext(sent))
