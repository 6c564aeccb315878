"""What several attacks need."""

import pytest

from harness.entropy import SeededEntropy
from sottovoce.paillier import SecretKey, generate_insecure_for_tests


@pytest.fixture(scope="session")
def toy_key() -> SecretKey:
    return generate_insecure_for_tests(768, entropy=SeededEntropy(31))
