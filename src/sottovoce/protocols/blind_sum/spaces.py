"""Spaces for blind sums: words mod 2^64, and ciphertexts under masks mod N."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import Entropy
from sottovoce.errors import MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Ciphertext, Encrypted, Layout, Plain, PublicKey, Unsent, encrypt
from sottovoce.protocols.ciphertexts import CiphertextBytes
from sottovoce.wire import Words

V = TypeVar("V")
Form: TypeAlias = Words | CiphertextBytes

# Masks are added block by block, so that a block is still in the cache when it is added.
_BLOCK = 2**15


class Mask(ABC):
    """A sum of streams in one space; starts at zero."""

    @abstractmethod
    def add(self, stream: Entropy, sign: int) -> None:
        """Add the next elements of a stream (sign 1), or subtract them (sign −1)."""

    @abstractmethod
    def join(self, other: Any) -> None:
        """Add another mask of the same space."""

    @abstractmethod
    def negated(self) -> "Mask":
        """The mask that takes this one off."""


class Space(ABC, Generic[V]):
    """A group of vectors: how a value is covered, sent, added and uncovered."""

    @abstractmethod
    def mask(self) -> Any:
        """A mask that is still zero."""

    @abstractmethod
    def cover(self, value: V, mask: Any, *, entropy: Entropy) -> Form:
        """The value plus the mask, as it travels; `MismatchError` if the value does not belong."""

    @abstractmethod
    def written(self, value: V) -> bytes | memoryview:
        """Return the value as bytes, to derive randomness from; they are never sent."""

    @abstractmethod
    def check(self, form: Form) -> None:
        """Raise `MismatchError` if this cannot be a covered value of this space."""

    @abstractmethod
    def total(self, forms: Sequence[Form], mask: Any, *, count: int) -> V:
        """Return the sum of `count` values from their covered forms and the mask left on them."""

    @abstractmethod
    def nothing(self, *, entropy: Entropy) -> V:
        """The value that changes no sum."""

    @abstractmethod
    def add(self, left: Form, other: Form, *, entropy: Entropy) -> Form:
        """The sum of two covered forms, as it travels."""

    @abstractmethod
    def ideal(self, values: Sequence[V]) -> V:
        """The sum that a trusted friend would compute."""


@dataclass(repr=False)
class WordMask(Mask):
    """A mask mod 2^64."""

    words: NDArray[np.uint64]

    def add(self, stream: Entropy, sign: int) -> None:
        """Add or subtract the next words of a stream."""
        flat = self.words.reshape(-1)
        drawn = np.empty(min(flat.size, _BLOCK), "<u8")
        for start in range(0, flat.size, _BLOCK):
            block = flat[start : start + _BLOCK]
            part = drawn[: block.size]
            stream.fill(part)
            if sign > 0:
                block += part
            else:
                block -= part

    def join(self, other: "WordMask") -> None:
        """Add another mask."""
        self.words += other.words

    def negated(self) -> "WordMask":
        """The mask that takes this one off."""
        return WordMask(np.negative(self.words))


@dataclass(frozen=True)
class WordSpace(Space[NDArray[np.uint64]]):
    """Arrays of 64-bit words of one shape: shares, counts."""

    shape: tuple[int, ...]

    def mask(self) -> WordMask:
        """A mask that is still zero."""
        return WordMask(np.zeros(self.shape, np.uint64))

    def cover(self, value: NDArray[np.uint64], mask: WordMask, *, entropy: Entropy) -> Words:
        """The words plus the mask."""
        del entropy
        if value.dtype != np.uint64 or value.shape != self.shape:
            raise MismatchError(
                f"expected words of shape {self.shape}, found {value.dtype} of {value.shape}"
            )
        return Words.viewing(value + mask.words)

    def written(self, value: NDArray[np.uint64]) -> memoryview:
        """Return a view of the words, without a copy."""
        return np.ascontiguousarray(value).reshape(-1).view(np.uint8).data

    def check(self, form: Form) -> None:
        """Refuse another shape."""
        if not isinstance(form, Words):
            raise MismatchError(f"expected Words, found {type(form).__name__}")
        if form.shape != self.shape:
            raise MismatchError(f"expected words of shape {self.shape}, found {form.shape}")

    def total(self, forms: Sequence[Form], mask: WordMask, *, count: int) -> NDArray[np.uint64]:
        """The sum mod 2^64."""
        del count
        total = np.negative(mask.words)
        for form in forms:
            assert isinstance(form, Words)
            total += form.array()
        return total

    def nothing(self, *, entropy: Entropy) -> NDArray[np.uint64]:
        """Zeros."""
        del entropy
        return np.zeros(self.shape, np.uint64)

    def add(self, left: Form, other: Form, *, entropy: Entropy) -> Words:
        """The sum mod 2^64."""
        del entropy
        return Words.of(self.total((left, other), self.mask(), count=2))

    def ideal(self, values: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
        """The sum mod 2^64."""
        total = np.zeros(self.shape, np.uint64)
        for value in values:
            total += value
        return total


@dataclass(repr=False)
class ResidueMask(Mask):
    """A mask mod N."""

    residues: list[int]
    modulus: int

    def add(self, stream: Entropy, sign: int) -> None:
        """Add or subtract the next residues of a stream."""
        self.residues = [
            (residue + sign * stream.below(self.modulus)) % self.modulus
            for residue in self.residues
        ]

    def join(self, other: "ResidueMask") -> None:
        """Add another mask."""
        pairs = zip(self.residues, other.residues, strict=True)
        self.residues = [(left + two) % self.modulus for left, two in pairs]

    def negated(self) -> "ResidueMask":
        """The mask that takes this one off."""
        return ResidueMask([-residue % self.modulus for residue in self.residues], self.modulus)


@dataclass(frozen=True)
class CiphertextSpace(Space[Encrypted]):
    """Tensors of ciphertexts under one key: one element of Z_N covers each of them.

    `scale` bounds one peer's values; the sum carries the bound for as many peers
    as were added, which must fit before anybody sends anything.
    """

    key: PublicKey
    layout: Layout
    scale: Scale

    def mask(self) -> ResidueMask:
        """A mask that is still zero."""
        return ResidueMask([0] * self.layout.ciphertexts, self.key.modulus)

    def cover(self, value: Encrypted, mask: ResidueMask, *, entropy: Entropy) -> CiphertextBytes:
        """The ciphertexts under the mask, re-randomised."""
        kind = (value.key, value.layout, value.scale)
        if kind != (self.key, self.layout, self.scale):
            raise MismatchError(
                f"expected ciphertexts of {self.layout} and {self.scale} under the {self.key}, "
                f"found {value}"
            )
        return CiphertextBytes(value.cover(mask.residues).fresh(entropy=entropy).to_bytes())

    def written(self, value: Encrypted) -> bytes:
        """Return the ciphertexts, concatenated."""
        width = -(-self.key.modulus.bit_length() // 4)
        return b"".join(int(residue).to_bytes(width) for residue in value.residues)

    def check(self, form: Form) -> None:
        """Refuse another key, layout or scale."""
        self._read(form)

    def total(self, forms: Sequence[Form], mask: ResidueMask, *, count: int) -> Unsent:
        """The encrypted sum."""
        total = self.ideal([self._read(form) for form in forms])
        return total.uncover(mask.residues, scale=self.scale.sum_of(count))

    def nothing(self, *, entropy: Entropy) -> Encrypted:
        """Encrypted zeros."""
        layout = self.layout
        zeros = Plain(np.zeros(layout.shape, np.int64), self.scale)
        return encrypt(
            self.key, zeros, entropy=entropy, slots=layout.slots, symmetric=layout.symmetric
        )

    def add(self, left: Form, other: Form, *, entropy: Entropy) -> CiphertextBytes:
        """The encrypted sum, re-randomised: it does not tell what was added."""
        total = self._read(left) + self._read(other)
        return CiphertextBytes(total.fresh(entropy=entropy).to_bytes())

    def ideal(self, values: Sequence[Encrypted]) -> Encrypted:
        """The encrypted sum."""
        total = values[0]
        for value in values[1:]:
            total = total + value
        return total

    def _read(self, form: Form) -> Ciphertext:
        if not isinstance(form, CiphertextBytes):
            raise MismatchError(f"expected CiphertextBytes, found {type(form).__name__}")
        ciphertext = Ciphertext.from_bytes(form.data, key=self.key)
        covered = self.layout.cover()
        if ciphertext.layout != covered:
            raise MismatchError(f"expected ciphertexts of {covered}, found {ciphertext.layout}")
        if ciphertext.scale != Scale(self.scale.fraction_bits, self.key.plaintext_bound):
            raise MismatchError(
                f"expected ciphertexts with {self.scale.fraction_bits} fraction bits, "
                f"found {ciphertext.scale}"
            )
        return ciphertext
