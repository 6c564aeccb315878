"""A request: what a client asks and sends, how a server reads its body, each within limits."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from io import BytesIO

import aiohttp
from aiohttp import web

from sottovoce.course.control import COORDINATOR
from sottovoce.errors import MalformedError
from sottovoce.transport.signing import SignedRequest
from sottovoce.transport.versions import OFFER

_MAX_ANSWER = 8 * 2**20
_SLICE = 256 * 1024


@dataclass
class Call:
    """One request, with its description and how long it is retried."""

    asked: SignedRequest
    what: str
    body: memoryview = field(default_factory=lambda: memoryview(b""))
    wait: float = 0.0
    enrolling: bool = False
    asked_for: bool = False
    """Whether the body waits until the server asks for it."""
    offer: str = OFFER
    run: bytes = field(default=b"", repr=False)
    """The run under which letters are read, whose answer may stay open."""


def sent_as(body: memoryview, unasked: asyncio.Timeout) -> bytes | AsyncIterator[bytes] | None:
    """A body as aiohttp sends it: a long one, or one that waits to be asked for, in slices."""
    if unasked.when() is None and len(body) <= _SLICE:
        return bytes(body) or None
    return _slices(body, unasked)


async def _slices(body: memoryview, unasked: asyncio.Timeout) -> AsyncIterator[bytes]:
    if not unasked.expired():
        unasked.reschedule(None)
    for start in range(0, len(body), _SLICE):
        yield bytes(body[start : start + _SLICE])


async def bounded(response: aiohttp.ClientResponse) -> bytes:
    """An answer of at most some megabytes."""
    buffer = BytesIO()
    async for chunk in response.content.iter_any():
        if buffer.tell() + len(chunk) > _MAX_ANSWER:
            raise MalformedError(
                f"answer: expected at most {_MAX_ANSWER} bytes, found more", party=COORDINATOR
            )
        buffer.write(chunk)
    return buffer.getvalue()


async def ask_for_body(request: web.Request) -> None:
    """Let the client send the body that waits."""
    await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    # The answer follows, from its first byte.
    request.writer.output_size = 0
