"""Whoever watches when a peer's letters come learns little of how many documents it has."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.entropy import SeededEntropy
from harness.letters import Noise, Plain
from sottovoce.entropy import Entropy
from sottovoce.node.seat.deciders import NoDecider, Waits
from sottovoce.node.seat.departures import AtOnce, Departures, departure
from sottovoce.node.seat.durable_seat import SeatSession
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.node.seat.training_participant import TrainingParticipant
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.storage.journal import Journal
from sottovoce.storage.opened_sums import OpenedSumsBook
from sottovoce.study import Study, StudyPlan
from sottovoce.study.relay import Letter
from sottovoce.study.roster import draw_roster
from sottovoce.text.documents import Document
from sottovoce.text.labels import Labels
from sottovoce.wire import Codec

SESSION = b"session"
SITTING = SeatSession("alice", SESSION, ("bob",), Plain())
SECONDS_A_DOCUMENT = 0.001


class Clock:
    """Time that passes only while somebody works or sleeps."""

    now = 100.0

    def read(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


class Watching:
    """The coordinator's server: it writes down when a seat asks, and when its letters come."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.seen: list[tuple[str, float]] = []
        self.waiting = [(1, Letter(SESSION, "bob", "alice", 0, Codec().encode(Noise(b"go"))))]
        self.asked, self.first, self.done = (asyncio.Event() for _ in range(3))

    def _see(self, what: str) -> None:
        self.seen.append((what, round(self.clock.now, 6)))

    async def take_up(self) -> None: ...

    async def post(self, letter: Letter) -> None:
        self._see(f"letter {letter.number}")
        (self.done if letter.number else self.first).set()

    async def fetch(self, after: int, *, wait: float) -> Sequence[tuple[int, Letter]]:
        del wait
        self._see("request")
        self.asked.set()
        if after == 0:
            await self.first.wait()
            return self.waiting
        await asyncio.Event().wait()
        return ()

    async def acknowledge(self, position: int) -> None: ...

    def held_back(self) -> float:
        return 0.0


class Quiet:
    """A letter audit that writes nothing down."""

    asks = False

    async def leaving(self, *_: Any) -> None: ...

    def left_unasked(self, *_: Any) -> None: ...

    def left(self, *_: Any) -> None: ...

    def came(self, *_: Any) -> None: ...

    def flush(self) -> None: ...


def watched(folder: Path, documents: int, *, guarded: bool) -> list[tuple[str, float]]:
    """What the server sees of a seat that passes over its documents twice."""
    clock = Clock()

    def passing(entropy: Entropy) -> Party[None]:
        del entropy
        clock.now += documents * SECONDS_A_DOCUMENT
        yield Send("bob", Noise(b"counts"))
        yield from receive("bob", Noise)
        clock.now += documents * SECONDS_A_DOCUMENT
        yield Send("bob", Noise(b"moments"))
        yield from receive("bob", Noise)

    async def story() -> list[tuple[str, float]]:
        server = Watching(clock)
        seat = SeatRuntime(
            "alice",
            "study",
            journal=Journal(folder / f"{documents} {guarded}.db", key=bytes(32)),
            post=server,
            audit=Quiet(),  # type: ignore[arg-type]
            control=lambda _: b"control",
            waits=Waits(60, 60),
        )
        seat.decider = NoDecider()
        if guarded:
            seat.departures = Departures(clock=clock.read, sleep=clock.sleep)
        working = asyncio.create_task(seat.run())
        # It asks before it works; else chance would say which comes first.
        await server.asked.wait()
        await seat.begin(SITTING, passing, label=("training", 1))
        await asyncio.wait_for(server.done.wait(), 60)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        await seat.close()
        return sorted(server.seen)

    return asyncio.run(story())


@pytest.mark.parametrize(("few", "many"), [(1, 20), (330, 620), (700, 1200)])
def test_the_server_sees_the_same_times_of_fewer_and_of_more_documents(
    tmp_path: Path, few: int, many: int
) -> None:
    assert watched(tmp_path, few, guarded=True) == watched(tmp_path, many, guarded=True)


def test_without_waiting_it_sees_their_number(tmp_path: Path) -> None:
    few, many = (watched(tmp_path, documents, guarded=False) for documents in (330, 620))
    assert few != many
    last = dict(many)["letter 1"] - dict(few)["letter 1"]
    assert last == pytest.approx(2 * (620 - 330) * SECONDS_A_DOCUMENT)


def test_the_seats_with_documents_wait_and_no_others() -> None:
    roster, identities = draw_roster(("north", "harbour", "valley"), entropy=SeededEntropy(2))
    study = Study(StudyPlan("clock", Labels(("a", "b"))), roster)

    async def documents() -> list[Document]:
        return [Document("text", "a")]

    waits = {}
    for name in ("north", "evaluator", "dealer"):
        participant: Any = object.__new__(TrainingParticipant)
        participant.agent = SimpleNamespace(name=name, departures=AtOnce())
        participant._context = SimpleNamespace(documents=documents, policy=None)
        participant._keys = SimpleNamespace(identity=identities[name], box=None)
        participant._entropy, participant._sums = SeededEntropy(3), OpenedSumsBook()
        asyncio.run(participant._opened(study))
        waits[name] = type(participant.agent.departures)
    assert waits == {"north": Departures, "evaluator": AtOnce, "dealer": AtOnce}


def test_what_begins_while_something_is_held_back_is_the_same_work() -> None:
    for documents in (330, 400, 620):
        clock = Clock()
        waits = Departures(clock=clock.read, sleep=clock.sleep)
        with waits.work():
            clock.now += documents * SECONDS_A_DOCUMENT
        with waits.work():
            clock.now += 0.0005
        asyncio.run(waits.reached())
        assert clock.now == pytest.approx(100.64)


def test_answers_leave_at_few_times() -> None:
    times = {departure(documents * SECONDS_A_DOCUMENT) for documents in range(100_000)}
    assert len(times) == 14
    for documents in range(1, 100_000, 77):
        seconds = documents * SECONDS_A_DOCUMENT
        assert seconds <= departure(seconds) <= max(0.02, 2 * seconds)


def test_a_seat_without_documents_answers_at_once() -> None:
    clock = Clock()
    waits = AtOnce(clock=clock.read, sleep=clock.sleep)
    with waits.work():
        clock.now += 7
    asyncio.run(waits.reached())
    assert clock.now == 107
