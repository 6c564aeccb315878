"""The coordinator's mailbox of one study: durable, ordered, and idempotent.

A letter is on disk before `post` returns. Posting the same letter again changes nothing; another
letter under its number is refused, and so is one out of order. A recipient fetches what follows the
last position on its own disk, as often as it likes, and acknowledges positions that it no longer
needs.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Self, TypeVar
from weakref import WeakValueDictionary

from sottovoce.course.control import COORDINATOR
from sottovoce.course.held_time import HeldTime
from sottovoce.course.letter_chain import HeldLetters
from sottovoce.entropy import SystemEntropy
from sottovoce.study.relay import Letter
from sottovoce.transport.mailbox.body_writing import BodyWriter
from sottovoce.transport.mailbox.committing import Committer, Job
from sottovoce.transport.mailbox.letter_bodies import Connection
from sottovoce.transport.mailbox.mailbox_database import AWAY, Database, Durable, SqliteDatabase
from sottovoce.transport.mailbox.mailbox_tables import (
    LetterSummary,
    MailboxTables,
    Place,
    Progress,
)
from sottovoce.transport.problems import DISK_FULL, Refusal
from sottovoce.transport.server.limits import AT_ONCE, PART, Limits

T = TypeVar("T")

# Refusals that no seat can do anything about.
_HOLDING = frozenset({DISK_FULL, AWAY})
_DRAWN_BITS = 62
# The most letters of one fetch, besides its limit in bytes.
_MOST_LETTERS = 256
# Bodies of at most this size are hashed at once, without a thread.
_SMALL = 64 * 1024


@dataclass(frozen=True)
class Delivered:
    """A letter at its position in a mailbox; a long one comes without its body."""

    position: int
    letter: LetterSummary
    body: bytes | None = field(repr=False)


class Mailbox:
    """The letters of one study, in a SQLite file or another database. Used from one event loop."""

    def __init__(
        self,
        place: Path | Database,
        *,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.time,
        largest: Callable[[Place], int] | None = None,
    ) -> None:
        """Open the mailbox, or make it; a path is a SQLite file.

        `largest` gives the most bytes of a letter at a place.
        """
        self.limits = limits or Limits()
        self._largest = largest
        self._database = SqliteDatabase(place) if isinstance(place, Path) else place
        self._bodies = self._database.bodies
        self._clock = clock
        self._closed = False
        self._hurried = False
        writing = self._database.open(writing=True)
        self._earlier, self._first = self._database.begin_positions(writing)
        self._store = MailboxTables(writing, self.limits, self._database)
        self._committer = Committer(self._database, writing, self._store.count)
        self._reading = self._database.open(writing=False)
        self._last: dict[str, int] = dict(
            self._reading.execute(
                "SELECT recipient, MAX(position) FROM letters GROUP BY recipient"
            ).fetchall()
        )
        self._highest = self._database.highest(self._reading)
        self._taken: dict[str, int] = {}
        self._held_time = HeldTime()
        self._waiters: defaultdict[str, set[asyncio.Future[None]]] = defaultdict(set)
        self._writer = BodyWriter(self._database)
        # The parts of one letter are written one after the other.
        self._turns: WeakValueDictionary[Place, asyncio.Lock] = WeakValueDictionary()
        self._loop: asyncio.AbstractEventLoop | None = None
        with suppress(RuntimeError):
            self._loop = asyncio.get_running_loop()
        self._deaf = self._database.listen(self._told)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def post(self, letter: Letter) -> int:
        """Store a complete letter; return its position in the mailbox."""
        place = Place(letter.session, letter.sender, letter.recipient, letter.number)
        return await self.put(LetterSummary(place, len(letter.body), letter.digest), letter.body)

    async def put(self, letter: LetterSummary, body: bytes) -> int:
        """Store a letter whose digest was already computed."""
        self._check_size(letter)
        upload = None
        if letter.size > self._bodies.in_row:
            upload = -SystemEntropy().bits(_DRAWN_BITS) - 1
            await self._writer.whole(upload, body)
        try:
            return await self._posted(
                letter,
                lambda to: self._store.post(to, letter, body, upload),
                size=self._committed(letter.size),
            )
        except Refusal:
            if upload is not None:
                await self._committer.submit(lambda to: self._bodies.drop(to, upload))
            raise

    async def open_upload(self, letter: LetterSummary) -> Progress:
        """Begin an upload in parts, or return its progress."""
        self._check_size(letter)
        now = self._clock()
        return await self._begun(letter, lambda to: self._store.open_upload(to, letter, now=now))

    async def announced(self, letter: LetterSummary, *, run: bytes) -> Progress:
        """As `open_upload`, but only for the current process of the sender's seat."""
        self._check_size(letter)
        now = self._clock()

        def begin(to: Connection) -> Progress:
            self._store.check_run(to, letter.place.sender, run)
            return self._store.open_upload(to, letter, now=now)

        return await self._begun(letter, begin)

    async def _begun(self, letter: LetterSummary, job: Job[Progress]) -> Progress:
        progress = await self._stored(letter, self._committer.submit(job))
        if progress.position is None and progress.received == letter.size:
            return await self._finish(letter)
        return progress

    async def append(self, letter: LetterSummary, start: int, data: bytes) -> Progress:
        """Store a part of an upload; the last one posts the letter."""
        if not start and len(data) == letter.size <= PART:
            return await self._append_whole(letter, data)
        async with self._turns.setdefault(letter.place, asyncio.Lock()):
            upload = self._store.check_part(self._reading, letter, start, data)
            if upload is not None:
                await self._writer.part(letter.place, upload, start, data)
            now = self._clock()
            # The sender has the letter until it is complete, and sends again what a power cut
            # undid.
            append = self._committer.submit(
                lambda to: self._store.append(to, letter, start, data, now=now),
                size=self._committed(len(data)),
                until=Durable.PROCESS,
            )
            progress = await self._stored(letter, append)
            if progress.position is None and progress.received == letter.size:
                return await self._finish(letter)
            return progress

    async def complete(self, letter: LetterSummary, body: bytes) -> Progress:
        """Check and store the whole body of an announced letter."""
        now = self._clock()

        def append(to: Connection) -> int:
            return self._store.append(to, letter, 0, body, now=now).position or 0

        async with self._turns.setdefault(letter.place, asyncio.Lock()):
            upload = None
            if letter.size > self._bodies.in_row:
                upload = self._store.check_part(self._reading, letter, 0, body)
            if letter.size > _SMALL:
                await self._writer.checked(letter, upload, body)
            else:
                letter.check(body)
            size = self._committed(letter.size)
            return Progress(letter.size, await self._posted(letter, append, size=size))

    async def _append_whole(self, letter: LetterSummary, data: bytes) -> Progress:
        """Check and post a letter with a single part in one commit."""
        try:
            return await self.complete(letter, data)
        except Refusal as problem:
            if problem.kind == "digest":
                await self._committer.submit(lambda to: self._store.discard(to, letter))
            raise

    def _committed(self, size: int) -> int:
        """The bytes of a body that pass through the thread that commits."""
        return size if size <= self._bodies.in_row or self._bodies.in_transactions else 0

    # Runs: the process that works at a seat.

    def held(self, sender: str) -> HeldLetters:
        """The letters that this sender announced, on disk."""
        return self._store.held(self._reading, sender)

    async def take_up(self, sender: str, run: bytes, held: HeldLetters) -> None:
        """Let a process work at a seat, if it knows all letters that the seat announced."""
        await self._committer.submit(lambda to: self._store.take_up(to, sender, run, held))

    def check_run(self, sender: str, run: bytes) -> None:
        """Refuse a process that is not the current one of this seat."""
        self._store.check_run(self._reading, sender, run)

    def check_announced(self, letter: LetterSummary) -> None:
        """Refuse bytes of a letter that was not announced."""
        self._store.check_announced(self._reading, letter)

    async def forget_sender(self, sender: str) -> None:
        """Forget a sender whose seat has a new key."""
        await self._committer.submit(lambda to: self._store.forget_sender(to, sender))

    def check_position(self, position: int) -> None:
        """Refuse a reader whose position this mailbox never gave: it would miss letters or wait.

        Every start of a server uses a new range of positions, so an older copy of the mailbox gives
        no position that anybody has already read.
        """
        if position > self._highest and self._database.shared:
            self._highest = self._database.highest(self._reading)
        now = range(self._first, self._highest + 1)
        if position and not any(position in positions for positions in (*self._earlier, now)):
            raise Refusal(
                409,
                "forgotten",
                f"this seat has read letters up to position {position}, which the server never "
                f"gave: it was restored from an older copy",
                hints=("what the coordinator can do: docs/backup.md",),
            )

    async def fetch(
        self, recipient: str, *, after: int = 0, wait: float = 0.0, limit: int = PART
    ) -> tuple[Delivered, ...]:
        """The letters for this recipient after a position; waits for the first.

        As many letters as fit `limit` bytes, at least one. None after `wait` seconds.
        """
        self._loop = asyncio.get_running_loop()
        deadline = self._loop.time() + wait
        after = max(after, self._taken.get(recipient, 0))
        while not self._closed:
            if self._last.get(recipient, 0) > after:
                letters = self._read(recipient, after, limit)
                if letters:
                    # A letter can be read from its commit on, before its own post goes on.
                    self._arrived(recipient, letters[-1].position)
                    return letters
            if self._hurried or not await self._wait(recipient, deadline):
                break
        return ()

    async def letters(
        self, recipient: str, *, after: int = 0, wait: float = 0.0
    ) -> tuple[tuple[int, Letter], ...]:
        """As `fetch`, with complete letters, for readers in the same process.

        As many letters as fit into memory at once, at least one.
        """
        delivered = await self.fetch(recipient, after=after, wait=wait)
        whole: list[tuple[int, Letter]] = []
        room = AT_ONCE
        for letter in delivered:
            room -= letter.letter.size
            if whole and room < 0:
                break
            whole.append((letter.position, await self._whole(recipient, letter)))
        return tuple(whole)

    def piece(self, recipient: str, position: int, start: int) -> bytes:
        """The bytes of a letter from `start` on, up to the end of a piece."""
        return self._store.piece(self._reading, recipient, position, start)

    def acknowledge(self, recipient: str, position: int) -> asyncio.Future[None]:
        """Drop the bodies up to a position.

        Nobody needs to wait for it: if a crash loses it, a body stays a little longer.
        """
        # An acknowledged position must not hide a later letter that gets it.
        position = min(position, self._last.get(recipient, 0))
        self._taken[recipient] = max(position, self._taken.get(recipient, 0))
        return self._committer.submit(
            lambda to: self._store.acknowledge(to, recipient, position), until=Durable.PROCESS
        )

    async def forget(self, session: bytes) -> None:
        """Drop everything of a finished session."""
        await self._committer.submit(lambda to: self._store.forget(to, session))
        self._writer.forget(session)

    async def take(self, recipient: str, session: bytes) -> None:
        """Drop the bodies for a recipient in a session that has ended for it."""
        await self._committer.submit(lambda to: self._store.take(to, recipient, session))

    async def compact(self) -> None:
        """Rewrite the file without remains of acknowledged letters, after a stage."""
        await self._committer.submit(self._database.compact, alone=True)

    def hurry(self) -> None:
        """End all waits, because the server is about to close."""
        self._hurried = True
        for recipient in list(self._waiters):
            self._wake(recipient)

    async def close(self) -> None:
        """Finish pending work, and close the file."""
        self._closed = True
        for recipient in list(self._waiters):
            self._wake(recipient)
        await asyncio.to_thread(self._deaf)
        await asyncio.to_thread(self._committer.close)
        await asyncio.to_thread(self._writer.close)
        self._reading.close()

    def _check_size(self, letter: LetterSummary) -> None:
        limit = self.limits.letter
        if self._largest is not None:
            limit = min(limit, self._largest(letter.place))
        if letter.size > limit:
            raise Refusal(
                413,
                "too-large",
                f"{letter.place}: expected at most {limit} bytes, found {letter.size}",
            )

    async def _posted(self, letter: LetterSummary, job: Job[int], *, size: int = 0) -> int:
        """The position of a letter; its recipient is woken even if the sender has disconnected."""
        wake = partial(self._arrived, letter.place.recipient)
        future = self._committer.submit(job, size=size, wake=wake)
        return await self._stored(letter, asyncio.shield(future))

    async def _stored(self, letter: LetterSummary, done: Awaitable[T]) -> T:
        """Wait for a letter to be stored, and count the time for which it waits for room."""
        sender = letter.place.sender
        try:
            result = await done
        except Refusal as problem:
            if problem.kind in _HOLDING and sender != COORDINATOR:
                self._held_time = self._held_time.refused(sender, time.monotonic())
            raise
        self._held_time = self._held_time.took(sender, time.monotonic())
        return result

    def held_back(self) -> float:
        """Return the seconds since the start in which letters waited for room on the disk."""
        return self._held_time.seconds(time.monotonic())

    def _told(self, recipient: str, position: int) -> None:
        """Another process stored a letter; called in a thread of the database."""
        if self._loop is None:
            # No reader waits yet.
            self._arrived(recipient, position)
            return
        with suppress(RuntimeError):
            # A closed loop has no reader.
            self._loop.call_soon_threadsafe(self._arrived, recipient, position)

    def _arrived(self, recipient: str, position: int) -> None:
        self._highest = max(position, self._highest)
        if position > self._last.get(recipient, 0):
            self._last[recipient] = position
            self._wake(recipient)

    def _wake(self, recipient: str) -> None:
        for waiter in self._waiters.pop(recipient, ()):
            if not waiter.done():
                waiter.set_result(None)

    async def _wait(self, recipient: str, deadline: float) -> bool:
        """Wait for the next letter; return whether to look again."""
        loop = asyncio.get_running_loop()
        if deadline <= loop.time():
            return False
        waiter = loop.create_future()
        self._waiters[recipient].add(waiter)
        alarm = loop.call_at(deadline, _ring, waiter)
        try:
            await waiter
        finally:
            alarm.cancel()
            if recipient in self._waiters:
                self._waiters[recipient].discard(waiter)
        return True

    def _read(self, recipient: str, after: int, limit: int) -> tuple[Delivered, ...]:
        rows = self._reading.execute(
            "SELECT position, session, sender, number, size, digest, body, upload FROM letters "
            "WHERE recipient = ? AND taken = 0 AND position > ? ORDER BY position LIMIT ?",
            (recipient, after, _MOST_LETTERS),
        )
        delivered: list[Delivered] = []
        room = limit
        try:
            for position, session, sender, number, size, digest, body, upload in rows:
                room -= size if size <= PART else 0
                if delivered and room < 0:
                    break
                if body is None and size <= PART:
                    body = self._bodies.read(self._reading, upload, 0)  # noqa: PLW2901
                place = Place(session, sender, recipient, number)
                delivered.append(Delivered(position, LetterSummary(place, size, digest), body))
        finally:
            # An unfinished statement would keep an old state of the database.
            rows.close()
        return tuple(delivered)

    async def _whole(self, recipient: str, delivered: Delivered) -> Letter:
        body = delivered.body
        if body is None:
            body = await asyncio.to_thread(self._assemble, recipient, delivered)
        return Letter(*delivered.letter.place.row, body)

    def _assemble(self, recipient: str, delivered: Delivered) -> bytes:
        """Join a long letter from its pieces, in a thread, over its own connection."""
        buffer, connection = BytesIO(), self._database.open(writing=False)
        try:
            while (start := buffer.tell()) < delivered.letter.size:
                position = delivered.position
                buffer.write(self._store.piece(connection, recipient, position, start))
        finally:
            connection.close()
        # The buffer is returned without a copy.
        return buffer.getvalue()

    async def _finish(self, letter: LetterSummary) -> Progress:
        """Check the digest of a complete upload, and post it."""
        upload = self._store.upload_of(self._reading, letter)
        digest, is_ours = await self._writer.finish(letter, upload)
        try:
            position = await self._posted(letter, lambda to: self._store.finish(to, letter, digest))
        except Refusal as problem:
            if problem.kind != "digest":
                raise
            await self._committer.submit(lambda to: self._store.discard(to, letter))
            if is_ours:
                raise
            # A power cut took parts that were counted before this process: they are sent again.
            raise Refusal(
                409, "offset", f"{letter.place}: parts of it were lost", facts={"received": 0}
            ) from None
        return Progress(letter.size, position)


def _ring(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
