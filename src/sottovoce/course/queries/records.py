"""What outlives a process after the training: one record for each decider, on its seat's disk."""

import msgspec

from sottovoce.course.control import AskedQuery, OpenedEvaluation, RefusedQuery
from sottovoce.errors import MisuseError
from sottovoce.study.choices import Verdict
from sottovoce.wire import Value

MOST_QUERIES = 2**32
"""No budget lasts so long: a number beyond is nonsense, and would not fit its record."""


def wanted_verdict(name: str) -> Verdict | None:
    """How an asker wants its labels found, by the name in a letter or a record; None as planned."""
    if not name:
        return None
    if name not in {Verdict.FSS, Verdict.DGK}:
        raise MisuseError(f"query: expected a verdict fss or dgk, found {name!r}")
    return Verdict(name)


class AskerRecord(Value, frozen=True):
    """What the coordinator knows of one peer's queries.

    `following` is the next number that it may ask, `spent` and `evaluated` what was told so far.
    `open` is the query under way, with its `verdict` if that is not as the plan says first and
    the `helpers` that it was opened with. `wanted` is the query that was asked instead of it,
    `answered` the last one whose answer waits in the mailbox, or was taken.
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
        """The record with some things changed."""
        return msgspec.structs.replace(self, **changes)


class EvaluationBook(Value, frozen=True):
    """Which evaluation comes next, who is ready for it, who is in the one under way, who left."""

    number: int = 0
    attempt: int = 1
    ready: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def but(self, **changes: object) -> "EvaluationBook":
        """The book with some things changed."""
        return msgspec.structs.replace(self, **changes)


class OpenQuery(Value, frozen=True):
    """A query that has no answer yet: its number, of what, and for how many documents.

    `verdict` is how its labels are found, if not as the plan says first.
    """

    number: int
    digest: bytes
    documents: int
    verdict: str = ""


class AskingRecord(Value, frozen=True):
    """What an asker knows of its queries.

    `following` is the next number, `left` what was left of the budget when an answer last said
    so. `refused` is the coordinator's word about the open query, if it gave it up while nobody
    asked here.
    """

    following: int = 0
    open: tuple[OpenQuery, ...] = ()
    left: tuple[int, ...] = ()
    refused: tuple[RefusedQuery, ...] = ()
    closed: bool = False

    def but(self, **changes: object) -> "AskingRecord":
        """The record with some things changed."""
        return msgspec.structs.replace(self, **changes)


class EvaluatingRecord(Value, frozen=True):
    """What a peer knows of the joint evaluation under way; `begun` says that it takes part."""

    opened: tuple[OpenedEvaluation, ...] = ()
    begun: bool = False
    closed: bool = False

    def but(self, **changes: object) -> "EvaluatingRecord":
        """The record with some things changed."""
        return msgspec.structs.replace(self, **changes)
