"""The strict bytes of a ciphertext: a head with its form, then numbers of fixed width."""

from collections.abc import Sequence

from sottovoce.errors import MalformedError, SottovoceError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.modular import Residue
from sottovoce.numbers.packing import Slots
from sottovoce.paillier.keys import IDENTITY_BYTES, PublicKey
from sottovoce.paillier.layout import Layout, check_room

VERSION = 1
_PACKED, _SYMMETRIC, _COVERED = 1, 2, 4


def encode(key: PublicKey, residues: Sequence[Residue], layout: Layout, scale: Scale) -> bytes:
    """The one encoding: version, key, flags, shape, slots, scale; then the numbers, big-endian."""
    width = key.ciphertext_bytes
    return _head(key, layout, scale) + b"".join(int(c).to_bytes(width) for c in residues)


def decode(key: PublicKey, data: bytes) -> tuple[list[Residue], Layout, Scale]:
    """Read the bytes that `encode` wrote for this key; raise MalformedError for any others."""
    layout, scale, start = _read_head(key, bytes(data))
    width = key.ciphertext_bytes
    expected = start + layout.ciphertexts * width
    if len(data) != expected:
        raise MalformedError(f"ciphertext: expected {expected} bytes, found {len(data)}")
    numbers = [int.from_bytes(data[at : at + width]) for at in range(start, expected, width)]
    top = key.modulus * key.plaintexts
    for position, number in enumerate(numbers):
        if not 0 < number < top:
            fault = "0" if number == 0 else "N² or more"
            raise MalformedError(f"ciphertext: number {position} is {fault}, expected 1 … N² − 1")
    residues = key.square.reduced(numbers)
    if not key.square.invertible(residues):
        raise MalformedError("ciphertext: a number shares a factor with N")
    return residues, layout, scale


def _head(key: PublicKey, layout: Layout, scale: Scale) -> bytes:
    flags = _SYMMETRIC * layout.symmetric | _COVERED * layout.covered
    slots = b""
    if layout.slots is not None:
        flags |= _PACKED
        slots = layout.slots.width.to_bytes(2) + layout.slots.count.to_bytes(2)
    bound = scale.bound.to_bytes((scale.bits + 7) // 8)
    return b"".join(
        (
            bytes([VERSION, flags, len(layout.shape)]),
            key.identity,
            *(size.to_bytes(4) for size in layout.shape),
            slots,
            scale.fraction_bits.to_bytes(2),
            len(bound).to_bytes(2),
            bound,
        )
    )


def _read_head(key: PublicKey, data: bytes) -> tuple[Layout, Scale, int]:
    reader = _Reader(data)
    version, flags, dimensions = reader.number(1), reader.number(1), reader.number(1)
    if version != VERSION:
        raise MalformedError(f"ciphertext: expected version {VERSION}, found {version}")
    if flags > 7 or dimensions > 2:
        raise MalformedError(f"ciphertext: no such flags or dimensions, {flags} and {dimensions}")
    if reader.take(IDENTITY_BYTES) != key.identity:
        raise MalformedError(f"ciphertext: made for another key than the {key}")
    shape = tuple(reader.number(4) for _ in range(dimensions))
    try:
        slots = Slots(reader.number(2), reader.number(2)) if flags & _PACKED else None
        layout = Layout(shape, slots, bool(flags & _SYMMETRIC), bool(flags & _COVERED))
        scale = Scale(reader.number(2), int.from_bytes(reader.take(reader.number(2))))
        check_room(key, layout, scale, "a tensor")
    except MalformedError:
        raise
    except SottovoceError as error:
        raise MalformedError(f"ciphertext: {error.message}") from None
    # Lines without values take no bytes, so a short message could claim billions of them.
    if dimensions == 2 and layout.ciphertexts == 0:
        raise MalformedError(f"ciphertext: expected no empty matrix, found shape {shape}")
    head = _head(key, layout, scale)
    if head != data[: reader.position]:
        raise MalformedError("ciphertext: not the one encoding of its head")
    return layout, scale, reader.position


class _Reader:
    """Reads bytes from the front, and raises if there are too few."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def take(self, count: int) -> bytes:
        part = self._data[self.position : self.position + count]
        if len(part) != count:
            raise MalformedError(f"ciphertext: ends inside its head, after {len(self._data)} bytes")
        self.position += count
        return part

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width))
