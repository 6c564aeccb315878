"""A memory budget that requests share, first come, first served."""

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class MemoryBudget:
    """Bytes of memory that requests share; a request waits until there are enough."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._line: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, size: int) -> None:
        """Take bytes, in order."""
        if not size or (not self._line and size <= self._free):
            self._free -= size
            return
        turn = asyncio.get_running_loop().create_future()
        self._line.append((size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give(size)
            raise

    def give(self, size: int) -> None:
        """Give bytes back, and wake the next request."""
        self._free += size
        while self._line and (self._line[0][1].cancelled() or self._line[0][0] <= self._free):
            wanted, turn = self._line.popleft()
            if not turn.cancelled():
                self._free -= wanted
                turn.set_result(None)


class HeldMemory:
    """Memory that a request holds until it and its work end."""

    def __init__(self, memory: MemoryBudget, size: int) -> None:
        self._memory = memory
        self._size = size
        self._work: asyncio.Future[Any] | None = None

    async def until(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of work; it keeps its memory, even if the caller disconnects."""
        task = asyncio.create_task(work)
        self._work = task
        return await asyncio.shield(task)

    def leave(self) -> None:
        """End the request: the memory is free now, or when its work is done."""
        if self._work is None or self._work.done():
            self._memory.give(self._size)
        else:
            self._work.add_done_callback(self._done)

    def _done(self, work: "asyncio.Future[Any]") -> None:
        # Nobody waits for the result; the caller will ask again.
        if not work.cancelled():
            work.exception()
        self._memory.give(self._size)
