"""What can happen to a decider."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from sottovoce.errors import AbsenceError, OurError, SottovoceError, TheirError
from sottovoce.protocols.messages import Message
from sottovoce.study.study import Study


class Order(StrEnum):
    """What the people of a coordinator may order."""

    CANCEL = "cancel"
    CLOSE = "close"


@dataclass(frozen=True)
class Failure:
    """An error as far as others may hear of it: its kind, and whose fault it is."""

    kind: str
    party: str = ""
    ours: bool = False
    absent: bool = False

    @classmethod
    def of(cls, error: SottovoceError) -> Self:
        """What is told of an error."""
        return cls(
            type(error).__name__,
            error.party if isinstance(error, TheirError) else "",
            isinstance(error, OurError),
            isinstance(error, AbsenceError),
        )


@dataclass(frozen=True)
class Started:
    """A process begins, or begins again.

    The record says how far it is. `opened` are the sums that its book knows, each by the digest
    of its study and its name.
    """

    opened: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True)
class SeatTaken:
    """A seat enrolled with this identity key, for the first time or again."""

    seat: str
    public: bytes = field(repr=False)


@dataclass(frozen=True)
class Heard:
    """A control letter came, in its turn."""

    sender: str
    message: Message


@dataclass(frozen=True)
class ProgramEnded:
    """Our own program of a session returned, or failed.

    `peers` are those in its result, where it says so. `kept` is False at a peer that came too late.
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
    """A seat made a request, and proved that it is the seat."""

    seat: str


@dataclass(frozen=True)
class SumsAgreed:
    """Our book of opened sums knows these now, each by the digest of its study and its name."""

    opened: frozenset[tuple[str, str]]


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
    """The person, the policy or the documents say no to the roster of this number."""

    number: int


@dataclass(frozen=True)
class Withdrew:
    """This site's people took their consent back."""


@dataclass(frozen=True)
class CleanedUp:
    """Everything that `CleanUp` asked for is done."""


@dataclass(frozen=True)
class Tick:
    """The time came for which a decider asked to be woken."""
