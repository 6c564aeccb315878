"""A proxy that ends TLS with the coordinator's own certificate, and treats requests badly.

It drops a request before or after the server saw it, delays it (so that others overtake it),
sends it twice, cuts its answer short, or cuts everybody off for a while. Only a test can do
this: it takes the server's key, and with it everything but the signatures.
"""

import asyncio
import signal
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from aiohttp import ClientError, ClientSession, ClientTimeout, web

from sottovoce.transport.certificates import server_context

_HOPS = {"transfer-encoding", "content-length", "connection", "host", "content-encoding", "date"}
_LONGEST = 2**28


@dataclass
class Storm:
    """How often what goes wrong; every request draws its fate from one seed."""

    target: int
    seed: int = 0
    badness: float = 0.3
    port: int = 0
    fates: Counter[str] = field(default_factory=Counter)
    cut: bool = False

    def __post_init__(self) -> None:
        self._random = Random(self.seed)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        fate = self._fate()
        self.fates[fate] += 1
        try:
            body = await request.read()
        except (OSError, ClientError):
            return self._dropped(request)
        if fate == "dropped":
            return self._dropped(request)
        if fate == "delayed":
            await asyncio.sleep(self._random.uniform(0.05, 0.4))
        try:
            status, headers, data = await self._forward(request, body)
            if fate == "doubled":
                with suppress(OSError, ClientError, TimeoutError):
                    # As a proxy would that tries by itself: the second answer is passed on.
                    async with asyncio.timeout(0.3):
                        status, headers, data = await self._forward(request, body)
        except (OSError, ClientError):
            return self._dropped(request)
        if fate == "unanswered" or self.cut:
            return self._dropped(request)
        if fate == "truncated" and len(data) > 1:
            return await self._truncated(request, status, headers, data)
        return web.Response(status=status, headers=headers, body=data)

    def _fate(self) -> str:
        if self.cut:
            return "dropped"
        if self._random.random() >= self.badness:
            return "carried"
        return self._random.choice(["dropped", "unanswered", "delayed", "doubled", "truncated"])

    async def _forward(
        self, request: web.Request, body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        headers = {k: v for k, v in request.headers.items() if k.lower() not in _HOPS}
        url = f"https://127.0.0.1:{self.target}{request.raw_path}"
        async with self._session.request(
            request.method, url, data=body, headers=headers, ssl=False, allow_redirects=False
        ) as answer:
            data = await answer.read()
            kept = {k: v for k, v in answer.headers.items() if k.lower() not in _HOPS}
            return answer.status, kept, data

    def _dropped(self, request: web.Request) -> web.Response:
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=502)

    async def _truncated(
        self, request: web.Request, status: int, headers: dict[str, str], data: bytes
    ) -> web.StreamResponse:
        answer = web.StreamResponse(status=status, headers=headers)
        answer.content_length = len(data)
        with suppress(OSError):
            await answer.prepare(request)
            await answer.write(data[: len(data) // 2])
        self._dropped(request)
        return answer

    async def blow(self, place: Path) -> None:
        """Until the process is told to end; the other signal cuts everybody off, or ends that."""
        over, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, over.set)
        loop.add_signal_handler(signal.SIGUSR1, self._turn)
        context = server_context(place / "certificate.pem", place / "certificate.key")
        app = web.Application(client_max_size=_LONGEST)
        app.router.add_route("*", "/{rest:.*}", self.handle)
        async with ClientSession(timeout=ClientTimeout(60), auto_decompress=False) as session:
            self._session = session
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", self.port, ssl_context=context)
            await site.start()
            await over.wait()

    def _turn(self) -> None:
        self.cut = not self.cut
