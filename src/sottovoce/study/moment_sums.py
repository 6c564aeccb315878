"""A peer's moments over parts of its documents; each part is read and rounded by one worker."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sottovoce.rados.blas_threads import one_blas_thread
from sottovoce.rados.moment_words import MomentWords
from sottovoce.rados.moments import Moments
from sottovoce.text.documents import Document
from sottovoce.text.parts import PartedDocuments, summed
from sottovoce.text.passes import Examples, PartReader


@dataclass(frozen=True)
class RowWeights:
    """The weight of a row by its class; 1 for every row without weights."""

    of_class: tuple[float, ...] | None = field(repr=False)
    binary: bool

    def of(self, block: Examples) -> NDArray[np.float64] | None:
        """The weights of a block's rows."""
        if self.of_class is None:
            return None
        number = block.targets[:, 0] > 0 if self.binary else block.targets.argmax(axis=1)
        return np.array(self.of_class)[number.astype(np.int64)]

    @property
    def largest(self) -> float:
        """The largest weight of a row."""
        return 1.0 if self.of_class is None else max(self.of_class)


@dataclass(frozen=True)
class _MomentJob:
    reader: PartReader = field(repr=False)
    weights: RowWeights
    classes: int
    weight: float
    row_norm: float

    @property
    def name(self) -> tuple[object, ...]:
        return "moments", self.reader.name, self.weights, self.classes, self.weight, self.row_norm

    def prepare(self) -> Callable[[MomentWords | None, Iterator[Document]], MomentWords]:
        read, shape = self.reader.prepare(), (self.reader.width, self.classes)

        def work(total: MomentWords | None, documents: Iterator[Document]) -> MomentWords:
            moments = Moments(*shape)
            # The order in which several threads add changes the last bits.
            with one_blas_thread():
                for block in read(documents):
                    moments.add(block.rows, block.targets, weights=self.weights.of(block))
            if total is None:
                total = MomentWords(*shape, weight=self.weight, row_norm=self.row_norm)
            total.add(moments)
            return total

        return work


def parted_moments(
    documents: PartedDocuments,
    reader: PartReader,
    weights: RowWeights,
    *,
    classes: int,
    rows: int,
    row_norm: float,
) -> Moments:
    """Return the sums over all parts, of at most `rows` rows of this length."""
    weight = rows * max(1.0, weights.largest)
    return summed(_MomentJob(reader, weights, classes, weight, row_norm), documents).moments()
