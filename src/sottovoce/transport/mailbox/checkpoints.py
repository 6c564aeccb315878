"""Moves SQLite's log into its database in a thread, so that no commit waits for it."""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any, Protocol


class _Connection(Protocol):
    def execute(self, statement: str, /) -> Any: ...

    def close(self) -> None: ...


# The log is moved when it has grown by the first number of bytes, while commits continue. When they
# have added at most the second number, they wait for the rest, and the log starts again from its
# beginning.
_LOG_BYTES = 16 * 2**20
_REST_BYTES = 4 * 2**20
# If the log grows faster than it is moved, commits wait, so that its size is bounded.
_MOST_BYTES = 256 * 2**20


class Checkpoints:
    """The checkpoints of one database; only the thread that commits may call it."""

    def __init__(self, connect: Callable[[], _Connection]) -> None:
        self._connect = connect
        self._thread: Thread | None = None
        self._log = 0
        self._since = 0

    def committed(self, connection: _Connection, size: int) -> None:
        """Note that a commit added `size` bytes to the log; move the log if it is time."""
        self._log += size
        self._since += size
        if self._log >= _MOST_BYTES:
            self.settle()
            self._move_rest(connection)
        elif self._thread is None:
            if self._since >= _LOG_BYTES:
                self._begin()
        elif not self._thread.is_alive():
            self._thread = None
            if self._since <= _REST_BYTES:
                self._move_rest(connection)
            else:
                self._begin()

    def settle(self) -> None:
        """Wait until nothing is being moved."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _begin(self) -> None:
        self._since = 0
        self._thread = Thread(target=self._move, name="checkpoint", daemon=True)
        self._thread.start()

    def _move(self) -> None:
        with suppress(sqlite3.Error):
            # A failed move is tried again; if the disk is full, the next commit reports it.
            connection = self._connect()
            try:
                move_log(connection)
            finally:
                connection.close()

    def _move_rest(self, connection: _Connection) -> None:
        move_log(connection)
        self._log = self._since = 0


def move_log(connection: _Connection) -> None:
    """Move the part of the log that no reader needs; other connections may write meanwhile."""
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
