"""The passes over a site's documents: counting for the dictionary, reading for the learner.

Documents are streamed: memory holds the result and a few chunks, for any number of documents.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.errors import InputError
from sottovoce.text.chunks import CHUNK_CHARACTERS, chunked, in_order
from sottovoce.text.dictionary.counts import (
    BUCKET_BITS,
    Booleans,
    Counts,
    Distinct,
    Presence,
    Suppression,
    Tally,
    group_number,
)
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.documents import Document, Fragment
from sottovoce.text.features import FeatureReader, FeatureSpace
from sottovoce.text.fingerprints import fingerprint
from sottovoce.text.labelling import Labelling
from sottovoce.text.occurrences import Numbers, PieceMemory
from sottovoce.text.parts import PartedDocuments, summed
from sottovoce.text.reading import Level, Reading

# Adding a block to moments touches all d² numbers, so blocks are larger than chunks.
BLOCK_ROWS = 8_192
# Queries come in slices of 16,384 documents, which are enough chunks for workers.
ASKED_DOCUMENTS = 1_024


@dataclass(frozen=True, eq=False, repr=False)
class Examples:
    """Rows to train with and their ±1 targets, a column per class."""

    rows: sparse.csr_array
    targets: NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class CountPlan:
    """The settings of the counts for a joint dictionary, the same at every site."""

    labelling: Labelling
    reading: Reading = field(default_factory=Reading)
    suppression: Suppression = field(default_factory=Suppression)
    bits: int = BUCKET_BITS

    def __post_init__(self) -> None:
        self.labelling.check(self.reading.level)

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits that name this way of counting."""
        parts = (self.labelling.fingerprint, self.reading.fingerprint)
        return fingerprint("sottovoce/counts/v1", *parts, self.suppression, self.bits)


def count(
    documents: Iterable[Document],
    plan: CountPlan,
    *,
    key: DictionaryKey,
    memory: PieceMemory | None = None,
) -> Counts:
    """Count this peer's part of a joint dictionary; refuse a source without any word.

    `memory` keeps the pieces for the next pass over the same documents in this process.
    """
    job = _CountJob(plan, key, memory)
    if isinstance(documents, PartedDocuments):
        counting = summed(_CountSum(replace(job, memory=None)), documents)
    else:
        counting = _Counting.of(plan)
        for chunk in in_order(job, _chunks(documents, plan.reading.level)):
            counting.add(chunk)
    if not counting.words:
        raise InputError(
            f"counting: expected documents with words, found {counting.seen} documents and "
            "not one word",
            hints=("is --text the right column?",) if counting.seen else (),
        )
    return counting.tally.suppressed()


def count_classes(documents: Iterable[Document], labelling: Labelling) -> Counts:
    """Count rows by class without reading any word, at the level of documents."""
    rows, names = 0, len(labelling.labels.names)
    by_class = np.zeros(names, np.int64)
    for chunk in chunked(documents):
        whole = [[Fragment(0, len(document.text))] for document in chunk]
        membership = _membership(labelling, chunk, whole)
        rows, by_class = rows + len(membership), by_class + membership.sum(axis=0)
    nothing = np.zeros((names, 0), np.int64)
    return Counts(rows, by_class, nothing.sum(axis=0), nothing, nothing.sum(axis=0))


def rounded_count(
    documents: Iterable[Document],
    plan: CountPlan,
    *,
    key: DictionaryKey,
    memory: PieceMemory | None = None,
) -> Counts:
    """Return the rounded counts that leave the peer."""
    counts = count(documents, plan, key=key, memory=memory)
    return counts.rounded(exclusive=plan.labelling.labels.exclusive)


def examples(
    documents: Iterable[Document],
    space: FeatureSpace,
    labelling: Labelling,
    *,
    key: DictionaryKey,
    memory: PieceMemory | None = None,
) -> Iterator[Examples]:
    """Yield the documents' rows and targets, in order, in blocks of a good size for moments."""
    labelling.check(space.reading.level)
    chunks = _chunks(documents, space.reading.level)
    return _blocks(in_order(_ReadJob(space, labelling, key, memory), chunks))


def training_examples(
    documents: Sequence[Document],
    space: FeatureSpace,
    labelling: Labelling,
    *,
    fewest: int,
    key: DictionaryKey,
    memory: PieceMemory | None = None,
) -> Iterator[Examples]:
    """Yield one peer's rows to train with, without columns that fewer than `fewest` documents have.

    Otherwise a peer that gets such a column chosen could read the few documents that have it in the
    joint model.
    """
    labelling.check(space.reading.level)
    kept = kept_columns(documents, space, fewest=fewest, key=key, memory=memory)
    job = _ReadJob(space, labelling, key, memory, kept)
    return _blocks(in_order(job, _chunks(documents, space.reading.level)))


def scored_rows(
    documents: Iterable[Document], space: FeatureSpace, *, key: DictionaryKey
) -> tuple[sparse.csr_array, Booleans]:
    """Return integer rows for a query, and which of them have no known word."""
    chunks = chunked(documents, most=ASKED_DOCUMENTS)
    parts = list(in_order(_ScoredRowsJob(space, key), chunks))
    if not parts:
        parts = [_ScoredRowsJob(space, key).prepare()([])]
    rows = sparse.vstack([rows for rows, _ in parts], format="csr")
    return sparse.csr_array(rows), np.concatenate([wordless for _, wordless in parts])


@dataclass(frozen=True)
class PartReader:
    """Reads parts of one peer's documents into blocks of rows, in any process."""

    space: FeatureSpace
    labelling: Labelling
    key: DictionaryKey
    kept: Booleans = field(repr=False, compare=False)

    @property
    def name(self) -> Hashable:
        """A name, equal for readers that read alike."""
        return self._job.name

    @property
    def width(self) -> int:
        """The number of columns of a row."""
        return self.space.width

    def prepare(self) -> Callable[[Iterable[Document]], Iterator[Examples]]:
        """Return the function that reads."""
        read, level = self._job.prepare(), self.space.reading.level
        return lambda documents: _blocks(map(read, _chunks(documents, level)))

    @property
    def _job(self) -> "_ReadJob":
        return _ReadJob(self.space, self.labelling, self.key, None, self.kept)


def kept_columns(
    documents: Iterable[Document],
    space: FeatureSpace,
    *,
    fewest: int,
    key: DictionaryKey,
    memory: PieceMemory | None = None,
) -> Booleans:
    """Return the columns, without the bias, that `fewest` documents have; a group counts once.

    Encoder columns are kept, because every document has them.
    """
    job = _PresenceJob(space, key, memory)
    if isinstance(documents, PartedDocuments):
        seen = summed(_PresenceSum(replace(job, memory=None), fewest), documents)
    else:
        seen = Distinct(space.width - 1, fewest)
        for columns, groups in in_order(job, _chunks(documents, space.reading.level)):
            seen.add(columns, groups)
    kept = seen.reaches(fewest)
    first = space.dictionary.size + space.blocks.tail
    kept[first : space.dictionary.size + space.blocks.width] = True
    return kept


def _chunks(documents: Iterable[Document], level: Level) -> Iterator[list[Document]]:
    # A row of a token has about thirty features; each word of a document has one or two.
    return chunked(documents, characters=CHUNK_CHARACTERS >> (3 * (level is Level.TOKEN)))


def _blocks(chunks: Iterable[Examples]) -> Iterator[Examples]:
    waiting: list[Examples] = []
    for chunk in chunks:
        waiting.append(chunk)
        if sum(len(block.targets) for block in waiting) >= BLOCK_ROWS:
            yield _joined(waiting)
            waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(parts: Sequence[Examples]) -> Examples:
    if len(parts) == 1:
        return parts[0]
    rows = sparse.vstack([part.rows for part in parts], format="csr")
    return Examples(sparse.csr_array(rows), np.concatenate([part.targets for part in parts]))


@dataclass(frozen=True, repr=False)
class _Counted:
    presence: Presence
    membership: Booleans
    groups: list[str | None]


@dataclass(frozen=True)
class _CountJob:
    plan: CountPlan
    key: DictionaryKey
    memory: PieceMemory | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> tuple[str, DictionaryKey]:
        return self.plan.fingerprint, self.key

    def travelling(self) -> "_CountJob":
        """Return the job without the memory, because other processes have their own."""
        return replace(self, memory=None)

    def prepare(self) -> Callable[[Sequence[Document]], _Counted]:
        memory = PieceMemory.suited(self.memory, self.plan.reading, self.key)
        return partial(self._count, memory)

    def _count(self, memory: PieceMemory, documents: Sequence[Document]) -> _Counted:
        occurrences = memory.read(documents)
        return _Counted(
            Presence.of(occurrences, bits=self.plan.bits),
            _membership(self.plan.labelling, documents, occurrences.places),
            [document.group for document in documents],
        )


@dataclass
class _Counting:
    """Counts while documents are read; words are counted before suppression."""

    tally: Tally
    seen: int = 0
    words: int = 0

    @classmethod
    def of(cls, plan: CountPlan) -> Self:
        return cls(Tally(plan.labelling.labels, plan.suppression, bits=plan.bits))

    def add(self, chunk: _Counted) -> None:
        self.tally.add(chunk.presence, chunk.membership, chunk.groups)
        self.seen += len(chunk.groups)
        self.words += len(chunk.presence.rows)

    def merge(self, other: Self) -> None:
        self.tally.merge(other.tally)
        self.seen += other.seen
        self.words += other.words


@dataclass(frozen=True)
class _CountSum:
    """The job of the first pass over parts; each part is counted by the worker that reads it."""

    job: _CountJob

    @property
    def name(self) -> tuple[str, object]:
        return "counts", self.job.name

    def prepare(self) -> Callable[[_Counting | None, Iterator[Document]], _Counting]:
        plan, count_chunk = self.job.plan, self.job.prepare()

        def work(total: _Counting | None, documents: Iterator[Document]) -> _Counting:
            total = total or _Counting.of(plan)
            for chunk in _chunks(documents, plan.reading.level):
                total.add(count_chunk(chunk))
            return total

        return work


@dataclass(frozen=True)
class _ReadJob:
    space: FeatureSpace
    labelling: Labelling
    key: DictionaryKey
    memory: PieceMemory | None = field(default=None, repr=False, compare=False)
    kept: Booleans | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> tuple[tuple[str, str], str, DictionaryKey, bytes]:
        kept = b"" if self.kept is None else np.packbits(self.kept).tobytes()
        return self.space.name, self.labelling.fingerprint, self.key, kept

    def travelling(self) -> "_ReadJob | None":
        """Return None with an encoder, which is open only in this process and uses all cores."""
        return None if self.space.blocks.encoder is not None else replace(self, memory=None)

    def prepare(self) -> Callable[[Sequence[Document]], Examples]:
        reader = FeatureReader(self.space, self.key, memory=self.memory, kept=self.kept)
        return partial(self._read, reader)

    def _read(self, reader: FeatureReader, documents: Sequence[Document]) -> Examples:
        rows = reader.read(documents)
        membership = _membership(self.labelling, documents, rows.places)
        return Examples(rows.unit(), self.labelling.labels.targets(membership))


@dataclass(frozen=True)
class _ScoredRowsJob:
    """The job that reads documents into integer rows, to be scored."""

    space: FeatureSpace
    key: DictionaryKey

    @property
    def name(self) -> tuple[str, tuple[str, str], DictionaryKey]:
        return "scored", self.space.name, self.key

    def travelling(self) -> "_ScoredRowsJob | None":
        """None with an encoder, as for `_ReadJob`."""
        return None if self.space.blocks.encoder is not None else self

    def prepare(self) -> Callable[[Sequence[Document]], tuple[sparse.csr_array, Booleans]]:
        reader = FeatureReader(self.space, self.key)

        def work(documents: Sequence[Document]) -> tuple[sparse.csr_array, Booleans]:
            read = reader.read(documents)
            return read.integers(), np.diff(read.tf.indptr) == 0

        return work


@dataclass(frozen=True)
class _PresenceJob:
    """The job that lists each document's columns, with the number of its group."""

    space: FeatureSpace
    key: DictionaryKey
    memory: PieceMemory | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> tuple[str, str, DictionaryKey]:
        return "presence", self.space.fingerprint, self.key

    def travelling(self) -> "_PresenceJob | None":
        """None with an encoder, as for `_ReadJob`."""
        return None if self.space.blocks.encoder is not None else replace(self, memory=None)

    def prepare(self) -> Callable[[Sequence[Document]], tuple[Numbers, NDArray[np.uint64]]]:
        return partial(self._find, FeatureReader(self.space, self.key, memory=self.memory))

    def _find(
        self, reader: FeatureReader, documents: Sequence[Document]
    ) -> tuple[Numbers, NDArray[np.uint64]]:
        groups = np.array([group_number(document.group) for document in documents], np.uint64)
        of_document, columns = reader.presence(documents)
        return columns, groups[of_document]


@dataclass(frozen=True)
class _PresenceSum:
    """The job that finds, over parts, the columns that enough documents have."""

    job: _PresenceJob
    fewest: int

    @property
    def name(self) -> tuple[object, int]:
        return self.job.name, self.fewest

    def prepare(self) -> Callable[[Distinct | None, Iterator[Document]], Distinct]:
        space, find, fewest = self.job.space, self.job.prepare(), self.fewest

        def work(total: Distinct | None, documents: Iterator[Document]) -> Distinct:
            total = total or Distinct(space.width - 1, fewest)
            for chunk in _chunks(documents, space.reading.level):
                total.add(*find(chunk))
            return total

        return work


def _membership(
    labelling: Labelling, documents: Sequence[Document], places: Sequence[Sequence[Fragment]]
) -> Booleans:
    classes = map(labelling.classes, documents, places)
    return labelling.labels.membership(list(chain.from_iterable(classes)))
