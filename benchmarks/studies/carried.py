"""What a study between machines carried: counted where it happens, while a block runs."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from sottovoce.study.rehearsal import refuse_unfit
from sottovoce.transport.mailbox.mailbox_tables import MailboxTables
from sottovoce.transport.server.request_handlers import RequestHandlers


@dataclass
class Carried:
    """Requests at the port, letters in the mailbox and their bytes, and seconds of rehearsals."""

    requests: int = 0
    letters: int = 0
    bytes: int = 0
    rehearsal: float = 0.0
    """CPU seconds in which sites looked through their documents before they took a seat."""


@contextmanager
def counted() -> Iterator[Carried]:
    """Count what is carried while this block runs."""
    carried = Carried()
    answered, insert, check = (
        RequestHandlers._answered,  # noqa: SLF001 - nowhere else are they counted
        MailboxTables._insert,  # noqa: SLF001 - nor are letters
        refuse_unfit,
    )

    async def count_request(self: RequestHandlers, *asked: Any) -> Any:
        carried.requests += 1
        return await answered(self, *asked)

    def count_letter(self: MailboxTables, to: Any, letter: Any, *content: Any) -> int:
        carried.letters += 1
        carried.bytes += letter.size
        return insert(self, to, letter, *content)

    def time_check(*arguments: Any) -> Any:
        before = time.thread_time()
        try:
            return check(*arguments)
        finally:
            carried.rehearsal += time.thread_time() - before

    with (
        patch.object(RequestHandlers, "_answered", count_request),
        patch.object(MailboxTables, "_insert", count_letter),
        patch("sottovoce.node.site.site_context.refuse_unfit", time_check),
    ):
        yield carried
