"""One thread that writes a database, with all waiting jobs in one commit."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from math import inf
from queue import Empty, PriorityQueue
from threading import Thread
from typing import Any, TypeVar

from sottovoce.errors import MisuseError
from sottovoce.transport.mailbox.letter_bodies import Connection
from sottovoce.transport.mailbox.mailbox_database import Database, Durable

T = TypeVar("T")
Job = Callable[[Connection], T]

# The most jobs in one commit, so that the first does not wait for too many others.
_AT_ONCE = 128
_BYTES_AT_ONCE = 2 * 2**20
# The later jobs that may overtake a large one, so that small letters do not wait for it.
_SMALL = 64 * 1024
_PASSED_BY = 256
_QUIET_SECONDS = 0.5


@dataclass
class _Waiting:
    """A job, its future, and its result."""

    job: Job[Any]
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop
    size: int = 0
    until: Durable = Durable.POWER
    alone: bool = False
    wake: Callable[[Any], None] | None = field(default=None, repr=False)
    result: Any = None
    error: BaseException | None = None

    def tell(self) -> None:
        if self.wake is not None and self.error is None:
            self.wake(self.result)
        if self.future.cancelled():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


# A placeholder for the next job, before the queue was read.
_MORE: Any = object()


class Committer:
    """Runs jobs on its own connection; a job is done when it is as durable as it asked."""

    def __init__(
        self, database: Database, connection: Connection, undone: Callable[[Connection], None]
    ) -> None:
        """Take over a connection to the database, through which nothing else may write.

        After a failed commit, `undone` reads again what is stored.
        """
        self._database = database
        self._connection = connection
        self._undone = undone
        self._queue: PriorityQueue[tuple[float, int, _Waiting | None]] = PriorityQueue()
        self._turns = count()
        self._closed = False
        self._thread = Thread(target=self._run, name="committer", daemon=True)
        self._thread.start()

    def submit(
        self,
        job: Job[T],
        *,
        size: int = 0,
        until: Durable = Durable.POWER,
        alone: bool = False,
        wake: Callable[[T], None] | None = None,
    ) -> asyncio.Future[T]:
        """Queue a job; its future has a result once the job is durable, and `wake` is called.

        A job of some `size` lets smaller ones overtake it for a while. An `alone` job runs outside
        of any transaction.
        """
        if self._closed:
            raise MisuseError("mailbox: it is closed")
        loop = asyncio.get_running_loop()
        waiting = _Waiting(job, loop.create_future(), loop, size, until, alone, wake)
        turn = next(self._turns)
        self._queue.put((turn + (_PASSED_BY if size > _SMALL else 0), turn, waiting))
        return waiting.future

    def close(self) -> None:
        """Finish the waiting jobs, and close the connection."""
        if not self._closed:
            self._closed = True
            self._queue.put((inf, next(self._turns), None))
            self._thread.join()
            self._database.settle()
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
            # After the answer, so that nobody waits for it.
            with suppress(*self._database.errors):
                self._database.committed(self._connection, sum(waiting.size for waiting in batch))
            if first is _MORE:
                first = self._next()

    def _next(self) -> _Waiting | None:
        """The next job; while there is none, the database may clean up."""
        try:
            return self._queue.get(timeout=_QUIET_SECONDS)[2]
        except Empty:
            with suppress(*self._database.errors):
                self._database.rest(self._connection)
            return self._queue.get()[2]

    def _batch(self, first: _Waiting) -> tuple[list[_Waiting], _Waiting | None]:
        """The jobs of one commit, and what was read beyond them: a job, the end, or nothing."""
        batch, size = [first], first.size
        while len(batch) < _AT_ONCE and size < _BYTES_AT_ONCE and not first.alone:
            try:
                _, _, more = self._queue.get_nowait()
            except Empty:
                break
            if more is None or more.alone or (first.size <= _SMALL < more.size):
                # A small letter does not wait until a large one is on disk.
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
        """Commit the jobs, each under its own savepoint, so that a refused job affects no other."""
        try:
            self._database.begin(self._connection, until=_longest(batch))
            if len(batch) == 1 and not self._done(batch[0]):
                self._connection.execute("ROLLBACK")
                return
            if len(batch) > 1:
                for waiting in batch:
                    self._one(waiting)
            self._connection.execute("COMMIT")
        except self._database.errors as error:
            self._rollback()
            for waiting in batch:
                waiting.error = waiting.error or self._database.problem(error)

    def _one(self, waiting: _Waiting) -> None:
        self._connection.execute("SAVEPOINT job")
        if not self._done(waiting):
            self._connection.execute("ROLLBACK TO job")
        self._connection.execute("RELEASE job")

    def _done(self, waiting: _Waiting) -> bool:
        """Whether a job was done; what it changed before it was refused must be undone."""
        try:
            waiting.result = waiting.job(self._connection)
        except self._database.fatal:
            raise
        except Exception as error:  # noqa: BLE001 - raised at the job's future
            waiting.error = error
            return False
        return True

    def _rollback(self) -> None:
        with suppress(*self._database.errors):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._undone(self._connection)


def _longest(batch: list[_Waiting]) -> Durable:
    wanted = {waiting.until for waiting in batch}
    return Durable.POWER if Durable.POWER in wanted else Durable.PROCESS


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
