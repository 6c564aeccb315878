"""What a course tells whoever watches: small frozen facts for progress bars and logs.

No news carry content: names of seats, stages, counts, sizes and times only.
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class SeatWaiting:
    """A seat waits: for what, for whom, and until when (seconds since 1970) before it gives up.

    0 where it does not give up.
    """

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
    """A seat has finished its part of a stage, after so many seconds."""

    study: str
    seat: str
    stage: str
    attempt: int
    seconds: float


@dataclass(frozen=True)
class AttemptFailed:
    """An attempt at a stage came to nothing; another one follows without the missing peers."""

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
    """The study ended without a model: why, and because of whom (if of anybody)."""

    study: str
    seat: str
    reason: str
    party: str


@dataclass(frozen=True)
class StudyClosed:
    """The coordinator closed a finished study: what answers need is deleted."""

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
    """A seat has no part in what it was asked to do: why, and who asked."""

    study: str
    seat: str
    reason: str
    party: str


@dataclass(frozen=True)
class QueryPriced:
    """Before a query is asked: its rows, what they count as, and what was left when last heard."""

    study: str
    seat: str
    rows: int
    counted: int
    left: int


@dataclass(frozen=True)
class QueryGoesOn:
    """A query that was broken off goes on where it stood: it is not asked, or charged, twice."""

    study: str
    seat: str
    number: int


@dataclass(frozen=True)
class QueryGivenUp:
    """A query that was broken off is given up for one about other documents.

    It stays charged if its labels were on their way already, and not otherwise.
    """

    study: str
    seat: str
    number: int
    documents: int


@dataclass(frozen=True)
class QueryWithoutDealer:
    """The dealer does not answer: this query begins anew without it, under another number."""

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
