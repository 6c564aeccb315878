"""Turns documents into sparse rows of features: of unit length to train, of integers to score.

A row is tf·idf over the dictionary's features and the tail (tf capped, idf rounded
to 0.5), by default scaled to unit length, then encoder and kernel columns
(blocks.py), the further columns, and a bias. Scoring encrypted models multiplies whole numbers
only, so the same row exists as integers:

    score · norm  =  Σ tf_j · (idf_j θ_j)  +  norm · (Σ c_j u_j θ_j + bias · θ_bias)

where u is a column's unit, the norm is rounded to 1/16 and everything else is folded into θ
beforehand (`FeatureSpace.factors`). A document without any known feature has norm 1, so it gets the
label that the bias gives.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.errors import InputError
from sottovoce.hints import PlanSetting
from sottovoce.text.blocks import GRID_BITS, WORDS_ALONE, Blocks, tail_places
from sottovoce.text.columns import GRID, ROW, Column, encode_columns
from sottovoce.text.dictionary.dictionaries import Dictionary, GivenDictionary
from sottovoce.text.dictionary.hashing import PUBLIC, DictionaryKey
from sottovoce.text.documents import Document, Fragment
from sottovoce.text.fingerprints import fingerprint
from sottovoce.text.occurrences import Numbers, Occurrences, PieceMemory, distinct
from sottovoce.text.own_scores import TAIL, OwnScores
from sottovoce.text.reading import Reading

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]

_UNIT_SQUARE = 4
NORM_PARTS = 16
"""Norms are rounded to 1/16."""


@dataclass(frozen=True, slots=True)
class Weighting:
    """The weights of occurrences: tf counts up to `tf_cap`; `idf` off and cap 1 is one-hot.

    Rows are `scaled` to unit length; without that (and then without idf) they keep their counts.
    """

    tf_cap: int = 3
    idf: bool = True
    bias: float = 0.3
    scaled: bool = True

    def __post_init__(self) -> None:
        if not (1 <= self.tf_cap <= 255 and 0 <= self.bias <= 16):
            raise InputError(
                "weighting: expected a tf cap from 1 to 255 and a bias from 0 to 16, "
                f"found {self.tf_cap} and {self.bias:g}",
                setting="tf_cap",
            )
        if self.idf and not self.scaled:
            raise InputError(
                "weighting: expected rows that are not scaled to have no idf, found both",
                hints=(PlanSetting("idf", value=False),),
                setting="scaled",
            )


ONE_HOT = Weighting(tf_cap=1, idf=False, scaled=False)
"""The paper's features: a word is present or not, and rows are not scaled."""


@dataclass(frozen=True, slots=True)
class FeatureSpace:
    """What a row's columns stand for: dictionary, other blocks, further columns, bias."""

    dictionary: Dictionary
    reading: Reading = field(default_factory=Reading)
    weighting: Weighting = field(default_factory=Weighting)
    columns: tuple[Column, ...] = ()
    blocks: Blocks = field(default_factory=Blocks)
    own: OwnScores | None = field(default=None, repr=False, compare=False)
    """One site's own scores; without them these columns are zero."""

    @property
    def wide(self) -> "FeatureSpace":
        """What a site's own model sees of a document: the same words, and many more in a tail."""
        tail = Blocks(tail=TAIL, tail_idf=self.blocks.tail_idf, tail_of=self.blocks.tail_of)
        return FeatureSpace(self.dictionary, self.reading, self.weighting, blocks=tail)

    @property
    def name(self) -> tuple[str, str]:
        """A name that is equal for spaces that read alike at one site."""
        return self.fingerprint, "" if self.own is None else self.own.digest

    @property
    def width(self) -> int:
        """The number of columns of a row."""
        further = sum(column.width for column in self.columns)
        return self.dictionary.size + self.blocks.width + further + 1

    @property
    def has_text(self) -> bool:
        """Whether rows have text: a table has columns, and one word that all rows have."""
        return not self.columns or self.dictionary != GivenDictionary((ROW,))

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits that name this space; equal at every site of a study."""
        parts = (self.dictionary.fingerprint, self.reading.fingerprint)
        settings = (self.weighting, self.columns, self.blocks)
        return fingerprint("sottovoce/features/v2", *parts, *settings)

    @property
    def halves(self) -> Numbers:
        """Twice the idf of each feature of the dictionary, and of each column of the tail."""
        halves = (*self.dictionary.idf_halves, *self.blocks.tail_halves)
        return np.array(halves if self.weighting.idf else (2,) * len(halves), np.int64)

    @property
    def units(self) -> Floats:
        """The value of one unit for every column between the words and the bias."""
        further = sum(column.width for column in self.columns)
        return np.concatenate([self.blocks.units, np.full(further, 1 / GRID)])

    @property
    def factors(self) -> Floats:
        """The factor for each column's θ before integer rows are scored with it."""
        return np.concatenate(
            [self.halves / 2, self.units / NORM_PARTS, [self.weighting.bias / NORM_PARTS]]
        )


@dataclass(frozen=True, eq=False, repr=False)
class FeatureRows:
    """Rows of a chunk, before weighting: capped tf, norms, other columns, and their origins."""

    weighting: Weighting
    halves: Numbers
    """Twice the idf of each feature of the dictionary and of the tail."""
    units: Floats
    """The value of one unit, for every column between these and the bias."""
    tf: sparse.csr_array
    squares: Numbers
    """Four times the square of each row's divisor: the norm of its tf·idf, or 1."""
    further: Numbers
    places: list[list[Fragment]]
    """The parts of each document that its rows stand for."""

    @property
    def norms(self) -> Floats:
        """Return the divisor of each row's tf·idf: its length; 1 for an empty row."""
        return _norms(self.squares)

    @property
    def rounded_norms(self) -> Numbers:
        """Return the norms in sixteenths."""
        return np.rint(NORM_PARTS * self.norms).astype(np.int64)

    def unit(self) -> sparse.csr_array:
        """Return the rows to train with: text of unit length, other columns, bias."""
        text = _unit_text(self.tf, self.halves, self.norms)
        bias = np.full((text.shape[0], 1), self.weighting.bias)
        return _beside(text, np.hstack([self.further * self.units, bias]))

    def integers(self) -> sparse.csr_array:
        """Return the integer rows to score with, to be multiplied by `factors` · θ."""
        norms = self.rounded_norms[:, np.newaxis]
        return _beside(self.tf, np.hstack([norms * self.further, norms]))


def _norms(squares: Numbers) -> Floats:
    return np.where(squares > 0, np.sqrt(squares) / 2, 1.0)


def _unit_text(tf: sparse.csr_array, halves: Numbers, norms: Floats) -> sparse.csr_array:
    """Return words and tail of each row, scaled to unit length."""
    data = tf.data * (halves[tf.indices] / 2) / np.repeat(norms, np.diff(tf.indptr))
    return sparse.csr_array((data, tf.indices, tf.indptr), shape=tf.shape)


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
        kept: Marks | None = None,
    ) -> None:
        """Prepare the dictionary's table; a `memory` of pieces read before saves time.

        `kept` marks the columns, without the bias, that rows may have; all others are read as zero.
        """
        self._space = space
        self._locate = space.dictionary.locator(space.reading, key)
        self._memory = PieceMemory.suited(memory, space.reading, key)
        self._halves = space.halves
        self._kept = np.ones(space.width - 1, np.bool_) if kept is None else kept
        self._wide = None
        if space.own is not None and space.blocks.own_scores:
            self._wide = FeatureReader(space.wide, key, memory=self._memory)

    def read(self, documents: Sequence[Document]) -> FeatureRows:
        """Return the rows of a chunk of documents, in order."""
        occurrences = self._memory.read(documents)
        tf = self._tf(occurrences)
        weights = tf.data * self._halves[tf.indices]
        of_entry = np.repeat(np.arange(occurrences.count), np.diff(tf.indptr))
        # Sums of integers below 2^53 are exact in floating point.
        squares = np.bincount(of_entry, weights * weights, minlength=occurrences.count).astype(
            np.int64
        )
        space = self._space
        if not space.weighting.scaled:
            squares = np.full_like(squares, _UNIT_SQUARE)
        further = encode_columns(space.columns, documents)[occurrences.documents]
        if space.blocks.own_scores:
            further = np.hstack([self._own_scores(documents, occurrences.count), further])
        if space.blocks.mapped:
            texts = list(space.reading.seen_from(documents, occurrences.places))
            text = _unit_text(tf, self._halves, _norms(squares))
            further = np.hstack([space.blocks.encoded(texts, text), further])
        further = further * self._kept[tf.shape[1] :]
        return FeatureRows(
            space.weighting, self._halves, space.units, tf, squares, further, occurrences.places
        )

    def _own_scores(self, documents: Sequence[Document], rows: int) -> Numbers:
        """Return the scores of the site's own model, a row for each document."""
        if self._wide is None or self._space.own is None:
            return np.zeros((rows, self._space.blocks.own_scores), np.int64)
        seen = self._wide.read(documents).unit()
        return self._space.own.units(seen, documents, bits=GRID_BITS)

    def presence(self, documents: Sequence[Document]) -> tuple[Numbers, Numbers]:
        """Return the pairs of a document and a column that is not zero in it, each once.

        Encoder columns are left out, because every document has all of them.
        """
        occurrences, width = self._memory.read(documents), self._space.width
        tf = self._tf(occurrences)
        of_entry = np.repeat(np.arange(occurrences.count), np.diff(tf.indptr))
        further = encode_columns(self._space.columns, documents)
        having, columns = further.nonzero()
        columns = columns + (width - 1 - further.shape[1])
        cells = (occurrences.documents[of_entry] * width + tf.indices, having * width + columns)
        pairs, _ = distinct(np.concatenate(cells))
        return pairs // width, pairs % width

    def _tf(self, occurrences: Occurrences) -> sparse.csr_array:
        size, tail = self._space.dictionary.size, self._space.blocks.tail
        cap, width = self._space.weighting.tf_cap, size + tail
        columns = self._locate(occurrences.ids)
        known = (columns >= 0) & self._kept[columns]
        entries, counts = distinct(occurrences.rows[known] * width + columns[known])
        if tail:
            # A word whose own column is left out does not go into the tail either.
            rest = columns < 0
            if self._space.blocks.tail_of == WORDS_ALONE:
                rest[occurrences.singles :] = False
            places, signs = tail_places(occurrences.ids[rest], tail)
            kept = self._kept[size + places]
            cells = occurrences.rows[rest] * width + size + places
            other, sums = _signed(cells[kept], signs[kept])
            entries, counts = np.concatenate([entries, other]), np.concatenate([counts, sums])
            order = np.argsort(entries)
            entries, counts = entries[order], counts[order]
        ends = np.searchsorted(entries, np.arange(1, occurrences.count + 1) * width)
        indptr = np.concatenate([[0], ends]).astype(np.int32)
        tf = np.clip(counts, -cap, cap).astype(np.int64)
        indices = (entries % width).astype(np.int32)
        return sparse.csr_array((tf, indices, indptr), shape=(occurrences.count, width))


def _signed(cells: Numbers, signs: Numbers) -> tuple[Numbers, Numbers]:
    """Return distinct cells and their sums of signs, without sums of 0 (words may cancel)."""
    places, of_cell = np.unique(cells, return_inverse=True)
    sums = np.bincount(of_cell, signs, minlength=len(places)).astype(np.int64)
    return places[sums != 0], sums[sums != 0]
