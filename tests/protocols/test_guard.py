"""Messages declare what they reveal, and a guard answers in order, within range and budget."""

from typing import ClassVar

import pytest

from harness.conversations.spoken import NOTHING, Square, Squared
from sottovoce.errors import (
    BoundError,
    MalformedError,
    MisuseError,
    ViolationError,
)
from sottovoce.protocols.guard import REMEMBERED, AnswerGuard, AnswerRule
from sottovoce.protocols.messages import Disclosure, Message, Question, message_kinds


def test_a_message_that_says_not_what_it_reveals_cannot_be_written() -> None:
    with pytest.raises(MisuseError, match="Silent: a message says who sees it"):

        class Silent(Message, frozen=True):
            value: int

    with pytest.raises(MisuseError, match="expected words in 'reveals'"):
        Disclosure(seen_by="the key holder", reveals="nothing", assuming="nothing at all")

    class Talkative(Message, frozen=True):
        discloses: ClassVar = NOTHING

    # A disclosure is not inherited: what a subclass adds may tell more.
    with pytest.raises(MisuseError, match="Quiet: a message says who sees it"):

        class Quiet(Talkative, frozen=True):
            value: int

    with pytest.raises(MisuseError, match="the tag 'enough' belongs to sottovoce"):

        class Enough(Message, frozen=True):
            discloses: ClassVar = NOTHING

    assert all(kind.__module__.startswith("sottovoce") for kind in message_kinds())


def test_a_question_names_its_answer() -> None:
    class Vague(Question, frozen=True):
        discloses: ClassVar = NOTHING

    assert Square.answer_kind() is Squared
    with pytest.raises(MisuseError, match="Vague: expected Question"):
        Vague.answer_kind()


class Doubled(Message, frozen=True):
    discloses: ClassVar = NOTHING
    value: int


class Double(Question[Doubled], frozen=True):
    discloses: ClassVar = NOTHING
    value: int


def test_a_guard_keeps_stages_budgets_and_range() -> None:
    def double(question: Double) -> Doubled:
        if question.value > 10:
            raise BoundError("value above 10")
        if question.value < 0:
            raise MalformedError("negative")
        if question.value == 7:
            raise MisuseError("a question that nobody may ask")
        return Doubled(2 * question.value)

    guard = AnswerGuard(
        "alice",
        [
            [AnswerRule(Square, lambda question: Squared(question.value**2), budget=2)],
            [AnswerRule(Double, double, budget=4)],
        ],
    )
    assert guard.kinds == (Square, Double)
    assert guard.answer(Square(2)) == Squared(4)
    assert guard.answer(Square(2)) == Squared(4)
    assert guard.asked == 1
    assert guard.answer(Double(2)) == Doubled(4)
    with pytest.raises(ViolationError, match="alice: expected Double, found Square"):
        guard.answer(Square(3))
    assert guard.answer(Square(2)) == Squared(4)
    with pytest.raises(ViolationError, match="alice: Double out of range: value above 10"):
        guard.answer(Double(11))
    with pytest.raises(MalformedError, match="alice: negative"):
        guard.answer(Double(-1))
    with pytest.raises(ViolationError, match="alice: Double out of range: a question that nobody"):
        guard.answer(Double(7))
    with pytest.raises(ViolationError, match="at most 4 questions Double, found one more"):
        guard.answer(Double(3))


def test_a_guard_forgets_old_answers_and_refuses_to_give_them_again() -> None:
    answers = iter(range(1000))
    guard = AnswerGuard(
        "alice", [[AnswerRule(Square, lambda _: Squared(next(answers)), budget=100)]]
    )
    first = guard.answer(Square(0))
    for value in range(1, REMEMBERED):
        guard.answer(Square(value))
    assert guard.answer(Square(0)) == first
    guard.answer(Square(REMEMBERED))
    with pytest.raises(ViolationError, match="alice: an old Square came again"):
        guard.answer(Square(0))


def test_a_guard_needs_rules_and_budgets() -> None:
    with pytest.raises(MisuseError, match="at least one stage"):
        AnswerGuard("alice", [])
    with pytest.raises(MisuseError, match="budget of at least 1 for Square, found 0"):
        AnswerRule(Square, lambda question: Squared(1), budget=0)
