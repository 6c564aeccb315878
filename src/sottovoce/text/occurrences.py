"""Turns documents into feature ids, a chunk at a time; every distinct piece is read once.

A token costs one look-up in a table: a piece's folded tokens and their hashes are remembered, and
the rest is arithmetic on arrays. The memory is bounded; what is forgotten is computed again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sottovoce.text.dictionary.hashing import DictionaryKey, Ids, mixed
from sottovoce.text.documents import Document, Fragment
from sottovoce.text.reading import Reading

Numbers = NDArray[np.int64]

REMEMBERED = 1 << 17


@dataclass(frozen=True, eq=False, repr=False)
class Occurrences:
    """Each occurrence of a feature in a chunk: the row it is in, and its 64-bit id."""

    rows: Numbers
    ids: Ids
    places: list[list[Fragment]]
    """The parts of each document that its rows stand for."""
    singles: int = 0
    """So many of the occurrences are single words; these come first."""

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(map(len, self.places))

    @property
    def documents(self) -> Numbers:
        """The number of each row's document in the chunk."""
        return np.repeat(np.arange(len(self.places)), [len(places) for places in self.places])


@dataclass(frozen=True, repr=False)
class _Ragged:
    """Lists of ids of different lengths, one list for each piece."""

    lengths: Numbers
    starts: Numbers
    flat: Ids

    @classmethod
    def empty(cls) -> "_Ragged":
        nothing = np.zeros(0, np.int64)
        return cls(nothing, nothing, np.zeros(0, np.uint64))

    def extended(self, lengths: Numbers, flat: Ids) -> "_Ragged":
        """Return the lists with more of these lengths, whose ids are in `flat`."""
        starts = len(self.flat) + np.cumsum(lengths) - lengths
        return _Ragged(
            np.concatenate([self.lengths, lengths]),
            np.concatenate([self.starts, starts]),
            np.concatenate([self.flat, flat]),
        )

    def gather(self, numbers: Numbers, rows: Numbers) -> tuple[Numbers, Ids]:
        """Return the ids of the pieces `numbers`, in order, each with its piece's row."""
        lengths = self.lengths[numbers]
        total = int(lengths.sum())
        before = np.cumsum(lengths) - lengths
        where = np.arange(total) + np.repeat(self.starts[numbers] - before, lengths)
        return np.repeat(rows, lengths), self.flat[where]


def distinct(values: Numbers) -> tuple[Numbers, Numbers]:
    """Return the distinct values in ascending order, and how often each occurs.

    It sorts, which for integers is several times faster than numpy's own function.
    """
    ordered = np.sort(values)
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])
    return ordered[starts], np.diff(starts, append=len(ordered))


class _Numbering(dict[str, int]):
    """Numbers of pieces; a new piece gets the next number and is folded later."""

    def __init__(self) -> None:
        super().__init__()
        self.fresh: list[str] = []

    def __missing__(self, piece: str) -> int:
        number = self[piece] = len(self)
        self.fresh.append(piece)
        return number


class PieceMemory:
    """The folded tokens and the hashes of each piece, for one reading under one key."""

    def __init__(self, reading: Reading, key: DictionaryKey, *, limit: int = REMEMBERED) -> None:
        """Start empty; at most about `limit` pieces are remembered."""
        self._reading, self._key = reading, key
        self._word_ids, self._part_ids = key.word_ids(), key.part_ids()
        self._limit = limit
        self._numbering = _Numbering()
        self._tokens, self._parts = _Ragged.empty(), _Ragged.empty()
        self._characters = 0
        # Words have stretches in common, so each stretch is hashed once.
        self._stretches, self._stretch_ids = _Numbering(), np.zeros(0, np.uint64)

    @classmethod
    def suited(
        cls, memory: "PieceMemory | None", reading: Reading, key: DictionaryKey
    ) -> "PieceMemory":
        """Return this memory if it fits this reading and key, else a new one."""
        return memory if memory is not None and memory.is_of(reading, key) else cls(reading, key)

    def is_of(self, reading: Reading, key: DictionaryKey) -> bool:
        """Return whether this memory is for this reading and key."""
        return (self._reading, self._key) == (reading, key)

    def read(self, documents: Sequence[Document]) -> Occurrences:
        """Return the features of a chunk of documents, at the reading's level."""
        if len(self._numbering) > self._limit or self._characters > 64 * self._limit:
            self._forget()
        number, rows_of = self._numbering.__getitem__, self._reading.rows
        places, lengths = [], []
        flat: list[int] = []
        for document in documents:
            read = rows_of(document)
            for row in read:
                # Fold now, while the pieces are still in the cache.
                flat += map(number, row.pieces)
                lengths.append(len(row.pieces))
            places.append([row.place for row in read])
        self._learn()
        numbers = np.fromiter(flat, np.int64, len(flat))
        of_piece = np.repeat(np.arange(len(lengths)), lengths)
        words = self._words(*self._tokens.gather(numbers, of_piece))
        singles = len(words[0][0]) if self._reading.shortest == 1 else 0
        if self._reading.has_parts:
            words.append(self._parts.gather(numbers, of_piece))
        of_feature = np.concatenate([rows for rows, _ in words])
        ids = np.concatenate([ids for _, ids in words])
        return Occurrences(of_feature, ids, places, singles)

    def _words(self, rows: Numbers, ids: Ids) -> list[tuple[Numbers, Ids]]:
        words = []
        grams, of_gram = ids, rows
        for size in range(1, self._reading.longest + 1):
            if size > 1:
                # A gram of this size starts at a word if its last word is in the same row.
                grams, of_gram = mixed(grams[:-1], ids[size - 1 :]), of_gram[:-1]
            inside = of_gram == rows[size - 1 :]
            if size >= self._reading.shortest:
                words.append((of_gram[inside], grams[inside]))
        return words

    def _learn(self) -> None:
        fresh, self._numbering.fresh = self._numbering.fresh, []
        if not fresh:
            return
        self._characters += sum(map(len, fresh))
        folded = list(map(self._reading.fold, fresh))
        words = self._word_ids(chain.from_iterable(folded))
        self._tokens = self._tokens.extended(_lengths(folded), words)
        if self._reading.has_parts:
            parts = self._reading.parts
            stretches = [[part for token in piece for part in parts(token)] for piece in folded]
            ids = self._hashed(list(chain.from_iterable(stretches)))
            self._parts = self._parts.extended(_lengths(stretches), ids)

    def _hashed(self, stretches: list[str]) -> Ids:
        if len(self._stretches) > self._limit:
            self._stretches, self._stretch_ids = _Numbering(), self._stretch_ids[:0]
        numbers = list(map(self._stretches.__getitem__, stretches))
        fresh, self._stretches.fresh = self._stretches.fresh, []
        self._stretch_ids = np.concatenate([self._stretch_ids, self._part_ids(fresh)])
        return self._stretch_ids[np.array(numbers, np.int64)]

    def _forget(self) -> None:
        self._numbering = _Numbering()
        self._tokens, self._parts = _Ragged.empty(), _Ragged.empty()
        self._characters = 0


def _lengths(lists: Sequence[Sequence[str]]) -> Numbers:
    return np.fromiter(map(len, lists), np.int64, len(lists))
