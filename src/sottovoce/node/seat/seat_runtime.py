"""The runtime of one seat: takes letters in, runs programs step by step, sends letters out.

Everything that must not be lost is committed to the seat's journal before a letter is acknowledged
or sent. A repeated letter changes nothing: a crash costs only time. Steps run in the seat's thread.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from sottovoce.course.control import COORDINATOR, Failed, LedgerReceipt, read_control
from sottovoce.course.news import SeatWaiting
from sottovoce.entropy import Entropy
from sottovoce.errors import (
    JournalError,
    LedgerError,
    MalformedError,
    ReplayError,
    SottovoceError,
    ViolationError,
)
from sottovoce.node.events import Moved, OnEvent, SeatPartEnded, unheard
from sottovoce.node.seat.control_numbers import ControlNumbers
from sottovoce.node.seat.deciders import (
    Decider,
    Effect,
    LetterObserver,
    LetterSender,
    NoDecider,
    RunningProgram,
    Waits,
    one_error,
)
from sottovoce.node.seat.departures import AtOnce, Departures
from sottovoce.node.seat.durable_seat import DurableSeat, SeatSession
from sottovoce.node.seat.early_letters import EarlyLetters
from sottovoce.node.seat.letter_audit import kind_of
from sottovoce.node.seat.receipts import Receipts
from sottovoce.protocols.conversation import Party, Receive
from sottovoce.storage.journal import Journal
from sottovoce.storage.records import Outgoing
from sottovoce.study.relay import Letter
from sottovoce.transport.server.limits import LONGEST_WAIT

T = TypeVar("T")
D = TypeVar("D", bound=Decider)

# An acknowledgement only frees room at the server, so several are sent together.
_ACKNOWLEDGE_EVERY = 64
# Seconds after which an event tells what a seat waits for, and until when.
_LONG = 2.0
# Lines of our ledger after which the coordinator is told its length.
_MILESTONES = frozenset({"done", "asked-query", "asked-evaluation"})


class SeatRuntime:
    """The runtime of one seat in one study."""

    def __init__(
        self,
        name: str,
        study: str,
        *,
        journal: Journal,
        post: LetterSender,
        audit: LetterObserver,
        control: Callable[[str], bytes],
        waits: Waits,
        on_event: OnEvent = unheard,
    ) -> None:
        """Seat `name`; set its `decider` before `run`."""
        self.name = name
        self.study = study
        self.journal = journal
        self.waits = waits
        self.tell_watcher = on_event
        self.running: dict[bytes, RunningProgram] = {}
        # Programs that take no other step, and are dropped soon.
        self.aside: dict[bytes, RunningProgram] = {}
        self.decider: Decider = NoDecider()
        self.poll = LONGEST_WAIT
        # Raises if nothing may leave any longer; called before every letter.
        self.may_send: Callable[[], None] = lambda: None
        # When letters may leave after a step: a peer delays them after reading documents.
        self.departures: Departures = AtOnce()
        self._post = post
        self.audit = audit
        self.control = control
        self.numbers = ControlNumbers(name, journal, control)
        self.early = EarlyLetters()
        self.receipts = Receipts()
        self._over: set[bytes] = set()
        self._stages: dict[bytes, str] = {}
        self._read = self._acknowledged = 0
        self._turn = asyncio.Lock()
        self._hearing = asyncio.Lock()
        self._outgoing = asyncio.Event()
        self._moved = asyncio.Event()
        self._drained = asyncio.Event()
        self._arrived = asyncio.Event()
        self._sending = False
        self._written_down: Outgoing | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"seat {name}")

    async def run(self) -> None:
        """Work until cancelled; an error of this machine or its connection ends it."""
        await self._post.take_up()
        self._sending = False
        self._outgoing.set()
        with one_error():
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._receive())
                tasks.create_task(self._send())
                tasks.create_task(self._watch())

    async def close(self) -> None:
        """Stop where we are, as a crash would; the journal has everything."""
        for running in (*self.running.values(), *self.aside.values()):
            await self.do(running.seat.close)
        self.running.clear()
        self.aside.clear()
        await self.do(self.audit.flush)
        await self.do(self.journal.close)
        self._thread.shutdown(wait=False)

    async def do(self, action: Callable[..., T], *arguments: Any) -> T:
        """Run something in the seat's own thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, action, *arguments)

    async def decided_by(self, made: Callable[[], D]) -> D:
        """Set the next decider between two letters: it can read all that the last one noted."""
        async with self._hearing:
            decider = made()
            self.decider = decider
        return decider

    # Programs.

    async def begin(
        self,
        sitting: SeatSession,
        program: Callable[[Entropy], Party[Any]],
        *,
        label: tuple[str, int],
    ) -> RunningProgram:
        """Begin a program, or continue it from the journal."""
        async with self._turn:
            seat = await self.do(self._begun, sitting, program)
            running = RunningProgram(sitting, *label, seat, self._clock())
            running.note_wait(self._clock())
            self.running[sitting.session] = running
            # A program's last letters may leave after it ended.
            self._stages[sitting.session] = running.stage
            self._outgoing.set()
            self._moved.set()
            while (letter := self.early.pop(sitting.session)) is not None:
                await self._deliver(running, letter)
        self._settle(running)
        return running

    def _begun(
        self, sitting: SeatSession, program: Callable[[Entropy], Party[Any]]
    ) -> DurableSeat[Any]:
        with self.departures.work():
            return DurableSeat.begin(self.journal, sitting, program)

    async def recall(
        self,
        sitting: SeatSession,
        program: Callable[[Entropy], Party[Any]],
        *,
        label: tuple[str, int],
    ) -> RunningProgram:
        """The result of a finished session; late letters for it change nothing."""
        await self.drop(sitting.session)
        async with self._turn:
            seat = await self.do(DurableSeat.recall, self.journal, sitting, program)
        return RunningProgram(sitting, *label, seat, self._clock())

    def between_steps(self) -> asyncio.Lock:
        """Held while no program takes a step."""
        return self._turn

    def set_aside(self, *sessions: bytes) -> None:
        """Let these programs take no other step, from now on; `drop` stops them soon."""
        for session in sessions:
            self._over.add(session)
            if (running := self.running.pop(session, None)) is not None:
                self.aside[session] = running

    async def drop(self, session: bytes) -> RunningProgram | None:
        """Stop the program of a session; return it if it still ran."""
        async with self._turn:
            self._over.add(session)
            running = self.running.pop(session, None) or self.aside.pop(session, None)
            if running is not None:
                # In the seat's thread, so that a running step ends first.
                await self.do(running.seat.close)
            while self.early.pop(session) is not None:
                pass
        return running

    async def next_letter(self, session: bytes) -> Letter:
        """The first letter of a session without a program; it stays until the session is over."""
        while (letter := self.early.first(session)) is None:
            self._arrived.clear()
            await self._arrived.wait()
        return letter

    async def settle_known(self, *, besides: Collection[bytes] = ()) -> None:
        """End the sessions of the journal that nobody runs: their late letters are dropped.

        The sessions in `besides` will begin again, and their letters wait.
        """
        for session in self.journal.sessions():
            if session not in self.running and session not in besides:
                await self.drop(session)

    async def leave(self, session: bytes, parties: Sequence[str]) -> None:
        """Tell a program that parties are gone for good."""
        running = self.running.get(session)
        if running is None:
            return
        async with self._turn:
            for party in parties:
                here = self.running.get(session) is running and not running.seat.finished
                if here and party in running.sitting.partners:
                    await self.do(running.seat.leave, party)
        self._settle(running)

    async def commit(self, effect: Effect) -> None:
        """Put notes and control letters on disk; the letters are sent later."""
        # Queued in one piece, so that effects reach the disk in order.
        await self.do(self._committed, effect)
        self._outgoing.set()

    async def commit_notes(self, notes: Mapping[str, bytes]) -> None:
        """Put notes on disk, and nothing else."""
        await self.commit(Effect(notes))

    def _committed(self, effect: Effect) -> None:
        notes = dict(effect.notes)
        letters = self.numbers.numbered(effect.letters, notes)
        self.journal.commit(letters=letters, notes=notes)

    async def drained(self) -> None:
        """Wait until the server has every letter."""
        self._drained.clear()
        self._outgoing.set()
        await self._drained.wait()

    # Letters in.

    async def _receive(self) -> None:
        while True:
            letters = await self._post.fetch(self._read, wait=self.poll)
            for position, letter in letters:
                await self._take(position, letter)
                self._read = position
            await self.departures.reached()
            if not letters or self._read - self._acknowledged >= _ACKNOWLEDGE_EVERY:
                await self.acknowledge()

    async def acknowledge(self) -> None:
        """Let the server delete letters that we dealt with; those that wait here stay there."""
        reached = self.early.before(self._read)
        if reached > self._acknowledged:
            await self.do(self.audit.flush)
            await self._post.acknowledge(reached)
            self._acknowledged = reached

    async def _take(self, position: int, letter: Letter) -> None:
        """Take one letter: a control letter, one for a program now or later, or a late one."""
        if letter.session == self.control(letter.sender):
            await self._hear(letter)
        elif letter.session in self.running:
            running = self.running[letter.session]
            async with self._turn:
                # The session may have been dropped while we waited.
                if self.running.get(letter.session) is running:
                    await self._deliver(running, letter)
            self._settle(running)
        elif letter.session not in self._over:
            await self._keep_early(position, letter)
        else:
            # Late or repeated letters have a line in the ledger too.
            stage = self._stages.get(letter.session, "earlier")
            await self.do(self.audit.came, letter, kind_of(letter), stage)

    async def _keep_early(self, position: int, letter: Letter) -> None:
        """Keep a letter for a session that begins later."""
        if self.early.add(position, letter):
            self._arrived.set()
        else:
            # A sender that writes for sessions which never begin harms only itself.
            await self._fault(letter.sender, "ViolationError")

    async def _deliver(self, running: RunningProgram, letter: Letter) -> None:
        # The server keeps unacknowledged letters, so we need no cursor of our own.
        ready = not (self._sending or self.audit.asks)
        self._written_down = await self.do(self._delivered, running, letter, ready)
        running.note_wait(self._clock())
        self._count(running, len(letter.body))

    def _delivered(self, running: RunningProgram, letter: Letter, ready: bool) -> Outgoing | None:  # noqa: FBT001 - passed on by `do`
        """Run a step; where the next letter is `ready` to leave, it gets its line at once."""
        with self.departures.work():
            kind = running.seat.deliver(letter)
        self.audit.came(letter, kind, running.stage)
        return self._taken_down() if ready else None

    async def _hear(self, letter: Letter) -> None:
        """Handle a control letter once, in its order."""
        expected = self.numbers.to_hear(letter)
        if letter.number < expected:
            return
        if letter.number > expected:
            raise ViolationError(
                f"{self.name} expected control letter {expected}, found {letter.number}",
                party=letter.sender,
            )
        async with self._hearing:
            await self._heard(letter, self.numbers.note_of(letter))
            self.numbers.heard(letter)

    async def _heard(self, letter: Letter, notes: Mapping[str, bytes]) -> None:
        """Put a control letter and its effect on disk; only the coordinator may direct."""
        sender = letter.sender
        if COORDINATOR not in {self.name, sender}:
            await self.do(self.audit.came, letter, "unreadable", "control")
            await self.commit_notes(notes)
            return
        try:
            message = read_control(letter.body, sender=sender)
        except MalformedError:
            if sender == COORDINATOR:
                raise
            # A seat that writes nonsense ends its study and is named; the server continues.
            await self.do(self.audit.came, letter, "unreadable", "control")
            await self.decider.hear(sender, Failed(b"", "MalformedError", sender), notes)
            return
        await self.do(self.audit.came, letter, kind_of(letter), "control")
        if isinstance(message, LedgerReceipt) and self.name != COORDINATOR:
            entries = await self.do(self.audit.receipt, message.receipt)
            await self.commit_notes(notes)
            self.receipts.came(entries)
            return
        try:
            await self.decider.hear(sender, message, notes)
        except (JournalError, LedgerError, ReplayError):
            raise
        except SottovoceError:
            if self.name != COORDINATOR:
                raise
            # A refused request of one seat must not end the others' study, now or at a restart.
            await self.commit_notes(notes)

    async def _fault(self, sender: str, kind: str) -> None:
        """A seat's fault ends the study at the coordinator and names the seat; others ignore it."""
        if self.name == COORDINATOR:
            await self.decider.hear(sender, Failed(b"", kind, sender), {})

    # Letters out.

    async def _send(self) -> None:
        while True:
            self._outgoing.clear()
            while (outgoing := await self._next_to_leave()) is not None:
                self._sending = True
                self.journal.leaving(outgoing.position)
                await self._post.post(outgoing.letter)
                self.journal.mark_sent(outgoing.position)
                self._sending = False
                if outgoing.kind in _MILESTONES and self.name != COORDINATOR:
                    await self.tell_head()
                running = self.running.get(outgoing.letter.session)
                if running is not None:
                    self._count(running, len(outgoing.letter.body))
            self._drained.set()
            await self._outgoing.wait()

    async def tell_head(self) -> int:
        """Tell the coordinator where our ledger ends; return its number of lines."""
        head = await self.do(self.audit.head)
        await self.commit(Effect({}, [(COORDINATOR, head)]))
        return head.entries

    async def _next_to_leave(self) -> Outgoing | None:
        """The next letter that may leave, with its line in the ledger."""
        outgoing, self._written_down = self._written_down, None
        if not self.journal.has_pending:
            return None
        if outgoing is not None and self.journal.has_waiting(outgoing.position):
            # A step wrote its line in the same visit to the thread.
            pass
        elif self.audit.asks:
            outgoing = await self.do(self._first_pending)
            if outgoing is not None:
                stage = self._stage_of(outgoing.letter)
                await self.audit.leaving(outgoing, stage)
                self.may_send()
                await self.do(self.audit.left, outgoing, stage)
        else:
            outgoing = await self.do(self._taken_down)
        if outgoing is not None:
            # The step that made it, or another one, may have ended just now.
            await self.departures.reached()
            self.may_send()
        return outgoing

    def _taken_down(self) -> Outgoing | None:
        """The next letter and its line in one visit to the seat's thread, if nobody is asked."""
        if (outgoing := self._first_pending()) is not None:
            self.may_send()
            self.audit.left_unasked(outgoing, self._stage_of(outgoing.letter))
        return outgoing

    def _first_pending(self) -> Outgoing | None:
        return next(self.journal.pending(), None)

    def _stage_of(self, letter: Letter) -> str:
        if letter.session == self.control(letter.recipient):
            return "control"
        return self._stages.get(letter.session, "earlier")

    def _count(self, running: RunningProgram, size: int) -> None:
        running.letters += 1
        running.bytes += size
        left = running.waiting.steps_left if running.waiting is not None else None
        moved = (running.letters, running.bytes, left)
        self.tell_watcher(Moved(self.study, self.name, running.stage, *moved))

    # Time.

    def _settle(self, running: RunningProgram) -> None:
        """After a step: send its letters, watch its waits, and report its end."""
        self._outgoing.set()
        self._moved.set()
        # The session may have begun again meanwhile; then it has not ended.
        here = self.running.get(running.sitting.session) is running
        if here and running.seat.finished:
            del self.running[running.sitting.session]
            self._over.add(running.sitting.session)
            self.tell_watcher(SeatPartEnded(self.study, self.name, running.stage))
            self.decider.ended(running)

    def _clock(self) -> float:
        """A clock that stands still while the server holds letters back, so that nobody is late."""
        return time.monotonic() - self._post.held_back()

    def held_back(self) -> float:
        """The seconds in which the server held letters back."""
        return self._post.held_back()

    async def _watch(self) -> None:
        """End waits whose time is over."""
        while True:
            self._moved.clear()
            now = self._clock()
            due = [
                (running.due(self.waits), running)
                for running in self.running.values()
                if running.waiting
            ]
            for when, running in due:
                if when <= now:
                    await self._expire(running)
                elif now - running.since >= _LONG and not running.announced:
                    running.announced = True
                    what = f"{running.stage}: {running.awaited}"
                    until = time.time() + when - now
                    self.announce(what, running.whom, until)
                    self.decider.waiting(running, until)
            left = [when for when, running in due if when > now]
            left += [running.since + _LONG for _, running in due if not running.announced]
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, min(left) - now) if left else None):
                    await self._moved.wait()

    async def _expire(self, running: RunningProgram) -> None:
        async with self._turn:
            here = self.running.get(running.sitting.session) is running
            if not here or running.seat.finished or running.due(self.waits) > self._clock():
                return
            if isinstance(running.waiting, Receive):
                running.since = self._clock()
                self.decider.overdue(running, running.waiting.sender)
                return
            await self.do(running.seat.expire)
            running.note_wait(self._clock())
        self._settle(running)

    def announce(self, what: str, whom: Sequence[str], until: float) -> None:
        """Emit an event: this seat waits, for whom and until when."""
        self.tell_watcher(SeatWaiting(self.study, self.name, what, tuple(whom), until))
