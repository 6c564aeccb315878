"""Reads the bodies of requests within limits: of size, of time, of memory, and in turns."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

from aiohttp import web

from sottovoce.transport.problems import Refusal
from sottovoce.transport.server.limits import Limits
from sottovoce.transport.server.memory_budget import HeldMemory, MemoryBudget
from sottovoce.transport.server.reading_turns import ReadingTurns
from sottovoce.transport.signing import body_digest

# Bodies of this size take less memory than their connection, and less time than a turn.
TINY = 64 * 1024
# The most bytes of a body that is not a letter: a token, a key, a consent.
_SMALL = 16 * 1024


class BodyReader:
    """Reads bodies; those of seats and those of strangers have a memory of their own."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._memory = MemoryBudget(limits.in_memory, of_one=limits.in_memory_by_seat)
        self._strangers = MemoryBudget(limits.strangers, of_one=limits.strangers_by_address)
        self._turns = ReadingTurns()

    async def of_stranger(self, request: web.Request, digest: bytes | None) -> bytes:
        """The body of a caller without a seat, which is small."""
        await self._strangers.take(_SMALL, request.remote)
        try:
            return await self.read(request, _SMALL, digest)
        finally:
            self._strangers.give(_SMALL, request.remote)

    @asynccontextmanager
    async def memory(
        self, request: web.Request, limit: int, seat: Hashable
    ) -> AsyncIterator[HeldMemory]:
        """Memory for a body of a seat; waits until there is enough."""
        size = min(request.content_length if request.content_length is not None else limit, limit)
        if size <= TINY:
            # Small bodies do not wait for memory, so letters of a solve do not wait for
            # contributions.
            size = 0
        await self._memory.take(size, seat)
        held = HeldMemory(self._memory, size, seat)
        try:
            yield held
        finally:
            held.leave()

    async def read(self, request: web.Request, limit: int, digest: bytes | None) -> bytes:
        """A body of at most `limit` bytes with this digest, in time."""
        if request.content_length is not None and request.content_length > limit:
            raise _too_large(limit, request.content_length)
        if not request.can_read_body:
            body = b""
        else:
            allowed = self._limits.headers + limit / self._limits.slowest
            try:
                async with asyncio.timeout(allowed):
                    body = await self._whole(request, limit)
            except TimeoutError:
                raise Refusal(
                    408, "slow", f"expected the body within {allowed:.0f} s, found less of it"
                ) from None
            except web.RequestPayloadError:
                raise Refusal(400, "body", "the body is incomplete or invalid") from None
        if digest is not None and await _digest(body) != digest:
            raise Refusal(400, "digest", "the body does not match its digest")
        return body

    async def _whole(self, request: web.Request, limit: int) -> bytes:
        chunks: list[bytes] = []
        size, is_large = 0, (request.content_length or limit) > TINY
        while True:
            if is_large:
                # Its connection is paused while a piece waits here to be read.
                await self._turns.wait()
            chunk = await request.content.readany()
            if not chunk:
                return b"".join(chunks)
            size += len(chunk)
            if size > limit:
                raise _too_large(limit, size)
            chunks.append(chunk)


async def _digest(body: bytes) -> bytes:
    """The digest of a body; a large one is hashed in a thread."""
    return await asyncio.to_thread(body_digest, body) if len(body) > TINY else body_digest(body)


def _too_large(limit: int, size: int) -> Refusal:
    """The refusal of a body that is too large."""
    return Refusal(
        413, "too-large", f"expected a body of at most {limit} bytes, found {size} or more"
    )
