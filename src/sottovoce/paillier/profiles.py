"""Key profiles: how a key makes its randomisers, and the assumption under which they hide."""

from enum import StrEnum

from sottovoce.errors import InputError

# Modulus bits and the strength in bits that NIST SP 800-57 and FIPS 140 give them.
STRENGTHS = {2048: 112, 3072: 128, 4096: 152}
DEFAULT_BITS = 3072
# By how many bits re-randomising exponents exceed the order of h.
SPARE_BITS = 64
# Sizes that anybody can break, for tests.
TOY_BITS = (256, 384, 512, 768, 1024)


class Profile(StrEnum):
    """The origin of the randomiser of a ciphertext (1 + N)^m · randomiser mod N².

    `short`: P = 2·p·p′ + 1 and Q = 2·q·q′ + 1 hide primes p, q of 2s bits for s
    bits of strength; h = −y^(2·p′·q′) mod N; randomiser (h^N)^x with x uniform
    of 4s bits (Ma, Han and Lei, ACSAC 2021).

    `djn`: ordinary primes, 3 mod 4; h = −y² mod N; randomiser (h^N)^x with x
    uniform of |N|/2 bits (Damgård, Jurik and Nielsen, 2010).

    `textbook`: ordinary primes; randomiser r^N with r uniform (Paillier, 1999).
    """

    SHORT = "short"
    DJN = "djn"
    TEXTBOOK = "textbook"

    @property
    def assumption(self) -> str:
        """The assumption, in words fit for a study card."""
        return _ASSUMPTIONS[self]

    @property
    def code(self) -> int:
        """The profile in the bytes of a key."""
        return _CODES[self]

    @classmethod
    def of(cls, name: "str | Profile") -> "Profile":
        """The profile of this name."""
        try:
            return cls(name)
        except ValueError:
            names = ", ".join(f"`{profile}`" for profile in cls)
            raise InputError(f"key profile: expected one of {names}, found {name!r}") from None

    def exponent_bits(self, modulus_bits: int) -> int:
        """The number of bits of a randomiser's exponent x; `textbook` has none."""
        match self:
            case Profile.SHORT:
                return 4 * strength(modulus_bits)
            case Profile.DJN:
                return modulus_bits // 2
            case Profile.TEXTBOOK:
                return 0

    def full_exponent_bits(self, modulus_bits: int) -> int:
        """The number of bits that make x uniform modulo the order of h, within 2^−64.

        Re-randomising uses as many bits, so that it does not rely on short exponents; the owner of
        the key gets uniform N-th powers instead (tensors.py).
        """
        match self:
            case Profile.SHORT:  # the order is 2·p·q, of hidden primes of at most 2s + 1 bits
                return 4 * strength(modulus_bits) + 3 + SPARE_BITS
            case Profile.DJN:
                return modulus_bits + SPARE_BITS
            case Profile.TEXTBOOK:
                return 0


_CODES = {Profile.SHORT: 1, Profile.DJN: 2, Profile.TEXTBOOK: 3}

_ASSUMPTIONS = {
    Profile.SHORT: (
        "Nobody can tell an N-th power modulo N² from a random number (decisional composite "
        "residuosity), also when the powers come from a subgroup of secret order whose size is "
        "four times the strength in bits, with exponents of as many bits, and N was made to have "
        "such a subgroup (Ma, Han and Lei, ACSAC 2021). The strongest assumption of the three, and "
        "the fastest profile."
    ),
    Profile.DJN: (
        "Nobody can tell an N-th power modulo N² from a random number (decisional composite "
        "residuosity), nor a power of h with an exponent of half the bits of N from a power with "
        "a full exponent (Damgård, Jurik and Nielsen, 2010)."
    ),
    Profile.TEXTBOOK: (
        "Nobody can tell an N-th power modulo N² from a random number (decisional composite "
        "residuosity; Paillier, 1999). The weakest assumption of the three, and the slowest "
        "profile."
    ),
}


def strength(modulus_bits: int) -> int:
    """The strength in bits of a modulus; sizes for tests have a sixteenth of their bits."""
    return STRENGTHS.get(modulus_bits, modulus_bits // 16)


def either(sizes: tuple[int, ...]) -> str:
    """Return the sizes as words in a sentence."""
    return f"{', '.join(map(str, sizes[:-1]))} or {sizes[-1]}"
