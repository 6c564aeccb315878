"""Counts of features per class, from which a joint dictionary is chosen.

A peer's `Tally` grows chunk by chunk. Only `Counts` leave the peer: features that too few of its
documents have are zeroed in every class, and the rest can be added over peers (in a study by a
blind sum, here by `+`) once they are `rounded`.

Suppression counts documents, never rows, and the documents of one group (a
patient, an author) count once.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import InputError, MismatchError
from sottovoce.numbers.rounding import rounded_up, to_powers
from sottovoce.text.labels import Labels
from sottovoce.text.occurrences import Numbers, Occurrences, distinct

Booleans = NDArray[np.bool_]

BUCKET_BITS = 18


@dataclass(frozen=True, slots=True)
class Suppression:
    """The limits below which a peer sends no count.

    `min_documents`: a feature in fewer of the peer's documents is zeroed in every class.
    `small_cells`: a class's count over fewer documents than this is zeroed by itself.
    """

    min_documents: int = 3
    small_cells: int = 0

    def __post_init__(self) -> None:
        if self.min_documents < 1 or self.small_cells < 0:
            raise InputError(
                "suppression: expected min_documents of at least 1 and small_cells of at least 0, "
                f"found {self.min_documents} and {self.small_cells}"
            )


@dataclass(frozen=True, eq=False, repr=False)
class Counts:
    """The rows with each feature, in all (`total`) and per class; the `peers` that kept it."""

    rows: int
    rows_by_class: Numbers
    total: Numbers
    by_class: Numbers
    peers: Numbers

    def rounded(self, *, exclusive: bool) -> "Counts":
        """Return counts for other parties: rows up to two digits, counts to the nearest power of 3.

        Exact counts of nameless features could be matched with known frequencies of words.
        """
        by_class = to_powers(self.by_class)
        total = by_class.sum(axis=0) if exclusive else to_powers(self.total)
        return Counts(
            rounded_up(self.rows),
            np.array([rounded_up(rows) for rows in self.rows_by_class.tolist()], np.int64),
            total,
            by_class,
            (total > 0).astype(np.int64),
        )

    def check_rows(self) -> None:
        """Refuse a sum in which a feature is in more rows than there are, or in fewer than 0.

        Every peer rounds its counts up by less than a factor of 2.
        """
        few, many = self.by_class.min(initial=0), self.by_class > 2 * self.rows_by_class[:, None]
        if few < 0 or many.any() or (self.total > 2 * self.rows).any():
            raise MismatchError(
                "counts: expected no feature in more rows than there are, found one: a peer "
                "contributed numbers that are not those of its documents",
                hints=("nobody can say whose they are: ask every site for its number of rows",),
            )

    def __add__(self, other: "Counts") -> "Counts":
        if self.by_class.shape != other.by_class.shape:
            raise MismatchError(
                f"counts: expected {self.by_class.shape[0]} classes of {self.by_class.shape[1]} "
                f"buckets, found {other.by_class.shape[0]} of {other.by_class.shape[1]}"
            )
        return Counts(
            self.rows + other.rows,
            self.rows_by_class + other.rows_by_class,
            self.total + other.total,
            self.by_class + other.by_class,
            self.peers + other.peers,
        )


@dataclass(frozen=True, slots=True)
class CountLayout:
    """The layout of counts in the vector that a blind sum adds up.

    It holds only what the choice of features needs: no totals if classes are exclusive (then they
    are the sum of the classes), and no numbers of peers.
    """

    classes: int
    buckets: int
    exclusive: bool = True

    @property
    def length(self) -> int:
        """The length of the vector."""
        return 1 + self.classes + self.table_length

    @property
    def table_length(self) -> int:
        """The number of bucket counts, which come last."""
        return self.buckets * self._columns

    @property
    def _columns(self) -> int:
        return self.classes + (not self.exclusive)

    def vector(self, counts: Counts) -> Numbers:
        """Return the numbers that leave a peer."""
        if counts.by_class.shape != (self.classes, self.buckets):
            raise MismatchError(
                f"counts: expected {self.classes} classes of {self.buckets} buckets, "
                f"found {counts.by_class.shape[0]} of {counts.by_class.shape[1]}"
            )
        table = [*counts.by_class]
        table += [] if self.exclusive else [counts.total]
        return np.concatenate([np.array([counts.rows]), counts.rows_by_class, *table])

    @property
    def words(self) -> int:
        """The number of words that the vector takes, two numbers to a word."""
        return -(-self.length // 2)

    def paired(self, vector: Numbers, *, peers: int) -> NDArray[np.uint64]:
        """Return the vector, two numbers to a word; sums over all peers never carry."""
        most = int(vector.max(initial=0))
        if most * peers >= 2**32:
            raise InputError(
                f"counts: expected fewer than {2**32 // peers:,} rows at each of {peers} peers, "
                f"found {most:,}"
            )
        numbers = np.zeros(2 * self.words, "<u4")
        numbers[: self.length] = vector
        return numbers.view("<u8").astype(np.uint64, copy=False)

    def parted(self, words: NDArray[np.uint64]) -> Numbers:
        """Return the numbers in a sum of such words."""
        numbers = words.astype("<u8", copy=False).view("<u4")
        return numbers[: self.length].astype(np.int64)

    def counts(self, vector: Numbers, *, peers: int = 1) -> Counts:
        """Return the counts in a sum of vectors, for features that at least `peers` peers kept."""
        if vector.shape != (self.length,):
            raise MismatchError(
                f"counts: expected {self.length} numbers, found shape {vector.shape}"
            )
        table = vector[1 + self.classes :].reshape(self._columns, self.buckets)
        by_class = table[: self.classes]
        total = by_class.sum(axis=0) if self.exclusive else table[self.classes]
        kept = peers * (total > 0).astype(np.int64)
        return Counts(int(vector[0]), vector[1 : 1 + self.classes], total, by_class, kept)


@dataclass(frozen=True, repr=False)
class Presence:
    """The features of a chunk's rows (each once a row), and the document of each row."""

    rows: Numbers
    buckets: Numbers
    documents: Numbers

    @classmethod
    def of(cls, occurrences: Occurrences, *, bits: int) -> Self:
        """Return the buckets of the features, which are the upper `bits` of their ids."""
        buckets = (occurrences.ids >> np.uint64(64 - bits)).astype(np.int64)
        pairs, _ = distinct((occurrences.rows << bits) | buckets)
        return cls(pairs >> bits, pairs & ((1 << bits) - 1), occurrences.documents)

    def where(self, rows: Booleans) -> "Presence":
        """Return the presences in these rows."""
        inside = rows[self.rows]
        return Presence(self.rows[inside], self.buckets[inside], self.documents)

    def by_document(self, groups: NDArray[np.uint64]) -> tuple[Numbers, NDArray[np.uint64]]:
        """Return each document's buckets, each once, with the document's group."""
        documents = self.documents[self.rows]
        if len(self.documents) == len(groups):
            # Each document has one row, so nothing occurs twice.
            return self.buckets, groups[documents]
        width = int(self.buckets.max(initial=0)) + 1
        pairs, _ = distinct(documents * width + self.buckets)
        return pairs % width, groups[pairs // width]


class Distinct:
    """Counts distinct groups per cell exactly up to `most`, in bounded memory.

    A document without a group is a group of its own and is simply counted. Memory for groups is
    allocated with the first group: `most` numbers for each cell.
    """

    def __init__(self, cells: int, most: int) -> None:
        self._shape = (cells, most)
        self._alone = np.zeros(cells, np.int64)
        # 0 marks a free place, so no group may have the number 0.
        self._seen: NDArray[np.uint64] | None = None

    def add(self, cells: Numbers, groups: NDArray[np.uint64]) -> None:
        """Record each group in its cell; 0 stands for a document without a group."""
        alone = groups == 0
        self._alone += np.bincount(cells[alone], minlength=self._shape[0])
        cells, groups = cells[~alone], groups[~alone]
        if len(cells) and self._seen is None:
            self._seen = np.zeros(self._shape, np.uint64)
        while len(cells) and self._seen is not None:
            known = (self._seen[cells] == groups[:, np.newaxis]).any(axis=1)
            full = self._seen[cells, -1] != 0
            cells, groups = cells[~(known | full)], groups[~(known | full)]
            # Add one new group for each cell at a time, so that two groups never take the same
            # place.
            now, first = np.unique(cells, return_index=True)
            place = np.count_nonzero(self._seen[now], axis=1)
            self._seen[now, place] = groups[first]

    def merge(self, other: Self) -> None:
        """Add the groups of another counter."""
        self._alone += other._alone
        if other._seen is not None:
            cells, places = other._seen.nonzero()
            self.add(cells, other._seen[cells, places])

    def reaches(self, threshold: int) -> Booleans:
        """Return the cells with `threshold` (at most `most`) or more distinct groups."""
        grouped = 0 if self._seen is None else np.count_nonzero(self._seen, axis=1)
        return np.asarray(self._alone + grouped >= threshold)


def group_number(group: str | None) -> int:
    """Return a group's 64-bit number; 0 stands for a document without a group."""
    if group is None:
        return 0
    data = group.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(data, digest_size=8, person=b"sottovoce/group1").digest()
    return int.from_bytes(digest, "little") or 1


class Tally:
    """One peer's counts while it reads; `suppressed` gives the counts that may leave the peer."""

    def __init__(
        self, labels: Labels, suppression: Suppression, *, bits: int = BUCKET_BITS
    ) -> None:
        if not 8 <= bits <= 24:
            raise InputError(f"buckets: expected between 2^8 and 2^24, found 2^{bits}")
        classes, buckets = len(labels.names), 1 << bits
        self._labels = labels
        self._suppression = suppression
        self._rows = 0
        self._rows_by_class = np.zeros(classes, np.int64)
        self._total = np.zeros(buckets, np.int64)
        self._by_class = np.zeros((classes, buckets), np.int64)
        self._documents = Distinct(buckets, suppression.min_documents)
        cells = classes if suppression.small_cells else 0
        self._cells = [Distinct(buckets, suppression.small_cells) for _ in range(cells)]

    def add(self, seen: Presence, membership: Booleans, groups: Sequence[str | None]) -> None:
        """Add a chunk: its presences, its rows' classes, and the group of each document."""
        numbers = np.array([group_number(group) for group in groups], np.uint64)
        self._rows += len(membership)
        self._rows_by_class += membership.sum(axis=0)
        self._total += np.bincount(seen.buckets, minlength=len(self._total))
        self._documents.add(*seen.by_document(numbers))
        for index in range(len(self._by_class)):
            inside = seen.where(membership[:, index])
            self._by_class[index] += np.bincount(inside.buckets, minlength=len(self._total))
            if self._cells:
                self._cells[index].add(*inside.by_document(numbers))

    def merge(self, other: Self) -> None:
        """Add the counts of another part of the peer's documents."""
        self._rows += other._rows
        self._rows_by_class += other._rows_by_class
        self._total += other._total
        self._by_class += other._by_class
        self._documents.merge(other._documents)
        for mine, theirs in zip(self._cells, other._cells, strict=True):
            mine.merge(theirs)

    def suppressed(self) -> Counts:
        """The counts that may leave this peer."""
        kept = self._documents.reaches(self._suppression.min_documents)
        total, by_class = self._total * kept, self._by_class * kept
        for index, cells in enumerate(self._cells):
            by_class[index] *= cells.reaches(self._suppression.small_cells)
        if self._cells and self._labels.exclusive:
            # The total minus the other classes would reveal a zeroed cell.
            total = by_class.sum(axis=0)
        peers = (total > 0).astype(np.int64)
        return Counts(self._rows, self._rows_by_class.copy(), total, by_class, peers)
