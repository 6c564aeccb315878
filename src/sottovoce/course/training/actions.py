"""The actions of a decider during a training."""

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias

from sottovoce.course.control import Reseated
from sottovoce.course.news import News
from sottovoce.course.queries.actions import QueryAction
from sottovoce.errors import SottovoceError
from sottovoce.protocols.messages import Message
from sottovoce.study.attempts import Attempt
from sottovoce.study.study import Study


class KeptWith(Enum):
    """Data that only the carrier has, and that go to disk with a step's letters."""

    MODEL = auto()
    """The agreement, and what the coordinator needs to answer queries."""


@dataclass(frozen=True)
class Tell:
    """Send letters to these seats; on disk with the record."""

    recipients: tuple[str, ...]
    message: Message


@dataclass(frozen=True)
class Keep:
    """Keep the result of this attempt as the final one; on disk with the record."""

    what: KeptWith
    attempt: Attempt


@dataclass(frozen=True)
class TakeSeat:
    """Take our seat in this study; an earlier roster is void."""

    study: Study


@dataclass(frozen=True)
class RunAttempt:
    """Run our program of an attempt, from the start or from the journal."""

    attempt: Attempt


@dataclass(frozen=True)
class RecallAttempt:
    """Run a finished program again, for its result only."""

    attempt: Attempt


@dataclass(frozen=True)
class KeepResult:
    """Take the result of this attempt, if it has one, as the result of its stage.

    Performed in order, so after an attempt that is run again from the journal.
    """

    attempt: Attempt


@dataclass(frozen=True)
class DropSession:
    """Stop a program; late letters of its session change nothing."""

    session: bytes = field(repr=False)


@dataclass(frozen=True)
class DropAll:
    """Stop every program that runs."""


@dataclass(frozen=True)
class LeaveOut:
    """Tell our program of a session that these parties are gone for good."""

    session: bytes = field(repr=False)
    parties: tuple[str, ...]


@dataclass(frozen=True)
class AskConsent:
    """Ask this site's person about a roster, unless the answer is `known`, then read the documents.

    Answered by `ConsentGiven` or `ConsentRefused` with the roster's number.
    """

    number: int
    study: Study
    known: bool


@dataclass(frozen=True)
class ComeBack:
    """Agree again with new keys, and take the model from a peer; answered by `CleanedUp`."""

    message: Reseated


@dataclass(frozen=True)
class EndCourse:
    """End the course here: raise this error, or the one of our own program or person."""

    error: SottovoceError | None


@dataclass(frozen=True)
class CleanUp:
    """Send waiting letters, note the end, delete what must not stay; answered by `CleanedUp`."""


@dataclass(frozen=True)
class Serve:
    """The training is over: begin to serve queries."""


@dataclass(frozen=True)
class Emit:
    """Emit an event for observers."""

    news: News


@dataclass(frozen=True)
class WakeAt:
    """Send `Tick` at this time or later; only the last request counts."""

    when: float


Action: TypeAlias = (
    Tell
    | Keep
    | TakeSeat
    | RunAttempt
    | RecallAttempt
    | KeepResult
    | DropSession
    | DropAll
    | LeaveOut
    | AskConsent
    | ComeBack
    | EndCourse
    | CleanUp
    | Serve
    | Emit
    | WakeAt
    | QueryAction
)
