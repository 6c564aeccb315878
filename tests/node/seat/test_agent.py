"""One seat at work: what happens to a session while something else waits for its turn."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.letters import Chat, Noise, Plain
from sottovoce.course.control import CONTROL, COORDINATOR, Closed
from sottovoce.course.training.actions import DropSession
from sottovoce.node.seat import seat_runtime
from sottovoce.node.seat.decider_carrier import Carrier
from sottovoce.node.seat.deciders import RunningProgram, Waits
from sottovoce.node.seat.durable_seat import SeatSession
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.storage.journal import Journal
from sottovoce.study.relay import Letter
from sottovoce.wire import Codec

SESSION = b"session"
SITTING = SeatSession("alice", SESSION, ("bob",), Plain())


class Quiet:
    """A letter audit that writes nothing down."""

    def __init__(self) -> None:
        self.late: list[int] = []

    asks = False

    async def leaving(self, *_: Any) -> None: ...

    def left_unasked(self, *_: Any) -> None: ...

    def left(self, *_: Any) -> None: ...

    def came(self, letter: Letter, kind: str, stage: str) -> None:
        if stage == "earlier":
            self.late.append(letter.number)

    def note(self, *_: Any) -> None: ...

    def flush(self) -> None: ...


class Unsent:
    """A server that held letters back for so many seconds."""

    held = 0.0

    def held_back(self) -> float:
        return self.held


class Listening:
    """A decider that only remembers which programs ended."""

    def __init__(self) -> None:
        self.ends: list[RunningProgram] = []
        self.late: list[str] = []

    async def hear(self, *_: Any) -> None: ...

    def waiting(self, *_: Any) -> None: ...

    def ended(self, running: RunningProgram) -> None:
        self.ends.append(running)

    def overdue(self, running: RunningProgram, party: str) -> None:
        self.late.append(party)


def at_work(tmp_path: Path, story: Callable[[SeatRuntime, Listening], Awaitable[None]]) -> None:
    """Tell a story of one agent; its decider only listens."""

    async def told() -> None:
        agent = SeatRuntime(
            "alice",
            "study",
            journal=Journal(tmp_path / "journal.db", key=bytes(32)),
            post=Unsent(),  # type: ignore[arg-type]  # nothing is sent here
            audit=Quiet(),
            control=lambda _: b"control",
            waits=Waits(60, 60),
        )
        agent.decider = decider = Listening()
        await story(agent, decider)
        await agent.close()

    asyncio.run(asyncio.wait_for(told(), 400))


def letter(number: int) -> Letter:
    return Letter(SESSION, "bob", "alice", number, Codec().encode(Noise(b"from bob")))


async def begun(agent: SeatRuntime) -> RunningProgram:
    return await agent.begin(SITTING, Chat(rounds=2).first, label=("training", 1))


async def queued(agent: SeatRuntime, *waiting: Awaitable[Any]) -> list[Any]:
    """Let these wait for their turn one behind the other, and then have it."""
    async with agent._turn:
        tasks = []
        for coroutine in waiting:
            tasks.append(asyncio.ensure_future(coroutine))
            await asyncio.sleep(0)
    return list(await asyncio.gather(*tasks))


def test_a_letter_whose_session_is_dropped_while_it_waits_reaches_no_program(
    tmp_path: Path,
) -> None:
    async def story(agent: SeatRuntime, decider: Listening) -> None:
        await begun(agent)
        await queued(agent, agent.drop(SESSION), agent._take(1, letter(0)))
        assert SESSION not in agent.running
        assert decider.ends == []

    at_work(tmp_path, story)


@pytest.mark.parametrize("what", ["a letter", "a partner's leaving"])
def test_a_session_that_begins_again_is_not_ended_by_what_waited_for_the_one_before(
    tmp_path: Path, what: str
) -> None:
    async def story(agent: SeatRuntime, decider: Listening) -> None:
        before = await begun(agent)
        late = agent._take(1, letter(0)) if what == "a letter" else agent.leave(SESSION, ["bob"])
        _, again, _ = await queued(agent, agent.drop(SESSION), begun(agent), late)
        assert before.seat.finished
        assert agent.running == {SESSION: again}
        assert decider.ends == []
        for number in range(2):
            await agent._take(number + 2, letter(number))
        assert decider.ends == [again]

    at_work(tmp_path, story)


def test_a_program_that_is_set_aside_takes_no_other_step(tmp_path: Path) -> None:
    async def story(agent: SeatRuntime, decider: Listening) -> None:
        running = await begun(agent)
        before, waits = running.seat.waiting, [agent._take(1, letter(0)), agent._expire(running)]
        async with agent.between_steps():
            late = [asyncio.ensure_future(step) for step in (*waits, agent.leave(SESSION, ["bob"]))]
            await asyncio.sleep(0)
            agent.set_aside(SESSION)
        await asyncio.gather(*late)
        await agent._take(2, letter(1))
        assert running.seat.waiting is before
        assert await agent.drop(SESSION) is running
        assert running.seat.finished
        assert (decider.ends, decider.late) == ([], [])

    at_work(tmp_path, story)


class Deciding(Carrier[Any]):
    """Drops a program, unless a sum was agreed on."""

    agreed = False

    def look(self) -> None:
        self.state.seen = self.agreed

    async def perform(self, action: Any) -> None: ...


def test_a_decision_knows_the_step_that_was_under_way(tmp_path: Path) -> None:
    def step(state: Any, happened: object, *, now: float) -> tuple[Any, tuple[Any, ...]]:
        del happened, now
        return state, () if state.seen else (DropSession(SESSION),)

    async def story(agent: SeatRuntime, decider: Listening) -> None:
        del decider
        running = await begun(agent)
        carrier = Deciding(agent, step, SimpleNamespace(records={}, seen=False))
        async with agent.between_steps():
            deciding = asyncio.ensure_future(carrier.take("somebody left"))
            await asyncio.sleep(0.01)
            carrier.agreed = True
        await deciding
        assert agent.running == {SESSION: running}
        carrier.agreed = False
        await carrier.take("somebody left")
        assert agent.running == {}

    at_work(tmp_path, story)


@pytest.mark.parametrize(("held", "late"), [(0.0, ["bob"]), (50.0, ["bob"]), (3600.0, [])])
def test_time_in_which_the_server_held_letters_back_makes_nobody_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: float, late: list[str]
) -> None:
    """An hour passes; a program waits for a minute."""
    hour = 3600.0

    async def story(agent: SeatRuntime, decider: Listening) -> None:
        running = await begun(agent)
        now = time.monotonic()
        monkeypatch.setattr(seat_runtime.time, "monotonic", lambda: now + hour)
        monkeypatch.setattr(Unsent, "held", held)
        await agent._expire(running)
        monkeypatch.undo()
        assert decider.late == late

    at_work(tmp_path, story)


def test_a_step_and_the_line_of_what_it_sends_are_one_visit_to_the_seat_s_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visits: list[str] = []
    do = SeatRuntime.do

    async def noted(self: SeatRuntime, action: Callable[..., Any], *arguments: Any) -> Any:
        visits.append(action.__name__)
        return await do(self, action, *arguments)

    async def story(agent: SeatRuntime, decider: Listening) -> None:
        await begun(agent)
        first = await agent._next_to_leave()
        assert first is not None
        agent.journal.leaving(first.position)
        agent.journal.mark_sent(first.position)
        monkeypatch.setattr(SeatRuntime, "do", noted)
        assert await agent._next_to_leave() is None
        assert visits == []
        await agent._take(1, letter(0))
        second = await agent._next_to_leave()
        assert second is not None
        assert second.letter.number == first.letter.number + 1
        assert visits == ["_delivered"]
        # What was discarded after its line was written does not leave.
        await agent._take(2, letter(1))
        agent.journal.discard(SESSION)
        assert await agent._next_to_leave() is None

    at_work(tmp_path, story)


def test_the_next_decider_reads_all_that_the_last_one_noted(tmp_path: Path) -> None:
    """A letter that is heard while a decider takes over is on disk before the next one begins."""

    class Noting(Listening):
        async def hear(self, _sender: str, _message: Any, notes: Mapping[str, bytes]) -> None:
            await asyncio.sleep(0.05)
            await agent.commit_notes({**notes, "asked": b"by north"})

    agent: SeatRuntime

    async def story(runtime: SeatRuntime, _: Listening) -> None:
        nonlocal agent
        agent = runtime
        agent.decider = Noting()
        control = Letter(b"control", COORDINATOR, "alice", 0, CONTROL.encode(Closed()))
        hearing = asyncio.create_task(agent._take(1, control))
        await asyncio.sleep(0)
        read = []

        def made() -> Listening:
            read.append(agent.journal.note("asked"))
            return Listening()

        later = await agent.decided_by(made)
        assert read == [b"by north"]
        assert agent.decider is later
        await hearing

    at_work(tmp_path, story)
