"""A small encoder: words fall to places by a public hash, and neighbours share a vector."""

import hashlib
from collections.abc import Sequence

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
        rows = [sum(map(self._vector, text.split()), np.zeros(self.name.columns)) for text in texts]
        return unit_rows(np.array(rows).reshape(len(texts), self.name.columns))

    def _vector(self, word: str) -> NDArray[np.float64]:
        seed = int.from_bytes(hashlib.sha256(word.lower().encode()).digest()[:4])
        return np.random.default_rng(seed).normal(size=self.name.columns)
