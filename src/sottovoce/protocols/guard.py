"""The one guard before a key holder's answers: order, range and budget.

An answer is a plain function of its question. The guard decides whether the question may be asked
now and how often; if not, its error names the asker:

    guard = Guard(EVALUATOR, [
        [Rule(FixOperand, fix, budget=1)],
        [Rule(SolveStep, step, budget=80), Rule(Truncate, truncate, budget=2)],
    ])
    yield from serve(guard)

Stages follow each other in the order given: the first question of the next
stage closes the one before. A question that was answered already gets exactly
the answer that it got before and costs nothing (the asker resends after a
crash); once `REMEMBERED` newer ones were answered, it is refused. A question of another session
does not reach the guard: the seat refuses its packet.
"""

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sottovoce.errors import MisuseError, OurError, TheirError, ViolationError
from sottovoce.protocols.conversation import Party, Receive, Send
from sottovoce.protocols.messages import Enough, Message, Question
from sottovoce.wire import Codec

A = TypeVar("A", bound=Message)

REMEMBERED = 16


@dataclass(frozen=True)
class AnswerRule(Generic[A]):
    """A kind of question, the function that answers it, and how many may be asked.

    `answer` may raise any error of `errors.py` for a question out of range; the guard turns it into
    a `ViolationError` that names the asker.
    """

    kind: type[Question[A]]
    answer: Callable[[Any], A]
    budget: int

    def __post_init__(self) -> None:
        if self.budget < 1:
            raise MisuseError(
                f"guard: expected a budget of at least 1 for {self.kind.__name__}, "
                f"found {self.budget}"
            )


class AnswerGuard:
    """Answers one asker's questions for one session, in order and within budget."""

    def __init__(
        self, asker: str, stages: Sequence[Sequence[AnswerRule[Any]]], *, codec: Codec | None = None
    ) -> None:
        self.asker = asker
        self._stages = [{rule.kind: rule for rule in stage} for stage in stages]
        if not self._stages or not all(self._stages):
            raise MisuseError("guard: expected at least one stage, each with a rule")
        self._stage = 0
        self._asked: Counter[tuple[int, type[Question[Any]]]] = Counter()
        self._answers: OrderedDict[bytes, Message] = OrderedDict()
        self._seen: set[bytes] = set()
        self._codec = codec or Codec()

    @property
    def kinds(self) -> tuple[type[Question[Any]], ...]:
        """Every kind of question that some stage answers."""
        return tuple(dict.fromkeys(kind for stage in self._stages for kind in stage))

    @property
    def asked(self) -> int:
        """The number of questions answered; repeats do not count."""
        return self._asked.total()

    def answer(self, question: Question[A]) -> A:
        """Return the answer, or raise a `ViolationError` that names the asker."""
        digest = hashlib.blake2b(self._codec.encode(question), digest_size=32).digest()
        if digest in self._answers:
            return self._answers[digest]  # type: ignore[return-value]  # stored under its question
        if digest in self._seen:
            raise self._refusal(f"an old {type(question).__name__} came again")
        rule = self._admit(type(question))
        try:
            answer: A = rule.answer(question)
        except TheirError as error:
            raise error.by(self.asker) from error
        except OurError as error:
            raise self._refusal(f"{type(question).__name__} out of range: {error}") from error
        self._seen.add(digest)
        self._answers[digest] = answer
        if len(self._answers) > REMEMBERED:
            self._answers.popitem(last=False)
        return answer

    def _admit(self, kind: type[Question[Any]]) -> AnswerRule[Any]:
        """Return the rule for this kind, moving on to the next stage if that begins with it."""
        if kind not in self._stages[self._stage] and self._stage + 1 < len(self._stages):
            following = self._stages[self._stage + 1]
            self._stage += kind in following
        rule = self._stages[self._stage].get(kind)
        if rule is None:
            expected = " or ".join(known.__name__ for known in self._stages[self._stage])
            raise self._refusal(f"expected {expected}, found {kind.__name__}")
        if self._asked[self._stage, kind] >= rule.budget:
            raise self._refusal(
                f"expected at most {rule.budget} questions {kind.__name__}, found one more"
            )
        self._asked[self._stage, kind] += 1
        return rule

    def _refusal(self, message: str) -> ViolationError:
        return ViolationError(message, party=self.asker)


def serve(guard: AnswerGuard) -> Party[None]:
    """The program of a party that only answers, until the asker sends `Enough`."""
    kinds: tuple[type[Message], ...] = (*guard.kinds, Enough)
    while not isinstance(question := (yield Receive(guard.asker, kinds)), Enough):
        yield Send(guard.asker, guard.answer(question))
