"""Uniform N-th powers for ciphertexts to a key holder: first r^N, then products of these.

An r^N takes an exponent as long as N. After the first k of these, g_1 … g_k, a randomiser is
∏ g_i^(x_i) with exponents of some thirty bits each, drawn anew every time: an eighth of the work.
(Scores that are joined get an r^N each, whose squarings they need anyway: `joined_for_key_holder`.)

Why that is as good as r^N, also if an adversary made N. The N-th powers are an abelian group G of
fewer than N elements. Subtract the uniform distribution from that of ∏ g_i^(x_i), and take what is
left apart by the characters of G: a character weighs ∏ φ(g_i) there, where φ(g) is its mean over
the powers g^x of one draw. Over uniform g_i these are independent. A character of order o has a
φ(g_i) whose square is on average the chance that two exponents meet modulo o: about 1/o or, for o
beyond the exponents' range, 2^−b; at order 2 it is 1 for half of all g and else 0. N is square-free
with at most w = 14 prime factors (proof.py), so G has at most o^w characters of order o.

Of orders 2 and 3 the weights are added up as they are: 2^w · 2^−k counts most. Of all others their
squares are, and then the root is taken (leftover hash lemma): 4^w · 4^−k counts most, and with
b·k ≥ |N| + 130 the many of large order add less. Either way k = w + 66 makes the distance smaller
than 2^−65, even for somebody who knows all g_i: they may leave as randomisers themselves, and m
products are together within m · 2^−65 of m uniform powers. A test adds the bounds up.
"""

from math import ceil
from typing import Protocol
from weakref import WeakKeyDictionary

from sottovoce.entropy import Entropy
from sottovoce.numbers.modular import Arithmetic, FixedBases, Modulus, Residue

FACTORS = 14
"""The most prime factors of N, which the proof with a key shows."""
SPARE_FACTORS = 66
"""So many more powers than factors: each halves what orders 2 and 3 tell."""
SPARE_BITS = 130
"""Twice the number of bits within which a product is uniform."""


class Powered(Protocol):
    """The part of a public key that is used here."""

    @property
    def arithmetic(self) -> Arithmetic:
        """The twin in use."""

    @property
    def bits(self) -> int:
        """The size of N."""

    @property
    def identity(self) -> bytes:
        """A hash of the key."""

    @property
    def square(self) -> Modulus:
        """The modulus of ciphertexts."""

    def direct_powers(self, count: int, *, entropy: Entropy) -> list[Residue]:
        """r^N of a uniform r each."""


class UniformPowers:
    """N-th powers under one key, from one source of entropy."""

    def __init__(self, key: Powered) -> None:
        """Begin without any powers."""
        self.key = key
        self.count = FACTORS + SPARE_FACTORS
        self.exponent_bits = ceil((key.bits + SPARE_BITS) / self.count)
        self._direct: list[Residue] = []
        self._products: FixedBases | None = None

    def draw(self, count: int, *, entropy: Entropy) -> list[Residue]:
        """Return `count` randomisers that were never given before."""
        direct = self.key.direct_powers(min(count, self.count - len(self._direct)), entropy=entropy)
        self._direct += direct
        rows = [self._exponents(entropy) for _ in range(count - len(direct))]
        return direct + (self._tables()(rows) if rows else [])

    def _exponents(self, entropy: Entropy) -> list[int]:
        bits, mask = self.exponent_bits, (1 << self.exponent_bits) - 1
        drawn = entropy.bits(bits * self.count)
        return [drawn >> bits * place & mask for place in range(self.count)]

    def _tables(self) -> FixedBases:
        if self._products is None:
            self._products = self.key.square.mixed_powers(
                self._direct, exponent_bits=self.exponent_bits
            )
        return self._products


# Kept by source, because a program that runs again from its seed must draw the same numbers,
# whatever else was drawn under the key meanwhile.
_KEPT: "WeakKeyDictionary[Entropy, dict[bytes, UniformPowers]]" = WeakKeyDictionary()


def uniform_powers(key: Powered, entropy: Entropy) -> UniformPowers:
    """Return the powers of this key and source."""
    by_key = _KEPT.setdefault(entropy, {})
    kept = by_key.get(key.identity)
    # The two arithmetic twins must not share powers.
    if kept is None or kept.key.arithmetic is not key.arithmetic:
        kept = by_key[key.identity] = UniformPowers(key)
    return kept
