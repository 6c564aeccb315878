"""Everything that a server stores, as one who reads along has it."""

from typing import Any

import pytest

from sottovoce.study.relay import Letter
from sottovoce.transport.mailbox.mailbox import Mailbox


def letters_carried(monkeypatch: pytest.MonkeyPatch) -> list[Letter]:
    """Every letter whose bytes come to a mailbox, its coordinator's own among them."""
    seen: list[Letter] = []
    put, append, complete = Mailbox.put, Mailbox.append, Mailbox.complete
    parts = dict[Any, bytes]()

    async def putting(self: Mailbox, letter: Any, body: bytes) -> int:
        seen.append(Letter(*letter.place.row, body))
        return await put(self, letter, body)

    async def appending(self: Mailbox, letter: Any, start: int, data: bytes) -> Any:
        body = parts[letter.place] = parts.get(letter.place, b"")[:start] + data
        if start and len(body) == letter.size:
            seen.append(Letter(*letter.place.row, body))
        return await append(self, letter, start, data)

    async def completing(self: Mailbox, letter: Any, body: bytes) -> Any:
        # A letter of one part comes here, posted or appended.
        seen.append(Letter(*letter.place.row, body))
        return await complete(self, letter, body)

    monkeypatch.setattr(Mailbox, "put", putting)
    monkeypatch.setattr(Mailbox, "append", appending)
    monkeypatch.setattr(Mailbox, "complete", completing)
    return seen
