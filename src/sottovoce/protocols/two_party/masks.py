"""Masks that hide a number from the key holder, and how close to noise the result is.

There are two kinds. A mask uniform in Z_N over a whole ciphertext hides perfectly; it can be used
wherever the key holder only multiplies and adds. Where the key holder must see an integer (to
truncate it, or because a short mask is cheaper to remove), every value gets its own mask, uniform
below 2^(ℓ + κ) for |value| < 2^ℓ. What the key holder sees then is within 2^−κ of the mask alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import Entropy
from sottovoce.errors import InputError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.modular import Residue
from sottovoce.paillier import Encrypted, Plain

LEAST_KAPPA = 40


@dataclass(frozen=True, slots=True)
class Masking:
    """The number of bits by which masks on single values exceed the values: κ.

    Distances of 2^(1 − κ) add up over all values of a study, so κ is 64 by default, and 40 is for a
    few thousand values at most.
    """

    kappa: int = 64

    def __post_init__(self) -> None:
        if self.kappa < LEAST_KAPPA:
            raise InputError(
                f"masking: expected at least {LEAST_KAPPA} bits of κ, found {self.kappa}",
                hints=("use Masking(kappa=64)",),
            )

    def scale(self, hidden: Scale) -> Scale:
        """The scale of masks that hide values of the scale `hidden`."""
        return Scale(hidden.fraction_bits, (1 << hidden.bits + self.kappa) - 1)

    def over(self, hidden: Encrypted, *, entropy: Entropy) -> Plain:
        """A mask for every value of a tensor, each uniform below 2^(ℓ + κ)."""
        return self.draw(hidden.scale, hidden.shape, entropy=entropy)

    def draw(self, hidden: Scale, shape: tuple[int, ...], *, entropy: Entropy) -> Plain:
        """Masks of this shape for values of the scale `hidden`."""
        scale = self.scale(hidden)
        return Plain(filled([entropy.bits(scale.bits) for _ in range(size(shape))], shape), scale)


def elements(key_modulus: int, count: int, *, entropy: Entropy) -> list[int]:
    """Draw masks uniform in Z_N, one for each ciphertext."""
    return [entropy.below(key_modulus) for _ in range(count)]


def size(shape: tuple[int, ...]) -> int:
    """The number of values of a shape."""
    count = 1
    for side in shape:
        count *= side
    return count


def filled(values: Sequence[int], shape: tuple[int, ...]) -> NDArray[np.object_]:
    """Return Python integers as an array of this shape."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(shape)


def grid(tensor: Encrypted) -> list[list[Residue]]:
    """Return the ciphertexts of a tensor, row by row."""
    step = tensor.layout.line_ciphertexts
    return [
        list(tensor.residues[line * step : (line + 1) * step])
        for line in range(tensor.layout.lines)
    ]
