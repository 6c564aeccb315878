"""One thread that writes a database, and puts whatever waits for it into one commit."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from math import inf
from queue import Empty, PriorityQueue
from threading import Thread
from typing import Any, TypeVar

from sottovoce.errors import MisuseError
from sottovoce.transport.mailbox_database import Connection, Database

T = TypeVar("T")
Job = Callable[[Connection], T]

# Jobs in one commit: beyond that the first of them would wait for too many others.
_AT_ONCE = 128
_BYTES_AT_ONCE = 4 * 2**20
# A job of more bytes is passed by so many that come later: a trip does not wait for a crowd.
_SMALL = 64 * 1024
_PASSED_BY = 256
_QUIET_SECONDS = 0.5


@dataclass
class _Waiting:
    """A job, who waits for it, and what came of it."""

    job: Job[Any]
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop
    size: int = 0
    alone: bool = False
    result: Any = None
    error: BaseException | None = None

    def tell(self) -> None:
        if self.future.cancelled():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


# Stands where a next job would: the queue was not asked for it yet.
_MORE: Any = object()


class Committer:
    """Runs jobs on a connection of its own; a job is done when it is on disk."""

    def __init__(
        self, database: Database, connection: Connection, undone: Callable[[Connection], None]
    ) -> None:
        """Take a connection to the database over: nobody else may write through it.

        After a commit that failed, `undone` looks at what the database still holds.
        """
        self._database = database
        self._connection = connection
        self._undone = undone
        self._queue: PriorityQueue[tuple[float, int, _Waiting | None]] = PriorityQueue()
        self._turns = count()
        self._closed = False
        self._thread = Thread(target=self._run, name="committer", daemon=True)
        self._thread.start()

    def submit(self, job: Job[T], *, size: int = 0, alone: bool = False) -> asyncio.Future[T]:
        """The future result of a job, once it is durable together with whatever waited beside.

        A job of some `size` lets smaller ones pass, for a while. One that must stand `alone` runs
        outside of any transaction.
        """
        if self._closed:
            raise MisuseError("mailbox: expected an open one, found it closed")
        loop = asyncio.get_running_loop()
        waiting = _Waiting(job, loop.create_future(), loop, size, alone)
        turn = next(self._turns)
        self._queue.put((turn + (_PASSED_BY if size > _SMALL else 0), turn, waiting))
        return waiting.future

    def close(self) -> None:
        """Finish what waits, and close the connection."""
        if not self._closed:
            self._closed = True
            self._queue.put((inf, next(self._turns), None))
            self._thread.join()
            self._connection.close()

    def _run(self) -> None:
        first = self._next()
        while first is not None:
            batch, first = self._batch(first)
            if batch[0].alone:
                self._alone(batch[0])
            else:
                self._commit(batch)
            _tell(batch)
            if first is _MORE:
                first = self._next()

    def _next(self) -> _Waiting | None:
        """The next job; while there is none, the database may tidy up."""
        try:
            return self._queue.get(timeout=_QUIET_SECONDS)[2]
        except Empty:
            with suppress(*self._database.errors):
                self._database.rest(self._connection)
            return self._queue.get()[2]

    def _batch(self, first: _Waiting) -> tuple[list[_Waiting], _Waiting | None]:
        """What goes into one commit; and what was taken beyond it: a job, the end, or nothing."""
        batch, size = [first], first.size
        while len(batch) < _AT_ONCE and size < _BYTES_AT_ONCE and not first.alone:
            try:
                _, _, more = self._queue.get_nowait()
            except Empty:
                break
            if more is None or more.alone or (first.size <= _SMALL < more.size):
                # Whoever sent little does not wait for the disk to take much.
                return batch, more
            batch.append(more)
            size += more.size
        return batch, _MORE

    def _alone(self, waiting: _Waiting) -> None:
        try:
            waiting.result = waiting.job(self._connection)
        except self._database.errors as error:
            waiting.error = self._database.problem(error)

    def _commit(self, batch: list[_Waiting]) -> None:
        """Every job under a savepoint of its own: one that is refused takes nobody with it."""
        try:
            self._database.begin(self._connection)
            for waiting in batch:
                self._one(waiting)
            self._connection.execute("COMMIT")
        except self._database.errors as error:
            self._rollback()
            for waiting in batch:
                waiting.error = waiting.error or self._database.problem(error)

    def _one(self, waiting: _Waiting) -> None:
        self._connection.execute("SAVEPOINT job")
        try:
            waiting.result = waiting.job(self._connection)
        except self._database.fatal:
            raise
        except Exception as error:  # noqa: BLE001 - told to whoever waits for the job
            waiting.error = error
            self._connection.execute("ROLLBACK TO job")
        self._connection.execute("RELEASE job")

    def _rollback(self) -> None:
        with suppress(*self._database.errors):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._undone(self._connection)


def _tell(batch: list[_Waiting]) -> None:
    """Wake each event loop once."""
    loops = {waiting.loop for waiting in batch}
    for loop in loops:
        theirs = [waiting for waiting in batch if waiting.loop is loop]
        if not loop.is_closed():
            loop.call_soon_threadsafe(_tell_all, theirs)


def _tell_all(batch: list[_Waiting]) -> None:
    for waiting in batch:
        waiting.tell()
