"""The open port: accepts connections within limits, and passes them to the application."""

import asyncio
import logging
import socket
import ssl
from contextlib import suppress
from functools import partial
from itertools import count

from aiohttp import web

from sottovoce.errors import InputError
from sottovoce.hints import Hint, ShellCommand
from sottovoce.keyfiles.unix import allow_open_files
from sottovoce.transport.server.connection_limits import ConnectionLimits, LimitedConnection
from sottovoce.transport.server.limits import Buckets, Limits

_BACKLOG = 512
_AT_ONCE = 32
# The most handshakes at the same time: of a thousand at once none would end in time. A handshake
# that takes longer than a second waits for its caller and uses no CPU, so it is not counted any
# more.
_HANDSHAKES = 64
_HANDSHAKE_SECONDS = 1.0
_SPARE_FILES = 256
_CLOSING_SECONDS = 2.0
_log = logging.getLogger("sottovoce.transport")


class Server:
    """An open port; closing it ends every connection."""

    def __init__(
        self,
        runner: web.AppRunner,
        listening: socket.socket,
        context: ssl.SSLContext,
        limits: Limits,
    ) -> None:
        self._runner = runner
        self._listening = listening
        self._context = context
        self._limits = limits
        self._connections = ConnectionLimits(limits)
        self._arrivals = Buckets(limits.arrivals, limits.arrivals_burst)
        self._welcomes: set[asyncio.Task[None]] = set()
        self._handshakes = asyncio.Semaphore(_HANDSHAKES)
        self._accepting = asyncio.create_task(self._accept())

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return int(self._listening.getsockname()[1])

    @property
    def connections(self) -> int:
        """The number of connections."""
        return len(self._connections)

    async def close(self) -> None:
        """Accept no more connections, and close the open ones."""
        self._accepting.cancel()
        await asyncio.gather(self._accepting, return_exceptions=True)
        self._listening.close()
        if self._welcomes:
            # A handshake cancelled before its first byte would keep its socket open.
            await asyncio.wait(self._welcomes, timeout=_CLOSING_SECONDS)
        tasks = list(self._welcomes)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._runner.cleanup()

    async def _accept(self) -> None:
        for taken in count():
            if not taken % _AT_ONCE:
                # Give the rest of the server time during a flood of connections.
                await asyncio.sleep(0)
            try:
                caller, address = self._listening.accept()
                caller.setblocking(False)  # noqa: FBT003 - the name of the method says it
            except BlockingIOError:
                await self._rung()
                continue
            except OSError as error:
                # Usually out of file descriptors; some connections will end.
                _log.warning("no connection accepted: %s", type(error).__name__)
                await asyncio.sleep(0.1)
                continue
            host = str(address[0])
            self._arrivals.take(host)
            if self._arrivals.level(host) < 0 or not self._connections.has_room(host):
                caller.close()
                continue
            # No await since the connection was accepted, so `close` finds its task.
            task = asyncio.create_task(self._welcome(caller, host))
            self._welcomes.add(task)
            task.add_done_callback(partial(self._welcomed, caller))
            await self._have_turn(task)

    async def _have_turn(self, task: "asyncio.Task[None]") -> None:
        """Count a handshake, and wait while there are too many; later callers wait, too."""
        await self._handshakes.acquire()
        released = asyncio.Event()

        def release(*_: object) -> None:
            if not released.is_set():
                released.set()
                self._handshakes.release()

        task.add_done_callback(release)
        asyncio.get_running_loop().call_later(_HANDSHAKE_SECONDS, release)

    async def _rung(self) -> None:
        """Wait for a connection."""
        loop = asyncio.get_running_loop()
        ringing = loop.create_future()
        loop.add_reader(self._listening, _ring, ringing)
        try:
            await ringing
        finally:
            loop.remove_reader(self._listening)

    def _welcomed(self, caller: socket.socket, task: "asyncio.Task[None]") -> None:
        self._welcomes.discard(task)
        if task.cancelled():
            # The port was closed before the handshake began.
            caller.close()

    async def _welcome(self, caller: socket.socket, host: str) -> None:
        """Finish the handshake in time, and pass the connection on."""
        assert self._runner.server is not None
        connection = LimitedConnection(
            self._runner.server, limits=self._limits, connections=self._connections, host=host
        )
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection,
                caller,
                ssl=self._context,
                ssl_handshake_timeout=self._limits.handshake,
            )
        except (OSError, asyncio.CancelledError):
            connection.end()
            with suppress(OSError):
                caller.close()


def _ring(ringing: "asyncio.Future[None]") -> None:
    if not ringing.done():
        ringing.set_result(None)


async def open_server(
    app: web.Application, *, host: str, port: int, context: ssl.SSLContext, limits: Limits
) -> Server:
    """Open a port for an application."""
    listening = await _listen(host, port)
    allow_open_files(2 * limits.connections + _SPARE_FILES)
    runner = web.AppRunner(
        app, access_log=None, handler_cancellation=True, shutdown_timeout=_CLOSING_SECONDS
    )
    await runner.setup()
    return Server(runner, listening, context, limits)


async def _listen(host: str, port: int) -> socket.socket:
    try:
        addresses = await asyncio.get_running_loop().getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, *_, address = addresses[0]
        both = family == socket.AF_INET6 and address[0] == "::" and socket.has_dualstack_ipv6()
        listening = socket.create_server(
            address[:2], family=family, backlog=_BACKLOG, dualstack_ipv6=both
        )
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(
            f"address {host or '*'}:{port}: cannot listen there ({reason})",
            hints=(Hint("choose another port: ", ShellCommand("sottovoce serve --port 8444")),),
        ) from error
    listening.setblocking(False)  # noqa: FBT003 - the name of the method says it
    return listening
