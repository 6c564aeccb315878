"""Primes drawn from an `Entropy`, with the structure that each key profile needs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import isqrt

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.numbers.modular import GMP

# The number of candidates that are sieved at a time, and the bound of the primes in the sieve.
_WINDOW = 1 << 13
_SIEVE_LIMIT = 1 << 14


@dataclass(frozen=True)
class HiddenOrderPrime:
    """A prime 2·hidden·cofactor + 1, where hidden and cofactor are primes themselves."""

    prime: int = field(repr=False)
    hidden: int = field(repr=False)
    cofactor: int = field(repr=False)


def random_prime(low: int, high: int, *, entropy: Entropy) -> int:
    """A prime with low <= prime <= high: the first from a uniform place, in steps of 2."""
    return next(_search(low, high, entropy=entropy))


def blum_prime(bits: int, *, entropy: Entropy) -> int:
    """A prime of exactly `bits` bits that is 3 mod 4; two of them multiply to 2·bits bits."""
    low = _lowest(bits)
    return next(
        4 * quarter + 3
        for quarter in _starts(low // 4, (1 << bits - 2) - 1, entropy=entropy, forms=((4, 3),))
    )


def hidden_order_prime(bits: int, *, hidden_bits: int, entropy: Entropy) -> HiddenOrderPrime:
    """A prime P = 2·hidden·cofactor + 1 of exactly `bits` bits, hidden of at least `hidden_bits`.

    So published by Ma, Han and Lei (ACSAC 2021): the prime `hidden` is the order
    of a subgroup that its owner knows, and the prime `cofactor` makes sure that
    P − 1 has no other factor than 2. Such a P is 3 mod 4.
    """
    width = bits - hidden_bits - 1
    if hidden_bits < 8 or width < 8:
        raise ValueError(f"a prime of {bits} bits cannot hide one of {hidden_bits} bits")
    cofactor = random_prime(1 << width - 1, (1 << width) - 1, entropy=entropy)
    low = -(-_lowest(bits) // (2 * cofactor))
    high = ((1 << bits) - 2) // (2 * cofactor)
    forms = ((1, 0), (2 * cofactor, 1))
    hidden = next(
        hidden for hidden in _starts(low, high, entropy=entropy, forms=forms) if hidden != cofactor
    )
    return HiddenOrderPrime(2 * hidden * cofactor + 1, hidden, cofactor)


def _lowest(bits: int) -> int:
    """The least x with x² >= 2^(2·bits − 1): two such numbers multiply to 2·bits bits."""
    return isqrt((1 << 2 * bits - 1) - 1) + 1


def _search(low: int, high: int, *, entropy: Entropy) -> Iterator[int]:
    return _starts(low, high, entropy=entropy, forms=((1, 0),))


def _starts(
    low: int, high: int, *, entropy: Entropy, forms: Sequence[tuple[int, int]]
) -> Iterator[int]:
    """Every x in low … high, window by window from uniform places, for which all a·x + b are prime.

    As usual the search continues from a uniform place, so a prime after a long gap is a little
    likelier; that does not help an attacker.
    """
    span = min(_WINDOW, high - low + 1)
    while True:
        start = low + entropy.below(high - low - span + 2)
        # A range no wider than a window has one place to start from, so its order is drawn.
        offsets = _sieved(start, span, forms)
        for offset in offsets if span == _WINDOW else entropy.shuffled(offsets):
            x = start + offset
            if all(GMP.is_prime(a * x + b) for a, b in forms):
                yield x


def _sieved(start: int, span: int, forms: Sequence[tuple[int, int]]) -> list[int]:
    """The offsets at which no form has a factor in the sieve (other than itself)."""
    alive = np.ones(span, dtype=bool)
    for small in _small_primes():
        for a, b in forms:
            if a % small == 0:
                continue
            # a·(start + offset) + b is 0 mod small for one class of offsets.
            first = (-(start + b * pow(a, -1, small))) % small
            if a * (start + first) + b == small:
                first += small
            alive[first::small] = False
    return [int(offset) for offset in np.flatnonzero(alive)]


@cache
def _small_primes() -> tuple[int, ...]:
    composite = np.zeros(_SIEVE_LIMIT, dtype=bool)
    composite[:2] = True
    for number in range(2, isqrt(_SIEVE_LIMIT) + 1):
        if not composite[number]:
            composite[number * number :: number] = True
    return tuple(int(prime) for prime in np.flatnonzero(~composite))
