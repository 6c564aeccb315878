"""Damgård and Jurik's generalisation: plaintexts modulo N^s in ciphertexts modulo N^(s+1).

    ⟨⟨m⟩⟩ = (1 + N)^m · r^(N^s) mod N^(s+1)

s = 1 is Paillier's scheme. A key with a longer plaintext is an ordinary key with a `length`, so
encryption, sums, products, packing and strict bytes are those of all tensors (`tensors.py`); what
differs is here: (1 + N)^m is a sum of s + 1 terms, and decryption takes a logarithm p-adically
modulo p^(s+1) and q^(s+1). The randomisers' base h, lifted to h^(N^s), has the order that it has
for s = 1, so their exponents stay as short.

A ciphertext is (s + 1)/s times as long as its plaintext: 2 for s = 1, 1.33 for s = 3. Numbers
grow, and so does the time for each; docs/paillier.md says where it pays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Self, TypeVar

from sottovoce.errors import InputError, MalformedError
from sottovoce.numbers.modular import Residue
from sottovoce.paillier.keys import PublicKey
from sottovoce.paillier.profiles import TOY_BITS
from sottovoce.paillier.secret import InsecureToySecretKey, PrimeHalf, SecretKey

LONGEST = 8
"""With a larger s ciphertexts are hardly shorter for the same content, and take more time."""

L = TypeVar("L", bound="LongSecretKey")


@dataclass(frozen=True)
class LongPublicKey(PublicKey):
    """A public key for plaintexts of `s` times the length of N."""

    s: int = field(default=2, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.s <= LONGEST:
            raise InputError(f"long key: expected s from 1 to {LONGEST}, found {self.s}")

    @property
    def length(self) -> int:
        """s: how many times N a plaintext is."""
        return self.s

    def embedded(self, plaintexts: Sequence[int]) -> list[Residue]:
        """(1 + N)^m mod N^(s+1) = Σ binomial(m, k) N^k: encryptions that hide nothing yet."""
        return [self._power(plaintext % self.plaintexts) for plaintext in plaintexts]

    def _power(self, plaintext: int) -> Residue:
        number = self.number
        total: Residue = 1 + plaintext * number
        term: Residue = plaintext * number
        for k in range(2, self.s + 1):
            # N has no factor below 200, so k has an inverse among its powers.
            term = term * (plaintext - k + 1) * number * self._inverses[k]
            total += term
        return self.square.reduced([total])[0]

    @cached_property
    def _inverses(self) -> tuple[int, ...]:
        whole = self.modulus * self.plaintexts
        return (0, *(pow(k, -1, whole) for k in range(1, self.s + 1)))

    def to_bytes(self) -> bytes:
        """The encoding of the key for s = 1, and s."""
        return super().to_bytes() + bytes([self.s])

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The key of these bytes; anything but its one encoding raises MalformedError."""
        short = PublicKey if cls.sizes == PublicKey.sizes else InsecureToySecretKey.public_type
        plain = short.from_bytes(data[:-1])
        try:
            return cls(plain.profile, plain.modulus, plain.base, s=data[-1])
        except InputError as error:
            raise MalformedError(error.message) from None


class InsecureToyLongPublicKey(LongPublicKey):
    """A long key that anybody can break, for tests."""

    sizes: ClassVar[tuple[int, ...]] = TOY_BITS


class LongPrimeHalf(PrimeHalf):
    """One prime of a long key: logarithms modulo its s-th power."""

    def logarithms(self, ciphertexts: Sequence[Residue], *, uniform: bool = False) -> list[int]:
        """The plaintexts modulo the s-th power of the prime."""
        local = self._square.reduced(ciphertexts)
        order = self._general if uniform else self._order
        powers = self._square.powers_of_all(local, order)
        return [
            self._exponent(power, order) if power % self._prime == 1 else self._slowly(value)
            for power, value in zip(powers, local, strict=True)
        ]

    def _slowly(self, value: Residue) -> int:
        power = self._square.powers([value], [self._general])[0]
        return self._exponent(power, self._general)

    def _exponent(self, power: Residue, order: int) -> int:
        """M of (1 + N)^(m·order), modulo the s-th power of the prime."""
        return self._logarithm(power) * self._factor(order) % self._modulus

    def _factor(self, order: int) -> int:
        return pow(order * self._unit, -1, self._modulus)

    @cached_property
    def _modulus(self) -> int:
        return int(self._prime**self._public.length)

    @cached_property
    def _unit(self) -> int:
        return self._logarithm(self._square.reduced([1 + self._public.modulus])[0])

    def _logarithm(self, power: Residue) -> int:
        """log(1 + pt)/p = Σ −(−pt)^k/(kp) modulo the s-th power of the prime p."""
        step = int(power - 1)
        whole = self._modulus * self._prime
        total, term = 0, 1
        for k in range(1, self._public.length + 1):
            term = term * step % whole
            total += (-1) ** (k + 1) * term * pow(k, -1, whole)
        return total % whole // self._prime


@dataclass(frozen=True)
class LongSecretKey(SecretKey):
    """A secret key for plaintexts that are longer than N."""

    public_type: ClassVar[type[PublicKey]] = LongPublicKey

    @property
    def half_type(self) -> type[PrimeHalf]:
        """The type that computes modulo powers of one prime."""
        return LongPrimeHalf

    @classmethod
    def of(cls, key: SecretKey, s: int) -> Self:
        """The same primes with plaintexts of s times the length."""
        short = key.public
        public = cls._long(short, s)
        return cls(public, key.p, key.q, key.hidden_p, key.hidden_q)

    @classmethod
    def _long(cls, short: PublicKey, s: int) -> LongPublicKey:
        kind = cls.public_type
        assert issubclass(kind, LongPublicKey)
        return kind(short.profile, short.modulus, short.base, short.arithmetic, s=s)

    def to_bytes(self) -> bytes:
        """The encoding of the key for s = 1, and s. It is the secret: seal it."""
        return super().to_bytes() + bytes([self.public.length])

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The key of these bytes; anything but its one encoding raises MalformedError."""
        toy = cls.public_type.sizes == TOY_BITS
        short = (InsecureToySecretKey if toy else SecretKey).from_bytes(data[:-1])
        try:
            return cls.of(short, data[-1])
        except InputError as error:
            raise MalformedError(error.message) from None


class InsecureToyLongSecretKey(LongSecretKey):
    """The secret half of a long key that anybody can break, for tests."""

    public_type: ClassVar[type[PublicKey]] = InsecureToyLongPublicKey


def lengthened(key: SecretKey, s: int) -> LongSecretKey:
    """The same primes as a key whose plaintexts are s times as long."""
    if isinstance(key, InsecureToySecretKey):
        return InsecureToyLongSecretKey.of(key, s)
    return LongSecretKey.of(key, s)
