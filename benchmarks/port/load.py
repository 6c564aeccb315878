"""Many peers at one coordinator: letters and megabytes a second, the time of a trip, memory.

Beside a bare aiohttp echo over the same TLS, so that it shows what signatures, order and
durability cost. Coordinator, crowd and the pair that times trips are processes of this machine.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

from benchmarks.port.echo import PARTNER, echo, echoed, session_to
from benchmarks.port.processes import (
    CoordinatorProcess,
    asked,
    coordinator_process,
    heard,
    started,
)
from benchmarks.port.server_process import CONTRIBUTION, COORDINATOR, HELLO
from benchmarks.port.timed_seats import SESSION, SMALL, Pair, answer_to, line_to
from benchmarks.port.traffic import LetterTraffic, Tenth, echo_ring, grown, ring
from sottovoce.cli.terminal.measurements import Row
from sottovoce.errors import InputError, ViolationError
from sottovoce.study.relay import Letter
from sottovoce.transport.client import CoordinatorLine

_ALONE = "trip alone"
_SENT_AT_ONCE = 2**30
"""Bytes of contributions that the crowd holds: its peers share the memory of one machine."""
_JOINING_AT_ONCE = 100
"""Peers that shake hands at the same time: in a study each has a machine of its own."""


@dataclass(frozen=True)
class Load:
    """How many peers contribute how much, and how many trips are timed."""

    peers: int = 200
    features: int = 512
    trips: int = 300

    def __post_init__(self) -> None:
        if self.peers < 1 or self.features < 1 or self.trips < 10:
            raise InputError(
                "bench serve: expected at least 1 peer, 1 feature and 10 trips, "
                f"found {self.peers}, {self.features} and {self.trips}"
            )

    @property
    def size(self) -> int:
        """Bytes of one contribution: half a second moment, 8 bytes a number."""
        return self.features * (self.features + 1) // 2 * 8

    @property
    def at_once(self) -> int:
        """How many contributions this machine sends at a time: as many as fit its memory."""
        return max(1, _SENT_AT_ONCE // self.size)

    @property
    def letters(self) -> int:
        """Letters of the rush: a hello and a contribution each, and an answer to both."""
        return 4 * self.peers


@dataclass(frozen=True)
class Rush:
    """What a crowd took: wall seconds, and CPU seconds of the coordinator."""

    seconds: float
    cpu: float


def measure(
    load: Load,
    soak: LetterTraffic | None = None,
    *,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Row, list[Row]]:
    """The facts of a run and its rows; raises if a letter is lost or changed."""
    return asyncio.run(_measure(load, soak, progress))


async def _measure(
    load: Load, soak: LetterTraffic | None, progress: Callable[[str], None]
) -> tuple[Row, list[Row]]:
    tenths: list[Tenth] = []
    with tempfile.TemporaryDirectory(prefix="sottovoce-bench-") as folder:
        async with coordinator_process(folder) as coordinator:
            progress("timing trips …")
            alone, echoes = await _trips_alone(coordinator, load.trips)
            before = (await coordinator.report())["peak"]
            progress(f"{load.peers} peers join and contribute …")
            async with _pair_beside(coordinator) as beside:
                rush = await _timed(coordinator, _crowd(coordinator, load))
            report = await coordinator.report()
            if soak is not None:
                traffic = await _timed(coordinator, ring(coordinator, soak, tenths, progress))
            # Last, as the echo holds every body whole.
            progress(f"{load.peers} peers echo …")
            bare = await _timed(coordinator, _bare_crowd(coordinator, load))
            rows = _rows(load, (rush, bare), (alone, echoes), beside)
            if soak is not None:
                echoed_traffic = await _timed(coordinator, echo_ring(coordinator, soak))
                rows += _soak_rows(soak, traffic, echoed_traffic)
    facts = {
        "peers": load.peers,
        "features": load.features,
        "bytes_each": load.size,
        "letters": load.letters,
        "lost": load.peers - len(report["received"]),
        "seconds": rush.seconds,
        "coordinator_peak_mb": report["peak"] / 1e6,
        "coordinator_before_mb": before / 1e6,
    }
    if soak is not None:
        facts |= {"soak_letters": soak.whole, "soak_lost": 0, "soak_grown": grown(tenths)}
    return facts, rows


def _soak_rows(soak: LetterTraffic, ours: Rush, theirs: Rush) -> list[Row]:
    letters = soak.whole
    return [
        _row("soak, letters a second", letters / ours.seconds, letters / theirs.seconds),
        _row(
            "soak, coordinator's CPU, ms a letter",
            ours.cpu * 1e3 / letters,
            theirs.cpu * 1e3 / letters,
        ),
    ]


def _rows(
    load: Load,
    rushes: tuple[Rush, Rush],
    trips: tuple[Sequence[float], Sequence[float]],
    beside: Sequence[float],
) -> list[Row]:
    (rush, bare), (alone, echoes) = rushes, trips
    megabytes = load.peers * load.size / 1e6
    rows = [
        _row("letters a second", load.letters / rush.seconds, load.letters / bare.seconds),
        _row("MB a second", megabytes / rush.seconds, megabytes / bare.seconds),
        _row("coordinator's CPU, ms a MB", rush.cpu * 1e3 / megabytes, bare.cpu * 1e3 / megabytes),
        _row("trip alone, fastest ms", min(alone) * 1e3, min(echoes) * 1e3),
        _row("trip alone, median ms", median(alone) * 1e3, median(echoes) * 1e3),
        _row("trip alone, p99 ms", _p99(alone) * 1e3, _p99(echoes) * 1e3),
    ]
    if beside:
        rows += [
            _row("trip beside, median ms", median(beside) * 1e3, median(alone) * 1e3, _ALONE),
            _row("trip beside, p99 ms", _p99(beside) * 1e3, _p99(alone) * 1e3, _ALONE),
        ]
    return rows


@asynccontextmanager
async def _pair_beside(coordinator: CoordinatorProcess) -> AsyncIterator[list[float]]:
    """Trips that are timed while the block runs; the list is filled when it ends."""
    spent: list[float] = []
    async with started(
        "port.timed_seats", str(coordinator.port), coordinator.fingerprint.hex()
    ) as process:
        await heard(process)
        yield spent
        spent += (await asked(process))["trips"]


async def _timed(coordinator: CoordinatorProcess, crowd: Coroutine[Any, Any, None]) -> Rush:
    cpu = (await coordinator.report())["cpu"]
    started = time.perf_counter()
    await crowd
    seconds = time.perf_counter() - started
    return Rush(seconds, (await coordinator.report())["cpu"] - cpu)


async def _crowd(coordinator: CoordinatorProcess, load: Load) -> None:
    """Everybody at once, as far as this machine has cores and memory for all of them."""
    common, waves = memoryview(os.urandom(load.size))[4:], asyncio.Semaphore(load.at_once)
    joining = asyncio.Semaphore(_JOINING_AT_ONCE)
    digests: dict[str, str] = {}

    async def contribute(index: int) -> None:
        name = f"peer {index:03}"
        async with line_to(coordinator.port, coordinator.fingerprint, name) as line:
            async with joining:
                after = await _join(line, name)
            async with waves:
                letter = _letter(line, CONTRIBUTION, b"".join((index.to_bytes(4), common)))
                digests[name] = letter.digest.hex()
                after = await _answered(line, letter, after)
                del letter
            await line.acknowledge(after)

    await asyncio.gather(*map(contribute, range(load.peers)))
    received = (await coordinator.report())["received"]
    for name, expected in digests.items():
        if received.get(name) != expected:
            raise ViolationError(f"{name!r}: its contribution was lost", party=COORDINATOR)


async def _join(line: CoordinatorLine, name: str) -> int:
    """Take a seat and say hello; returns the position of the answer."""
    await line.enrol(name.encode())
    await line.describe()
    return await _answered(line, _letter(line, HELLO, bytes(SMALL)), 0)


def _letter(line: CoordinatorLine, number: int, body: bytes) -> Letter:
    return Letter(SESSION, line.seat, COORDINATOR, number, body)


async def _answered(line: CoordinatorLine, letter: Letter, after: int) -> int:
    """Post a letter, and compare the receipt; returns its position."""
    await line.post(letter)
    ((position, answer),) = await answer_to(line, after)
    if (answer.number, answer.body) != (letter.number, letter.digest):
        raise ViolationError(
            f"letter {letter.number} of {line.seat!r} was changed", party=COORDINATOR
        )
    return position


async def _trips_alone(
    coordinator: CoordinatorProcess, count: int
) -> tuple[list[float], list[float]]:
    """Trips, and requests to the bare echo, in turns."""
    ours, theirs = [], []
    async with (
        line_to(coordinator.port, coordinator.fingerprint, "left") as left,
        line_to(coordinator.port, coordinator.fingerprint, "right") as right,
        session_to(coordinator) as session,
    ):
        pair = Pair(left, right)
        await pair.enrol()
        for _ in range(count):
            ours.append(await pair.trip())
            started = time.perf_counter()
            await echo(session, coordinator, bytes(SMALL))
            theirs.append(time.perf_counter() - started)
    return ours, theirs


async def _bare_crowd(coordinator: CoordinatorProcess, load: Load) -> None:
    """As many peers and bytes at the bare echo."""
    body, waves = os.urandom(load.size), asyncio.Semaphore(load.at_once)
    joining = asyncio.Semaphore(_JOINING_AT_ONCE)

    async def speak() -> None:
        async with session_to(coordinator) as session:
            async with joining:
                await echoed(session, coordinator, bytes(SMALL))
            async with waves:
                await echoed(session, coordinator, body)

    await asyncio.gather(*(speak() for _ in range(load.peers)))


def _p99(spent: Sequence[float]) -> float:
    return quantiles(spent, n=100)[98] if len(spent) > 1 else spent[0]


def _row(what: str, ours: float, theirs: float, partner: str = PARTNER) -> Row:
    return {
        "what": what,
        "ours": ours,
        "partner": partner,
        "theirs": theirs,
        "ratio": ours / theirs,
    }
