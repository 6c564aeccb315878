"""Arithmetic mod 2^b in 64-bit words; tests try all values of a small ring, such as 2^8.

Words are kept below 2^b; sums and products of words wrap around mod 2^64, which
2^b divides, so one reduction after any of them is enough.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import Entropy
from sottovoce.errors import MisuseError
from sottovoce.numbers.ring import Words


@dataclass(frozen=True, slots=True)
class Ring:
    """The integers mod 2^bits; values of either sign stand in it as two's complement."""

    bits: int = 64

    def __post_init__(self) -> None:
        if not 3 <= self.bits <= 64:
            raise MisuseError(f"ring: expected 3 to 64 bits, found {self.bits}")

    @property
    def quarter(self) -> int:
        """2^(bits − 2): exact truncation holds for −quarter ≤ x < quarter."""
        return 1 << (self.bits - 2)

    def reduce(self, words: Words) -> Words:
        """Return words mod 2^bits; for 64 bits nothing changes."""
        if self.bits == 64:
            return words
        return words & np.uint64((1 << self.bits) - 1)

    def constant(self, value: int) -> np.uint64:
        """A public number as one word."""
        return np.uint64(value % (1 << self.bits))

    def top(self, words: Words) -> Words:
        """The most significant bit of every word, 0 or 1."""
        return words >> np.uint64(self.bits - 1)

    def low(self, words: Words) -> Words:
        """Every word without its most significant bit."""
        return words & np.uint64((1 << (self.bits - 1)) - 1)

    def signed(self, words: Words) -> NDArray[np.int64]:
        """Return words read as signed integers: −2^(bits−1) ≤ x < 2^(bits−1)."""
        spare = np.uint64(64 - self.bits)
        return (words << spare).view(np.int64) >> np.int64(spare)

    def spread(self, words: Words, entropy: Entropy) -> Words:
        """Return the same words mod 2^bits with uniform higher bits, for a sum mod 2^64.

        Otherwise the sum would show how many of the summands exceeded 2^bits.
        """
        if self.bits == 64:
            return words
        return words + (entropy.words(*words.shape) << np.uint64(self.bits))

    def draw(self, entropy: Entropy, *shape: int) -> Words:
        """Uniform words."""
        return self.reduce(entropy.words(*shape))


RING64 = Ring(64)
