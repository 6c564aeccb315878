"""A 256-bit secret in shares: any `threshold` of them restore it, fewer reveal nothing.

Shamir's polynomial over the integers mod 2^256 + 297, the first prime above
every 256-bit secret. Share i is the polynomial at i, for i = 1, 2, …
"""

from collections.abc import Mapping

from sottovoce.entropy import Entropy
from sottovoce.errors import InputError, MalformedError

PRIME = 2**256 + 297
SECRET_BYTES = 32
SHARE_BYTES = 33


def split(secret: bytes, *, count: int, threshold: int, entropy: Entropy) -> list[bytes]:
    """Shares 1 … count of a 256-bit secret."""
    if len(secret) != SECRET_BYTES:
        raise InputError(f"shares: expected a secret of 32 bytes, found {len(secret)}")
    if not 1 <= threshold <= count:
        raise InputError(f"shares: expected 1 <= threshold <= {count}, found {threshold}")
    coefficients = [int.from_bytes(secret)]
    coefficients += [entropy.below(PRIME) for _ in range(threshold - 1)]
    return [_value(coefficients, place).to_bytes(SHARE_BYTES) for place in range(1, count + 1)]


def combine(shares: Mapping[int, bytes], *, threshold: int) -> bytes:
    """The secret from shares by place; uses `threshold` of them.

    This function cannot tell whether the shares belong together: the caller compares the secret
    with what its owner committed to.
    """
    if len(shares) < threshold:
        raise InputError(f"shares: expected at least {threshold}, found {len(shares)}")
    used = dict(sorted(shares.items())[:threshold])
    secret = 0
    for place, share in used.items():
        factor = _number(share)
        for other in used:
            if other != place:
                factor = factor * other * pow(other - place, -1, PRIME) % PRIME
        secret += factor
    secret %= PRIME
    if secret >= 2**256:
        raise MalformedError("shares: these are not shares of a 256-bit secret")
    return secret.to_bytes(SECRET_BYTES)


def _value(coefficients: list[int], place: int) -> int:
    total = 0
    for coefficient in reversed(coefficients):
        total = (total * place + coefficient) % PRIME
    return total


def _number(share: bytes) -> int:
    number = int.from_bytes(share)
    if len(share) != SHARE_BYTES or number >= PRIME:
        raise MalformedError("shares: expected 33 bytes that hold a number below the prime")
    return number
