"""When a peer's seat answers: at times that say no more than roughly how long it worked.

A pass over its documents takes as long as there are documents, and whoever gets what follows sees
when it came. So nothing that a seat does towards the server follows the end of its work at once:
not a letter, and not the next request for letters. It waits for the next of a few times that
everybody knows: 0.02 s after the work began, twice as long, and so on up to 41 s; then every 41 s.
Work that begins while something is held back counts as the same work.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

_FIRST = 0.02
_LONGEST = _FIRST * 2**11


def departure(seconds: float) -> float:
    """How long after its beginning the answer to work of so many seconds leaves."""
    if seconds > _LONGEST:
        return math.ceil(seconds / _LONGEST) * _LONGEST
    return _FIRST * 2.0 ** max(0, math.ceil(math.log2(max(seconds, _FIRST) / _FIRST)))


class Departures:
    """Holds back what follows work on documents; the clock is the loop's, or a test's own."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Nothing is held back yet."""
        self._clock, self._sleep = clock, sleep
        self._began = self._not_before = clock()

    @contextmanager
    def work(self) -> Iterator[None]:
        """While this block works on documents; in whatever thread."""
        if self._clock() >= self._not_before:
            self._began = self._clock()
        try:
            yield
        finally:
            self._not_before = self._began + departure(self._clock() - self._began)

    async def reached(self) -> None:
        """Wait until something may leave."""
        while (left := self._not_before - self._clock()) > 0:
            await self._sleep(left)


class AtOnce(Departures):
    """For a seat without documents: nothing is held back."""

    @contextmanager
    def work(self) -> Iterator[None]:
        """Take no note of it."""
        yield
