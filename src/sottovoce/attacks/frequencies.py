"""Names the words behind nameless counts by the frequencies of words in other text.

The coordinator, which chooses a joint dictionary, sees in how many documents of each class every
bucket is, but not which word it is. Public text of the same kind has the same words about as often.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from sottovoce.errors import InputError
from sottovoce.text.dictionary.counts import Counts
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.dictionary.selection import Selection, chosen
from sottovoce.text.documents import Document
from sottovoce.text.labels import Labels
from sottovoce.text.passes import CountPlan, count
from sottovoce.text.tokenizing.tokens import WordTokenizer

Floats = NDArray[np.float64]

FREQUENT = 50
"""The number of most frequent features that are told apart."""
# The fewest documents of the public text that give a word a usable frequency.
_LEAST_DOCUMENTS = 2
# As many documents of every class as if its words were as frequent there as altogether.
_PRIOR = 4.0
# Public words that are tried for every feature, the most frequent first.
_TRIED = 6


@dataclass(frozen=True)
class PublicText:
    """Words, and the share of the documents of each class that have them."""

    words: tuple[str, ...]
    rates: Floats = field(repr=False)

    @classmethod
    def of(cls, documents: Sequence[Document], labels: Labels) -> Self:
        """Read the frequencies of other text of the same kind."""
        members = labels.membership([labels.classes(text) for text in documents])
        rows = members.sum(axis=0).astype(np.float64)
        by_word: dict[str, NDArray[np.float64]] = {}
        for document, classes in zip(documents, members, strict=True):
            for word in words_of(document.text):
                by_word.setdefault(word, np.zeros(len(rows)))[:] += classes
        kept = {word: n for word, n in by_word.items() if n.sum() >= _LEAST_DOCUMENTS}
        if not kept:
            raise InputError("attack: the public text has no words")
        counts = np.array(list(kept.values()))
        altogether = counts.sum(axis=1, keepdims=True) / rows.sum()
        return cls(tuple(kept), (counts + _PRIOR * altogether) / (rows + _PRIOR))


def words_of(text: str) -> set[str]:
    """The words of a text as a study reads them."""
    reader = WordTokenizer()
    return {word for piece in reader.pieces(text) for word in reader.fold(piece)}


def attack_frequencies(counts: Floats, rows: Floats, public: PublicText) -> tuple[str, ...]:
    """Return a word for each feature, no word twice: the likeliest assignment.

    `counts` (features × classes) are the numbers of documents, of `rows` documents of each class.
    """
    expected = np.maximum(public.rates * rows, 1e-3)
    tried = np.argsort(-expected.sum(axis=1), kind="stable")[: _TRIED * len(counts)]
    likely = counts @ np.log(expected[tried]).T - expected[tried].sum(axis=1)
    features, words = linear_sum_assignment(-likely)
    named = dict(zip(features.tolist(), tried[words].tolist(), strict=True))
    return tuple(public.words[named[n]] if n in named else "" for n in range(len(counts)))


@dataclass(frozen=True)
class NamedFeatures:
    """The coordinator's view, and the number of features that were given their own word."""

    seen: str
    features: int
    named: int
    of_frequent: int


@dataclass(frozen=True)
class Target:
    """Sites whose counts are added up, as a study of this plan would do."""

    plan: CountPlan
    parts: Sequence[Sequence[Document]]
    features: int
    key: DictionaryKey

    def counts(self, *, rounded: bool) -> Counts:
        """The counts that the coordinator gets."""
        own = (count(part, self.plan, key=self.key) for part in self.parts)
        exclusive = self.plan.labelling.labels.exclusive
        return reduce(
            add, (share.rounded(exclusive=exclusive) if rounded else share for share in own)
        )

    def named(self, seen: str, public: PublicText, *, rounded: bool) -> NamedFeatures:
        """Attack the selected features, and compare with the words that are behind them."""
        counts = self.counts(rounded=rounded)
        buckets = list(chosen(counts, Selection(self.features)).buckets)
        table = counts.by_class[:, buckets].T.astype(np.float64)
        guessed = attack_frequencies(table, counts.rows_by_class.astype(np.float64), public)
        truth = self._words(set(buckets))
        right = np.array([truth.get(b) == w for b, w in zip(buckets, guessed, strict=True)])
        frequent = np.argsort(-table.sum(axis=1), kind="stable")[:FREQUENT]
        return NamedFeatures(seen, len(buckets), int(right.sum()), int(right[frequent].sum()))

    def _words(self, buckets: set[int]) -> Mapping[int, str]:
        """The most frequent word of each bucket, which the coordinator does not know."""
        seen: dict[int, Counter[str]] = {}
        hashed, shift = self.key.words(), 64 - self.plan.bits
        for part in self.parts:
            for document in part:
                for word in words_of(document.text):
                    if (bucket := int(hashed(word)) >> shift) in buckets:
                        seen.setdefault(bucket, Counter())[word] += 1
        return {bucket: words.most_common(1)[0][0] for bucket, words in seen.items()}


def try_dictionary(target: Target, public: Sequence[Document]) -> Iterator[NamedFeatures]:
    """Yield the coordinator's results with much and with little public text of the same kind."""
    labels = target.plan.labelling.labels
    much, little = (PublicText.of(public[::step], labels) for step in (1, 5))
    yield target.named("exact counts", much, rounded=False)
    yield target.named("rounded counts", much, rounded=True)
    yield target.named("rounded, a fifth of the text", little, rounded=True)
    yield NamedFeatures("hashed or given: no counts", 0, 0, 0)
