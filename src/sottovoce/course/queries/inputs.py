"""The inputs of a decider after the training, besides letters, starts and ticks."""

from dataclasses import dataclass, field
from typing import TypeAlias

from sottovoce.course.control import Rejoining, Reseated
from sottovoce.course.queries.conversations import ConversationId
from sottovoce.course.training.inputs import Failure
from sottovoce.study.evaluations.evaluation import HeldEvaluations


@dataclass(frozen=True)
class ConversationEnded:
    """Our program of a conversation returned, failed, or was stopped (`stopped`).

    At the coordinator `charged` is the number of labels that a query told (0 if it ended before),
    and `evaluated` whether they belong to an evaluation. `counted` says that its result is shares
    of counts. `late` says that a peer's evaluation continued without it.
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
    """Our program of a conversation waited too long for one party; how long, and for what."""

    which: ConversationId
    party: str
    waited: str


@dataclass(frozen=True)
class ConversationGoesOn:
    """A program was run again from the journal, and has not ended."""

    which: ConversationId


@dataclass(frozen=True)
class NotReplayed:
    """A program cannot be restored from the journal: its inputs or its version changed."""

    which: ConversationId


@dataclass(frozen=True)
class SeatGaveUp:
    """A seat says that it cannot go on, or that what it held is lost; until it is seen again."""

    seat: str


OfConversation: TypeAlias = (
    ConversationEnded | ConversationOverdue | ConversationGoesOn | NotReplayed
)
"""The inputs about one conversation."""


@dataclass(frozen=True)
class QuestionAsked:
    """This site's people ask about documents, which their digest identifies."""

    digest: bytes = field(repr=False)
    documents: int


@dataclass(frozen=True)
class EvaluationWanted:
    """This site's people want to evaluate, and wait for the others until `until`."""

    until: float


@dataclass(frozen=True)
class AnswerDelivered:
    """The labels of a query are stored; `left` labels may still be asked for."""

    left: int


@dataclass(frozen=True)
class EvaluationDelivered:
    """The joint figures are stored."""


@dataclass(frozen=True)
class SumsKnown:
    """The evaluations in our record of opened sums."""

    held: HeldEvaluations


@dataclass(frozen=True)
class SeatReseated:
    """A seat enrolled again with a new key, and must be told who agreed before."""

    seat: str
    message: Reseated


@dataclass(frozen=True)
class SeatRejoined:
    """A seat agreed again with its new key, and all others must be told."""

    seat: str
    message: Rejoining
