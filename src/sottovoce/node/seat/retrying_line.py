"""A connection that is retried, with events when it breaks and when it is back."""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from sottovoce.errors import AbsenceError
from sottovoce.node.events import LineBack, LineLost, OnEvent
from sottovoce.study.relay import Letter
from sottovoce.transport.client import CoordinatorLine

T = TypeVar("T")

# Seconds without an answer after which the connection counts as lost.
LOST_SECONDS = 10.0


class RetryingLine:
    """A seat's connection to the coordinator, retried until its time is over."""

    def __init__(
        self, line: CoordinatorLine, *, study: str, retry_seconds: float, on_event: OnEvent
    ) -> None:
        self._line = line
        self._study = study
        self._retry_seconds = retry_seconds
        self._on_event = on_event
        self._lost = False

    async def enrol(self, request: bytes) -> bytes:
        """Take the seat."""
        return await self._tried(lambda: self._line.enrol(request))

    async def take_up(self) -> None:
        """Take up the seat, if its journal knows everything that the server has from it."""
        await self._tried(self._line.take_up)

    async def post(self, letter: Letter) -> int:
        """Leave a letter."""
        return await self._tried(lambda: self._line.post(letter))

    async def fetch(self, after: int, *, wait: float) -> Sequence[tuple[int, Letter]]:
        """The letters behind a position."""
        return await self._tried(lambda: self._line.fetch(after, wait=wait))

    def held_back(self) -> float:
        """The seconds in which the server held letters back."""
        return self._line.held_back()

    async def acknowledge(self, position: int) -> None:
        """These letters are on our disk."""
        await self._tried(lambda: self._line.acknowledge(position))

    async def _tried(self, call: Callable[[], Awaitable[T]]) -> T:
        began = time.monotonic()
        while True:
            try:
                answer = await call()
            except AbsenceError as error:
                if time.monotonic() - began >= self._retry_seconds:
                    reason = f"{error.message}; tried for {self._retry_seconds:.0f} s"
                    raise AbsenceError(reason, party=error.party, hints=error.hints) from None
                if not self._lost:
                    self._lost = True
                    self._on_event(LineLost(self._study, self._line.seat, error.message))
            else:
                if self._lost:
                    self._lost = False
                    self._on_event(LineBack(self._study, self._line.seat))
                return answer
