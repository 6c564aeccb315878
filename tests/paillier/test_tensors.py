"""Every algebraic law of encrypted tensors, over both twins and all profiles."""

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.modular import GMP, INT, Arithmetic
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import Plain, SparseRows, decrypt, encrypt


@pytest.mark.parametrize("arithmetic", [INT, GMP], ids=repr)
@pytest.mark.parametrize("profile", ["short", "djn", "textbook"])
def test_arithmetic_on_ciphertexts_is_arithmetic_on_plaintexts(
    profile: str, arithmetic: Arithmetic
) -> None:
    key, entropy, rng = (
        toy_key(profile, arithmetic=arithmetic),
        SeededEntropy(1),
        np.random.default_rng(0),
    )
    scale = Scale(10, 2**20)
    a, b = (Plain(rng.integers(-(2**20), 2**20, size=7), scale) for _ in range(2))
    matrix = Plain(rng.integers(-99, 99, size=(4, 7)), Scale(0, 99))
    x, y = encrypt(key.public, a, entropy=entropy), encrypt(key, b, entropy=entropy)
    slots = Slots.fit(2**40, plaintext_bits=key.public.plaintext_bits)
    words = SparseRows.of_words([[0, 1, 5], [], [2, 2]], width=7, reach=3)
    i, j = a.integers, b.integers
    for found, expected in [
        (x + y, i + j),
        (x - y, i - j),
        (x + b, i + j),
        (b - x, j - i),
        (-x, -i),
        (x * -7, -7 * i),
        (x * b, i * j),
        (x.dot(b), i @ j),
        (matrix @ x, matrix.integers @ i),
        ((matrix @ x).packed(slots), matrix.integers @ i),
        (words @ x, np.array([i[0] + i[1] + i[5], 0, 2 * i[2]])),
        ((x * 2).halved(), i),
        (x[2:4], i[2:4]),
    ]:
        assert np.array_equal(decrypt(key, found).integers, expected)
