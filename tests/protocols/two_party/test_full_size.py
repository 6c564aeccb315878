"""The same blocks under a key of full size, one small conversation each."""

import json
from pathlib import Path

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.two_party import opened, sealed, talk
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Plain, SecretKey, decrypt, encrypt
from sottovoce.paper.inversion.hyperpower import InvPlan
from sottovoce.paper.inversion.inverse import invert, invert_rule
from sottovoce.protocols.conversation import EVALUATOR
from sottovoce.protocols.two_party.comparison import sign_rules, signs
from sottovoce.protocols.two_party.exponential import ExpPlan, exponential, exponential_rule
from sottovoce.protocols.two_party.products import multiply, product_rules

VECTORS = Path(__file__).parents[2] / "vectors" / "paillier.json"


@pytest.fixture(scope="module")
def key() -> SecretKey:
    keys = json.loads(VECTORS.read_text(encoding="utf-8"))["keys"]
    return SecretKey.from_bytes(bytes.fromhex(keys["short 3072"]["secret"]))


def test_products_and_signs(key) -> None:
    scale = Scale(20, 2**40)
    x = sealed([3, -5], scale, key=key)
    rules = product_rules(key, budget=1, entropy=SeededEntropy(1))
    result = talk(key, multiply(x, x, entropy=SeededEntropy(2)), [rules]).results[EVALUATOR]
    assert opened(key, result) == [9, 25]
    compared = sign_rules(key, budget=1, numbers=2, entropy=SeededEntropy(1))
    result = talk(key, signs(x, entropy=SeededEntropy(2)), [compared]).results[EVALUATOR]
    assert result == (True, False)


def test_exponentials(key) -> None:
    plan = ExpPlan.of(2)
    plain = Plain.of([-2.0, 0.5, 2.0], plan.input_scale)
    slots = plan.slots(key.public.plaintext_bits)
    x = encrypt(key, plain, slots=slots, entropy=SeededEntropy(1))
    rule = exponential_rule(key, plan, entropy=SeededEntropy(3))
    result = talk(key, exponential(x, plan, entropy=SeededEntropy(2)), [[rule]]).results[EVALUATOR]
    error = np.abs(decrypt(key, result).floats() - np.exp(plain.floats() - 2))
    assert np.all(error <= plan.error_bound(plain.floats()))


def test_inverses(key) -> None:
    plan = InvPlan(2, 1.0, 4.0)
    A = np.array([[2.0, 0.5], [0.5, 3.0]])
    slots = plan.slots(key.public.plaintext_bits)
    sealed_A = encrypt(
        key, Plain.of(A, plan.matrix_scale(4.0)), slots=slots, entropy=SeededEntropy(1)
    )
    rule = invert_rule(key, plan, entropy=SeededEntropy(3))
    result = talk(key, invert(sealed_A, plan, entropy=SeededEntropy(2)), [[rule]]).results[
        EVALUATOR
    ]
    assert np.abs(decrypt(key, result).floats() - np.linalg.inv(A)).max() <= plan.error_bound()
