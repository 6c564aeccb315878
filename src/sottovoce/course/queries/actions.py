"""The actions of a decider after the training."""

from dataclasses import dataclass
from typing import TypeAlias

from sottovoce.course.queries.conversations import ConversationId, EvaluationId, QueryId
from sottovoce.errors import SottovoceError
from sottovoce.study.choices import Verdict


@dataclass(frozen=True)
class RunQuery:
    """Run our program of a query: from the start or from the journal, unless it already runs.

    `helpers` are the seats besides coordinator and asker. Answered by `ConversationEnded`,
    `ConversationOverdue` or `NotReplayed`.
    """

    query: QueryId
    verdict: Verdict | None
    helpers: tuple[str, ...]


@dataclass(frozen=True)
class RunEvaluation:
    """Run our program of an evaluation among these peers, as `RunQuery` does.

    Answered by `ConversationGoesOn` if it was run again from the journal and waits.
    """

    evaluation: EvaluationId
    peers: tuple[str, ...]


@dataclass(frozen=True)
class StopConversation:
    """Stop our program, if it runs; answered by `ConversationEnded` with its result."""

    which: ConversationId


@dataclass(frozen=True)
class Forget:
    """Stop our program, if it runs, and delete its seeds; its late letters change nothing."""

    which: ConversationId


@dataclass(frozen=True)
class ForgetOthers:
    """Delete the seeds of all conversations but these, after a crash."""

    besides: tuple[ConversationId, ...]


@dataclass(frozen=True)
class KeepCounts:
    """Keep our share of a query's counts for an evaluation; on disk with the record."""

    query: QueryId


@dataclass(frozen=True)
class EraseCounts:
    """Delete our shares of the counts of these peers' queries; on disk with the record."""

    peers: tuple[str, ...]


@dataclass(frozen=True)
class EraseShare:
    """Delete our share of the model; on disk with the record."""


@dataclass(frozen=True)
class Deliver:
    """Give the result of a conversation to the caller.

    Answered by `AnswerDelivered` or `EvaluationDelivered` once it is stored.
    """

    which: ConversationId


@dataclass(frozen=True)
class ShowEvaluation:
    """Show the figures of an evaluation."""

    evaluation: EvaluationId


@dataclass(frozen=True)
class EndAsking:
    """End without labels: raise this error, or that of our program of the `failed` query."""

    error: SottovoceError | None
    failed: QueryId | None = None


@dataclass(frozen=True)
class EndEvaluating:
    """End without a joint evaluation: raise this error, or that of our own program."""

    error: SottovoceError | None
    failed: EvaluationId | None = None


@dataclass(frozen=True)
class NoteRefusal:
    """Write into the ledger that this seat refused something, and why."""

    reason: str


@dataclass(frozen=True)
class StopServing:
    """The study is closed, and this seat is no longer needed."""


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
