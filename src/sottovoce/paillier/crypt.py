"""Encrypting under a key, and decrypting with its secret half."""

from collections.abc import Sequence

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.errors import BoundError, InputError, MismatchError, MisuseError
from sottovoce.numbers.fixed import INT64_BOUND, Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier.layout import Layout, check_room
from sottovoce.paillier.plain import Plain
from sottovoce.paillier.pool import Key, Pool, public_of, randomisers_for
from sottovoce.paillier.secret import SecretKey
from sottovoce.paillier.tensors import Ciphertext, Encrypted, ForKeyHolder, mint_unchecked


def encrypt(
    key: Key,
    plain: Plain,
    *,
    entropy: Entropy | Pool,
    slots: Slots | None = None,
    symmetric: bool = False,
) -> Ciphertext:
    """The plaintext under `key`, packed into `slots` if given; a symmetric matrix by its triangle.

    The owner passes its secret key, which takes a quarter of the time.
    """
    if not isinstance(plain, Plain):
        raise InputError(
            f"encrypt: expected a Plain, found a {type(plain).__name__}",
            hints=("encrypt(key, Plain.of(numbers, Scale(fraction_bits=20, bound=2**40)), …)",),
        )
    public, layout = public_of(key), Layout(plain.shape, slots, symmetric)
    scale = check_room(public, layout, plain.scale, "encrypt")
    embedded = public.embedded(layout.pack(plain.integers))
    if isinstance(key, SecretKey) and not isinstance(entropy, Pool):
        randomisers = key.randomisers(len(embedded), entropy=entropy)
    else:
        randomisers = randomisers_for(public, len(embedded), entropy=entropy)
    return mint_unchecked(public, public.square.multiplied(embedded, randomisers), layout, scale)


def encrypt_elements(
    key: SecretKey,
    elements: Sequence[int],
    layout: Layout,
    *,
    fraction_bits: int,
    entropy: Entropy,
) -> Ciphertext:
    """Elements of Z_N, one for each ciphertext of `layout`, which is marked as covered."""
    public = key.public
    residues = public.square.multiplied(
        public.embedded(elements), key.randomisers(len(elements), entropy=entropy)
    )
    scale = Scale(fraction_bits, public.plaintext_bound)
    return mint_unchecked(public, residues, layout.cover(), scale)


def decrypt(key: SecretKey, tensor: Encrypted) -> Plain:
    """The exact integers with their scale (`.floats()` reads them as real numbers)."""
    if tensor.layout.covered:
        raise MisuseError(
            "decrypt: this tensor carries masks, its numbers have no sign, slots or scale",
            hints=("use decrypt_residues",),
        )
    modulus, bound = key.public.plaintexts, key.public.plaintext_bound
    centred = [m - modulus if m > bound else m for m in decrypt_residues(key, tensor)]
    try:
        plain = Plain(tensor.layout.unpack(centred), tensor.scale)
    except BoundError:
        # The check's own error would show the decrypted number.
        raise BoundError(
            f"decrypt: a number is over its slot or over the bound of {tensor}"
        ) from None
    if tensor.scale.bound <= INT64_BOUND:
        return Plain(plain.integers.astype(np.int64), tensor.scale)
    return plain


def decrypt_residues(key: SecretKey, tensor: Encrypted) -> list[int]:
    """Return one element 0 <= m < N for each ciphertext, for ciphertexts under uniform masks."""
    if key.public != tensor.key:
        raise MismatchError(f"decrypt: keys differ, {key.public} beside {tensor.key}")
    return key.residues(tensor.residues, uniform=isinstance(tensor, ForKeyHolder))
