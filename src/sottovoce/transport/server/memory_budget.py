"""A memory budget that requests share, first come, first served, each caller a part of it."""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class _MemoryRequest:
    size: int
    caller: Hashable
    turn: asyncio.Future[None] = field(repr=False)


class MemoryBudget:
    """Bytes of memory that requests share; a request waits until there are enough.

    One caller has at most `of_one` of them. Its further requests wait for its own, and others pass
    them by: however many it begins and however slowly it sends them, the rest stays for others.
    """

    def __init__(self, size: int, *, of_one: int) -> None:
        self._free = size
        self._of_one = min(size, of_one)
        self._held: Counter[Hashable] = Counter()
        self._line: dict[_MemoryRequest, None] = {}

    async def take(self, size: int, caller: Hashable) -> None:
        """Take bytes, in order."""
        if not size:
            return
        waiting = _MemoryRequest(size, caller, asyncio.get_running_loop().create_future())
        self._line[waiting] = None
        self._serve()
        try:
            await waiting.turn
        except asyncio.CancelledError:
            if waiting in self._line:
                del self._line[waiting]
                self._serve()
            else:
                self.give(size, caller)
            raise

    def give(self, size: int, caller: Hashable) -> None:
        """Give bytes back, and wake those who have room now."""
        if size:
            self._free += size
            self._held[caller] -= size
            if not self._held[caller]:
                del self._held[caller]
            self._serve()

    def _serve(self) -> None:
        served = []
        for waiting in self._line:
            # A cancelled request leaves the line itself.
            if waiting.turn.cancelled() or self._held[waiting.caller] + waiting.size > self._of_one:
                continue
            if waiting.size > self._free:
                break
            self._free -= waiting.size
            self._held[waiting.caller] += waiting.size
            served.append(waiting)
        for waiting in served:
            del self._line[waiting]
            waiting.turn.set_result(None)


class HeldMemory:
    """Memory that a request holds until it and its work end."""

    def __init__(self, memory: MemoryBudget, size: int, caller: Hashable) -> None:
        self._memory = memory
        self._size = size
        self._caller = caller
        self._work: asyncio.Future[Any] | None = None

    async def until(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of work; it keeps its memory, even if the caller disconnects."""
        task = asyncio.create_task(work)
        self._work = task
        return await asyncio.shield(task)

    def leave(self) -> None:
        """End the request: the memory is free now, or when its work is done."""
        if self._work is None or self._work.done():
            self._memory.give(self._size, self._caller)
        else:
            self._work.add_done_callback(self._done)

    def _done(self, work: "asyncio.Future[Any]") -> None:
        # Nobody waits for the result; the caller will ask again.
        if not work.cancelled():
            work.exception()
        self._memory.give(self._size, self._caller)
