"""Everything that a server stores, as one who reads along has it."""

from typing import Any

import pytest

from sottovoce.study.relay import Letter
from sottovoce.transport.mailbox import Mailbox


def letters_carried(monkeypatch: pytest.MonkeyPatch) -> list[Letter]:
    """Every letter whose bytes come to a mailbox, its coordinator's own among them."""
    seen: list[Letter] = []
    put, append, parts = Mailbox.put, Mailbox.append, dict[Any, bytes]()

    async def putting(self: Mailbox, letter: Any, body: bytes) -> int:
        seen.append(Letter(*letter.place.row, body))
        return await put(self, letter, body)

    async def appending(self: Mailbox, letter: Any, start: int, data: bytes) -> Any:
        body = parts[letter.place] = parts.get(letter.place, b"")[:start] + data
        if len(body) == letter.size:
            seen.append(Letter(*letter.place.row, body))
        return await append(self, letter, start, data)

    monkeypatch.setattr(Mailbox, "put", putting)
    monkeypatch.setattr(Mailbox, "append", appending)
    return seen
