"""The features of a study: `given` by a word list, chosen `joint` by the peers, or `hashed`.

A `joint` dictionary is chosen from counts that the peers added up. It is published as bucket ids
with rounded idf, without words. Each peer can look up which of its own words were chosen
(`own_words`). A holder of the study's key can also test any word that it guesses; the study card
says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np

from sottovoce.errors import InputError
from sottovoce.text.dictionary.counts import BUCKET_BITS
from sottovoce.text.dictionary.hashing import DictionaryKey, Ids, mixed
from sottovoce.text.fingerprints import fingerprint
from sottovoce.text.occurrences import Numbers
from sottovoce.text.reading import Reading

Locator = Callable[[Ids], Numbers]
"""Finds the column of each id; -1 if the dictionary does not have it."""


class Dictionary(Protocol):
    """A set of features in columns 0 … size - 1, each with its idf in halves."""

    @property
    def size(self) -> int:
        """The number of features."""

    @property
    def idf_halves(self) -> tuple[int, ...]:
        """Twice the idf of each feature, an integer because idf is rounded to 0.5."""

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits that name this dictionary."""

    def locator(self, reading: Reading, key: DictionaryKey) -> Locator:
        """Return the locator that finds the columns of ids made by `reading` under `key`."""


@dataclass(frozen=True, slots=True)
class JointDictionary:
    """Buckets chosen from all peers' counts, in ascending order."""

    buckets: tuple[int, ...]
    idf_halves: tuple[int, ...]
    bits: int = BUCKET_BITS

    def __post_init__(self) -> None:
        ids = np.array(self.buckets)
        if len(ids) != len(self.idf_halves) or not len(ids):
            raise InputError(
                f"joint dictionary: expected an idf for each of at least 1 bucket, "
                f"found {len(ids)} buckets and {len(self.idf_halves)} idf"
            )
        if ids[0] < 0 or ids[-1] >= 1 << self.bits or (np.diff(ids) <= 0).any():
            raise InputError(
                f"joint dictionary: expected ascending buckets below 2^{self.bits}, "
                f"found {ids[0]} to {ids[-1]}"
            )
        if min(self.idf_halves) < 1:
            raise InputError(
                f"joint dictionary: expected idf of at least 0.5, found {min(self.idf_halves) / 2}"
            )

    @property
    def size(self) -> int:
        """The number of features."""
        return len(self.buckets)

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits that name this dictionary."""
        return fingerprint("sottovoce/dictionary/joint/v1", self)

    def locator(self, reading: Reading, key: DictionaryKey) -> Locator:  # noqa: ARG002 - the ids carry both
        """Return the locator that finds columns by the upper bits of ids."""
        table = np.full(1 << self.bits, -1, np.int64)
        table[list(self.buckets)] = np.arange(self.size)
        shift = np.uint64(64 - self.bits)

        def locate(ids: Ids) -> Numbers:
            return np.asarray(table[ids >> shift])

        return locate


@dataclass(frozen=True, slots=True)
class HashedDictionary:
    """A dictionary without selection: every feature falls into one of `size` columns."""

    size: int

    def __post_init__(self) -> None:
        if not 1 <= self.size < 1 << 31:
            raise InputError(f"hashed dictionary: expected 1 <= size < 2^31, found {self.size}")

    @property
    def idf_halves(self) -> tuple[int, ...]:
        """Twice an idf of 1 for every feature, because nothing was counted."""
        return (2,) * self.size

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits that name this dictionary."""
        return fingerprint("sottovoce/dictionary/hashed/v1", self)

    def locator(self, reading: Reading, key: DictionaryKey) -> Locator:  # noqa: ARG002 - as above
        """Return the locator that finds columns by the upper 32 bits of ids, scaled to the size."""
        size = np.uint64(self.size)

        def locate(ids: Ids) -> Numbers:
            return (((ids >> np.uint64(32)) * size) >> np.uint64(32)).astype(np.int64)

        return locate


@dataclass(frozen=True, slots=True)
class GivenDictionary:
    """The words (or sequences of words) of a public list, in its order."""

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.words:
            raise InputError("given dictionary: it has no word", setting="dictionary")

    @property
    def size(self) -> int:
        """The number of features."""
        return len(self.words)

    @property
    def idf_halves(self) -> tuple[int, ...]:
        """Twice an idf of 1 for every feature, because nothing was counted."""
        return (2,) * self.size

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits that name this dictionary."""
        return fingerprint("sottovoce/dictionary/given/v1", self)

    def locator(self, reading: Reading, key: DictionaryKey) -> Locator:
        """Return the locator that finds columns by the ids of the words, read as text is read."""
        ids = np.array([entry_id(word, reading, key) for word in self.words], np.uint64)
        order = np.argsort(ids)
        known = ids[order]
        same = np.flatnonzero(known[1:] == known[:-1])
        if len(same):
            first, second = sorted((order[same[0]], order[same[0] + 1]))
            raise InputError(
                f"given dictionary: expected different words, found "
                f"{self.words[first]!r} and {self.words[second]!r}, which are read alike",
                setting="dictionary",
            )

        def locate(ids: Ids) -> Numbers:
            place = np.minimum(np.searchsorted(known, ids), len(known) - 1)
            return np.where(known[place] == ids, order[place], -1)

        return locate


def entry_id(words: str, reading: Reading, key: DictionaryKey) -> int:
    """Return the id of a word or a sequence of words, read like text."""
    tokens = reading.entry(words)
    if not reading.shortest <= len(tokens) <= reading.longest:
        raise InputError(
            f"dictionary entry {words!r}: expected {reading.shortest} to {reading.longest} words, "
            f"found {len(tokens)}",
            setting="dictionary",
        )
    return gram_id(tokens, key)


def gram_id(tokens: Sequence[str], key: DictionaryKey) -> int:
    """Return the id of a sequence of at least one token."""
    word = key.words()
    first, *rest = (np.array([word(token)], np.uint64) for token in tokens)
    return int(reduce(mixed, rest, first)[0])
