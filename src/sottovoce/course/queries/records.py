"""The records that outlive a process after the training, one for each decider."""

import msgspec

from sottovoce.course.control import AskedQuery, OpenedEvaluation, RefusedQuery
from sottovoce.errors import MisuseError
from sottovoce.study.choices import Verdict
from sottovoce.wire import Value

MOST_QUERIES = 2**32
"""The most queries of one peer; no budget allows more."""


def wanted_verdict(name: str) -> Verdict | None:
    """The verdict of that name in a letter or record; None for the plan's own."""
    if not name:
        return None
    if name not in {Verdict.FSS, Verdict.DGK}:
        raise MisuseError(f"query: expected a verdict fss or dgk, found {name!r}")
    return Verdict(name)


class AskerRecord(Value, frozen=True):
    """The coordinator's record of one peer's queries.

    `following` is the next number that it may ask, `spent` and `evaluated` count the labels told so
    far. `open` is the open query, with its `helpers` and its `verdict` if it is not the plan's
    first. `wanted` is the query that replaces it, `answered` the last one whose answer waits in the
    mailbox or was taken.
    """

    following: int = 0
    spent: int = 0
    evaluated: int = 0
    open: tuple[int, ...] = ()
    verdict: str = ""
    helpers: tuple[str, ...] = ()
    wanted: tuple[AskedQuery, ...] = ()
    answered: tuple[int, ...] = ()

    def but(self, **changes: object) -> "AskerRecord":
        """The record with some fields changed."""
        return msgspec.structs.replace(self, **changes)


class EvaluationBook(Value, frozen=True):
    """The next evaluation, the peers ready for it, the peers in the open one, those that left."""

    number: int = 0
    attempt: int = 1
    ready: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def but(self, **changes: object) -> "EvaluationBook":
        """The record with some fields changed."""
        return msgspec.structs.replace(self, **changes)


class OpenQuery(Value, frozen=True):
    """A query without an answer: its number, its documents' digest, and their count.

    `verdict` is how its labels are computed, if not in the plan's first way.
    """

    number: int
    digest: bytes
    documents: int
    verdict: str = ""


class AskingRecord(Value, frozen=True):
    """An asker's record of its queries.

    `following` is the next number, `left` the rest of the budget according to the last answer.
    `refused` is the coordinator's refusal of the open query, if it came while no caller waited
    here.
    """

    following: int = 0
    open: tuple[OpenQuery, ...] = ()
    left: tuple[int, ...] = ()
    refused: tuple[RefusedQuery, ...] = ()
    closed: bool = False

    def but(self, **changes: object) -> "AskingRecord":
        """The record with some fields changed."""
        return msgspec.structs.replace(self, **changes)


class EvaluatingRecord(Value, frozen=True):
    """A peer's record of the open joint evaluation; `begun` says that it takes part."""

    opened: tuple[OpenedEvaluation, ...] = ()
    begun: bool = False
    closed: bool = False

    def but(self, **changes: object) -> "EvaluatingRecord":
        """The record with some fields changed."""
        return msgspec.structs.replace(self, **changes)
