"""What a decider can have done."""

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
    """What goes to disk together with a step's letters, and only the carrier has."""

    MODEL = auto()
    """The agreement, and what the coordinator needs to answer queries."""


@dataclass(frozen=True)
class Tell:
    """Letters to these seats; on disk with the record."""

    recipients: tuple[str, ...]
    message: Message


@dataclass(frozen=True)
class Keep:
    """Keep what came of this attempt, which is the one that counts; on disk with the record."""

    what: KeptWith
    attempt: Attempt


@dataclass(frozen=True)
class TakeSeat:
    """Take our seat in this study: nothing of an earlier roster counts any longer."""

    study: Study


@dataclass(frozen=True)
class RunAttempt:
    """Run our program of an attempt, anew or from the journal."""

    attempt: Attempt


@dataclass(frozen=True)
class RecallAttempt:
    """Run a program that is over once more, for its result alone."""

    attempt: Attempt


@dataclass(frozen=True)
class KeepResult:
    """The result of this attempt, if it has one by now, is the one that counts for its stage.

    Done in its order, so after an attempt that is being run again from the journal.
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
    """Ask this site's person about a roster, unless the answer is `known`; then read the documents.

    Say `ConsentGiven` or `ConsentRefused` with the roster's number.
    """

    number: int
    study: Study
    known: bool


@dataclass(frozen=True)
class ComeBack:
    """Agree again with new keys, take the model from a peer, and say `CleanedUp`."""

    told: Reseated


@dataclass(frozen=True)
class EndCourse:
    """It is over here: raise this, or what our own program or person ended it with."""

    error: SottovoceError | None


@dataclass(frozen=True)
class CleanUp:
    """Send what waits, note the end, and delete what must not stay; then say `CleanedUp`."""


@dataclass(frozen=True)
class Serve:
    """The training is over: go on with what comes after it."""


@dataclass(frozen=True)
class Emit:
    """Tell whoever watches."""

    news: News


@dataclass(frozen=True)
class WakeAt:
    """Say `Tick` at this time, or later; the last one that was asked for counts."""

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
