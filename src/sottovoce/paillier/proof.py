"""A proof that a modulus is fit for Paillier: gcd(N, φ(N)) = 1, checked by whoever gets the key.

If a prime divides both N and φ(N), at most one number in that many has an N-th root mod N, and a
ciphertext tells more than its plaintext to whoever made N. So the key's owner shows N-th roots of
numbers that a hash of the key chooses. N has no prime factor below 2^13, so each root exists by
chance with probability at most 2^-13, and all ten with 2^-130. (Goldberg, Reyzin, Sagga and
Baldimtsi, "Efficient noninteractive certification of RSA moduli and beyond", ASIACRYPT 2019.)

The roots tell nothing of the factors: whoever may choose the numbers makes such pairs without them.
The proof says nothing about h, and nothing rests on h where the key's maker looks on: what goes
to a key holder is re-randomised by uniform N-th powers (tensors.py).
"""

import hashlib
from functools import cache
from math import prod

from sottovoce.errors import MalformedError
from sottovoce.paillier.keys import PublicKey
from sottovoce.paillier.secret import SecretKey
from sottovoce.paillier.uniform_powers import FACTOR_BITS

# No prime factor of N is below 2^13: ten roots then give 130 bits.
ROOTS = 10
_PURPOSE = b"sottovoce/paillier/key-proof/v1"
# Bits beyond N that make a reduced hash uniform within 2^-128.
_SPARE_BYTES = 16


def prove_key(key: SecretKey) -> bytes:
    """The proof for a key: the N-th roots of its challenges, in as many bytes as N has."""
    public, width = key.public, _width(key.public)
    return b"".join(root.to_bytes(width) for root in key.roots(_challenges(public)))


def check_key_proof(public: PublicKey, proof: bytes) -> None:
    """Raise MalformedError unless this proves gcd(N, φ(N)) = 1 for exactly this key."""
    width = _width(public)
    if len(proof) != ROOTS * width:
        raise MalformedError(
            f"key proof: expected {ROOTS * width} bytes, found {len(proof)}",
        )
    if public.arithmetic.gcd(public.modulus, _small_primes()) != 1:
        raise MalformedError(f"key proof: the modulus has a factor below 2^{FACTOR_BITS}")
    roots = [int.from_bytes(proof[at : at + width]) for at in range(0, len(proof), width)]
    if not all(0 < root < public.modulus for root in roots):
        raise MalformedError("key proof: expected roots below the modulus, found one outside")
    ring = public.arithmetic.modulo(public.modulus)
    powers = ring.powers_of_all(ring.reduced(roots), public.modulus)
    if [int(power) for power in powers] != _challenges(public):
        raise MalformedError("key proof: expected N-th roots of the key's challenges, found others")


def _challenges(public: PublicKey) -> list[int]:
    """Numbers mod N that nobody chose: a hash of the key's one encoding, stretched."""
    size = _width(public) + _SPARE_BYTES
    stream = hashlib.shake_256(_PURPOSE + public.to_bytes()).digest(ROOTS * size)
    return [
        int.from_bytes(stream[at : at + size]) % public.modulus
        for at in range(0, len(stream), size)
    ]


def _width(public: PublicKey) -> int:
    return public.bits // 8


@cache
def _small_primes() -> int:
    """The product of all odd primes below 2^13."""
    numbers = range(3, 1 << FACTOR_BITS, 2)
    return prod(n for n in numbers if all(n % k for k in range(3, int(n**0.5) + 1, 2)))
