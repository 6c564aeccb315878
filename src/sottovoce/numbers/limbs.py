"""Long integers in limbs of 32 bits: masks, quotients, and conversion from residues.

Limb k of an array has the weight 2^(32k). Limbs are kept in 64-bit words, so that a limb times a
21-bit prime, and a carry, fit. The tests have a plain twin in Python integers for each function.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import Entropy
from sottovoce.errors import BoundError
from sottovoce.numbers.residues import Base, Planes, reduced

LIMB_BITS = 32
_MASK = np.uint64(2**LIMB_BITS - 1)
_HALF = np.uint64(LIMB_BITS)

Limbs = NDArray[np.uint64]


def count_for(bits: int) -> int:
    """The number of limbs that hold integers of this number of bits."""
    return -(-bits // LIMB_BITS)


def drawn_below(entropy: Entropy, bits: int, shape: tuple[int, ...]) -> Limbs:
    """Uniform integers below 2^bits."""
    count = count_for(bits)
    data = np.frombuffer(entropy.read(4 * count * math.prod(shape)), "<u4")
    limbs = data.astype(np.uint64).reshape(count, *shape)
    limbs[-1] >>= np.uint64(count * LIMB_BITS - bits)
    return limbs


def drawn_under(entropy: Entropy, bound: int, shape: tuple[int, ...]) -> Limbs:
    """Draw uniform integers below a bound that is not a power of two, by rejection."""
    limbs = drawn_below(entropy, bound.bit_length(), (math.prod(shape),))
    above = ~below(limbs, bound)
    while above.any():
        limbs[:, above] = drawn_below(entropy, bound.bit_length(), (int(above.sum()),))
        above = ~below(limbs, bound)
    return limbs.reshape(-1, *shape)


def shifted_right(limbs: Limbs, bits: int) -> Limbs:
    """⌊z / 2^bits⌋."""
    skip, rest = divmod(bits, LIMB_BITS)
    kept = limbs[skip:]
    if not len(kept):
        return np.zeros((1, *limbs.shape[1:]), np.uint64)
    if not rest:
        return kept.copy()
    above = np.concatenate([kept[1:], np.zeros_like(kept[:1])])
    return ((kept >> np.uint64(rest)) | (above << np.uint64(LIMB_BITS - rest))) & _MASK


def low_bits(limbs: Limbs, count: int) -> NDArray[np.uint8]:
    """The lowest bits of every integer, the lowest first: shape (count, …)."""
    places = [divmod(place, LIMB_BITS) for place in range(count)]
    bits = [(limbs[limb] >> np.uint64(place)) & np.uint64(1) for limb, place in places]
    return np.array(bits, np.uint8).reshape(count, *limbs.shape[1:])


def to_residues(limbs: Limbs, base: Base) -> Planes:
    """The residues of integers in at most eight limbs."""
    if len(limbs) > 8:
        raise BoundError(f"limbs: expected at most 8 of them, found {len(limbs)}")
    planes = np.empty((base.count, *limbs.shape[1:]), np.uint32)
    signed = limbs.view(np.int64)
    for index, prime in enumerate(base.primes):
        # A limb times a residue of 2^32k is below 2^53, and so is every partial sum below 2^56.
        total = np.zeros(limbs.shape[1:], np.int64)
        for place, limb in enumerate(signed):
            total += limb * pow(2, LIMB_BITS * place, prime)
        planes[index] = reduced(total, prime)
    return planes


def from_residues(planes: Planes, base: Base) -> Limbs:
    """The integers 0 ≤ z < modulus, by mixed radix (Garner): small products only."""
    base.check(planes)
    digits = _mixed_radix(planes, base)
    limbs = np.zeros((count_for(base.modulus.bit_length()), *planes.shape[1:]), np.uint64)
    for digit, prime in zip(digits[::-1], base.primes[::-1], strict=True):
        carry = digit.astype(np.uint64)
        for limb in limbs:
            carry += limb * np.uint64(prime)
            limb[...] = carry & _MASK
            carry >>= _HALF
    return limbs


def _mixed_radix(planes: Planes, base: Base) -> list[NDArray[np.int64]]:
    """Digits v with z = v₀ + v₁q₀ + v₂q₀q₁ + …, each below its prime."""
    digits: list[NDArray[np.int64]] = []
    for index, prime in enumerate(base.primes):
        value = planes[index].astype(np.int64)
        for digit, smaller in zip(digits, base.primes, strict=False):
            value = reduced((value - digit) * pow(smaller, -1, prime), prime).astype(np.int64)
        digits.append(value)
    return digits


def below(limbs: Limbs, bound: int) -> NDArray[np.bool_]:
    """Return for every integer whether it is below a public bound."""
    smaller = np.zeros(limbs.shape[1:], bool)
    equal = np.ones(limbs.shape[1:], bool)
    for place in range(len(limbs) - 1, -1, -1):
        digit = np.uint64((bound >> LIMB_BITS * place) & (2**LIMB_BITS - 1))
        smaller |= equal & (limbs[place] < digit)
        equal &= limbs[place] == digit
    return smaller | bool(bound >> LIMB_BITS * len(limbs))
