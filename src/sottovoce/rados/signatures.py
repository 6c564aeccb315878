"""Signatures σ ∈ {−1, 1}^m: which edge vectors a rado adds up, block by block and never whole.

A thousand signatures of a million documents are a billion signs. They are drawn (or sliced, if they
were given) in blocks of documents, and a random block can be drawn again from its seed. So no array
of size n×m is ever in memory.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import Entropy
from sottovoce.errors import InputError, MismatchError
from sottovoce.rados.rows import Discreet

Signs: TypeAlias = NDArray[np.int8]

# Signs in one block: two million bytes, sixteen million as floats in a product.
BLOCK_SIGNS = 2**21
# Signatures differ already in their first signs, drawn as one integer of this many bits.
LEADING_BITS = 62


class Signatures(ABC):
    """`count` signatures of `documents` documents, read in blocks of columns."""

    count: int
    documents: int

    @abstractmethod
    def blocks(self) -> Iterator[tuple[slice, Signs]]:
        """A slice of the documents and their signs (count × width), in order."""

    def whole(self) -> Signs:
        """All signs at once, count × documents: for small examples."""
        parts = [signs for _, signs in self.blocks()]
        return np.concatenate([np.empty((self.count, 0), np.int8), *parts], axis=1)


@dataclass(frozen=True, repr=False)
class GivenSignatures(Discreet, Signatures):
    """Signatures that somebody chose: an array of −1 and +1, one row per rado."""

    signs: Signs
    count: int = field(init=False)
    documents: int = field(init=False)

    @classmethod
    def of(cls, signs: Any) -> Self:
        """Check that `signs` is a matrix of −1 and +1 with at least one row."""
        given = np.asarray(signs)
        if given.ndim != 2:
            raise InputError(f"signatures: expected a matrix, found {given.ndim} dimension(s)")
        if given.shape[0] == 0:
            raise InputError("rados: expected at least 1 rado, found 0")
        if not np.isin(given, (-1, 1)).all():
            raise InputError("signatures: expected signs -1 and 1 alone")
        return cls(given.astype(np.int8))

    def __post_init__(self) -> None:
        """Take the sizes from the signs."""
        object.__setattr__(self, "count", self.signs.shape[0])
        object.__setattr__(self, "documents", self.signs.shape[1])

    def blocks(self) -> Iterator[tuple[slice, Signs]]:
        """Slices of what was given."""
        width = max(1, BLOCK_SIGNS // self.count)
        for start in range(0, self.documents, width):
            part = slice(start, min(start + width, self.documents))
            yield part, self.signs[:, part]


@dataclass(frozen=True)
class RandomSignatures(Signatures):
    """Uniform signatures, pairwise distinct, that can be drawn again from their seed."""

    count: int
    documents: int
    seed: int = field(repr=False)
    # The leading signs of a signature that must not be drawn, as bits; −1 where every one may.
    excluded: int = field(default=-1, repr=False)

    @classmethod
    def draw(
        cls, count: int, documents: int, *, rng: np.random.Generator, exclude: Any = None
    ) -> Self:
        """`count` distinct signatures; `exclude` is one more that none of them may equal."""
        if count < 1:
            raise InputError(f"rados: expected at least 1 rado, found {count}")
        if documents < 1:
            raise InputError(f"rados: expected at least 1 document, found {documents}")
        excluded = -1 if exclude is None else _leading(np.asarray(exclude), documents)
        available = 2 ** min(documents, LEADING_BITS) - (exclude is not None)
        if count > available:
            raise InputError(
                f"rados: expected at most {available} distinct rados of {documents} document(s), "
                f"found {count}",
                hints=("ask for fewer rados, or use exact moments, which cover all of them",),
            )
        return cls(count, documents, int(rng.integers(2**63)), excluded)

    def blocks(self) -> Iterator[tuple[slice, Signs]]:
        """Distinct leading signs first, then blocks of independent ones."""
        lead = min(self.documents, LEADING_BITS)
        yield slice(0, lead), self._lead(lead)
        width = max(8, BLOCK_SIGNS // self.count // 8 * 8)
        for start in range(lead, self.documents, width):
            part = slice(start, min(start + width, self.documents))
            rng = np.random.default_rng([self.seed, start])
            packed = rng.integers(256, size=(self.count, width // 8), dtype=np.uint8)
            yield part, _signs(np.unpackbits(packed, axis=1, count=part.stop - part.start))

    def _lead(self, width: int) -> Signs:
        rng = np.random.default_rng([self.seed, 0])
        pool = 2**width - (self.excluded >= 0)
        values = rng.choice(pool, size=self.count, replace=False)
        # The pool lacks one value: what would reach it or more stands one higher.
        values = values + (values >= self.excluded) if self.excluded >= 0 else values
        shifts = np.arange(width)
        return _signs(((values[:, np.newaxis] >> shifts) & 1).astype(np.uint8))


@dataclass(frozen=True, repr=False)
class ChosenSignatures(Discreet, Signatures):
    """Some of a set of signatures, by their number."""

    source: Signatures
    chosen: NDArray[np.intp]
    count: int = field(init=False)
    documents: int = field(init=False)

    def __post_init__(self) -> None:
        """Take the sizes from the source and the choice."""
        object.__setattr__(self, "count", len(self.chosen))
        object.__setattr__(self, "documents", self.source.documents)

    def blocks(self) -> Iterator[tuple[slice, Signs]]:
        """The source's blocks, these rows only."""
        for part, signs in self.source.blocks():
            yield part, signs[self.chosen]


def _signs(bits: NDArray[np.uint8]) -> Signs:
    return 2 * bits.astype(np.int8) - np.int8(1)


def _leading(signs: Any, documents: int) -> int:
    if signs.shape != (documents,):
        raise MismatchError(f"signature: expected {documents} signs, found shape {signs.shape}")
    lead = signs[:LEADING_BITS] > 0
    return int(sum(1 << place for place, positive in enumerate(lead) if positive))


def draw_signs(count: int, documents: int, *, entropy: Entropy) -> NDArray[np.int64]:
    """Draw uniform signatures from entropy for secrets; an intermediary does not keep them."""
    if count < 1 or documents < 1:
        raise InputError(
            f"rados: expected at least 1 rado of 1 document, found {count} of {documents}"
        )
    bits = entropy.bits(count * documents)
    drawn = [1 if bits >> place & 1 else -1 for place in range(count * documents)]
    return np.array(drawn, dtype=np.int64).reshape(count, documents)
