"""Events of the service: small frozen facts for progress bars and logs.

No event carries content: names of seats, stages, counts, sizes and times only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeAlias

from sottovoce.course.news import News, SeatEvent

if TYPE_CHECKING:
    from sottovoce.study.plan import StudyPlan
    from sottovoce.study.totals import Totals


@dataclass(frozen=True)
class Listening:
    """The coordinator listens at this address, with a certificate of this fingerprint."""

    address: str
    fingerprint: bytes
    studies: tuple[str, ...]


@dataclass(frozen=True)
class StandingBy:
    """Another process serves this folder; this one takes over when that ends."""

    folder: str


@dataclass(frozen=True)
class Enrolled(SeatEvent):
    """A seat is enrolled: its identity key is pinned at the coordinator.

    `until` is when the others must have joined, in seconds since 1970; 0 if nobody said it.
    """

    until: float = 0.0


@dataclass(frozen=True)
class RosterKnown(SeatEvent):
    """Everybody who will take part is known; people compare the words by phone."""

    peers: tuple[str, ...]
    words: tuple[str, ...]
    until: float = 0.0


@dataclass(frozen=True)
class Moved(SeatEvent):
    """A letter came in or went out in a stage: the number so far, and all bytes.

    `steps_left` is how many steps of the computation follow, where the program knows it.
    """

    stage: str
    letters: int
    bytes: int
    steps_left: int | None = None


@dataclass(frozen=True)
class TotalsPublished(SeatEvent):
    """The first sums are known: `words` were chosen, of at most `most`, and rows are rounded up.

    `by_class` are the rows of each class, in the plan's order. Where they are 0 all sites together
    have too few documents: the class is left out, or `joined` to the class of all rare ones.
    """

    words: int
    most: int
    rows: int
    by_class: tuple[int, ...]
    peers: tuple[str, ...]
    joined: bool = False

    @classmethod
    def of(cls, study: str, seat: str, plan: "StudyPlan", totals: "Totals") -> Self:
        """The totals of a study."""
        from sottovoce.study.rare_classes import joined_class

        words, joined = plan.features - totals.absent, bool(joined_class(plan, totals))
        numbers = (words, plan.features, totals.rows, totals.by_class)
        return cls(study, seat, *numbers, totals.peers, joined)

    @property
    def totals(self) -> "Totals":
        """The totals that this tells of."""
        from sottovoce.study.totals import Totals

        return Totals(self.rows, self.by_class, self.peers, self.most - self.words)


@dataclass(frozen=True)
class SeatPartEnded(SeatEvent):
    """A seat's part in a stage, a query or an evaluation is over, with whatever result."""

    stage: str


@dataclass(frozen=True)
class ModelStored(SeatEvent):
    """A peer's sealed model is on its disk."""

    path: Path


@dataclass(frozen=True)
class JournalDeleted(SeatEvent):
    """Shares, seeds, masks and journals of a seat were deleted, and its ledger records it."""


@dataclass(frozen=True)
class SeatLost(SeatEvent):
    """A seat cannot go on, and what it held is lost; the reason says why."""

    reason: str


@dataclass(frozen=True)
class SeatWithdrawn(SeatEvent):
    """This site takes no further part with this seat."""


@dataclass(frozen=True)
class EvaluationHeld(SeatEvent):
    """A seat has figures of an evaluation: first a site's own, then the joint ones of these peers.

    `figures` is the JSON that is kept, and shown again.
    """

    peers: tuple[str, ...]
    accuracy: float
    figures: str


@dataclass(frozen=True)
class LineLost(SeatEvent):
    """The coordinator cannot be reached; the seat tries again by itself."""

    reason: str


@dataclass(frozen=True)
class LineBack(SeatEvent):
    """The coordinator answers again."""


Event: TypeAlias = (
    News
    | Listening
    | StandingBy
    | Enrolled
    | RosterKnown
    | Moved
    | TotalsPublished
    | SeatPartEnded
    | ModelStored
    | JournalDeleted
    | SeatLost
    | SeatWithdrawn
    | EvaluationHeld
    | LineLost
    | LineBack
)
OnEvent: TypeAlias = Callable[[Event], None]


def unheard(event: Event) -> None:
    """Ignore the event."""
    del event
