"""The coordinator's own access to a study's mailbox, without the network."""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from sottovoce.course.control import COORDINATOR
from sottovoce.course.letter_chain import HeldLetters
from sottovoce.errors import InputError, JournalError
from sottovoce.hints import Hint, ShellCommand
from sottovoce.keyfiles.storage import FREE_SPACE
from sottovoce.node.coordinator.registry import Registry
from sottovoce.storage.journal import Journal
from sottovoce.study.relay import Letter
from sottovoce.transport.mailbox.mailbox import Mailbox
from sottovoce.transport.mailbox.mailbox_database import AWAY, Database
from sottovoce.transport.problems import DISK_FULL, Refusal

T = TypeVar("T")

# Seconds before the coordinator asks a silent database again.
_AWAY_SECONDS = 1.0
_log = logging.getLogger("sottovoce.node")


class LocalLetterSender:
    """Reads and writes the coordinator's letters in the mailbox on the same machine."""

    def __init__(self, mailbox: Mailbox, journal: Journal) -> None:
        """Use this study's mailbox, and the journal that knows what was put into it."""
        self._mailbox = mailbox
        self._journal = journal

    async def take_up(self) -> None:
        """Compare mailbox and journal: one of them may come from an older copy."""
        held = await once_back(self._held)
        await asyncio.to_thread(self._journal.check_past, held)

    async def _held(self) -> HeldLetters:
        return self._mailbox.held(COORDINATOR)

    async def post(self, letter: Letter) -> int:
        """Leave a letter; a refusal of the mailbox ends this study only."""
        try:
            return await once_back(lambda: self._mailbox.post(letter))
        except Refusal as problem:
            full = problem.kind == DISK_FULL
            raise JournalError(
                f"mailbox of the study: {problem.detail}; nothing was sent",
                hints=(FREE_SPACE,) if full else problem.hints,
            ) from None

    async def fetch(self, after: int, *, wait: float) -> Sequence[tuple[int, Letter]]:
        """The coordinator's own letters."""
        return await once_back(lambda: self._mailbox.letters(COORDINATOR, after=after, wait=wait))

    def held_back(self) -> float:
        """The seconds in which this server held letters back."""
        return self._mailbox.held_back()

    async def acknowledge(self, position: int) -> None:
        """These are on our disk."""
        await once_back(lambda: self._mailbox.acknowledge(COORDINATOR, position))


async def once_back(call: Callable[[], Awaitable[T]]) -> T:
    """Repeat a call until the database answers; the study waits meanwhile."""
    while True:
        try:
            return await call()
        except Refusal as problem:
            if problem.kind != AWAY:
                raise
            _log.warning("%s", problem.detail)
            await asyncio.sleep(_AWAY_SECONDS)


def letters_of(registry: Registry, database: str) -> Path | Database:
    """The mailbox of a study: in its folder, or in a schema of a shared database.

    A study stays with the kind of mailbox with which it began, because its letters are there.
    """
    file = registry.folder / "mailbox.db"
    began = (registry.folder / COORDINATOR / "journal.db").exists()
    if database and file.exists():
        raise InputError(
            f"study {registry.id}: its letters wait in {file}, expected no --database",
            hints=(Hint("serve it with `", ShellCommand("sottovoce serve"), "`"),),
        )
    if not database and began and not file.exists():
        raise InputError(
            f"study {registry.id}: expected its letters in {file}, or the --database where it "
            "began; nothing was sent",
            hints=(ShellCommand("sottovoce serve --database postgresql://…"),),
        )
    if not database:
        return file
    from sottovoce.transport.mailbox.postgres_mailbox import PostgresDatabase

    return PostgresDatabase(database, hashlib.sha256(registry.id.encode()).hexdigest()[:32])
