"""Digests that recognise a repeated question, and a site's own test result until the joint one.

A query is recognised by its documents: the digest of their rows, of the settings, of the asker's
own thresholds, and (in an evaluation) of their true classes. The same documents continue an
interrupted query from its journal, with the same bytes; other documents give it up.
"""

import hashlib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce import wire
from sottovoce.numbers.ring import from_ring, to_ring
from sottovoce.protocols.identities import framed
from sottovoce.storage.journal import Journal
from sottovoce.study.evaluations.figures import Tested
from sottovoce.wire import Codec, Value

_PURPOSE = "service/asked/v2"
_TESTED = "evaluation/kept"


@dataclass(frozen=True)
class QuestionRows:
    """The rows of a question, and for an evaluation their classes."""

    rows: sparse.csr_array = field(repr=False)
    evaluation: bool = False
    truth: NDArray[np.bool_] | None = field(default=None, repr=False)
    own: NDArray[np.float64] | None = field(default=None, repr=False)
    """Thresholds of the asker's own for the scores of each row."""
    entities: tuple[str, ...] = field(default=(), repr=False)
    """The entity of each row, if others look them up."""

    @property
    def count(self) -> int:
        """The number of rows."""
        return int(self.rows.shape[0])

    @property
    def digest(self) -> bytes:
        """32 bytes that recognise the same question."""
        rows = self.rows.sorted_indices()
        arrays = (np.array(rows.shape), rows.indptr, rows.indices, rows.data)
        parts = [np.ascontiguousarray(array, np.int64).tobytes() for array in arrays]
        truth = b"" if self.truth is None else np.packbits(self.truth).tobytes()
        own = b"" if self.own is None else np.ascontiguousarray(self.own, "<f8").tobytes()
        names = (array.encode() for array in self.entities)
        whole = framed(_PURPOSE, *parts, bytes([self.evaluation]), truth, own, *names)
        return hashlib.blake2b(whole, digest_size=32).digest()


class KeptTest(Value, frozen=True):
    """A site's result on its held-out documents, until the others are ready."""

    digest: bytes
    documents: int
    table: wire.Words
    counted: tuple[wire.Words, ...]

    @classmethod
    def of(cls, tested: Tested, digest: bytes) -> "KeptTest":
        """As the journal keeps it."""
        words = () if tested.counted is None else (wire.Words.of(tested.counted),)
        return cls(digest, tested.documents, wire.Words.of(to_ring(tested.table)), words)

    def tested(self) -> Tested:
        """As it was."""
        above = self.counted[0].array() if self.counted else None
        return Tested(self.documents, from_ring(self.table.array()), above)

    def notes(self) -> dict[str, bytes]:
        """As the journal keeps it."""
        return {_TESTED: Codec().encode(self)}

    @classmethod
    def read(cls, journal: Journal) -> "KeptTest | None":
        """Read it from a seat's journal, if it is there."""
        data = journal.note(_TESTED)
        return Codec().decode(data, cls) if data else None


TEST_OVER = {_TESTED: b""}
"""Notes that delete a site's test after the joint evaluation."""
