"""A proof that N is fit for Paillier: gcd(N, φ(N)) = 1, and N has few prime factors.

If a prime divides both N and φ(N), at most one number in that many has an N-th root mod N, and a
ciphertext reveals more than its plaintext to the maker of N. So the key's owner shows N-th roots of
numbers that a hash of the key determines. N has no prime factor below 2^13, so each root exists by
chance with probability at most 2^-13, and all ten with 2^-130. (Goldberg, Reyzin, Sagga and
Baldimtsi, "Efficient noninteractive certification of RSA moduli and beyond", ASIACRYPT 2019.)

The second half bounds how N falls apart, as uniform_powers.py needs it. Of a number y with Jacobi
symbol 1 the owner of N = p·q, both primes 3 mod 4, can take the square root of y or of −y. If N has
w different prime factors, that is possible for one such y in 2^(w−2). So ten of these roots show
w ≤ 14, but for a chance of 2^-130 (van de Graaf and Peralta, CRYPTO 1987).

The roots reveal nothing about the factors: anybody who may choose the numbers can make such pairs
without the factors. Of the four square roots of a number the owner always shows the same one, which
is itself a square; two roots that differ by more than their sign would factor N. The proof says
nothing about h. Nothing relies on h against the key's maker: ciphertexts for a key holder are
re-randomised by uniform N-th powers (tensors.py).
"""

import hashlib
from functools import cache
from itertools import count
from math import prod

from sottovoce.errors import MalformedError
from sottovoce.paillier.keys import PublicKey
from sottovoce.paillier.secret import SecretKey

# No prime factor of N is below 2^13: ten N-th roots then give 130 bits.
FACTOR_BITS = 13
ROOTS = 10
_PURPOSE = b"sottovoce/paillier/key-proof/v1"
_SQUARES_PURPOSE = b"sottovoce/paillier/key-proof/squares/v1"
# Bits beyond N that make a reduced hash uniform within 2^-128.
_SPARE_BYTES = 16


def prove_key(key: SecretKey) -> bytes:
    """The proof for a key: the roots of its challenges, each in as many bytes as N has."""
    public, width = key.public, _width(key.public)
    roots = key.roots(_challenges(public)) + key.square_roots(_square_challenges(public))
    return b"".join(root.to_bytes(width) for root in roots)


def proof_bytes(public: PublicKey) -> int:
    """The size of a proof for this key."""
    return 2 * ROOTS * _width(public)


def check_key_proof(public: PublicKey, proof: bytes) -> None:
    """Raise MalformedError unless this proves gcd(N, φ(N)) = 1 and few factors for this key."""
    width = _width(public)
    if len(proof) != proof_bytes(public):
        raise MalformedError(f"key proof: expected {proof_bytes(public)} bytes, found {len(proof)}")
    if public.arithmetic.gcd(public.modulus, _small_primes()) != 1:
        raise MalformedError(f"key proof: the modulus has a factor below 2^{FACTOR_BITS}")
    roots = [int.from_bytes(proof[at : at + width]) for at in range(0, len(proof), width)]
    if not all(0 < root < public.modulus for root in roots):
        raise MalformedError("key proof: expected roots below the modulus, found one outside")
    ring = public.arithmetic.modulo(public.modulus)
    powers = ring.powers_of_all(ring.reduced(roots[:ROOTS]), public.modulus)
    if [int(power) for power in powers] != _challenges(public):
        raise MalformedError("key proof: expected N-th roots of the key's challenges, found others")
    squares = ring.powers_of_all(ring.reduced(roots[ROOTS:]), 2)
    for square, challenge in zip(squares, _square_challenges(public), strict=True):
        if square not in {challenge, public.modulus - challenge}:
            raise MalformedError(
                "key proof: expected square roots of the key's challenges, found others"
            )


def _challenges(public: PublicKey) -> list[int]:
    """Return numbers mod N that nobody chose: a hash of the key's one encoding, expanded."""
    size = _width(public) + _SPARE_BYTES
    stream = hashlib.shake_256(_PURPOSE + public.to_bytes()).digest(ROOTS * size)
    return [
        int.from_bytes(stream[at : at + size]) % public.modulus
        for at in range(0, len(stream), size)
    ]


def _square_challenges(public: PublicKey) -> list[int]:
    """The same with Jacobi symbol 1: half of all numbers, and anybody can tell which."""
    jacobi, size = public.arithmetic.jacobi, _width(public) + _SPARE_BYTES
    challenges: list[int] = []
    for place in count():
        seed = _SQUARES_PURPOSE + place.to_bytes(4) + public.to_bytes()
        number = int.from_bytes(hashlib.shake_256(seed).digest(size)) % public.modulus
        if jacobi(number, public.modulus) == 1:
            challenges.append(number)
        if len(challenges) == ROOTS:
            return challenges
    raise AssertionError  # pragma: no cover: `count` never ends


def _width(public: PublicKey) -> int:
    return public.bits // 8


@cache
def _small_primes() -> int:
    """The product of all odd primes below 2^13."""
    numbers = range(3, 1 << FACTOR_BITS, 2)
    return prod(n for n in numbers if all(n % k for k in range(3, int(n**0.5) + 1, 2)))
