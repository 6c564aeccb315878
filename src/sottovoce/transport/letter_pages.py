"""Pages of letters that follow each other in one open answer, as the letters come.

An answer to `GET /v1/mailbox` in version 3 of the protocol stays open for the time that the client
waits: every page is sent when its letters are there, so a recipient asks once and not once a
letter. A page is four bytes of its length, eight of the seconds in which the server held letters
back, and its letters; a page without letters is the last. A page of no bytes begins the answer: if
it does not come at once, something on the way keeps answers until they are whole, and the client
asks for one page at a time from then on.
"""

import asyncio
import struct
from dataclasses import dataclass, field

import aiohttp

from sottovoce.course.control import COORDINATOR
from sottovoce.errors import MalformedError

CONTENT_TYPE = "application/vnd.sottovoce.letter-pages"
MAX_PAGE = 8 * 2**20
_HEAD = struct.Struct(">IQ")
# The part of an answer's time after which its beginning is late.
LATE = 0.75
# What ends an answer early: the next request asks for the same letters.
CUT = (aiohttp.ClientError, OSError, TimeoutError, asyncio.IncompleteReadError)


def page_of(letters: bytes, held_back: int) -> bytes:
    """The bytes of a page."""
    return _HEAD.pack(len(letters), held_back) + letters


@dataclass
class OpenAnswer:
    """An answer of the server that is still open, and what its next page follows."""

    response: aiohttp.ClientResponse = field(repr=False)
    run: bytes = field(repr=False)
    held_back: int = 0
    after: int = -1
    """The position that the next page begins behind, once the last page was read."""

    async def begin(self) -> None:
        """The page of no bytes; the answer is closed if this fails or is cancelled."""
        if await self.page():
            self.close()
            raise MalformedError("answer: expected an empty page first", party=COORDINATOR)

    async def page(self) -> bytes:
        """The next page's letters; the answer is closed if this fails or is cancelled."""
        try:
            return await self._read()
        except BaseException:
            self.close()
            raise

    async def _read(self) -> bytes:
        read = self.response.content.readexactly
        size, self.held_back = _HEAD.unpack(await read(_HEAD.size))
        if size > MAX_PAGE:
            raise MalformedError(
                f"answer: expected a page of at most {MAX_PAGE} bytes, found {size}",
                party=COORDINATOR,
            )
        return await read(size)

    def close(self) -> None:
        """End the answer here; its connection is closed, too."""
        self.response.close()

    async def end(self) -> None:
        """After the last page: the connection may be used again."""
        try:
            await self.response.read()
        except CUT:
            self.close()
        self.response.release()
