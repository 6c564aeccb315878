"""The interfaces of a seat's runtime: decider, connection, gate and ledger."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from sottovoce.course.control import LedgerHead
from sottovoce.errors import MisuseError, SottovoceError
from sottovoce.ledger import LineKind
from sottovoce.node.seat.durable_seat import DurableSeat, SeatSession
from sottovoce.protocols.conversation import Gather, Receive
from sottovoce.protocols.messages import Message
from sottovoce.storage.records import Outgoing
from sottovoce.study.attempts import Stage
from sottovoce.study.relay import Letter
from sottovoce.wire.tags import kebab


class LetterSender(Protocol):
    """Access to the mailboxes: over a connection, or directly on the coordinator's machine."""

    async def take_up(self) -> None:
        """Compare the server's record of this seat with its journal; raise if they differ."""

    async def post(self, letter: Letter) -> object:
        """Leave a letter; returns once it is on the server's disk."""

    async def fetch(self, after: int, *, wait: float) -> Sequence[tuple[int, Letter]]:
        """The letters after a position; waits up to `wait` seconds for one."""

    def held_back(self) -> float:
        """The seconds in which the server held letters back for want of room, so far."""

    async def acknowledge(self, position: int) -> None:
        """Letters up to this position are on our disk."""


class LetterObserver(Protocol):
    """Observes every letter: the gate before it leaves, the ledger when it came or left."""

    @property
    def asks(self) -> bool:
        """Whether somebody is asked before a letter leaves."""

    async def leaving(self, outgoing: Outgoing, stage: str) -> None:
        """Ask whether a letter may leave; raise if not."""

    def left_unasked(self, outgoing: Outgoing, stage: str) -> None:
        """As `left`, without asking anybody."""

    def left(self, outgoing: Outgoing, stage: str) -> None:
        """Write down that a letter leaves."""

    def came(self, letter: Letter, kind: str, stage: str) -> None:
        """A letter came in."""

    def flush(self) -> None:
        """Write down received letters before they are acknowledged."""

    def note(self, what: LineKind, note: str) -> None:
        """Write down a decision."""

    def head(self) -> LedgerHead:
        """The ledger's end as it is now, for the coordinator to remember."""

    def receipt(self, data: bytes) -> int:
        """Take the coordinator's receipt of our ledger; raise if we have fewer lines."""


@dataclass(frozen=True)
class Waits:
    """The seconds that a seat gathers messages, and waits for one party.

    `people` is for the agreement, in which people compare words by phone; the largest wait counts.
    """

    gather: float
    receive: float
    people: float = 0.0

    def longest(self, stage: str, *, gathers: bool) -> float:
        """The seconds that a program of this stage waits."""
        machines = self.gather if gathers else self.receive
        return max(machines, self.people) if stage == Stage.AGREEMENT else machines


@dataclass(frozen=True)
class Effect:
    """The effect of a control letter, written atomically: notes, and letters in answer."""

    notes: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    letters: Sequence[tuple[str, Message]] = ()

    def with_notes(self, notes: Mapping[str, bytes]) -> "Effect":
        """This step, with further notes."""
        return Effect({**self.notes, **notes}, self.letters)


class Decider(Protocol):
    """Decides at a seat: it gets control letters, and hears when programs end or hang."""

    async def hear(self, sender: str, message: Message, notes: Mapping[str, bytes]) -> None:
        """Handle a control letter; its effect is on disk when this returns."""

    def ended(self, running: "RunningProgram") -> None:
        """A program returned or failed."""

    def overdue(self, running: "RunningProgram", party: str) -> None:
        """A program waited for one party longer than it may."""

    def waiting(self, running: "RunningProgram", until: float) -> None:
        """A program has waited for some time, and will wait until `until`."""


@dataclass(eq=False)
class RunningProgram:
    """A running program of a session, and since when it waits, by the clock of its seat."""

    sitting: SeatSession
    stage: str
    attempt: int
    seat: DurableSeat[Any] = field(repr=False)
    since: float
    waiting: Receive | Gather | None = None
    letters: int = 0
    bytes: int = 0
    whom: tuple[str, ...] = ()
    announced: bool = False

    @property
    def awaited(self) -> str:
        """The messages that it waits for, in the words of the card and the ledger."""
        match self.waiting:
            case Receive(_, kinds):
                return " or ".join(kebab(kind.__name__) for kind in kinds)
            case Gather(kind, _, _):
                return kebab(kind.__name__)
        return "nothing"

    def due(self, waits: Waits) -> float:
        """The time at which its wait is over."""
        gathers = isinstance(self.waiting, Gather)
        return self.since + waits.longest(self.stage, gathers=gathers)

    def note_wait(self, now: float) -> bool:
        """Restart the clock if the program now waits for something else."""
        if self.seat.late != self.whom:
            self.whom, self.announced = self.seat.late, False
        if self.seat.waiting is self.waiting:
            return False
        self.waiting, self.since, self.announced = self.seat.waiting, now, False
        return True


@contextmanager
def one_error() -> Iterator[None]:
    """The first readable error of several that happened together."""
    try:
        yield
    except BaseExceptionGroup as group:
        leaves = tuple(_leaves(group))
        ours = (error for error in leaves if isinstance(error, SottovoceError))
        raise next(ours, leaves[0]) from None


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


class NoDecider:
    """Stands in until a decider is set."""

    async def hear(self, sender: str, message: Message, notes: Mapping[str, bytes]) -> None:
        """Refuse."""
        raise self._error(sender, message, notes)

    def ended(self, running: RunningProgram) -> None:
        """Refuse."""
        raise self._error(running)

    def overdue(self, running: RunningProgram, party: str) -> None:
        """Refuse."""
        raise self._error(running, party)

    def waiting(self, running: RunningProgram, until: float) -> None:
        """Refuse."""
        raise self._error(running, until)

    def _error(self, *_: object) -> MisuseError:
        return MisuseError("no decider is set at this seat")
