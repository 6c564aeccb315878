"""The coordinator's receipts for a seat's ledger: how many of its lines are remembered there."""

import asyncio
from contextlib import suppress

# Seconds that a seat waits for the last receipt when it ends; it can ask for it later.
_SECONDS = 5.0


class Receipts:
    """The number of lines for which a receipt came."""

    def __init__(self) -> None:
        self._entries = 0
        self._came = asyncio.Event()

    def came(self, entries: int) -> None:
        """Note a receipt of this number of lines."""
        self._entries = entries
        self._came.set()

    async def reach(self, entries: int) -> None:
        """Wait for a receipt of this number of lines, up to a limit."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_SECONDS):
                while self._entries < entries:
                    self._came.clear()
                    await self._came.wait()
