"""A seat whose program continues after a crash, and sends the same bytes again.

    seat = DurableSeat.begin(journal, sitting, program)     # new, or run again from the journal
    seat.deliver(letter)                                    # returns once all of it is on disk

A program is a function of its inputs, its entropy and its events, in order. The journal keeps the
seed of the entropy and the events; what is drawn depends on all events before it. After a restart
the program runs again with them, and its messages are compared with those that it sent. Letters are
never made twice: an unsent letter is in the journal, sealed, committed with the step that made it.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from sottovoce.entropy import Entropy, Expansion, RunEntropy, RunHistory, SystemEntropy
from sottovoce.errors import MalformedError, MisuseError, ReplayError, SottovoceError, TheirError
from sottovoce.protocols.conversation import Gather, Party, Receive
from sottovoce.protocols.seat import Fingerprints, Packet, Seat
from sottovoce.storage.journal import Journal
from sottovoce.storage.opened_sums import OpenedSumsBook
from sottovoce.storage.records import Outgoing, Sent, SessionStep, StepHead
from sottovoce.study.relay import Letter
from sottovoce.wire import Codec
from sottovoce.wire.codec import tag_of

R = TypeVar("R")
_ENTROPY = "service/session/v1"
_SENT = "service/sent/v1"
# The kind of a letter that could not be opened or read.
UNREADABLE = "unreadable"


class ProgramEvent(StrEnum):
    """The events of a program."""

    BEGIN = "begin"
    LETTER = "letter"
    EXPIRE = "expire"
    LEAVE = "leave"


class Packer(Protocol):
    """Turns packets into letters and back: `study.relay.Relay`, or a test's own."""

    def pack(self, packet: Packet, *, entropy: Entropy) -> Letter:
        """The letter of a packet."""

    def unpack(self, letter: Letter) -> Packet:
        """The packet of a letter."""


@dataclass(frozen=True)
class SeatSession:
    """A seat in a session: its name, the session, its partners, and how they write to each other.

    `head` describes the session (its stage and attempt); a journal that began the session with
    another head refuses. `sums` is the seat's record of opened sums: additions by a step are on
    disk with the step.
    """

    name: str
    session: bytes = field(repr=False)
    partners: tuple[str, ...]
    relay: Packer = field(repr=False)
    codec: Codec = field(default_factory=Codec, repr=False)
    head: bytes = field(default=b"", repr=False)
    sums: OpenedSumsBook = field(default_factory=OpenedSumsBook, repr=False)


@dataclass(frozen=True, repr=False)
class _Came:
    """A letter, and what it holds or what is wrong with it."""

    letter: Letter
    opened: Packet | TheirError


class DurableSeat(Generic[R]):
    """One party in one session, with a journal. One thread at a time may use it."""

    def __init__(
        self,
        journal: Journal,
        sitting: SeatSession,
        seat: Seat[R],
        history: RunHistory,
        fingerprints: Fingerprints,
    ) -> None:
        self.failure: SottovoceError | None = None
        # Whether the program was stopped before its end.
        self.stopped = False
        self._journal = journal
        self._sitting = sitting
        self._seat = seat
        self._history = history
        self._fingerprints = fingerprints
        self._stale = False
        self._sealing = SystemEntropy()

    @classmethod
    def begin(
        cls, journal: Journal, sitting: SeatSession, program: Callable[[Entropy], Party[R]]
    ) -> "DurableSeat[R]":
        """Run the program to its first wait, or to where the journal ends."""
        opened = journal.open_session(sitting.session, sitting.head)
        fingerprints = Fingerprints(Expansion(opened.seed, _SENT, sitting.session).seed())
        history = RunHistory()
        entropy = RunEntropy(opened.seed, _ENTROPY, sitting.session, history)
        seat = Seat(
            sitting.name,
            program(entropy),
            partners=sitting.partners,
            session=sitting.session,
            codec=sitting.codec,
        )
        durable = cls(journal, sitting, seat, history, fingerprints)
        if opened.begun:
            durable._replay()
        else:
            durable._step(ProgramEvent.BEGIN)
        return durable

    @classmethod
    def recall(
        cls, journal: Journal, sitting: SeatSession, program: Callable[[Entropy], Party[R]]
    ) -> "DurableSeat[R]":
        """Run the program of a finished session again, for its result only.

        It takes no further step, so it sends nothing; later letters are late.
        """
        if not journal.has_begun(sitting.session):
            raise MisuseError(f"{sitting.name}: this session was never begun")
        durable = cls.begin(journal, sitting, program)
        durable.retire()
        return durable

    def __repr__(self) -> str:
        return f"DurableSeat({self._sitting.name!r}, {self.describe()})"

    # Events of the program; each method returns when its effect is on disk.

    def deliver(self, letter: Letter) -> str:
        """Deliver a letter; return the kind of its message.

        A repeated or late letter changes nothing. A letter that breaks the rules is an error inside
        the program; if it ends the program, `failure` holds it.
        """
        self._check()
        if (letter.session, letter.recipient) != (self._sitting.session, self._sitting.name):
            raise MisuseError(f"{self._sitting.name}: expected a letter of this session to us")
        opened = self._opened(letter)
        repeated = isinstance(opened, Packet) and self._seat.came(opened)
        if not (self.finished or repeated):
            self._step(ProgramEvent.LETTER, letter.sender, came=_Came(letter, opened))
        return _kind_of(opened)

    def expire(self) -> None:
        """The time for gathering is over: the program continues with what came."""
        if not isinstance(self.waiting, Gather):
            raise MisuseError(f"{self._sitting.name}: expected a gather, {self.describe()}")
        self._step(ProgramEvent.EXPIRE)

    def leave(self, partner: str) -> None:
        """`partner` has left for good; a repetition, or one after the end, changes nothing."""
        if not self.finished and not self._seat.has_left(partner):
            self._step(ProgramEvent.LEAVE, partner)

    def close(self) -> None:
        """Stop the program where it is, as a crash would: the journal has everything."""
        self.stopped = not self.finished
        self._seat.close()
        self._stale = True

    def retire(self) -> None:
        """Take no further step; the program's result stays available."""
        self._stale = True

    # The state of the program.

    @property
    def waiting(self) -> Receive | Gather | None:
        """The messages that the program waits for."""
        return self._seat.waiting

    @property
    def late(self) -> tuple[str, ...]:
        """The parties whose messages are missing."""
        return self._seat.late

    @property
    def finished(self) -> bool:
        """Whether the program returned or failed."""
        return self._seat.finished

    @property
    def result(self) -> R:
        """The program's result; raises its `failure` if it failed."""
        if self.failure is not None:
            raise self.failure
        return self._seat.result

    def describe(self) -> str:
        """The party's current activity, for an error message or a screen."""
        return "has failed" if self.failure is not None else self._seat.describe()

    def has_left(self, partner: str) -> bool:
        """Whether this seat was told that `partner` is gone."""
        return self._seat.has_left(partner)

    # One step: run the program, write down the result.

    def _step(self, event: ProgramEvent, party: str = "", *, came: "_Came | None" = None) -> None:
        self._check()
        # Until the commit the program is ahead of the journal, also if an error comes in between.
        self._stale = True
        opened = len(self._sitting.sums)
        packets = self._happen(event, party, came)
        head = self._head(event, party, came, packets)
        letters = [
            Outgoing(self._sitting.relay.pack(packet, entropy=self._sealing), tag_of(packet.body))
            for packet in packets
        ]
        self._journal.commit(
            session=self._sitting.session,
            step=SessionStep(head, came.letter.body if came is not None else b""),
            letters=letters,
            notes=self._sitting.sums.notes() if len(self._sitting.sums) > opened else {},
        )
        self._stale = False

    def _happen(self, event: ProgramEvent, party: str, came: "_Came | None") -> list[Packet]:
        """Run the program and return what it sends. Our own and others' errors are normal ends."""
        # What the program draws from now on depends on this, too: a copy of the journal that is
        # told something else puts no mask over a second value.
        digest = came.letter.digest if came is not None else b""
        if event is not ProgramEvent.BEGIN:
            self._history.add(event.value.encode(), party.encode(), digest)
        try:
            match event:
                case ProgramEvent.BEGIN:
                    self._seat.start()
                case ProgramEvent.EXPIRE:
                    self._seat.expire()
                case ProgramEvent.LEAVE:
                    self._seat.leave(party)
                case ProgramEvent.LETTER:
                    assert came is not None
                    self._take_in(party, came.opened)
        except SottovoceError as error:
            self.failure = error
        # The journal has the events; keeping them here would only fill the memory.
        self._seat.view.received.clear()
        return self._seat.take()

    def _opened(self, letter: Letter) -> "Packet | TheirError":
        """The content of a letter, or its error; opened once, because it may be large."""
        try:
            return self._sitting.relay.unpack(letter)
        except TheirError as error:
            return error.by(error.party or letter.sender)

    def _take_in(self, sender: str, opened: "Packet | TheirError") -> None:
        if isinstance(opened, Packet):
            self._seat.accept(sender, opened)
        else:
            self._seat.refuse(opened)

    def _head(
        self, event: ProgramEvent, party: str, came: "_Came | None", packets: list[Packet]
    ) -> StepHead:
        sent = tuple(
            Sent(packet.recipient, packet.number, self._fingerprints.of(packet.body))
            for packet in packets
        )
        failure = type(self.failure).__name__ if self.failure is not None else ""
        number = came.letter.number if came is not None else 0
        return StepHead(event.value, party, number, sent, failure)

    def _replay(self) -> None:
        for index, step in enumerate(self._journal.steps(self._sitting.session), 1):
            head, came = step.head, None
            if head.event == ProgramEvent.LETTER:
                here = (self._sitting.session, head.party, self._sitting.name, head.number)
                letter = Letter(*here, step.body)
                came = _Came(letter, self._opened(letter))
            packets = self._happen(ProgramEvent(head.event), head.party, came)
            replayed = self._head(ProgramEvent(head.event), head.party, came, packets)
            if replayed != head:
                self._stale = True
                raise ReplayError(
                    f"{self._sitting.name}: run again, step {index} "
                    f"{_difference(head, replayed)}; nothing of it was sent",
                    hints=(
                        "put back the documents, settings and version that the study began with",
                    ),
                )

    def _check(self) -> None:
        if self._stale:
            raise MisuseError(
                f"{self._sitting.name}: an earlier error left this seat ahead of its journal",
                hints=("start it again, and it continues from the journal",),
            )


def _kind_of(opened: Packet | TheirError) -> str:
    """The kind of a message, for the ledger."""
    with suppress(MalformedError):
        if isinstance(opened, Packet):
            return tag_of(opened.body)
    return UNREADABLE


def _difference(before: StepHead, now: StepHead) -> str:
    """The first difference between two runs of a step."""
    for old, new in zip(before.sent, now.sent, strict=False):
        if old != new:
            return f"made another message {new.number} for {new.recipient!r}"
    if before.failure != now.failure:
        return f"ended with {now.failure or 'no error'}, before with {before.failure or 'none'}"
    return f"sent {len(now.sent)} messages, before {len(before.sent)}"
