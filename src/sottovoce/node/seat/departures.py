"""Delays a peer's answers, so that their times reveal only roughly how long it worked.

The time of a pass over the documents grows with their number, and the recipient of the next letter
sees when it came. So a seat sends nothing right after its work ends, neither a letter nor a request
for letters. It waits for the next of a few public times: 0.02 s after the work began, twice as
long, and so on up to 41 s; then every 41 s. Work that begins during such a wait counts as the same
work.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

_FIRST = 0.02
_LONGEST = _FIRST * 2**11


def departure(seconds: float) -> float:
    """The seconds after the beginning of the work at which its answer leaves."""
    if seconds > _LONGEST:
        return math.ceil(seconds / _LONGEST) * _LONGEST
    return _FIRST * 2.0 ** max(0, math.ceil(math.log2(max(seconds, _FIRST) / _FIRST)))


class Departures:
    """Delays what follows work on documents; the clock is the loop's, or a test's own."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._began = self._not_before = clock()

    @contextmanager
    def work(self) -> Iterator[None]:
        """Mark this block as work on documents, in any thread."""
        if self._clock() >= self._not_before:
            self._began = self._clock()
        try:
            yield
        finally:
            self._not_before = self._began + departure(self._clock() - self._began)

    async def reached(self) -> None:
        """Wait until letters may leave."""
        while (left := self._not_before - self._clock()) > 0:
            await self._sleep(left)


class AtOnce(Departures):
    """For a seat without documents: nothing is delayed."""

    @contextmanager
    def work(self) -> Iterator[None]:
        """Ignore the work."""
        yield
