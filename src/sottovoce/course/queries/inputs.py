"""What can happen after the training, besides letters, starts and ticks."""

from dataclasses import dataclass, field
from typing import TypeAlias

from sottovoce.course.control import Rejoining, Reseated
from sottovoce.course.inputs import Failure
from sottovoce.course.queries.conversations import ConversationId
from sottovoce.study.queries.evaluation import HeldEvaluations


@dataclass(frozen=True)
class ConversationEnded:
    """Our program of a conversation returned, failed, or was stopped (`stopped`).

    At the coordinator `charged` is how many labels a query told, and `evaluated` whether they are
    of an evaluation: nothing, where it ended before it told any. `counted` says that shares of
    counts are its result. `late` says that a peer's evaluation went on without it.
    """

    which: ConversationId
    failure: Failure | None = None
    stopped: bool = False
    charged: int = 0
    evaluated: int = 0
    counted: bool = False
    late: bool = False


@dataclass(frozen=True)
class ConversationOverdue:
    """Our program of a conversation waited too long for one party: how long, and for what."""

    which: ConversationId
    party: str
    waited: str


@dataclass(frozen=True)
class ConversationGoesOn:
    """A program was run again from the journal, and is not at its end."""

    which: ConversationId


@dataclass(frozen=True)
class NotReplayed:
    """A program that began before cannot be made again: its inputs or its version are others."""

    which: ConversationId


OfConversation: TypeAlias = (
    ConversationEnded | ConversationOverdue | ConversationGoesOn | NotReplayed
)
"""What happens to one conversation."""


@dataclass(frozen=True)
class QuestionAsked:
    """This site's people ask about documents, which are known again by their digest."""

    digest: bytes = field(repr=False)
    documents: int


@dataclass(frozen=True)
class EvaluationWanted:
    """This site's people want to evaluate, and wait for the others until then."""

    until: float


@dataclass(frozen=True)
class AnswerDelivered:
    """The labels of a query are in safety; so many may still be asked for."""

    left: int


@dataclass(frozen=True)
class EvaluationDelivered:
    """The joint figures are in safety."""


@dataclass(frozen=True)
class SumsKnown:
    """What our book of opened sums knows of evaluations."""

    held: HeldEvaluations


@dataclass(frozen=True)
class SeatReseated:
    """A seat enrolled again with a new key, and is to hear who agreed before."""

    seat: str
    told: Reseated


@dataclass(frozen=True)
class SeatRejoined:
    """A seat agreed again with its new key, and all others are to hear it."""

    seat: str
    told: Rejoining
