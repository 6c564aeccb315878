"""A small encoder: words fall to places by a public hash, and neighbours share a vector."""

import hashlib
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sottovoce.text.encoding import EncoderKind, EncoderName, unit_rows


class SmallEncoder:
    """Sixteen columns, made of hashes; for studies in tests."""

    def __init__(self, columns: int = 16) -> None:
        self.name = EncoderName(EncoderKind.STATIC, columns, hashlib.sha256(b"small").hexdigest())
        self.texts = 0

    def encode(self, texts: Sequence[str]) -> NDArray[np.float64]:
        self.texts += len(texts)
        columns = self.name.columns
        rows = [
            sum((_vector(word.lower(), columns) for word in text.split()), np.zeros(columns))
            for text in texts
        ]
        return unit_rows(np.array(rows).reshape(len(texts), columns))


@cache
def _vector(word: str, columns: int) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4])
    return np.random.default_rng(seed).normal(size=columns)
