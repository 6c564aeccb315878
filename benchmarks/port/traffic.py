"""A day's letters at one coordinator, as fast as they go: nothing lost, and memory flat.

Seats stand in a ring: each writes to the next one, mostly small letters and now and then a large
one, reads what comes, and acknowledges it, so that the coordinator may forget it. The
coordinator is a process of its own, whose memory is looked at ten times on the way.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from benchmarks.port.echo import echoed, session_to
from benchmarks.port.processes import CoordinatorProcess, coordinator_process
from benchmarks.port.timed_seats import SESSION, line_to
from sottovoce.cli.terminal.measurements import Row
from sottovoce.errors import InputError, ViolationError
from sottovoce.study.relay import Letter
from sottovoce.transport.client import CoordinatorLine

SMALL, LARGE = 2_000, 600_000
# Of so many letters one is large.
_LARGE_EVERY = 50
# Letters that a seat is ahead of the one that reads it.
_AHEAD = 32
_LOOKS = 10


@dataclass(frozen=True)
class LetterTraffic:
    """How many seats write how many letters, all together."""

    seats: int = 20
    letters: int = 50_000

    def __post_init__(self) -> None:
        if self.seats < 2 or self.letters < self.seats * _LOOKS:
            raise InputError(
                f"bench traffic: expected at least 2 seats and {_LOOKS} letters of each, "
                f"found {self.seats} and {self.letters}"
            )

    @property
    def of_each(self) -> int:
        """Letters that one seat writes in a tenth of the run."""
        return self.letters // self.seats // _LOOKS

    @property
    def whole(self) -> int:
        """Letters of all seats in all tenths."""
        return self.of_each * self.seats * _LOOKS


@dataclass(frozen=True)
class Tenth:
    """A tenth of a run, and what the coordinator held at its end."""

    letters: int
    letters_per_s: float
    coordinator_cpu_ms_a_letter: float
    coordinator_mb: float


class _Seat:
    """A seat of the ring: it writes to the next, and reads what the one before wrote."""

    def __init__(self, line: CoordinatorLine, to: str) -> None:
        self._line, self._to = line, to
        self._written = self._after = self._read = 0

    async def write(self, letters: int, room: asyncio.Semaphore) -> None:
        for _ in range(letters):
            await room.acquire()
            await self._line.post(self._letter(self._line.seat, self._to, self._written))
            self._written += 1

    async def read(self, letters: int, room: asyncio.Semaphore, sender: str) -> None:
        until = self._read + letters
        while self._read < until:
            for position, letter in await self._line.fetch(self._after):
                if letter != self._letter(sender, self._line.seat, self._read):
                    raise ViolationError(f"letter {self._read} was lost or changed", party=sender)
                self._after, self._read = position, self._read + 1
                room.release()
            await self._line.acknowledge(self._after)

    @staticmethod
    def _letter(sender: str, to: str, number: int) -> Letter:
        return Letter(SESSION, sender, to, number, number.to_bytes(4) * (_size(number) // 4))


def _size(number: int) -> int:
    return SMALL if number % _LARGE_EVERY else LARGE


def measure(
    traffic: LetterTraffic, *, progress: Callable[[str], None] = lambda _: None
) -> tuple[Row, list[Row]]:
    """The facts of a run, and a row for every tenth of it; raises if a letter is lost."""
    return asyncio.run(_measure(traffic, progress))


async def _measure(
    traffic: LetterTraffic, progress: Callable[[str], None]
) -> tuple[Row, list[Row]]:
    tenths: list[Tenth] = []
    with tempfile.TemporaryDirectory(prefix="sottovoce-bench-") as folder:
        async with coordinator_process(folder) as coordinator:
            await ring(coordinator, traffic, tenths, progress)
    facts = {"seats": traffic.seats, "letters": traffic.whole, "lost": 0, "grown": grown(tenths)}
    return facts, [asdict(tenth) for tenth in tenths]


async def ring(
    coordinator: CoordinatorProcess,
    traffic: LetterTraffic,
    tenths: list[Tenth],
    progress: Callable[[str], None],
) -> None:
    """Let seats write to each other, and note every tenth of it; raises if a letter is lost."""
    names = [f"seat {number:03}" for number in range(traffic.seats)]
    lines = [line_to(coordinator.port, coordinator.fingerprint, name) for name in names]
    await asyncio.gather(*(line.enrol(line.seat.encode()) for line in lines))
    after = dict(zip(names, [*names[1:], names[0]], strict=True))
    seats = {line.seat: _Seat(line, after[line.seat]) for line in lines}
    for tenth in range(_LOOKS):
        progress(f"{tenth * 10} % of {traffic.letters} letters …")
        tenths.append(await _tenth(traffic, coordinator, seats, after))
    await asyncio.gather(*(line.close() for line in lines))


def grown(tenths: Sequence[Tenth]) -> float:
    """The coordinator's memory at the last look over that at the second."""
    return tenths[-1].coordinator_mb / tenths[1].coordinator_mb


async def echo_ring(coordinator: CoordinatorProcess, traffic: LetterTraffic) -> None:
    """Let as many seats send the same bytes to the bare echo."""

    async def speak() -> None:
        async with session_to(coordinator) as session:
            for number in range(traffic.of_each * _LOOKS):
                await echoed(session, coordinator, bytes(_size(number)))

    await asyncio.gather(*(speak() for _ in range(traffic.seats)))


async def _tenth(
    traffic: LetterTraffic,
    coordinator: CoordinatorProcess,
    seats: dict[str, _Seat],
    after: dict[str, str],
) -> Tenth:
    before, began = (await coordinator.report())["cpu"], time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for name, to in after.items():
            room = asyncio.Semaphore(_AHEAD)
            tasks.create_task(seats[name].write(traffic.of_each, room))
            tasks.create_task(seats[to].read(traffic.of_each, room, name))
    seconds, reported = time.perf_counter() - began, await coordinator.report()
    letters = traffic.of_each * traffic.seats
    cpu = (reported["cpu"] - before) * 1e3 / letters
    return Tenth(letters, letters / seconds, cpu, reported["memory"] / 1e6)
