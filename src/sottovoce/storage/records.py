"""The records of a journal: sessions, their steps, and letters that wait to be sent."""

from dataclasses import dataclass, field

from sottovoce.study.relay import Letter
from sottovoce.wire import Value


class Sent(Value, frozen=True):
    """A packet that a step sent, by the fingerprint of its body."""

    recipient: str
    number: int
    fingerprint: bytes


class StepHead(Value, frozen=True):
    """A step's event, the packets that the program sent, and its error, if any."""

    event: str
    party: str
    number: int
    sent: tuple[Sent, ...]
    failure: str


@dataclass(frozen=True, repr=False)
class SessionStep:
    """A step of a session: its head, and the body of the received letter, if any."""

    head: StepHead
    body: bytes = b""


class OutHead(Value, frozen=True):
    """The head of a letter in the outbox."""

    session: bytes
    sender: str
    recipient: str
    number: int
    kind: str


@dataclass(frozen=True)
class Outgoing:
    """A letter that waits to be sent, and the kind of its message, which its box does not show."""

    letter: Letter = field(repr=False)
    kind: str
    position: int = 0


class SessionHead(Value, frozen=True):
    """The seed of a session, and its opener's description of it."""

    seed: bytes
    head: bytes


@dataclass(frozen=True)
class Opened:
    """A session: the seed of its program's entropy, and whether it was begun before."""

    seed: bytes = field(repr=False)
    begun: bool
