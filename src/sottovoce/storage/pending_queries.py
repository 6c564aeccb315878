"""What a peer asked and has not got yet: on its disk before anything is sent, so nothing is lost.

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
from sottovoce.course.control import OpenedEvaluation
from sottovoce.numbers.ring import from_ring, to_ring
from sottovoce.protocols.identities import framed
from sottovoce.storage.journal import Journal
from sottovoce.study.queries.figures import Tested
from sottovoce.wire import Codec, Value

_PURPOSE = "service/asked/v1"
_NEXT, _OPEN, _LEFT = "query/next", "query/open", "query/left"
_TESTED, _OPENED = "evaluation/kept", "evaluation/opened"


@dataclass(frozen=True)
class QuestionRows:
    """What is asked: rows of integers, and for an evaluation which of them are of which class."""

    rows: sparse.csr_array = field(repr=False)
    evaluation: bool = False
    truth: NDArray[np.bool_] | None = field(default=None, repr=False)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return int(self.rows.shape[0])

    @property
    def digest(self) -> bytes:
        """32 bytes by which the same question is known again."""
        rows = self.rows.sorted_indices()
        arrays = (np.array(rows.shape), rows.indptr, rows.indices, rows.data)
        parts = [np.ascontiguousarray(one, np.int64).tobytes() for one in arrays]
        truth = b"" if self.truth is None else np.packbits(self.truth).tobytes()
        whole = framed(_PURPOSE, *parts, bytes([self.evaluation]), truth)
        return hashlib.blake2b(whole, digest_size=32).digest()


class OpenQuery(Value, frozen=True):
    """A query that has no answer yet: its number, of what, and for how many documents.

    `verdict` is how its labels are found, if not as the plan says first.
    """

    number: int
    digest: bytes
    documents: int
    verdict: str = ""


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


@dataclass(frozen=True)
class PendingQueries:
    """What stands in the journal of a peer about its queries and evaluations."""

    following: int
    left: int | None
    """What was left of the budget when an answer last said so."""
    query: OpenQuery | None
    test: KeptTest | None
    evaluation: OpenedEvaluation | None

    @classmethod
    def read(cls, journal: Journal) -> "PendingQueries":
        """From the journal's notes."""
        query, test, opened = (journal.note(one) for one in (_OPEN, _TESTED, _OPENED))
        codec, left = Codec(), journal.note(_LEFT)
        return cls(
            int.from_bytes(journal.note(_NEXT) or b""),
            None if left is None else int.from_bytes(left),
            codec.decode(query, OpenQuery) if query else None,
            codec.decode(test, KeptTest) if test else None,
            codec.decode(opened, OpenedEvaluation) if opened else None,
        )


def asked_notes(query: OpenQuery) -> dict[str, bytes]:
    """A query is under way, and its number taken."""
    return {_NEXT: (query.number + 1).to_bytes(8), _OPEN: Codec().encode(query)}


def opened_notes(opened: OpenedEvaluation) -> dict[str, bytes]:
    """A joint evaluation is under way."""
    return {_OPENED: Codec().encode(opened)}


def answered_notes(left: int) -> dict[str, bytes]:
    """A query was answered, and so much is left."""
    return {**QUERY_OVER, _LEFT: left.to_bytes(8)}


QUERY_OVER = {_OPEN: b""}
ATTEMPT_OVER = {_OPENED: b""}
EVALUATION_OVER = {_OPENED: b"", _TESTED: b""}
