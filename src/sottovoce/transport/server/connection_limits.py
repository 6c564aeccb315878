"""Limits of connections: deadlines for slow clients, and room for seats before strangers.

Slow clients are the cheapest attack on a server: a handshake that never ends, headers that arrive a
byte a minute, an answer that is never read. Each has a deadline here.
"""

import asyncio
from collections import Counter
from typing import Any

from aiohttp import web
from aiohttp.web_request import BaseRequest

from sottovoce.transport.problems import CONTENT_TYPE, Refusal
from sottovoce.transport.server.limits import Limits

# The release of the server is not disclosed.
NAME = "sottovoce"
# More bytes of a body than these pause its connection until they are read, and of an answer until
# they are sent.
_AHEAD = 64 * 1024


def problem_answer(problem: Refusal) -> web.Response:
    """The problem document as an answer."""
    answer = web.Response(status=problem.status, body=problem.document(), content_type=CONTENT_TYPE)
    if "retry_after" in problem.facts:
        answer.headers["Retry-After"] = str(problem.facts["retry_after"])
    return answer


async def as_problem(_request: web.Request, answer: web.StreamResponse) -> None:
    """Turn the framework's own refusals into problem documents."""
    answer.headers["Server"] = NAME
    if (
        answer.status >= 400
        and isinstance(answer, web.Response)
        and answer.content_type != CONTENT_TYPE
    ):
        reason = (answer.reason or "refused").lower()
        document = Refusal(answer.status, "no-such-thing", reason).document()
        answer.body = document
        answer.content_type = CONTENT_TYPE
        answer.charset = None
        # It was already counted.
        answer.headers["Content-Length"] = str(len(document))


class LimitedConnection(web.RequestHandler):
    """One connection, closed if its next request does not come in time."""

    def __init__(
        self, server: web.Server, *, limits: Limits, connections: "ConnectionLimits", host: str
    ) -> None:
        """Report when the connection ends, and when its caller proved to hold a seat."""
        loop = asyncio.get_running_loop()
        super().__init__(
            server,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]  # as its runner passes it: no log
            keepalive_timeout=limits.idle,
            # Letters are sealed and cannot be compressed; a body that grows in memory is an attack.
            auto_decompress=False,
            read_bufsize=_AHEAD,
        )
        self._limits = limits
        self._connections = connections
        self.host = host
        self.is_known = False
        connections.came(self)
        self._alarm: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the deadline of the first request."""
        super().connection_made(transport)
        assert self.transport is not None
        self.transport.set_write_buffer_limits(_AHEAD)
        self._expect_within(self._limits.headers)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Count the connection's end."""
        self.end()
        super().connection_lost(exc)

    def end(self) -> None:
        """Stop counting this connection."""
        self._silence()
        self._connections.went(self)

    def known(self) -> None:
        """Note that the caller holds a seat, so that strangers are closed before it."""
        self.is_known = True
        self._connections.known(self)

    def begin_request(self) -> None:
        """The headers of a request are complete."""
        self._silence()

    def leave_unread(self) -> None:
        """Close the connection instead of reading the rest of a refused body."""
        self._lingering_time = 0.0

    def end_request(self) -> None:
        """The answer is ready; start the deadline of the next request."""
        if self.transport is not None:
            self._expect_within(self._limits.idle)

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - it quotes the request, so it is not used
    ) -> web.StreamResponse:
        """Answer invalid HTTP or a failed handler with a problem document, without a log."""
        if exc is not None:
            # Its frames hold the connection, and one of them the error: 256 KB of buffers that only
            # the collector of cycles would free, some time later.
            exc.__traceback__ = None
        if request.writer.output_size > 0:
            raise ConnectionError("an answer was already begun")
        if isinstance(exc, UnicodeError):
            # aiohttp quotes a header that it refuses, and fails if the header is no text.
            status = 400
        kind = "failure" if status >= 500 else "no-http"
        detail = f"the request cannot be read ({type(exc).__name__})" if exc else "not understood"
        answer = problem_answer(Refusal(status, kind, detail))
        answer.headers["Server"] = NAME
        answer.force_close()
        return answer

    def log_exception(self, *_: Any, **__: Any) -> None:
        """Log nothing here: an error's message may hold content."""

    def _expect_within(self, seconds: float) -> None:
        self._silence()
        self._alarm = asyncio.get_running_loop().call_later(seconds, self.hang_up)

    def _silence(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def hang_up(self) -> None:
        """Close the connection at once."""
        if self.transport is not None:
            self.transport.abort()


class ConnectionLimits:
    """Counts connections by address, and keeps strangers in order, the oldest first."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._all: set[LimitedConnection] = set()
        self._by_host: Counter[str] = Counter()
        self._strangers: dict[LimitedConnection, None] = {}

    def __len__(self) -> int:
        return len(self._all)

    def came(self, connection: LimitedConnection) -> None:
        """Count a new connection."""
        self._all.add(connection)
        self._by_host[connection.host] += 1
        self._strangers[connection] = None

    def known(self, connection: LimitedConnection) -> None:
        """Note that a caller is no stranger."""
        self._strangers.pop(connection, None)

    def went(self, connection: LimitedConnection) -> None:
        """Note that a connection ended; may be called twice."""
        if connection in self._all:
            self._all.discard(connection)
            self._strangers.pop(connection, None)
            self._by_host[connection.host] -= 1
            if not self._by_host[connection.host]:
                del self._by_host[connection.host]

    def has_room(self, host: str) -> bool:
        """Return whether there is room for one more; the oldest stranger may be closed for it."""
        if self._by_host[host] >= self._limits.connections_by_address:
            return self._make_room(host)
        return len(self._all) < self._limits.connections or self._make_room(None)

    def _make_room(self, host: str | None) -> bool:
        for connection in self._strangers:
            if host is None or connection.host == host:
                connection.hang_up()
                self.went(connection)
                return True
        return False
