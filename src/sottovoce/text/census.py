"""Counts documents, their words, and the documents of each class, in one pass.

The sums of documents in parts are kept with them, so that nobody reads all documents again for one
of these numbers.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Self

from sottovoce.text.documents import Document
from sottovoce.text.labels import Labels
from sottovoce.text.parts import PartedDocuments


@dataclass
class Census:
    """The numbers of some documents, of their words, and of those of each class."""

    documents: int = 0
    words: int = 0
    classes: Counter[str] = field(default_factory=Counter)

    @property
    def mean_words(self) -> float:
        """How many words, between spaces, a document has on average."""
        return self.words / max(self.documents, 1)

    def merge(self, other: Self) -> None:
        """Add the numbers of other documents."""
        self.documents += other.documents
        self.words += other.words
        self.classes += other.classes


def census(documents: Iterable[Document], labels: Labels | None = None) -> Census:
    """Return the numbers of documents; with `labels`, which must be exclusive, also of classes."""
    job = _CensusJob(labels)
    if not isinstance(documents, PartedDocuments):
        return job.prepare()(None, iter(documents))
    total = documents.summed_once(job)
    documents.note_length(total.documents)
    return total


@dataclass(frozen=True)
class _CensusJob:
    labels: Labels | None

    @property
    def name(self) -> tuple[str, Labels | None]:
        return "census", self.labels

    def prepare(self) -> Callable[[Census | None, Iterator[Document]], Census]:
        return self._count

    def _count(self, total: Census | None, documents: Iterator[Document]) -> Census:
        total = total or Census()
        for document in documents:
            total.documents += 1
            total.words += len(document.text.split())
            if self.labels is not None:
                total.classes[self.labels.classes(document)[0]] += 1
        return total
