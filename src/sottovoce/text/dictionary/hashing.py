"""Hashes tokens to 64-bit ids under a key that the coordinator never learns.

An id is a keyed BLAKE2 hash, so nobody without the key can test whether a word is present. A fast
hash with a seed would not be secure. An n-gram's id mixes the ids of its words, which is as secret
as these and needs no further hashing.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import SEED_BYTES, Entropy
from sottovoce.errors import InputError

Ids = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class DictionaryKey:
    """The 32 bytes under which a study's tokens are hashed; one peer draws and seals them."""

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) != SEED_BYTES:
            raise InputError(
                f"dictionary key: expected {SEED_BYTES} bytes, found {len(self.secret)}"
            )

    @classmethod
    def draw(cls, *, entropy: Entropy) -> Self:
        """A fresh key for one study."""
        return cls(entropy.seed())

    def words(self) -> Callable[[str], int]:
        """Return a function from a token to its id."""
        return self._single(self.word_ids())

    def parts(self) -> Callable[[str], int]:
        """Return a function from a stretch inside a token to its id, never a token's id."""
        return self._single(self.part_ids())

    def word_ids(self) -> Callable[[Iterable[str]], Ids]:
        """Return a function from many tokens to their ids."""
        return self._ids(b"sottovoce/word/1")

    def part_ids(self) -> Callable[[Iterable[str]], Ids]:
        """Return a function from many stretches of characters to their ids."""
        return self._ids(b"sottovoce/part/1")

    def _ids(self, purpose: bytes) -> Callable[[Iterable[str]], Ids]:
        keyed = hashlib.blake2b(digest_size=8, key=self.secret, person=purpose)

        def identify(texts: Iterable[str]) -> Ids:
            digests = []
            for text in texts:
                # Copying a keyed state is faster than making a new one.
                state = keyed.copy()
                state.update(text.encode("utf-8", "surrogatepass"))
                digests.append(state.digest())
            return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)

        return identify

    @staticmethod
    def _single(identify: Callable[[Iterable[str]], Ids]) -> Callable[[str], int]:
        return lambda text: int(identify((text,))[0])


# For dictionaries that hide nothing: a word list that the coordinator sent.
PUBLIC = DictionaryKey(bytes(SEED_BYTES))


def mixed(first: Ids, second: Ids) -> Ids:
    """Return the ids of sequences `first` then `second`; order matters, and so does every bit."""
    x: Ids = first * np.uint64(0x9E3779B97F4A7C15) + (second ^ np.uint64(0xD1B54A32D192ED03))
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x
