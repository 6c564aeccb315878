"""Hashes and writes large bodies in two threads of one mailbox, beside the event loop."""

import asyncio
import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sottovoce.transport.mailbox.mailbox_database import Database
from sottovoce.transport.mailbox.mailbox_tables import LetterSummary, Place

T = TypeVar("T")

# One hashes while the other waits for the disk. More of them would only keep the event loop from
# the cores, and everybody's small letters with it.
_THREADS = 2


class BodyWriter:
    """Writes bodies, and computes the digests of those that come in parts."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._bodies = database.bodies
        # The running digests of uploads; a lost one is computed again.
        self._hashes: dict[Place, tuple[int, hashlib._Hash]] = {}
        # Its own, so that a mailbox whose disk hangs holds up no other.
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="bodies")

    async def whole(self, upload: int, body: bytes) -> None:
        """Write a whole body, to the disk."""
        await self._in_thread(lambda: self._write(upload, body))

    async def checked(self, letter: LetterSummary, upload: int | None, body: bytes) -> None:
        """Check a body against its letter's digest, and write it if it has a file."""

        def check_and_write() -> None:
            # One visit to a thread: the digest, then the disk.
            letter.check(body)
            if upload is not None:
                self._write(upload, body)

        await self._in_thread(check_and_write)

    async def part(self, place: Place, upload: int, start: int, data: bytes) -> None:
        """Write a part, and go on with the digest of its letter."""
        await self._in_thread(lambda: self._write_part(place, upload, start, data))

    async def finish(self, letter: LetterSummary, upload: int | None) -> tuple[bytes, bool]:
        """The digest of a complete upload, and whether all of it came to this process."""
        reached, running = self._hashes.pop(letter.place, (0, hashlib.sha256()))
        is_ours = reached == letter.size
        if upload is not None:
            if not is_ours:
                running = await self._in_thread(lambda: self._hash_again(upload))
            await self._in_thread(lambda: self._bodies.sync(upload))
        return running.digest(), is_ours

    def forget(self, session: bytes) -> None:
        """Forget the uploads of a finished session."""
        for place in [place for place in self._hashes if place.session == session]:
            del self._hashes[place]

    def close(self) -> None:
        """Wait for what is being written."""
        self._threads.shutdown()

    async def _in_thread(self, job: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, job)

    def _write(self, upload: int, body: bytes) -> None:
        self._bodies.write(upload, 0, body)
        self._bodies.sync(upload)

    def _write_part(self, place: Place, upload: int, start: int, data: bytes) -> None:
        self._bodies.write(upload, start, data)
        reached, running = self._hashes.get(place, (0, hashlib.sha256()))
        if not start:
            reached, running = 0, hashlib.sha256()
        if reached == start:
            running.update(data)
            self._hashes[place] = (start + len(data), running)

    def _hash_again(self, upload: int) -> "hashlib._Hash":
        """The digest of an upload that began before this process."""
        running, start = hashlib.sha256(), 0
        connection = self._database.open(writing=False)
        try:
            while data := self._bodies.read(connection, upload, start):
                running.update(data)
                start += len(data)
        finally:
            connection.close()
        return running
