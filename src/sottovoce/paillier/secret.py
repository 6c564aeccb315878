"""The secret half of a key, which decrypts, checks itself, and stays out of logs.

Its owner computes modulo p² and q² instead of N², also to encrypt. Nothing here is constant-time:
gmpy2's constant-time power is 1.7 times slower, and the rest of a decryption would still leak. So a
party that can time the key holder's machine closely may learn something about its secret key.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self

from sottovoce.entropy import Entropy
from sottovoce.errors import InputError, MalformedError
from sottovoce.numbers.modular import Arithmetic, FixedPower, Residue
from sottovoce.paillier.keybytes import head_of, parts_of, same_bytes
from sottovoce.paillier.keys import InsecureToyPublicKey, NeverPickled, PublicKey
from sottovoce.paillier.profiles import Profile, strength

# Digests of the keys in which this process found no fault: its primes are tested once.
_SOUND: set[bytes] = set()


@dataclass(frozen=True)
class SecretKey(NeverPickled):
    """A secret key: the two primes, and in profile `short` the primes hidden in them."""

    public: PublicKey
    p: int = field(repr=False)
    q: int = field(repr=False)
    hidden_p: int = field(default=0, repr=False)
    hidden_q: int = field(default=0, repr=False)

    public_type: ClassVar[type[PublicKey]] = PublicKey

    @property
    def half_type(self) -> "type[PrimeHalf]":
        """The type that computes modulo powers of one prime."""
        return PrimeHalf

    def __post_init__(self) -> None:
        # The exact type, because the toy key is a subclass that an ordinary secret key must refuse.
        if type(self.public) is not self.public_type:
            raise InputError(
                f"secret key: expected a {self.public_type.__name__}, "
                f"found a {type(self.public).__name__}"
            )
        mark = self._mark()
        if mark in _SOUND:
            return
        for wrong, fault in _faults(self):
            if wrong:
                raise InputError(f"secret key: {fault}")
        _SOUND.add(mark)

    def _mark(self) -> bytes:
        """A digest of the numbers that are checked, by the arithmetic that checks them."""
        public = self.public
        numbers = (public.modulus, public.base, self.p, self.q, self.hidden_p, self.hidden_q)
        checked = (type(self).__name__, public.profile, public.arithmetic, *numbers)
        return hashlib.blake2b(repr(checked).encode(), digest_size=32).digest()

    @property
    def arithmetic(self) -> Arithmetic:
        """The twin in use."""
        return self.public.arithmetic

    @property
    def bits(self) -> int:
        """The size of N."""
        return self.public.bits

    @cached_property
    def halves(self) -> "tuple[PrimeHalf, PrimeHalf]":
        """The arithmetic modulo p² and modulo q², which the owner uses instead of modulo N²."""
        public = self.public
        return (
            self.half_type(public, self.p, self.hidden_p),
            self.half_type(public, self.q, self.hidden_q),
        )

    @cached_property
    def _lift(self) -> int:
        """The factor p² · (p⁻² mod q²) that joins halves modulo N², or a higher power."""
        power = 1 + self.public.length
        return int(self.p**power * pow(self.p**power, -1, self.q**power))

    def _joined(self, power: int, left: Sequence[int], right: Sequence[int]) -> list[int]:
        """Return numbers modulo N^power from their residues modulo powers of both primes."""
        p, q = self.p**power, self.q**power
        join, modulus = p * pow(p, -1, q), p * q
        return [int((a + (b - a) * join) % modulus) for a, b in zip(left, right, strict=True)]

    def randomisers(self, count: int, *, entropy: Entropy) -> list[Residue]:
        """Fresh encryptions of 0, distributed as the public key's, in a quarter of the time."""
        return self._drawn(count, self.public.profile.exponent_bits(self.bits), entropy)

    def rerandomisers(self, count: int, *, entropy: Entropy) -> list[Residue]:
        """Encryptions of 0 for arithmetic results, distributed as the public key's."""
        return self._drawn(count, self.public.profile.full_exponent_bits(self.bits), entropy)

    def _drawn(self, count: int, bits: int, entropy: Entropy) -> list[Residue]:
        p, q = self.halves
        if self.public.profile is Profile.TEXTBOOK:
            left, right = p.any_randomisers(count, entropy), q.any_randomisers(count, entropy)
        else:
            exponents = [entropy.bits(bits) for _ in range(count)]
            left, right = p.randomisers(exponents), q.randomisers(exponents)
        lift = self._lift
        return self.public.square.reduced(
            [a + (b - a) * lift for a, b in zip(left, right, strict=True)]
        )

    def prepare(self, count: int) -> None:
        """Make the tables for about `count` randomisers now, not while they are needed."""
        if self.public.profile is not Profile.TEXTBOOK:
            for half in self.halves:
                half.prepare(count)

    def roots(self, numbers: Sequence[int]) -> list[int]:
        """The N-th roots mod N of these numbers; they exist because gcd(N, φ(N)) = 1."""
        p, q = (half.roots(numbers) for half in self.halves)
        return self._joined(1, p, q)

    def square_roots(self, numbers: Sequence[int]) -> list[int]:
        """Of each number with Jacobi symbol 1, or of its negative, the root that is a square."""
        p, q = (half.square_roots(numbers) for half in self.halves)
        return self._joined(1, p, q)

    def residues(self, ciphertexts: Sequence[Residue], *, uniform: bool = False) -> list[int]:
        """The plaintexts 0 <= m < N of ciphertexts under this key.

        Those with `uniform` randomisers need the order of the whole group from the start.
        """
        p, q = (half.logarithms(ciphertexts, uniform=uniform) for half in self.halves)
        return self._joined(self.public.length, p, q)

    def with_arithmetic(self, arithmetic: Arithmetic) -> Self:
        """The same key on another twin."""
        return replace(self, public=self.public.with_arithmetic(arithmetic))

    def to_bytes(self) -> bytes:
        """Return the one encoding, p < q, fixed width, big-endian. It is secret: seal it."""
        public, width = self.public, self.bits // 16
        head = public.profile.code.to_bytes(1) + self.bits.to_bytes(2)
        body = self.p.to_bytes(width) + self.q.to_bytes(width)
        if public.profile is Profile.SHORT:
            hidden = _hidden_width(self.bits)
            body += self.hidden_p.to_bytes(hidden) + self.hidden_q.to_bytes(hidden)
        return head + body + (public.base.to_bytes(2 * width) if public.base else b"")

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The key of these bytes; anything but its one encoding raises MalformedError."""
        profile, bits, rest = head_of(data, cls.public_type.sizes, "secret key")
        hidden = [_hidden_width(bits)] * 2 if profile is Profile.SHORT else []
        base = [] if profile is Profile.TEXTBOOK else [bits // 8]
        p, q, *more = parts_of(rest, [bits // 16, bits // 16, *hidden, *base], "secret key")
        try:
            public = cls.public_type(profile, p * q, sum(more[len(hidden) :]))
            key = cls(public, p, q, *more[: len(hidden)])
        except InputError as error:
            raise MalformedError(error.message) from None
        same_bytes(key.to_bytes(), data, "secret key")
        return key

    def __str__(self) -> str:
        return f"secret half of {self.public}"


class InsecureToySecretKey(SecretKey):
    """The secret half of a key that anybody can break, for tests."""

    public_type: ClassVar[type[PublicKey]] = InsecureToyPublicKey


class PrimeHalf(NeverPickled):
    """One prime of the secret key, and arithmetic modulo its square (or a higher power)."""

    def __init__(self, public: PublicKey, prime: int, hidden: int) -> None:
        """Prepare for `prime`, in whose group randomisers have order 2·`hidden` (0: unknown)."""
        self._public = public
        self._prime = prime
        self._square = public.arithmetic.modulo(prime ** (1 + public.length))
        self._order = 2 * hidden if hidden else prime - 1
        self._general = prime - 1

    @cached_property
    def _powers(self) -> FixedPower:
        base = self._square.reduced([self._public.base])
        lifted = self._square.powers(base, [self._public.plaintexts])[0]
        return self._square.fixed_base(lifted, exponent_bits=self._exponent_bits)

    @property
    def _exponent_bits(self) -> int:
        bits = self._public.profile.full_exponent_bits(self._public.bits)
        return min(bits, self._order.bit_length())

    def randomisers(self, exponents: Sequence[int]) -> list[Residue]:
        """(h^N)^x modulo the square for each x; the order of h shortens x."""
        order = self._order
        return self._powers([x % order for x in exponents])

    def prepare(self, count: int) -> None:
        """Make the tables for about `count` randomisers."""
        self._powers.prepare(count)

    def any_randomisers(self, count: int, entropy: Entropy) -> list[Residue]:
        """Uniform N-th powers: r^p mod p² of a uniform r mod p runs over all of them evenly."""
        units = [1 + entropy.below(self._prime - 1) for _ in range(count)]
        exponent = self._prime**self._public.length
        return self._square.powers_of_all(self._square.reduced(units), exponent)

    def roots(self, numbers: Sequence[int]) -> list[int]:
        """The N-th roots modulo the prime."""
        ring = self._public.arithmetic.modulo(self._prime)
        inverse = pow(self._public.modulus, -1, self._prime - 1)
        return [int(root) for root in ring.powers_of_all(ring.reduced(numbers), inverse)]

    def square_roots(self, numbers: Sequence[int]) -> list[int]:
        """The square roots, squares themselves, modulo the prime; where y has none, those of −y."""
        arithmetic, prime = self._public.arithmetic, self._prime
        squares = [y if arithmetic.jacobi(y, prime) == 1 else -y for y in numbers]
        ring = arithmetic.modulo(prime)
        # The prime is 3 mod 4, so −1 is no square, and y^((p+1)/4) is a power of a square.
        return [int(r) for r in ring.powers_of_all(ring.reduced(squares), (prime + 1) // 4)]

    def logarithms(self, ciphertexts: Sequence[Residue], *, uniform: bool = False) -> list[int]:
        """The plaintexts modulo the prime."""
        local = self._square.reduced(ciphertexts)
        order = self._general if uniform else self._order
        powers = self._square.powers_of_all(local, order)
        prime, factor = self._prime, self._factor(order)
        # A randomiser from outside the subgroup (another program's) needs the whole group's order.
        return [
            (power - 1) // prime * factor % prime if power % prime == 1 else self._slowly(value)
            for power, value in zip(powers, local, strict=True)
        ]

    def _slowly(self, value: Residue) -> int:
        power = self._square.powers([value], [self._general])[0]
        return (power - 1) // self._prime * self._factor(self._general) % self._prime

    def _factor(self, order: int) -> int:
        """Return the inverse of order · N/p mod p, the factor that (1 + N)^order adds."""
        return pow(order * (self._public.modulus // self._prime), -1, self._prime)


def _hidden_width(bits: int) -> int:
    """Bytes of a hidden prime, which has 2s or 2s + 1 bits."""
    return 2 * strength(bits) // 8 + 1


def _faults(key: SecretKey) -> Iterator[tuple[bool, str]]:
    """Yield the possible faults of these primes, cheap checks first."""
    p, q, public = key.p, key.q, key.public
    gcd, is_prime = public.arithmetic.gcd, public.arithmetic.is_prime
    half = public.bits // 2
    yield (
        p * q != public.modulus or p >= q,
        "the primes are not those of the modulus, the smaller one first",
    )
    yield not p.bit_length() == q.bit_length() == half, f"expected primes of {half} bits"
    yield not p % 4 == q % 4 == 3, "expected primes that are 3 mod 4"
    yield gcd(public.modulus, (p - 1) * (q - 1)) != 1, "the modulus shares a factor with its order"
    yield gcd(p - 1, q - 1) != 2, "the orders of the two primes share a factor"
    yield not (is_prime(p) and is_prime(q)), "a factor of the modulus is not prime"
    if public.profile is Profile.SHORT:
        yield from _hidden_faults(key, p, key.hidden_p)
        yield from _hidden_faults(key, q, key.hidden_q)
    else:
        yield key.hidden_p + key.hidden_q != 0, f"profile `{public.profile}` hides no primes"
    if public.profile is Profile.DJN:
        squares = (pow(-public.base, prime // 2, prime) == 1 for prime in (p, q))
        yield not all(squares), "the base of the randomisers is not minus a square"


def _hidden_faults(key: SecretKey, prime: int, hidden: int) -> Iterator[tuple[bool, str]]:
    bits, is_prime = 2 * strength(key.bits), key.public.arithmetic.is_prime
    yield (
        hidden.bit_length() not in {bits, bits + 1},
        f"expected hidden primes of at least {bits} bits, found {hidden.bit_length()}",
    )
    cofactor, rest = divmod(prime - 1, 2 * hidden)
    yield (
        rest != 0 or not (is_prime(hidden) and is_prime(cofactor)),
        "a hidden prime is not the one of its prime",
    )
    base = key.public.base
    yield (
        pow(base, 2 * hidden, prime) != 1 or pow(base, 2, prime) == 1,
        "the base of the randomisers has another order",
    )
