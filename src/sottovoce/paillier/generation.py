"""New keys, drawn from an `Entropy`."""

from typing import TypeVar

from sottovoce.entropy import Entropy
from sottovoce.errors import InputError
from sottovoce.numbers.modular import GMP
from sottovoce.numbers.primes import blum_prime, hidden_order_prime
from sottovoce.paillier.profiles import (
    DEFAULT_BITS,
    STRENGTHS,
    TOY_BITS,
    Profile,
    either,
    strength,
)
from sottovoce.paillier.secret import InsecureToySecretKey, SecretKey

K = TypeVar("K", bound=SecretKey)


def generate(
    bits: int = DEFAULT_BITS, profile: str | Profile = Profile.SHORT, *, entropy: Entropy
) -> SecretKey:
    """A new key of 2048, 3072 or 4096 bits; its public half is `.public`."""
    if bits not in STRENGTHS:
        raise InputError(
            f"paillier key: expected {either(tuple(STRENGTHS))} bits, found {bits}",
            hints=("use bits=3072",),
        )
    return _generate(SecretKey, bits, Profile.of(profile), entropy)


def generate_insecure_for_tests(
    bits: int, profile: str | Profile = Profile.SHORT, *, entropy: Entropy
) -> InsecureToySecretKey:
    """A toy key that anybody can break: for tests, where real keys would take too long."""
    if bits not in TOY_BITS:
        raise InputError(f"toy key: expected {either(TOY_BITS)} bits, found {bits}")
    return _generate(InsecureToySecretKey, bits, Profile.of(profile), entropy)


def _generate(kind: type[K], bits: int, profile: Profile, entropy: Entropy) -> K:
    if profile is Profile.SHORT:
        return _short(kind, bits, entropy)
    p, q = _two_blum_primes(bits // 2, entropy)
    base = 0 if profile is Profile.TEXTBOOK else _base(p * q, 2, entropy)
    return kind(kind.public_type(profile, p * q, base), p, q)


def _short(kind: type[K], bits: int, entropy: Entropy) -> K:
    hidden_bits = 2 * strength(bits)
    halves = [
        hidden_order_prime(bits // 2, hidden_bits=hidden_bits, entropy=entropy) for _ in range(2)
    ]
    # Two primes that were drawn independently differ, and so do the primes inside them, but for
    # a chance far below that of guessing the key; `SecretKey` checks it all the same.
    p, q = sorted(halves, key=lambda half: half.prime)
    modulus = p.prime * q.prime
    base = _base(modulus, 2 * p.cofactor * q.cofactor, entropy)
    return kind(
        kind.public_type(Profile.SHORT, modulus, base), p.prime, q.prime, p.hidden, q.hidden
    )


def _two_blum_primes(bits: int, entropy: Entropy) -> tuple[int, int]:
    """Two primes whose orders p − 1 and q − 1 share the factor 2 alone."""
    while True:
        p, q = sorted(blum_prime(bits, entropy=entropy) for _ in range(2))
        if GMP.gcd(p - 1, q - 1) == 2 and GMP.gcd(p * q, (p - 1) * (q - 1)) == 1:
            return p, q


def _base(modulus: int, power: int, entropy: Entropy) -> int:
    """−y^power mod N of a uniform y; a y without an inverse would be a factor of N."""
    y = 2 + entropy.below(modulus - 3)
    return int(-GMP.modulo(modulus).powers([y], [power])[0] % modulus)
