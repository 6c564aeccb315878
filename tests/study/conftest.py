"""Studies that many tests look at, each trained once."""

import pytest

from harness.entropy import SeededEntropy
from harness.studies import BINARY, Case, notes
from sottovoce.paillier import SecretKey, generate_insecure_for_tests
from sottovoce.study import InsecureToyPlan


@pytest.fixture(scope="session")
def toy_key() -> SecretKey:
    return generate_insecure_for_tests(768, entropy=SeededEntropy(31))


@pytest.fixture(scope="session")
def binary(toy_key: SecretKey) -> Case:
    plan = InsecureToyPlan(
        "notes", BINARY, features=96, key_bits=768, bucket_bits=12, query_budget=4000
    )
    return Case(notes(), plan, toy_key)


@pytest.fixture(scope="session")
def encrypted(toy_key: SecretKey) -> Case:
    """The same with engine paillier, and nobody to deal."""
    plan = InsecureToyPlan(
        "notes",
        BINARY,
        features=16,
        key_bits=768,
        bucket_bits=12,
        query_budget=4000,
        engine="paillier",
    )
    return Case(notes(300), plan, toy_key, {"with_dealer": False})
