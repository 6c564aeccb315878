"""A wire between two sockets that a test can cut, delay, spoil or use as an HTTP proxy."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

Meddle = Callable[[bytes, bool], bytes | None]


@dataclass
class Wire:
    """Carries bytes to a port; `meddle(data, to_server)` changes them, or cuts with None."""

    target: int
    meddle: Meddle = lambda data, _: data
    delay: float = 0.0
    refusing: bool = False
    connections: int = 0
    carried: int = 0
    port: int = 0
    asked: list[bytes] = field(default_factory=list)
    proxying: bytes | None = None
    """When set, callers must CONNECT first; the answer they get."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def cut(self) -> None:
        """End every connection there is."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        self._writers.add(writer)
        try:
            if self.refusing:
                return
            if self.proxying is not None:
                self.asked.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(self.proxying)
                if b" 200 " not in self.proxying:
                    await writer.drain()
                    return
            await self._carry_both(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self._writers.discard(writer)
            writer.transport.abort()
            self._tasks.discard(task)

    async def _carry_both(self, reader, writer) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self.target)
        self._writers.add(back)
        ways = [
            asyncio.create_task(self._carry(reader, back, to_server=True)),
            asyncio.create_task(self._carry(there, writer, to_server=False)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            self._writers.discard(back)
            back.transport.abort()

    async def _carry(self, reader, writer, *, to_server: bool) -> None:
        with suppress(OSError):
            while data := await reader.read(64 * 1024):
                changed = self.meddle(data, to_server)
                if changed is None:
                    return
                if self.delay:
                    await asyncio.sleep(self.delay)
                self.carried += len(changed)
                writer.write(changed)
                await writer.drain()

    async def close(self) -> None:
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def wire_to(port: int, **options) -> AsyncIterator[Wire]:
    """A wire on a port of its own."""
    wire = Wire(port, **options)
    server = await asyncio.start_server(wire.handle, "127.0.0.1", 0)
    wire.port = server.sockets[0].getsockname()[1]
    try:
        yield wire
    finally:
        server.close()
        await wire.close()
        await server.wait_closed()
