"""Letters for tests of the mailbox."""

import asyncio
import hashlib

from sottovoce.study.relay import Letter
from sottovoce.transport.mailbox.mailbox import Mailbox
from sottovoce.transport.mailbox.mailbox_tables import LetterSummary, Place

SESSION = b"s" * 16


def letter(number=0, body=b"body", *, sender="alice", to="bob", session=SESSION):
    return Letter(session, sender, to, number, body)


def sealed(body, number=0, *, sender="alice", session=SESSION):
    return LetterSummary(
        Place(session, sender, "bob", number), len(body), hashlib.sha256(body).digest()
    )


def run(path, story, **options):
    async def told():
        async with Mailbox(path, **options) as mailbox:
            return await story(mailbox)

    return asyncio.run(told())


async def until_dropped(mailbox: Mailbox) -> None:
    """Until a commit was on disk, after which the files of dropped bodies are deleted."""
    for _ in range(2):
        await mailbox._committer.submit(lambda _: None)
