"""Keys of real size, made anew: minutes in all, so `make soak` runs them."""

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from sottovoce.entropy import SystemEntropy
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import Ciphertext, Plain, Profile, SecretKey, decrypt, encrypt, generate
from sottovoce.paillier.profiles import STRENGTHS


@pytest.mark.soak
@pytest.mark.parametrize("bits", STRENGTHS)
@pytest.mark.parametrize("profile", list(Profile))
def test_a_new_key_does_all_its_work(profile: Profile, bits: int) -> None:
    key = generate(bits, profile, entropy=SystemEntropy())
    assert SecretKey.from_bytes(key.to_bytes()) == key
    assert key.public.bits == bits
    if profile is Profile.SHORT:
        assert min(key.hidden_p.bit_length(), key.hidden_q.bit_length()) >= 2 * STRENGTHS[bits]
    rng, scale = np.random.default_rng(bits), Scale(10, 2**30)
    values = rng.integers(-(2**30), 2**30, 60)
    matrix = Plain(rng.integers(-999, 999, (9, 60)), Scale(0, 999))
    slots = Slots.fit(2**50, plaintext_bits=key.public.plaintext_bits)
    x = encrypt(key.public, Plain(values, scale), entropy=SystemEntropy())
    product = (matrix @ x).packed(slots).fresh(entropy=SystemEntropy())
    sent = Ciphertext.from_bytes(product.to_bytes(), key=key.public)
    assert decrypt(key, sent).integers.tolist() == (matrix.integers @ values).tolist()


def test_the_real_key_packs_scores_and_opens_them(real_key: SecretKey) -> None:
    entropy, values = SeededEntropy(1), np.arange(-60, 60)
    slots = Slots.fit(2**40, plaintext_bits=real_key.public.plaintext_bits)
    sealed = encrypt(real_key, Plain(values, Scale(0, 60)), entropy=entropy, slots=slots)
    assert len(sealed.residues) == 2
    doubled = (sealed + sealed).fresh(entropy=entropy)
    assert decrypt(real_key, doubled).integers.tolist() == (2 * values).tolist()
