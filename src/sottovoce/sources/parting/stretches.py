"""Stretches of a source, whose beginnings and ends depend on the source alone.

The beginning of a stretch of lines is first a guess, because it may be inside a quoted text. A
worker lists the stretch, and reports where it really began and ended. If a stretch does not begin
at the end of the one before it, it is listed again from there. So all stretches together hold
exactly the records that one reader would read from the first line on.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from sottovoce.sources.files import size_of
from sottovoce.sources.problems import SourceProblem
from sottovoce.sources.source import Findings, Reader
from sottovoce.text.documents import Document

MOST_STRETCHES = 64
"""The approximate number of stretches of a source, unless one would be outside these sizes:"""
SMALLEST_BYTES, LARGEST_BYTES = 2**20, 2**26


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes of a file, row groups, batches or files of a folder: from `start` to before `stop`."""

    start: int
    stop: int
    before: int = 0
    """The number of lines or rows before it."""
    guessed: bool = False
    """Whether `start` may be inside a record; then the stretch begins with the next record."""
    documents: int | None = None
    """The number of its documents, once it was listed."""

    def begun_at(self, start: int) -> "Stretch":
        """Return the same stretch from a position at which a record is known to begin."""
        return replace(self, start=start, guessed=False)


class StretchReader(Reader, Protocol):
    """A reader that can read a single part of its source."""

    def stretches(self) -> tuple[Stretch, ...]:
        """Return the stretches; empty if the source can only be read as a whole."""

    def read(
        self, findings: Findings, stretch: Stretch | None = None
    ) -> Iterator[Document | SourceProblem]:
        """Yield every document and problem, of one stretch or of all."""


def stretches_of_bytes(path: Path, *, start: int) -> tuple[Stretch, ...]:
    """Return the stretches of a file of lines, after its header; a packed file has none."""
    size = size_of(path)
    if size is None:
        return ()
    step = stretch_size(size)
    cuts = [start, *range(start + step, size, step), size]
    return tuple(Stretch(first, stop, guessed=first > start) for first, stop in pairwise(cuts))


def stretch_size(size: int) -> int:
    """Return the number of bytes of a stretch of a source of this size."""
    return min(max(size // MOST_STRETCHES, SMALLEST_BYTES), LARGEST_BYTES)


def grouped_stretches(sizes: list[tuple[int, int]]) -> tuple[Stretch, ...]:
    """Return stretches of whole groups, given the rows and bytes of each group."""
    step = stretch_size(sum(size for _, size in sizes))
    stretches, begin, rows, inside, held = [], 0, 0, 0, 0
    for number, (count, size) in enumerate(sizes, 1):
        inside, held = inside + count, held + size
        if held >= step or number == len(sizes):
            stretches.append(Stretch(begin, number, rows))
            begin, rows, inside, held = number, rows + inside, 0, 0
    return tuple(stretches)
