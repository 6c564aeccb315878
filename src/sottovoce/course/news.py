"""The events of a course: small frozen facts for progress bars and logs.

They hold no content: only names of seats, stages, counts, sizes and times.
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class SeatEvent:
    """An event of one seat in one study."""

    study: str
    seat: str


@dataclass(frozen=True)
class SeatWaiting(SeatEvent):
    """A seat waits: for what, for whom, and until when it gives up (0: never)."""

    what: str
    whom: tuple[str, ...]
    until: float


@dataclass(frozen=True)
class StageBegan(SeatEvent):
    """An attempt at a stage began at a seat, with these peers."""

    stage: str
    attempt: int
    peers: tuple[str, ...]


@dataclass(frozen=True)
class StageEnded(SeatEvent):
    """A seat has finished its part of a stage, and the seconds that this took."""

    stage: str
    attempt: int
    seconds: float


@dataclass(frozen=True)
class AttemptFailed(SeatEvent):
    """An attempt at a stage failed; another one follows without the missing peers."""

    stage: str
    attempt: int
    reason: str
    missing: tuple[str, ...]


@dataclass(frozen=True)
class StudyFinished(SeatEvent):
    """Training is over at this seat; the model is ready for queries."""


@dataclass(frozen=True)
class StudyStopped(SeatEvent):
    """The study ended without a model: why, and because of whom, if anybody."""

    reason: str
    party: str


@dataclass(frozen=True)
class StudyClosed(SeatEvent):
    """The coordinator closed a finished study, and deleted what answers need."""


@dataclass(frozen=True)
class QueryServed(SeatEvent):
    """A seat answered, or dealt for, a query or an evaluation of this asker."""

    asker: str
    number: int


@dataclass(frozen=True)
class Refused(SeatEvent):
    """A seat refused what it was asked to do: why, and who asked."""

    reason: str
    party: str


@dataclass(frozen=True)
class QueryPriced(SeatEvent):
    """The cost of a query before it is asked: its rows, their charge, and the last known budget."""

    rows: int
    counted: int
    left: int


@dataclass(frozen=True)
class QueryGoesOn(SeatEvent):
    """An interrupted query continues: it is not asked or charged twice."""

    number: int


@dataclass(frozen=True)
class QueryGivenUp(SeatEvent):
    """An interrupted query is given up for one about other documents.

    It stays charged only if its labels were already sent.
    """

    number: int
    documents: int


@dataclass(frozen=True)
class QueryWithoutDealer(SeatEvent):
    """The dealer does not answer: this query begins again without it, under another number."""

    number: int
    dealer: str


News: TypeAlias = (
    SeatWaiting
    | StageBegan
    | StageEnded
    | AttemptFailed
    | StudyFinished
    | StudyStopped
    | StudyClosed
    | QueryServed
    | Refused
    | QueryPriced
    | QueryGoesOn
    | QueryGivenUp
    | QueryWithoutDealer
)
