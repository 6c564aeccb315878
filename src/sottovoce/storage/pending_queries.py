"""By what a question is known again, and what a site's own test gave until the others are ready.

A query is known again by its documents: the digest of their rows, of what is done with them,
and (in an evaluation) of their true classes. The same documents go on with the query that was
broken off, from its journal, with the very same bytes; others give it up.
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
from sottovoce.study.queries.figures import Tested
from sottovoce.wire import Codec, Value

_PURPOSE = "service/asked/v1"
_TESTED = "evaluation/kept"


@dataclass(frozen=True)
class QuestionRows:
    """What is asked: rows of integers, and for an evaluation which of them are of which class."""

    rows: sparse.csr_array = field(repr=False)
    evaluation: bool = False
    truth: NDArray[np.bool_] | None = field(default=None, repr=False)
    entities: tuple[str, ...] = field(default=(), repr=False)
    """Whom each row is about, where others look them up."""

    @property
    def count(self) -> int:
        """How many rows there are."""
        return int(self.rows.shape[0])

    @property
    def digest(self) -> bytes:
        """32 bytes by which the same question is known again."""
        rows = self.rows.sorted_indices()
        arrays = (np.array(rows.shape), rows.indptr, rows.indices, rows.data)
        parts = [np.ascontiguousarray(array, np.int64).tobytes() for array in arrays]
        truth = b"" if self.truth is None else np.packbits(self.truth).tobytes()
        names = (array.encode() for array in self.entities)
        whole = framed(_PURPOSE, *parts, bytes([self.evaluation]), truth, *names)
        return hashlib.blake2b(whole, digest_size=32).digest()


class KeptTest(Value, frozen=True):
    """What a site's own held-out documents gave, until the others are ready."""

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
        """From a seat's journal, if it stands there."""
        data = journal.note(_TESTED)
        return Codec().decode(data, cls) if data else None


TEST_OVER = {_TESTED: b""}
"""The joint evaluation was held: what it was made of must not stay."""
