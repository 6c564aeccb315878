"""Strict reading of a key's bytes: a head, then numbers of fixed width, and nothing else."""

from collections.abc import Sequence

from sottovoce.errors import MalformedError
from sottovoce.paillier.profiles import Profile, either


def head_of(data: bytes, sizes: tuple[int, ...], what: str) -> tuple[Profile, int, bytes]:
    """The profile, the size of N, and the rest; a size that is not allowed is refused here."""
    if len(data) < 3:
        raise MalformedError(f"{what}: expected a head of 3 bytes, found {len(data)}")
    profiles = {profile.code: profile for profile in Profile}
    if data[0] not in profiles:
        raise MalformedError(f"{what}: no profile has the code {data[0]}")
    bits = int.from_bytes(data[1:3])
    if bits not in sizes:
        raise MalformedError(f"{what}: expected a modulus of {either(sizes)} bits, found {bits}")
    return profiles[data[0]], bits, data[3:]


def parts_of(data: bytes, widths: Sequence[int], what: str) -> list[int]:
    """The big-endian numbers of these widths, which fill the data exactly."""
    if len(data) != sum(widths):
        raise MalformedError(
            f"{what}: expected {sum(widths)} bytes after the head, found {len(data)}"
        )
    numbers, start = [], 0
    for width in widths:
        numbers.append(int.from_bytes(data[start : start + width]))
        start += width
    return numbers


def same_bytes(encoded: bytes, data: bytes, what: str) -> None:
    """Raise unless encoding again gives the bytes that were read."""
    if encoded != data:
        raise MalformedError(f"{what}: not the one encoding of this key")
