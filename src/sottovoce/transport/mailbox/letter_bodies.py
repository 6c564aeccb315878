"""Where the bodies of large letters lie: in files beside the mailbox, or in rows of its database.

A file is written and synced by any thread before the transaction that counts it, so the one
thread that commits never waits for a large body. What a transaction drops is noted in it, and its
file is deleted once that note is on disk: a power cut brings no letter back without its body.
"""

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from sottovoce.transport.problems import DISK_FULL, Refusal
from sottovoce.transport.server.limits import PART

FULL = (errno.ENOSPC, errno.EDQUOT)
_FOLDER_MODE, _FILE_MODE = 0o700, 0o600


class Connection(Protocol):
    """One connection: statements with `?` for their values, as SQLite writes them."""

    def execute(self, statement: str, values: Any = ..., /) -> Any:
        """Run a statement; iterate the result for its rows."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""

    def close(self) -> None:
        """Close the connection."""


class Bodies(Protocol):
    """The bodies of large letters, each under the number of its upload."""

    in_row: int
    """Bodies of at most this size lie in the row of their letter."""
    in_transactions: bool
    """Whether the bytes pass through the thread that commits."""

    def write(self, upload: int, start: int, data: bytes) -> None:
        """Write bytes, before the transaction that counts them; in any thread."""

    def sync(self, upload: int) -> None:
        """Wait until all bytes of an upload are on disk; in any thread."""

    def insert(self, to: Connection, upload: int, start: int, data: bytes) -> None:
        """Count bytes, within a transaction."""

    def drop(self, to: Connection, upload: int) -> None:
        """Drop a body, within a transaction."""

    def read(self, connection: Connection, upload: int, start: int) -> bytes:
        """Some bytes from `start` on, at most a part; none at the end."""


class BodyRows:
    """Bodies in the table `pieces`."""

    in_row = PART
    in_transactions = True

    def write(self, upload: int, start: int, data: bytes) -> None:
        """Do nothing: the transaction writes them."""

    def sync(self, upload: int) -> None:
        """Do nothing: the transaction waits for the disk."""

    def insert(self, to: Connection, upload: int, start: int, data: bytes) -> None:
        """Insert rows of at most a part."""
        view = memoryview(data)
        for at in range(0, len(view), PART):
            piece = view[at : at + PART]
            to.execute("INSERT INTO pieces VALUES (?, ?, ?)", (upload, start + at, piece))

    def drop(self, to: Connection, upload: int) -> None:
        """Delete its rows."""
        to.execute("DELETE FROM pieces WHERE upload = ?", (upload,))

    def read(self, connection: Connection, upload: int, start: int) -> bytes:
        """The rest of the row that holds `start`."""
        row = connection.execute(
            "SELECT start, data FROM pieces WHERE upload = ? AND start <= ? "
            "ORDER BY start DESC LIMIT 1",
            (upload, start),
        ).fetchone()
        return b"" if row is None else bytes(row[1][start - row[0] :])


class BodyFiles:
    """Bodies in files of one folder; the table `dropped` has those that may be deleted."""

    in_row = 64 * 1024
    in_transactions = False

    def __init__(self, folder: Path) -> None:
        """Use this folder, which is made with its first file."""
        self.folder = folder
        self._any_dropped = True
        # A small letter that waits for the disk waits behind one part, not behind whole letters.
        self._turn = Lock()

    def write(self, upload: int, start: int, data: bytes) -> None:
        """Write bytes at their place, to the disk; what lay there belonged to no letter."""
        try:
            self._make_folder()
            descriptor = os.open(
                self._path(upload), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE
            )
            try:
                view = memoryview(data)
                while view:
                    done = os.pwrite(descriptor, view, start)
                    view, start = view[done:], start + done
                with self._turn:
                    os.fdatasync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _problem(error) from None

    def sync(self, upload: int) -> None:  # noqa: ARG002
        """Wait for the file's name in the folder; its bytes are on disk since they were written."""
        try:
            _sync_folder(self.folder)
        except OSError as error:
            raise _problem(error) from None

    def insert(self, to: Connection, upload: int, start: int, data: bytes) -> None:
        """Do nothing: they are in their file."""

    def drop(self, to: Connection, upload: int) -> None:
        """Note that its file may be deleted."""
        to.execute("INSERT OR IGNORE INTO dropped VALUES (?)", (upload,))
        self._any_dropped = True

    def read(self, connection: Connection, upload: int, start: int) -> bytes:  # noqa: ARG002
        """At most a part of the file."""
        try:
            descriptor = os.open(self._path(upload), os.O_RDONLY | os.O_CLOEXEC)
            try:
                return os.pread(descriptor, PART, start)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _problem(error) from None

    def dropped(self, connection: Connection) -> Sequence[int]:
        """The bodies whose files may be deleted, once what was committed is on disk."""
        if not self._any_dropped:
            return ()
        self._any_dropped = False
        return [upload for (upload,) in connection.execute("SELECT upload FROM dropped")]

    def delete(self, uploads: Sequence[int]) -> None:
        """Delete files; those that are gone already are left out."""
        for upload in uploads:
            self._path(upload).unlink(missing_ok=True)

    def clean(self, connection: Connection) -> Iterator[str]:
        """At a start: delete the files that no letter has, and name those that are missing."""
        self.delete(self.dropped(connection))
        known: dict[str, int] = {
            str(upload): size
            for upload, size in connection.execute(
                "SELECT upload, size FROM letters WHERE taken = 0 AND upload IS NOT NULL"
            )
        }
        there = {path.name: path for path in self.folder.glob("*")}
        for name, size in known.items():
            if name not in there or there[name].stat().st_size < size:
                yield name
        begun = {str(upload) for (upload,) in connection.execute("SELECT id FROM uploads")}
        for name in there.keys() - known.keys() - begun:
            there[name].unlink()

    def _make_folder(self) -> None:
        if not self.folder.is_dir():
            self.folder.mkdir(mode=_FOLDER_MODE, exist_ok=True)
            _sync_folder(self.folder.parent)

    def _path(self, upload: int) -> Path:
        return self.folder / str(upload)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _problem(error: OSError) -> Refusal:
    if error.errno in FULL:
        return disk_full()
    reason = (error.strerror or type(error).__name__).lower()
    return Refusal(503, "storage", f"a letter's file cannot be read or written ({reason})")


def disk_full() -> Refusal:
    """The refusal of a letter for which there is no room."""
    return Refusal(
        507,
        DISK_FULL,
        "the coordinator's disk is full, and nothing was stored",
        hints=("the coordinator must free some space; the letter is sent again automatically",),
    )
