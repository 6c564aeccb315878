"""From documents to sparse rows of features: unit length to learn from, integers to score with.

A row is tf·idf over the dictionary's features (tf capped, idf rounded to 0.5),
scaled to unit length, then the further columns, then a bias. Scoring encrypted
models multiplies whole numbers only, so the same row exists as integers:

    score · norm  =  Σ tf_j · (idf_j θ_j)  +  norm · (Σ c_j θ_j + bias · θ_bias)

where the norm is rounded to 1/16 and the brackets are folded into θ beforehand
(`FeatureSpace.factors`). A document without any known feature has norm 1, so
that it gets the label that the bias alone gives.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.errors import InputError
from sottovoce.text.columns import GRID, Column, encode_columns
from sottovoce.text.dictionaries import Dictionary
from sottovoce.text.documents import Document, Fragment
from sottovoce.text.fingerprints import fingerprint
from sottovoce.text.hashing import PUBLIC, DictionaryKey
from sottovoce.text.occurrences import Numbers, Occurrences, PieceMemory, distinct
from sottovoce.text.reading import Reading

Floats = NDArray[np.float64]

NORM_PARTS = 16
"""Norms are rounded to 1/16."""


@dataclass(frozen=True, slots=True)
class Weighting:
    """How occurrences weigh: tf counts up to `tf_cap`; `idf` off and cap 1 is one-hot."""

    tf_cap: int = 3
    idf: bool = True
    bias: float = 0.3

    def __post_init__(self) -> None:
        if not (1 <= self.tf_cap <= 255 and 0 <= self.bias <= 16):
            raise InputError(
                "weighting: expected a tf cap from 1 to 255 and a bias from 0 to 16, "
                f"found {self.tf_cap} and {self.bias:g}"
            )


ONE_HOT = Weighting(tf_cap=1, idf=False)


@dataclass(frozen=True, slots=True)
class FeatureSpace:
    """What the columns of a row mean: dictionary, then further columns, then bias."""

    dictionary: Dictionary
    reading: Reading = field(default_factory=Reading)
    weighting: Weighting = field(default_factory=Weighting)
    columns: tuple[Column, ...] = ()

    @property
    def width(self) -> int:
        """How many columns a row has."""
        return self.dictionary.size + sum(column.width for column in self.columns) + 1

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits that name this space; equal at every site of a study."""
        parts = (self.dictionary.fingerprint, self.reading.fingerprint)
        return fingerprint("sottovoce/features/v1", *parts, self.weighting, self.columns)

    @property
    def halves(self) -> Numbers:
        """Twice the idf of each feature of the dictionary."""
        halves = self.dictionary.idf_halves if self.weighting.idf else (2,) * self.dictionary.size
        return np.array(halves, np.int64)

    @property
    def factors(self) -> Floats:
        """What each column's θ is multiplied by before integers are scored with it."""
        further = self.width - 1 - self.dictionary.size
        return np.concatenate(
            [
                self.halves / 2,
                np.full(further, 1 / (NORM_PARTS * GRID)),
                [self.weighting.bias / NORM_PARTS],
            ]
        )


@dataclass(frozen=True, eq=False, repr=False)
class FeatureRows:
    """Rows of a chunk, before weighting: capped tf, norms, further columns, and where they lay."""

    weighting: Weighting
    halves: Numbers
    """Twice the idf of each feature of the dictionary."""
    tf: sparse.csr_array
    squares: Numbers
    """Four times the squared norm of each row's tf·idf: a whole number."""
    further: Numbers
    places: list[list[Fragment]]
    """For each document the parts of it that its rows stand for."""

    @property
    def norms(self) -> Floats:
        """The length of each row's tf·idf; 1 where there is nothing."""
        return np.where(self.squares > 0, np.sqrt(self.squares) / 2, 1.0)

    @property
    def rounded_norms(self) -> Numbers:
        """The norms in sixteenths."""
        return np.rint(NORM_PARTS * self.norms).astype(np.int64)

    def unit(self) -> sparse.csr_array:
        """The rows to learn from: unit length, further columns, bias."""
        lengths = np.diff(self.tf.indptr)
        weights = self.halves[self.tf.indices] / 2
        data = self.tf.data * weights / np.repeat(self.norms, lengths)
        text = sparse.csr_array((data, self.tf.indices, self.tf.indptr), shape=self.tf.shape)
        bias = np.full((text.shape[0], 1), self.weighting.bias)
        return _beside(text, np.hstack([self.further / GRID, bias]))

    def integers(self) -> sparse.csr_array:
        """The rows to score with: whole numbers, to be multiplied by `factors` · θ."""
        norms = self.rounded_norms[:, np.newaxis]
        return _beside(self.tf, np.hstack([norms * self.further, norms]))


def _beside(text: sparse.csr_array, rest: NDArray[Any]) -> sparse.csr_array:
    return sparse.csr_array(sparse.hstack([text, sparse.csr_array(rest)], format="csr"))


class FeatureReader:
    """Reads documents into rows of one feature space under one key."""

    def __init__(
        self,
        space: FeatureSpace,
        key: DictionaryKey = PUBLIC,
        *,
        memory: PieceMemory | None = None,
    ) -> None:
        """Prepare the dictionary's table; a `memory` of pieces that were read before saves time."""
        self._space = space
        self._locate = space.dictionary.locator(space.reading, key)
        self._memory = PieceMemory.suited(memory, space.reading, key)
        self._halves = space.halves

    def read(self, documents: Sequence[Document]) -> FeatureRows:
        """The rows of a chunk of documents, in order."""
        found = self._memory.read(documents)
        tf = self._tf(found)
        weights = tf.data * self._halves[tf.indices]
        of_entry = np.repeat(np.arange(found.count), np.diff(tf.indptr))
        # Sums of whole numbers below 2^53: exact in floating point.
        squares = np.bincount(of_entry, weights * weights, minlength=found.count).astype(np.int64)
        further = encode_columns(self._space.columns, documents)[found.documents]
        return FeatureRows(self._space.weighting, self._halves, tf, squares, further, found.places)

    def _tf(self, found: Occurrences) -> sparse.csr_array:
        width = self._space.dictionary.size
        columns = self._locate(found.ids)
        known = columns >= 0
        entries, counts = distinct(found.rows[known] * width + columns[known])
        ends = np.searchsorted(entries, np.arange(1, found.count + 1) * width)
        indptr = np.concatenate([[0], ends]).astype(np.int32)
        tf = np.minimum(counts, self._space.weighting.tf_cap).astype(np.int64)
        indices = (entries % width).astype(np.int32)
        return sparse.csr_array((tf, indices, indptr), shape=(found.count, width))
