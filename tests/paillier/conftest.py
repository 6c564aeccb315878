"""The one key of real size that tests use, stored so that nobody waits for it."""

import json
from pathlib import Path
from typing import Any

import pytest

from sottovoce.paillier import SecretKey

VECTORS = Path(__file__).parent.parent / "vectors" / "paillier.json"


@pytest.fixture(scope="session")
def vectors() -> dict[str, Any]:
    """The stored vectors."""
    loaded: dict[str, Any] = json.loads(VECTORS.read_text())
    return loaded


@pytest.fixture(scope="session")
def real_key(vectors: dict[str, Any]) -> SecretKey:
    """A key of 3072 bits that everybody knows."""
    return SecretKey.from_bytes(bytes.fromhex(vectors["keys"]["short 3072"]["secret"]))
