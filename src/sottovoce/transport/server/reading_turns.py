"""Large bodies are read a piece at a time, in turns: a small request waits behind one piece."""

import asyncio
from collections import deque
from collections.abc import Iterator


class ReadingTurns:
    """One turn in each round of the event loop, first come, first served.

    A turn is over at once, so a sender that sends nothing delays nobody. What others send
    meanwhile waits in the kernel, except for the piece that each sent before its turn.
    """

    def __init__(self) -> None:
        self._line: deque[asyncio.Future[None]] = deque()
        self._is_moving = False

    async def wait(self) -> None:
        """Wait until it is the caller's turn."""
        turn = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        if not self._is_moving:
            self._move()
        await turn

    def _move(self) -> None:
        """Give the turn to the first who still waits, and go on in the next round."""
        turn = next((turn for turn in self._from_line() if not turn.cancelled()), None)
        self._is_moving = turn is not None
        if turn is not None:
            turn.set_result(None)
            asyncio.get_running_loop().call_soon(self._move)

    def _from_line(self) -> Iterator["asyncio.Future[None]"]:
        while self._line:
            yield self._line.popleft()
