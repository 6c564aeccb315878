"""Streams of documents, which are read again for every pass because memory is too small.

A list of documents and a stream are used in the same way: `refined` applies a split or a rule, and
returns a list for a list and a stream for a stream. A stream remembers which documents a rule
dropped, with a byte for each document, so that a rule that reads the whole text is applied once.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import overload

from sottovoce.errors import InputError
from sottovoce.text.documents import Document

Rule = Callable[[Document], Document | None]
"""A rule: maps a document to itself, to another one, or to None, which drops it."""


class DocumentStream(Sequence[Document]):
    """Documents that a function reads again for every pass."""

    def __init__(
        self, read: Callable[[], Iterator[Document]], *, length: int | None = None
    ) -> None:
        """Read with this function; without `length` the first pass counts them."""
        self._read = read
        self._length = length

    def __iter__(self) -> Iterator[Document]:
        count = 0
        for document in self._read():
            count += 1
            yield document
        if self._length not in {None, count}:
            raise InputError(
                f"documents: expected {self._length:,} as in the pass before, found {count:,}",
                hints=("leave the files as they are until the training is over",),
            )
        self._length = count

    def __len__(self) -> int:
        if self._length is None:
            self._length = sum(1 for _ in self)
        return self._length

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None

    @overload
    def __getitem__(self, place: int) -> Document: ...
    @overload
    def __getitem__(self, place: slice) -> list[Document]: ...
    def __getitem__(self, place: int | slice) -> Document | list[Document]:
        """Return the documents from a position on; all documents before it are read, too."""
        if isinstance(place, slice):
            return list(islice(self, *place.indices(len(self))))
        at = place if place >= 0 else len(self) + place
        for document in islice(self, at, at + 1):
            return document
        raise IndexError(place)

    def refined(self, rule: Rule) -> "DocumentStream":
        """Return the documents after a rule."""
        return DocumentStream(_Refining(self, rule).read)


class _Refining:
    """Applies a rule; documents that it dropped are not passed to it again."""

    def __init__(self, documents: DocumentStream, rule: Rule) -> None:
        self._documents = documents
        self._rule = rule
        self._stays: bytearray | None = None

    def read(self) -> Iterator[Document]:
        if self._stays is None:
            yield from self._decide()
            return
        for document, stays in zip(self._documents, self._stays, strict=True):
            if stays:
                left = self._rule(document) if stays == _CHANGED else document
                assert left is not None
                yield left

    def _decide(self) -> Iterator[Document]:
        stays = bytearray()
        for document in self._documents:
            left = self._rule(document)
            stays.append(0 if left is None else _SAME if left is document else _CHANGED)
            if left is not None:
                yield left
        self._stays = stays


_SAME, _CHANGED = 1, 2


def refined(documents: Sequence[Document], rule: Rule) -> Sequence[Document]:
    """Return the documents after a rule: a list for a list, a stream for a stream."""
    if isinstance(documents, DocumentStream):
        return documents.refined(rule)
    return [left for document in documents if (left := rule(document)) is not None]
