"""The inputs of a decider during a training."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from sottovoce.errors import AbsenceError, OurError, SottovoceError, TheirError
from sottovoce.protocols.messages import Message
from sottovoce.study.study import Study


class Order(StrEnum):
    """The orders that the coordinator's people may give."""

    CANCEL = "cancel"
    CLOSE = "close"


@dataclass(frozen=True)
class Failure:
    """The part of an error that others may know: its kind, and whose fault it is."""

    kind: str
    party: str = ""
    ours: bool = False
    absent: bool = False

    @classmethod
    def of(cls, error: SottovoceError) -> Self:
        """The part of an error that is told."""
        return cls(
            type(error).__name__,
            error.party if isinstance(error, TheirError) else "",
            isinstance(error, OurError),
            isinstance(error, AbsenceError),
        )


@dataclass(frozen=True)
class Started:
    """A process starts, or starts again.

    `opened` are the sums in its record of opened sums, each by the digest of its study and its
    name.
    """

    opened: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True)
class SeatTaken:
    """A seat enrolled with this identity key, for the first time or again."""

    seat: str
    public: bytes = field(repr=False)


@dataclass(frozen=True)
class Heard:
    """A control letter arrived, in its order."""

    sender: str
    message: Message


@dataclass(frozen=True)
class ProgramEnded:
    """Our own program of a session returned, or failed.

    `peers` are the peers in its result, if it names them. `kept` is False at a peer that came too
    late.
    """

    session: bytes = field(repr=False)
    failure: Failure | None = None
    peers: tuple[str, ...] = ()
    kept: bool = True


@dataclass(frozen=True)
class ProgramWaits:
    """Our own program of a session waits for these parties, and until when."""

    session: bytes = field(repr=False)
    what: str
    whom: tuple[str, ...]
    until: float


@dataclass(frozen=True)
class Overdue:
    """Our own program of a session waited too long for one party."""

    session: bytes = field(repr=False)
    party: str


@dataclass(frozen=True)
class Seen:
    """A seat made an authenticated request."""

    seat: str


@dataclass(frozen=True)
class SumsAgreed:
    """The sums in our record of opened sums, each by the digest of its study and its name."""

    opened: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class LettersHeld:
    """The seconds in which our server could take no letters, since it began."""

    seconds: float


@dataclass(frozen=True)
class Ordered:
    """The people of the coordinator gave an order."""

    order: Order
    reason: str = ""


@dataclass(frozen=True)
class ConsentGiven:
    """This site's person agreed to the roster of this number, and its documents are read."""

    number: int
    study: Study


@dataclass(frozen=True)
class ConsentRefused:
    """The person, the policy or the documents rule out the roster of this number."""

    number: int


@dataclass(frozen=True)
class Withdrew:
    """This site's people withdrew their consent."""


@dataclass(frozen=True)
class CleanedUp:
    """The actions of `CleanUp` are finished."""


@dataclass(frozen=True)
class Tick:
    """The time of `WakeAt` has come."""
