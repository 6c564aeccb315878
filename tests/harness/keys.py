"""Toy keys for tests, made once per session: quick, and broken by anybody who wants to."""

from functools import cache

from harness.entropy import SeededEntropy
from sottovoce.numbers.modular import GMP, Arithmetic
from sottovoce.paillier import InsecureToySecretKey, Profile, generate_insecure_for_tests


@cache
def toy_key(
    profile: str = "short", *, bits: int = 512, seed: int = 0, arithmetic: Arithmetic = GMP
) -> InsecureToySecretKey:
    """The toy key of this profile, size and seed; another seed is another study's key."""
    entropy = SeededEntropy(1000 * bits + 10 * seed + Profile.of(profile).code)
    key = generate_insecure_for_tests(bits, profile, entropy=entropy)
    return key.with_arithmetic(arithmetic)
