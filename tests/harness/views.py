"""What a party could read in its view: every number, and every ciphertext that it can decrypt."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from harness.noise import assert_looks_uniform, assert_shows_structure
from sottovoce.paillier import Ciphertext, SecretKey, decrypt, decrypt_residues
from sottovoce.protocols.ciphertexts import CiphertextBytes
from sottovoce.protocols.two_party.comparison import BlindedTests
from sottovoce.protocols.two_party.matrices import FixedFactor
from sottovoce.protocols.view import View, leaves
from sottovoce.wire import Integers, Words


def readable(view: View, *, key: SecretKey | None = None, modulus: int = 0) -> Iterator[Any]:
    """Arrays of everything in the view; with the secret `key`, what the ciphertexts hold."""
    for item in view.received:
        for leaf in leaves(item.message):
            yield from _arrays(leaf, key, modulus)


def _arrays(leaf: Any, key: SecretKey | None, modulus: int) -> Iterator[Any]:
    if isinstance(leaf, Words):
        yield leaf.array()
    elif isinstance(leaf, Integers):
        yield np.array(leaf.read(modulus=modulus), dtype=object)
    elif isinstance(leaf, int):
        yield np.array([leaf], dtype=object)
    elif isinstance(leaf, CiphertextBytes) and key is not None:
        yield from _opened(Ciphertext.from_bytes(leaf.data, key=key.public), key)
    elif isinstance(leaf, Ciphertext):
        if key is None:
            yield _lines(leaf, [int(residue) for residue in leaf.residues])
        else:
            yield from _opened(leaf, key)


def _opened(tensor: Ciphertext, key: SecretKey) -> Iterator[Any]:
    yield _lines(tensor, decrypt_residues(key, tensor))
    if not tensor.layout.covered:
        yield decrypt(key, tensor).integers
    elif tensor.slots is not None:
        # Masks over whole ciphertexts hide the slots; an attacker would look all the same.
        width, count = tensor.slots.width, tensor.slots.count
        results = [
            [int(m) >> width * slot & ((1 << width) - 1) for slot in range(count)]
            for m in decrypt_residues(key, tensor)
        ]
        yield np.array(results, dtype=object).reshape(tensor.layout.lines, -1)


def _lines(tensor: Ciphertext, residues: list[int]) -> Any:
    array = np.empty(len(residues), dtype=object)
    array[:] = [int(residue) for residue in residues]
    return array.reshape(tensor.layout.lines, tensor.layout.line_ciphertexts)


# Masks reach further than this, so that no digit of a number is made up.
NOISE_BITS = 32


def assert_sees_noise(view: View, key: SecretKey, *, fixed: Sequence[int] = ()) -> None:
    """Fails unless everything that a key holder decrypts looks uniform.

    `fixed` are the bits of the masks on the values of fixed operands, in order; 0 says that
    an operand is masked by whole ciphertexts.
    """
    assert_looks_uniform(noise_words(view, key, fixed=fixed), 1 << NOISE_BITS)


def assert_sees_structure(view: View, key: SecretKey, *, fixed: Sequence[int] = ()) -> None:
    """Fails if it all passes for noise: the proof that the test above could have failed."""
    assert_shows_structure(noise_words(view, key, fixed=fixed), 1 << NOISE_BITS)


def noise_words(view: View, key: SecretKey, *, fixed: Sequence[int] = ()) -> list[int]:
    """Everything that a key holder decrypts, each number as 32 bits of the range of its mask.

    A value under a mask of its own lies below a bound of 2^(ℓ + κ) and a little
    more; one under a mask over its whole ciphertext anywhere below N. The tests of a
    comparison are uniform in another way, which the tests of S.Sign look at.
    """
    numbers: list[int] = []
    reaches = iter(fixed)
    for message in (item.message for item in view.received):
        reach = next(reaches, 0) if isinstance(message, FixedFactor) else 0
        if isinstance(message, FixedFactor) and reach:
            numbers += _by_value(message.matrix, key, reach)
        elif not isinstance(message, BlindedTests):
            for leaf in leaves(message):
                if isinstance(leaf, Ciphertext):
                    numbers += _by_scale(leaf, key)
    return numbers


def _by_value(tensor: Ciphertext, key: SecretKey, reach: int) -> list[int]:
    slots, layout = tensor.slots, tensor.layout
    assert slots is not None
    values = []
    for line in range(layout.lines):
        step = layout.line_ciphertexts
        residues = decrypt_residues(key, tensor)[line * step : (line + 1) * step]
        digits = [
            int(m) >> slots.width * slot & ((1 << slots.width) - 1)
            for m in residues
            for slot in range(slots.count)
        ]
        values += digits[: layout.line_values]
    return [(value % (1 << reach) << NOISE_BITS) >> reach for value in values]


def _by_scale(tensor: Ciphertext, key: SecretKey) -> list[int]:
    if tensor.layout.covered:
        modulus = key.public.modulus
        return [(int(m) << NOISE_BITS) // modulus for m in decrypt_residues(key, tensor)]
    reach = tensor.scale.bound.bit_length() - 1
    values = decrypt(key, tensor).integers.ravel().tolist()
    return [(int(value) % (1 << reach) << NOISE_BITS) >> reach for value in values]
