"""What an operator's tools hear of a coordinator: counts, and no name of anything."""

import asyncio
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from sottovoce.course.news import StudyStopped
from sottovoce.errors import InputError
from sottovoce.node.coordinator import monitor as module
from sottovoce.node.coordinator.monitor import Monitor, address_of
from sottovoce.node.events import Enrolled, Listening
from sottovoce.node.memberships import CoordinatorPlace

PHASES = (
    *("enrolment", "agreement", "dictionary", "contributions", "training"),
    *("finished", "stopped", "closed"),
)
NAMES = ("s-7-secret", "north", "Stanmore", "approval withdrawn")


async def asked(monitor: Monitor, *paths: str) -> list[tuple[int, str]]:
    async with monitor.serving("127.0.0.1", 0), aiohttp.ClientSession() as session:
        collected = []
        for path in paths:
            async with session.get(f"http://127.0.0.1:{monitor.port}{path}") as answer:
                collected.append((answer.status, await answer.text()))
        return collected


@pytest.fixture
def monitor(tmp_path: Path) -> Monitor:
    return Monitor(CoordinatorPlace(tmp_path, at_rest=bytes(32)))


def test_it_is_ready_once_studies_are_served_and_the_disk_has_room(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    health, ready = asyncio.run(asked(monitor, "/healthz", "/readyz"))
    assert health == (200, "ok\n")
    assert ready == (503, "studies are not served yet\n")
    monitor.on_event(Listening("https://a:1", bytes(32), ()))
    assert asyncio.run(asked(monitor, "/readyz")) == [(200, "ok\n")]
    monkeypatch.setattr(module, "LEAST_FREE", 2**80)
    ((status, words),) = asyncio.run(asked(monitor, "/readyz"))
    assert status == 503
    assert "the disk has less than" in words


def test_metrics_count_and_name_nobody(monitor: Monitor) -> None:
    monitor.on_event(Listening("https://Stanmore:1", bytes(32), (NAMES[0],)))
    for _ in range(3):
        monitor.on_event(Enrolled(NAMES[0], NAMES[1]))
    monitor.on_event(StudyStopped(NAMES[0], NAMES[1], NAMES[3], NAMES[2]))
    ((status, text),) = asyncio.run(asked(monitor, "/metrics"))
    assert status == 200
    lines = text.splitlines()
    assert 'sottovoce_events_total{event="enrolled"} 3.0' in lines
    assert 'sottovoce_events_total{event="study-stopped"} 1.0' in lines
    shown = {line for line in lines if line.startswith("sottovoce_studies{")}
    assert shown == {f'sottovoce_studies{{phase="{phase}"}} 0.0' for phase in PHASES}
    assert "sottovoce_ready 1.0" in lines
    assert any(line.startswith("process_resident_memory_bytes ") for line in lines)
    assert not [name for name in NAMES if name in text]


def test_metrics_are_sent_where_nobody_may_call_in(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "PUSH_SECONDS", 0.01)
    came: list[tuple[str, str]] = []

    async def take(request: web.Request) -> web.Response:
        came.append((request.method, await request.text()))
        return web.Response()

    async def story() -> None:
        app = web.Application()
        app.router.add_route("*", "/metrics/job/sottovoce", take)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        address = f"http://127.0.0.1:{runner.addresses[0][1]}/metrics/job/sottovoce"
        async with monitor.pushing(address):
            while len(came) < 2:  # noqa: ASYNC110 - the server beside counts
                await asyncio.sleep(0.01)
        await runner.cleanup()
        # Nobody is there any more: it is logged, and nothing ends.
        async with monitor.pushing(address):
            pass

    asyncio.run(asyncio.wait_for(story(), 60))
    assert {method for method, _ in came} == {"PUT"}
    assert "sottovoce_ready 0.0" in came[0][1].splitlines()
    assert "metrics were not taken" in caplog.text

    async def refused() -> None:
        async with monitor.pushing("gateway:9091"):
            raise AssertionError

    with pytest.raises(InputError, match="expected an http or https address"):
        asyncio.run(refused())


def test_addresses_that_are_none_are_refused(monitor: Monitor) -> None:
    assert address_of("9464") == ("127.0.0.1", 9464)
    assert address_of("[::1]:80") == ("::1", 80)
    for words in ("here", ":80", "a:99999", ""):
        with pytest.raises(InputError, match="--monitor: expected HOST:PORT"):
            address_of(words)

    async def twice() -> None:
        other = Monitor(monitor._place)
        async with monitor.serving("127.0.0.1", 0), other.serving("127.0.0.1", monitor.port):
            raise AssertionError

    with pytest.raises(InputError, match="cannot listen there"):
        asyncio.run(twice())
