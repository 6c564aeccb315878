"""Two seats that time their trips beside a crowd, in a process of their own.

The crowd's own process is too busy to look at a clock in time. The times are one JSON object on
the output, once the input ends.
"""

import asyncio
import sys
import time

from benchmarks.port.server_process import STUDY, say
from sottovoce.entropy import SystemEntropy
from sottovoce.protocols.identities import Identity
from sottovoce.study.relay import Letter
from sottovoce.transport.client import CoordinatorLine
from sottovoce.transport.signing import body_digest

SESSION = body_digest(b"bench serve")
SMALL = 1024
_WAIT_SECONDS = 120.0


def line_to(port: int, fingerprint: bytes, seat: str) -> CoordinatorLine:
    """A line of a new seat."""
    return CoordinatorLine(
        f"https://127.0.0.1:{port}",
        fingerprint=fingerprint,
        study=STUDY,
        identity=Identity.draw(seat, SystemEntropy()),
        retry_seconds=_WAIT_SECONDS,
    )


async def answer_to(line: CoordinatorLine, after: int) -> tuple[tuple[int, Letter], ...]:
    """The next letters, however long they take."""
    while not (letters := await line.fetch(after)):
        pass
    return letters


class Pair:
    """A seat that posts, and one whose fetch waits already, as it does in a solve."""

    def __init__(self, left: CoordinatorLine, right: CoordinatorLine) -> None:
        """Time trips between two lines."""
        self._left = left
        self._right = right
        self._after = 0
        self._number = 0

    async def enrol(self) -> None:
        """Take both seats."""
        await asyncio.gather(self._left.enrol(b""), self._right.enrol(b""))

    async def trip(self) -> float:
        """Seconds from a post to the other side's fetch."""
        waiting = asyncio.create_task(answer_to(self._right, self._after))
        await asyncio.sleep(0.002)
        letter = Letter(SESSION, self._left.seat, self._right.seat, self._number, bytes(SMALL))
        started = time.perf_counter()
        posting = asyncio.create_task(self._left.post(letter))
        ((self._after, _),) = await waiting
        spent = time.perf_counter() - started
        await posting
        self._number += 1
        return spent


async def beside(port: int, fingerprint: bytes) -> None:
    """Time trips until the input ends."""
    spent: list[float] = []
    over = asyncio.create_task(asyncio.to_thread(sys.stdin.readline))
    async with (
        line_to(port, fingerprint, "left of the crowd") as left,
        line_to(port, fingerprint, "right of the crowd") as right,
    ):
        pair = Pair(left, right)
        await pair.enrol()
        say(ready=True)
        while not over.done():
            spent.append(await pair.trip())
    say(trips=spent)


if __name__ == "__main__":
    asyncio.run(beside(int(sys.argv[1]), bytes.fromhex(sys.argv[2])))
