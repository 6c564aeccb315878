"""A party is a generator: it yields what it sends or waits for, and returns its result.

    def alice(value: Words) -> Party[Words]:
        yield Send("bob", Offer(value))
        answer = yield from receive("bob", Reply)
        return answer.value

A program does no I/O: `runner.Table` runs programs in memory, a transport runs
the same ones over a network, both through `seat.Seat`. Programs compose with
`yield from`. The lower-case helpers below yield the same actions, and tell a type checker what
comes back.
"""

from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

from sottovoce.protocols.messages import Enough, Message, Question

COORDINATOR = "coordinator"
KEY_HOLDER = "key holder"
EVALUATOR = "evaluator"

R = TypeVar("R")
M = TypeVar("M", bound=Message)
A = TypeVar("A", bound=Message)


@dataclass(frozen=True)
class Send:
    """Send a message; the program continues at once, with None."""

    to: str
    message: Message


@dataclass(frozen=True)
class Receive:
    """Wait for the next message of `sender`, which must be of one of `kinds`; returns it.

    Raises `ViolationError` in the program for anything else, and `AbsenceError`
    when the sender has left. `steps_left` is for progress displays (`ahead`).
    """

    sender: str
    kinds: tuple[type[Message], ...]
    steps_left: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Ask:
    """Send a question and wait for its answer; returns the answer."""

    to: str
    question: Question[Any]


@dataclass(frozen=True)
class Gather:
    """Wait for one message of `kind` from each of `senders`; returns those that came.

    A program has no clock: its runner decides when the time is up (`Seat.expire`). The result maps
    each sender that was in time to its message, in the order of `senders`; a later message is
    discarded.
    """

    kind: type[Message]
    senders: tuple[str, ...]
    keep: Callable[[str, Any], Message] | None = field(default=None, repr=False)
    """Called once with each message when it comes; only its result is stored, so a sum need not
    keep its parts."""
    steps_left: int | None = field(default=None, compare=False)


Action: TypeAlias = Send | Receive | Ask | Gather
Party: TypeAlias = Generator[Action, Any, R]


def send(to: str, message: Message) -> Party[None]:
    """Send a message."""
    yield Send(to, message)


def receive(sender: str, kind: type[M]) -> Party[M]:
    """The next message of `sender`, which must be of this kind."""
    message = yield Receive(sender, (kind,))
    assert isinstance(message, kind)
    return message


def ask(to: str, question: Question[A]) -> Party[A]:
    """The answer to a question: one trip."""
    answer: A = yield Ask(to, question)
    return answer


def gather(
    kind: type[M], senders: Collection[str], *, keep: Callable[[str, M], M] | None = None
) -> Party[Mapping[str, M]]:
    """One message of this kind from each sender that sent it in time.

    `keep` is called with each message when it comes, and its result is stored.
    """
    messages: Mapping[str, M] = yield Gather(kind, tuple(senders), keep)
    return messages


def dismiss(to: str) -> Party[None]:
    """Tell the party that answers that no more questions come."""
    yield Send(to, Enough())


def ahead(steps: int, program: Party[R]) -> Party[R]:
    """Run one of several equal steps, and state with each wait how many steps follow it.

    Only progress displays use it.
    """
    return _said_left(program, lambda left: steps if left is None else left)


def followed_by(steps: int, program: Party[R]) -> Party[R]:
    """Run a program that counts its own steps, and add `steps` to each count of steps left."""
    return _said_left(program, lambda left: None if left is None else left + steps)


def _said_left(program: Party[R], left: Callable[[int | None], int | None]) -> Party[R]:
    """Run a program, and change the number of steps left that each of its waits states."""
    try:
        action = next(program)
        while True:
            if isinstance(action, Receive | Gather):
                action = replace(action, steps_left=left(action.steps_left))
            try:
                answer = yield action
            except Exception as error:  # noqa: BLE001 - it is the program's own to handle
                action = program.throw(error)
            else:
                action = program.send(answer)
    except StopIteration as end:
        result: R = end.value
        return result
