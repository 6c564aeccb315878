"""Carries a decider at a seat of the network: brings inputs, writes its record and letters.

A step and its writing are atomic: no other step comes in between, so records and letters go to disk
in the order of their decisions. One task performs all other actions afterwards, in order.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from sottovoce.course.queries.actions import EraseCounts, EraseShare, KeepCounts
from sottovoce.course.seat_course import SeatCourse
from sottovoce.course.training.actions import (
    Action,
    DropAll,
    DropSession,
    Keep,
    LeaveOut,
    Tell,
    WakeAt,
)
from sottovoce.course.training.inputs import Heard, Tick
from sottovoce.node.events import TotalsPublished
from sottovoce.node.seat.deciders import Effect
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.protocols.messages import Message
from sottovoce.storage.journal import Journal
from sottovoce.study.attempts import Attempt, Stage
from sottovoce.wire import Codec, Value


class Recorded(Protocol):
    """A decider's state, a part of which outlives the process."""

    @property
    def records(self) -> Mapping[str, Value]:
        """The parts that outlive the process, by their names in the journal."""


KEPT = (Keep, KeepCounts, EraseCounts, EraseShare)
"""Actions that go to disk with the record; only the carrier has the data that they need."""

S = TypeVar("S", bound=Recorded)
V = TypeVar("V", bound=Value)


class Clock:
    """A clock in seconds since 1970 that never jumps while the process runs."""

    def __init__(self) -> None:
        self._began = time.time() - time.monotonic()

    def __call__(self) -> float:
        """The time now."""
        return self._began + time.monotonic()


class Carrier(ABC, Generic[S]):
    """Brings a decider its inputs, and performs its actions."""

    def __init__(
        self,
        agent: SeatRuntime,
        step: Callable[..., tuple[S, tuple[Action, ...]]],
        state: S,
        *,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.agent = agent
        self.state = state
        self.now = clock or Clock()
        self._step = step
        self._turn = asyncio.Lock()
        self._happened: deque[object] = deque()
        self._actions: deque[Action] = deque()
        self._due = asyncio.Event()
        self._wake_at: float | None = None
        self._watchers: set[asyncio.Event] = set()

    # What happens.

    def tell(self, happened: object) -> None:
        """Queue an input for the decider."""
        self._happened.append(happened)
        self._due.set()

    def see(self, happened: object) -> None:
        """Give the decider an input at once that needs no disk and leads to no action."""
        self.state, actions = self._step(self.state, happened, now=self.now())
        assert not actions
        self._show()

    async def hear(self, sender: str, message: Message, notes: Mapping[str, bytes]) -> None:
        """Give the decider a control letter; the letter's note is on disk when this returns."""
        await self.take(Heard(sender, message), notes)

    async def take(
        self,
        happened: object,
        notes: Mapping[str, bytes] | None = None,
        *,
        commit: Callable[[Mapping[str, bytes]], Awaitable[None]] | None = None,
    ) -> None:
        """Take one step, and put its record and letters on disk.

        A step without letters may go to disk with another `commit`.
        """
        async with self._turn:
            before = self.state.records
            actions = await self._decided(happened)
            written = dict(notes or {})
            letters: list[tuple[str, Message]] = []
            for action in actions:
                if isinstance(action, KEPT):
                    written |= self.kept(action)
                elif isinstance(action, Tell):
                    letters += [(name, action.message) for name in action.recipients]
            for name, record in self.state.records.items():
                if record != before[name]:
                    written[name] = Codec().encode(record)
            if commit is not None:
                assert not letters
                await commit(written)
            elif written or letters:
                await self.agent.commit(Effect(written, letters))
            self._actions += [action for action in actions if not isinstance(action, (Tell, *KEPT))]
        self._due.set()
        self._show()

    async def _decided(self, happened: object) -> tuple[Action, ...]:
        """Decide between two steps of our programs; those that are dropped take no other step.

        A sum that a step agrees on is known to every later decision, and after the decision to
        begin again without a seat no step agrees on a sum with it.
        """
        async with self.agent.between_steps():
            self.look()
            self.state, actions = self._step(self.state, happened, now=self.now())
            for action in actions:
                if isinstance(action, DropSession):
                    self.agent.set_aside(action.session)
                elif isinstance(action, DropAll):
                    self.agent.set_aside(*self.agent.running)
        return actions

    # Actions.

    async def run(self) -> None:
        """Carry until cancelled."""
        while True:
            self._due.clear()
            if self._actions:
                await self._perform(self._actions.popleft())
            elif self._happened:
                await self.take(self._happened.popleft())
            else:
                await self._sleep()

    async def _sleep(self) -> None:
        left = None if self._wake_at is None else max(0.0, self._wake_at - self.now())
        with suppress(TimeoutError):
            async with asyncio.timeout(left):
                await self._due.wait()
            return
        self._wake_at = None
        await self.take(Tick())

    async def _perform(self, action: Action) -> None:
        if isinstance(action, WakeAt):
            self._wake_at = action.when
        else:
            await self.perform(action)

    @abstractmethod
    async def perform(self, action: Action) -> None:
        """Perform one action of a step."""

    def kept(self, action: Action) -> Mapping[str, bytes]:
        """Further notes that go to disk with the record; most deciders ask for none."""
        raise NotImplementedError(action)

    def look(self) -> None:
        """Collect inputs that nobody reports, before every step."""

    # Who watches.

    def _show(self) -> None:
        for watcher in self._watchers:
            watcher.set()

    async def states(self) -> AsyncIterator[S]:
        """The current state, and a new one after every change; a slow reader skips some."""
        changed = asyncio.Event()
        self._watchers.add(changed)
        try:
            while True:
                changed.clear()
                yield self.state
                await changed.wait()
        finally:
            self._watchers.discard(changed)


def read_record(journal: Journal, name: str, kind: type[V]) -> V:
    """A record from a seat's journal, or a new one."""
    data = journal.note(name)
    return kind() if not data else Codec().decode(data, kind)


def tell_totals(agent: SeatRuntime, course: SeatCourse, attempt: Attempt) -> None:
    """Tell what the first sums showed, once this attempt's result is kept."""
    if attempt.stage is Stage.DICTIONARY and course.prepared is not None:
        plan, totals = course.party.study.plan, course.prepared.totals
        agent.tell_watcher(TotalsPublished.of(agent.study, agent.name, plan, totals))


async def stop_programs(agent: SeatRuntime, action: DropSession | DropAll | LeaveOut) -> None:
    """Stop programs, or tell a program that parties are gone."""
    match action:
        case DropSession(session):
            await agent.drop(session)
        case DropAll():
            for session in (*agent.running, *agent.aside):
                await agent.drop(session)
        case LeaveOut(session, parties):
            await agent.leave(session, parties)
