"""What a decider can have done after the training."""

from dataclasses import dataclass
from typing import TypeAlias

from sottovoce.course.queries.conversations import ConversationId, EvaluationId, QueryId
from sottovoce.errors import SottovoceError
from sottovoce.study.choices import Verdict


@dataclass(frozen=True)
class RunQuery:
    """Run our program of a query: anew, from the journal, or as it runs already.

    `helpers` are the seats besides coordinator and asker. Say `ConversationEnded`,
    `ConversationOverdue` or `NotReplayed`.
    """

    query: QueryId
    verdict: Verdict | None
    helpers: tuple[str, ...]


@dataclass(frozen=True)
class RunEvaluation:
    """Run our program of an evaluation among these peers, as `RunQuery` does.

    Say `ConversationGoesOn` where it was run again from the journal and waits.
    """

    evaluation: EvaluationId
    peers: tuple[str, ...]


@dataclass(frozen=True)
class StopConversation:
    """Stop our program, if it runs, and say `ConversationEnded` with what came of it."""

    which: ConversationId


@dataclass(frozen=True)
class Forget:
    """Stop our program, if it runs, and delete its seeds; late letters of it change nothing."""

    which: ConversationId


@dataclass(frozen=True)
class ForgetOthers:
    """Delete the seeds of all conversations but these: a crash came before that was done."""

    besides: tuple[ConversationId, ...]


@dataclass(frozen=True)
class KeepCounts:
    """Keep our share of what a query counted for an evaluation; on disk with the record."""

    query: QueryId


@dataclass(frozen=True)
class EraseCounts:
    """Our shares of what these peers' queries counted are of no more use; on disk likewise."""

    peers: tuple[str, ...]


@dataclass(frozen=True)
class EraseShare:
    """Our share of the model is of no more use; on disk with the record."""


@dataclass(frozen=True)
class Deliver:
    """Hand the result of a conversation to whoever asked.

    Say `AnswerDelivered` or `EvaluationDelivered` once it is in safety.
    """

    which: ConversationId


@dataclass(frozen=True)
class ShowEvaluation:
    """Show the figures of an evaluation that was held."""

    evaluation: EvaluationId


@dataclass(frozen=True)
class EndAsking:
    """There are no labels: raise this, or what our own program of the `failed` query raised."""

    error: SottovoceError | None
    failed: QueryId | None = None


@dataclass(frozen=True)
class EndEvaluating:
    """There is no joint evaluation: raise this, or what our own program of it raised."""

    error: SottovoceError | None
    failed: EvaluationId | None = None


@dataclass(frozen=True)
class NoteRefusal:
    """Write into the ledger that this seat refused something, and why."""

    reason: str


@dataclass(frozen=True)
class StopServing:
    """The study is closed: this seat is not needed any longer."""


QueryAction: TypeAlias = (
    RunQuery
    | RunEvaluation
    | StopConversation
    | Forget
    | ForgetOthers
    | KeepCounts
    | EraseCounts
    | EraseShare
    | Deliver
    | ShowEvaluation
    | EndAsking
    | EndEvaluating
    | NoteRefusal
    | StopServing
)
