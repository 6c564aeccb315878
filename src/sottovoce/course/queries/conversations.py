"""The names of the conversations after the training, from which their sessions are made."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class QueryId:
    """A query of one peer; its numbers are used once each."""

    asker: str
    number: int

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of its session's name."""
        return ("query", self.asker, str(self.number))


@dataclass(frozen=True)
class EvaluationId:
    """One attempt at a joint evaluation."""

    number: int
    attempt: int

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of its session's name."""
        return ("evaluation", str(self.number), str(self.attempt))


ConversationId: TypeAlias = QueryId | EvaluationId
