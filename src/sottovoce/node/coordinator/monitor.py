"""A coordinator's health, readiness and metrics, for an operator's tools.

It has its own port without TLS, by default on this machine, and is off by default. Its answers are
counts: they name no study, seat or organisation.

    GET /healthz   200 while the process answers
    GET /readyz    200 once studies are served and there is room on the disk, else 503 and why
    GET /metrics   for Prometheus (extra `metrics`), names as OpenTelemetry has them
"""

import asyncio
import logging
import shutil
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from sottovoce import __version__
from sottovoce.course.training import training_coordinator
from sottovoce.errors import InputError
from sottovoce.node.coordinator.study_statuses import studies
from sottovoce.node.events import Event, Listening
from sottovoce.node.memberships import CoordinatorPlace
from sottovoce.wire.addresses import origin_of
from sottovoce.wire.tags import kebab

LEAST_FREE = 2**26
"""With fewer free bytes the coordinator is not ready: a letter must be on disk before it is "
"accepted."""
PUSH_SECONDS = 30.0
_PUSH_TIMEOUT = 10
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"

_log = logging.getLogger("sottovoce.coordinator")


class Monitor:
    """Counts a coordinator's events, and answers an operator's tools."""

    def __init__(self, place: CoordinatorPlace) -> None:
        self._place = place
        self._listening = False
        self._events: Counter[str] = Counter()
        self.port = 0

    def on_event(self, event: Event) -> None:
        """Count an event by its kind."""
        self._listening = self._listening or isinstance(event, Listening)
        self._events[kebab(type(event).__name__)] += 1

    @asynccontextmanager
    async def serving(self, host: str, port: int) -> AsyncIterator[None]:
        """Answer at this address while the block runs; with port 0 the system chooses one."""
        app = web.Application()
        app.add_routes(
            [
                web.get("/healthz", self._health),
                web.get("/readyz", self._ready),
                web.get("/metrics", self._metrics),
            ]
        )
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            site = web.TCPSite(runner, host, port)
            try:
                await site.start()
            except OSError as error:
                reason = (error.strerror or type(error).__name__).lower()
                raise InputError(
                    f"monitor {host}:{port}: cannot listen there ({reason})",
                    hints=("--monitor 127.0.0.1:9464",),
                ) from None
            self.port = int(runner.addresses[0][1])
            yield
        finally:
            await runner.cleanup()

    @asynccontextmanager
    async def pushing(self, address: str) -> AsyncIterator[None]:
        """Send the metrics there, again and again, as long as the block lasts, and at its end.

        For a coordinator that nobody may call: a Pushgateway, or whatever takes them by PUT.
        """
        if urlsplit(address).scheme not in {"http", "https"}:
            raise InputError(
                f"--push-metrics: expected an http or https address, found {origin_of(address)!r}",
                hints=("--push-metrics https://gateway.example.org/metrics/job/sottovoce",),
            )
        if self._text() is None:
            raise InputError(
                "--push-metrics: the package prometheus-client is not installed",
                hints=("pip install 'sottovoce[metrics]'",),
            )
        task = asyncio.create_task(self._push_often(address))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await asyncio.to_thread(self._push, address)

    async def _push_often(self, address: str) -> None:
        while True:
            await asyncio.sleep(PUSH_SECONDS)
            await asyncio.to_thread(self._push, address)

    def _push(self, address: str) -> None:
        """Send them once; that nobody takes them holds nothing up."""
        headers = {"Content-Type": _PROMETHEUS}
        request = urllib.request.Request(  # noqa: S310 - http and https alone, as checked
            address, data=self._text(), headers=headers, method="PUT"
        )
        try:
            with urllib.request.urlopen(request, timeout=_PUSH_TIMEOUT):  # noqa: S310 - as above
                pass
        except OSError as error:
            _log.warning("metrics were not taken: %s", type(error).__name__)

    def _text(self) -> bytes | None:
        """The metrics as Prometheus reads them; None without the package that writes them."""
        try:
            import prometheus_client
        except ImportError:
            return None
        text: bytes = prometheus_client.generate_latest(
            _Collected(self, prometheus_client).registry
        )
        return text

    def why_not_ready(self) -> str:
        """The reason why this coordinator is not ready; empty if it is."""
        if not self._listening:
            return "studies are not served yet"
        if self._free() < LEAST_FREE:
            return f"the disk has less than {LEAST_FREE:,} bytes left"
        return ""

    def _free(self) -> int:
        return shutil.disk_usage(self._place.folder).free

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _ready(self, _: web.Request) -> web.Response:
        reason = self.why_not_ready()
        return web.Response(text=f"{reason or 'ok'}\n", status=503 if reason else 200)

    async def _metrics(self, _: web.Request) -> web.Response:
        text = self._text()
        if text is None:
            return web.Response(text="pip install 'sottovoce[metrics]'\n", status=501)
        return web.Response(body=text, headers={"Content-Type": _PROMETHEUS})

    def counted(self) -> Counter[str]:
        """The number of events of each kind."""
        return self._events.copy()

    def phases(self) -> dict[str, int]:
        """The number of studies in each phase."""
        by_phase = Counter(study.phase for study in studies(self._place))
        return {str(phase): by_phase[phase] for phase in training_coordinator.TABLE}

    @property
    def free(self) -> int:
        """The free bytes on this coordinator's disk."""
        return self._free()


class _Collected:
    """The metrics at one moment, in their own registry."""

    def __init__(self, monitor: Monitor, library: Any) -> None:
        self.registry = registry = library.CollectorRegistry()
        library.ProcessCollector(registry=registry)
        target = library.Info("target", "What is measured.", registry=registry)
        target.info({"service_name": "sottovoce", "service_version": __version__})
        ready = library.Gauge("sottovoce_ready", "1 while studies are served.", registry=registry)
        ready.set(not monitor.why_not_ready())
        free = library.Gauge(
            "sottovoce_storage_free_bytes", "Bytes left on the disk.", registry=registry
        )
        free.set(monitor.free)
        phases = library.Gauge(
            "sottovoce_studies", "Studies by phase.", ["phase"], registry=registry
        )
        for phase, count in monitor.phases().items():
            phases.labels(phase).set(count)
        events = library.Counter(
            "sottovoce_events", "Events by kind since the start.", ["event"], registry=registry
        )
        for event, count in monitor.counted().items():
            events.labels(event).inc(count)


def address_of(words: str) -> tuple[str, int]:
    """Host and port of HOST:PORT, or of a port on this machine."""
    host, colon, port = words.rpartition(":")
    if not port.isdecimal() or int(port) > 65535 or (colon and not host):
        raise InputError(
            f"--monitor: expected HOST:PORT or a port, found {words!r}",
            hints=("--monitor 127.0.0.1:9464",),
        )
    return host.strip("[]") or "127.0.0.1", int(port)
