"""The events of a course: small frozen facts for progress bars and logs.

They hold no content: only names of seats, stages, counts, sizes and times.
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class SeatWaiting:
    """A seat waits: for what, for whom, and until when it gives up (0: never)."""

    study: str
    seat: str
    what: str
    whom: tuple[str, ...]
    until: float


@dataclass(frozen=True)
class StageBegan:
    """An attempt at a stage began at a seat, with these peers."""

    study: str
    seat: str
    stage: str
    attempt: int
    peers: tuple[str, ...]


@dataclass(frozen=True)
class StageEnded:
    """A seat has finished its part of a stage, and the seconds that this took."""

    study: str
    seat: str
    stage: str
    attempt: int
    seconds: float


@dataclass(frozen=True)
class AttemptFailed:
    """An attempt at a stage failed; another one follows without the missing peers."""

    study: str
    seat: str
    stage: str
    attempt: int
    reason: str
    missing: tuple[str, ...]


@dataclass(frozen=True)
class StudyFinished:
    """Training is over at this seat; the model is ready for queries."""

    study: str
    seat: str


@dataclass(frozen=True)
class StudyStopped:
    """The study ended without a model: why, and because of whom, if anybody."""

    study: str
    seat: str
    reason: str
    party: str


@dataclass(frozen=True)
class StudyClosed:
    """The coordinator closed a finished study, and deleted what answers need."""

    study: str
    seat: str


@dataclass(frozen=True)
class QueryServed:
    """A seat answered, or dealt for, a query or an evaluation of this asker."""

    study: str
    seat: str
    asker: str
    number: int


@dataclass(frozen=True)
class Refused:
    """A seat refused what it was asked to do: why, and who asked."""

    study: str
    seat: str
    reason: str
    party: str


@dataclass(frozen=True)
class QueryPriced:
    """The cost of a query before it is asked: its rows, their charge, and the last known budget."""

    study: str
    seat: str
    rows: int
    counted: int
    left: int


@dataclass(frozen=True)
class QueryGoesOn:
    """An interrupted query continues: it is not asked or charged twice."""

    study: str
    seat: str
    number: int


@dataclass(frozen=True)
class QueryGivenUp:
    """An interrupted query is given up for one about other documents.

    It stays charged only if its labels were already sent.
    """

    study: str
    seat: str
    number: int
    documents: int


@dataclass(frozen=True)
class QueryWithoutDealer:
    """The dealer does not answer: this query begins again without it, under another number."""

    study: str
    seat: str
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
