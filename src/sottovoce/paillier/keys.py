"""The public half of a key, which encrypts and computes on ciphertexts."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import prod
from typing import ClassVar, NoReturn, Self

from sottovoce.entropy import Entropy
from sottovoce.errors import InputError, MalformedError, MisuseError
from sottovoce.numbers.modular import GMP, Arithmetic, FixedPower, Modulus, Residue
from sottovoce.paillier.keybytes import head_of, parts_of, same_bytes
from sottovoce.paillier.profiles import STRENGTHS, TOY_BITS, Profile, either
from sottovoce.paillier.uniform_powers import uniform_powers

IDENTITY_BYTES = 32

# The product of the odd primes below 200: a modulus that shares a factor with it is refused.
_SMALL_FACTORS = prod(n for n in range(3, 200) if all(n % k for k in range(2, n)))


@lru_cache(maxsize=16)
def _is_prime(arithmetic: Arithmetic, modulus: int) -> bool:
    """Whether a modulus is a prime: asked once, because a process reads its study's key often."""
    return arithmetic.is_prime(modulus)


class NeverPickled:
    """Refuses to be pickled, and is its own copy; only strict bytes leave it, if it has any."""

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise MisuseError(
            f"{type(self).__name__}: never pickled, use its strict bytes if it has any"
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


@dataclass(frozen=True)
class PublicKey(NeverPickled):
    """A public key: the modulus N, and in two profiles the base h of the randomisers.

    h is kept modulo N and lifted to h^N mod N² here, so that no maker of a key can give it
    randomisers that carry a message.
    """

    profile: Profile
    modulus: int = field(repr=False)
    base: int = field(default=0, repr=False)
    arithmetic: Arithmetic = field(default=GMP, repr=False, compare=False)

    sizes: ClassVar[tuple[int, ...]] = tuple(STRENGTHS)

    def __post_init__(self) -> None:
        bits = self.modulus.bit_length()
        if bits not in self.sizes:
            raise InputError(
                f"paillier key: expected a modulus of {either(self.sizes)} bits, found {bits}",
                hints=("make a new key: sottovoce.paillier.generate(bits=3072, entropy=…)",),
            )
        gcd = self.arithmetic.gcd
        if self.modulus % 2 == 0 or gcd(self.modulus, _SMALL_FACTORS) != 1:
            raise InputError("paillier key: the modulus has a small factor")
        if _is_prime(self.arithmetic, self.modulus):
            raise InputError("paillier key: the modulus is a prime, expected a product of two")
        if (self.profile is Profile.TEXTBOOK) != (self.base == 0):
            raise InputError(f"paillier key: profile `{self.profile}` with base {self.base != 0}")
        if self.base and not (
            1 < self.base < self.modulus - 1 and gcd(self.base, self.modulus) == 1
        ):
            raise InputError("paillier key: the base of the randomisers is out of range")

    @property
    def bits(self) -> int:
        """The size of N."""
        return self.modulus.bit_length()

    @property
    def length(self) -> int:
        """The length of a plaintext in lengths of N: 1 here, more in `damgard_jurik`."""
        return 1

    @cached_property
    def plaintexts(self) -> int:
        """The number of plaintexts: N to the power of the length."""
        return int(self.modulus**self.length)

    @property
    def plaintext_bits(self) -> int:
        """Every signed integer of this many bits is a plaintext: one bit less than N."""
        return self.plaintexts.bit_length() - 1

    @property
    def plaintext_bound(self) -> int:
        """The largest magnitude of a plaintext."""
        return (self.plaintexts - 1) // 2

    @property
    def ciphertext_bytes(self) -> int:
        """The width of a ciphertext, a number modulo N²."""
        return (1 + self.length) * self.bits // 8

    @cached_property
    def square(self) -> Modulus:
        """Arithmetic modulo N² (for longer plaintexts a higher power), where ciphertexts live."""
        return self.arithmetic.modulo(self.modulus * self.plaintexts)

    @cached_property
    def number(self) -> Residue:
        """N as a number of the arithmetic in use."""
        return self.square.reduced([self.modulus])[0]

    @cached_property
    def half(self) -> int:
        """2⁻¹ mod N, or among longer plaintexts."""
        return (self.plaintexts + 1) // 2

    @cached_property
    def _powers(self) -> FixedPower:
        lifted = self.square.powers(self.square.reduced([self.base]), [self.plaintexts])[0]
        bits = self.profile.full_exponent_bits(self.bits)
        return self.square.fixed_base(lifted, exponent_bits=bits)

    @cached_property
    def identity(self) -> bytes:
        """A hash of the one encoding of this key; ciphertexts name their key by it."""
        return self._hash(IDENTITY_BYTES)

    @cached_property
    def fingerprint(self) -> str:
        """128 bits of a hash of the one encoding of this key, for people to compare."""
        text = self._hash(16).hex()
        return "-".join(text[start : start + 4] for start in range(0, len(text), 4))

    def _hash(self, size: int) -> bytes:
        # BLAKE2b hashes its output size, too, so this is independent of `identity`.
        return hashlib.blake2b(
            self.to_bytes(), digest_size=size, person=b"sottovoce/key/v1"
        ).digest()

    def randomisers(self, count: int, *, entropy: Entropy) -> list[Residue]:
        """Return fresh encryptions of 0, each from its own randomness."""
        return self._drawn(count, self.profile.exponent_bits(self.bits), entropy)

    def rerandomisers(self, count: int, *, entropy: Entropy) -> list[Residue]:
        """Encryptions of 0 for arithmetic results, uniform in the group of h."""
        return self._drawn(count, self.profile.full_exponent_bits(self.bits), entropy)

    def uniform_randomisers(self, count: int, *, entropy: Entropy) -> list[Residue]:
        """Return uniform N-th powers, in every profile; no choice of the key's maker limits them.

        After the first hundreds they are products of these, within 2^−65 of uniform
        (uniform_powers.py).
        """
        return uniform_powers(self, entropy).draw(count, entropy=entropy)

    def direct_powers(self, count: int, *, entropy: Entropy) -> list[Residue]:
        """r^N of a uniform r each."""
        units = self.units(count, entropy=entropy)
        return self.square.powers_of_all(units, self.plaintexts)

    def units(self, count: int, *, entropy: Entropy) -> list[Residue]:
        """Uniform numbers below N that share no factor with it: each r of an r^N."""
        return self.square.reduced([self._unit(entropy) for _ in range(count)])

    def _drawn(self, count: int, bits: int, entropy: Entropy) -> list[Residue]:
        if self.profile is Profile.TEXTBOOK:
            return self.direct_powers(count, entropy=entropy)
        return self._powers([entropy.bits(bits) for _ in range(count)])

    def masks(self, count: int, *, entropy: Entropy) -> list[int]:
        """Return uniform elements of Z_N, each of which hides a ciphertext's content perfectly."""
        return [entropy.below(self.plaintexts) for _ in range(count)]

    def prepare(self, count: int) -> None:
        """Make the tables for about `count` randomisers now, before they are needed."""
        if self.profile is not Profile.TEXTBOOK:
            self._powers.prepare(count)

    def _unit(self, entropy: Entropy) -> int:
        while self.arithmetic.gcd(unit := entropy.below(self.modulus), self.modulus) != 1:
            pass
        return unit

    def embedded(self, plaintexts: Sequence[int]) -> list[Residue]:
        """Return (1 + N)^m mod N² = 1 + m·N for each plaintext; these hide nothing yet."""
        number, modulus = self.number, self.modulus
        return [1 + plaintext % modulus * number for plaintext in plaintexts]

    def with_arithmetic(self, arithmetic: Arithmetic) -> Self:
        """The same key on another twin."""
        return replace(self, arithmetic=arithmetic)

    def to_bytes(self) -> bytes:
        """The one encoding: profile, size, N and (unless `textbook`) h, fixed width, big-endian."""
        width = self.bits // 8
        head = self.profile.code.to_bytes(1) + self.bits.to_bytes(2)
        body = self.modulus.to_bytes(width)
        return head + body + (self.base.to_bytes(width) if self.base else b"")

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The key of these bytes; anything but its one encoding raises MalformedError."""
        profile, bits, rest = head_of(data, cls.sizes, "public key")
        width = bits // 8
        modulus, *base = parts_of(
            rest, [width] * (1 if profile is Profile.TEXTBOOK else 2), "public key"
        )
        try:
            key = cls(profile, modulus, sum(base))
        except InputError as error:
            raise MalformedError(error.message) from None
        same_bytes(key.to_bytes(), data, "public key")
        return key

    def __str__(self) -> str:
        return f"{self.bits}-bit `{self.profile}` key {self.fingerprint[:14]}"


class InsecureToyPublicKey(PublicKey):
    """A key that anybody can break, for tests; an ordinary `PublicKey` refuses its size."""

    sizes: ClassVar[tuple[int, ...]] = TOY_BITS
