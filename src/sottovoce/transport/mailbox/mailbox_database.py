"""The interface of a mailbox's database: SQLite, or a PostgreSQL server.

The statements of `mailbox_tables` are the same for both. `Database` hides the differences: how
connections are opened, how a transaction begins, what an error means, and how a process hears of
letters that another process stored.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from pathlib import Path
from typing import Protocol

from sottovoce.entropy import SystemEntropy
from sottovoce.errors import DamagedFileError, KeyFileError
from sottovoce.hints import Hint, ShellCommand
from sottovoce.keyfiles.storage import FREE_SPACE
from sottovoce.transport.mailbox.checkpoints import Checkpoints, move_log
from sottovoce.transport.mailbox.letter_bodies import Bodies, BodyFiles, Connection, disk_full
from sottovoce.transport.problems import Refusal

AWAY = "database"
"""The kind of a temporary refusal: the database does not answer."""
Told = Callable[[str, int], None]
"""Called with the recipient and position of a new letter."""


class Durable(Enum):
    """What a commit survives. A commit that survives more makes all earlier ones do so, too."""

    PROCESS = auto()
    """The death of our process; a power cut may undo it."""
    POWER = auto()
    """Also a power cut: it is on disk before it is reported."""


class Database(Protocol):
    """The database of one study's letters."""

    folder: Path | None
    """The path whose disk holds the letters; None on another machine."""
    shared: bool
    """Whether other processes store letters here too."""
    errors: tuple[type[Exception], ...]
    """The exceptions that a statement raises."""
    fatal: tuple[type[Exception], ...]
    """The errors that concern all statements, not a single one."""

    @property
    def bodies(self) -> Bodies:
        """Where the bodies of large letters lie."""

    def open(self, *, writing: bool) -> Connection:
        """Open a connection; one writes, the others read."""

    def begin(self, connection: Connection, *, until: Durable) -> None:
        """Begin a transaction that excludes others of this study."""

    def problem(self, error: Exception) -> Refusal:
        """The problem document for an error."""

    def begin_positions(self, connection: Connection) -> tuple[list[range], int]:
        """Begin a new range of positions for this start, if possible.

        Returns the ranges of all earlier starts that this copy knows, and the first position of
        this one.
        """

    def highest(self, connection: Connection) -> int:
        """The last position ever given, including those of deleted letters."""

    def stored(self, connection: Connection, recipient: str, position: int) -> None:
        """Within a transaction: notify other processes of a letter after its commit."""

    def listen(self, wake: Told) -> Callable[[], None]:
        """Report letters that other processes stored, until the returned function is called."""

    def committed(self, connection: Connection, size: int) -> None:
        """Do maintenance after a commit of some size, in little time."""

    def rest(self, connection: Connection) -> None:
        """Do maintenance while no job waits."""

    def settle(self) -> None:
        """Wait for maintenance that goes on, before the last connection is closed."""

    def compact(self, connection: Connection) -> None:
        """Rewrite the tables without remains of acknowledged letters."""


_SCHEMA = """
CREATE TABLE IF NOT EXISTS letters (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    session BLOB NOT NULL, sender TEXT NOT NULL, recipient TEXT NOT NULL, number INTEGER NOT NULL,
    size INTEGER NOT NULL, digest BLOB NOT NULL,
    taken INTEGER NOT NULL DEFAULT 0, body BLOB, upload INTEGER,
    UNIQUE (session, sender, recipient, number)
) STRICT;
CREATE INDEX IF NOT EXISTS waiting ON letters (recipient, position) WHERE taken = 0;
CREATE TABLE IF NOT EXISTS uploads (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session BLOB NOT NULL, sender TEXT NOT NULL, recipient TEXT NOT NULL, number INTEGER NOT NULL,
    size INTEGER NOT NULL, digest BLOB NOT NULL,
    received INTEGER NOT NULL DEFAULT 0, touched REAL NOT NULL,
    UNIQUE (session, sender, recipient, number)
) STRICT;
CREATE TABLE IF NOT EXISTS dropped (upload INTEGER PRIMARY KEY) STRICT;
CREATE TABLE IF NOT EXISTS senders (
    sender TEXT PRIMARY KEY, letters INTEGER NOT NULL, chain BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS starts (
    first INTEGER PRIMARY KEY, before INTEGER NOT NULL
) STRICT;
"""
# Version 1 has letters, uploads and pieces. 2 adds the letters held of every sender, which start
# empty. 3 adds the first position of every start of the server, and the last one before it. 4 keeps
# large bodies in files beside it, and no pieces.
_VERSION = 4
_RESTORE = (
    "restore the newest copy of the whole folder, including the journal",
    Hint("without one the study is over: ", ShellCommand("sottovoce study create --from STUDY")),
)
# The ranges of two starts are farther apart than a study has letters; the last digits are
# random, so that two servers restored from one copy do not use the same.
_START_BITS, _DRAWN_BITS = 32, 31
_SETTINGS = (
    "journal_mode = WAL",
    # Changes outside of the committer's transactions are on disk before they are reported.
    "synchronous = FULL",
    "busy_timeout = 10000",
    # Overwriting acknowledged letters with zeros would write each twice; a study's file is deleted
    # as a whole.
    "secure_delete = FAST",
    # The log is moved in a thread, and when no job waits; never by a commit.
    "wal_autocheckpoint = 0",
    "journal_size_limit = 67108864",
)


class SqliteDatabase:
    """One SQLite file, of one process."""

    shared = False
    errors: tuple[type[Exception], ...] = (sqlite3.Error,)
    # The disk or the file.
    fatal: tuple[type[Exception], ...] = (sqlite3.OperationalError,)

    def __init__(self, path: Path) -> None:
        """Use this file, which is made when it is first opened."""
        self.path = path
        self.folder: Path | None = path.parent
        self.bodies = BodyFiles(path.with_suffix(".letters"))
        self._checkpoints = Checkpoints(lambda: self.open(writing=False))
        # What the commits of the one connection that writes outlive now.
        self._until: Durable | None = None

    def open(self, *, writing: bool) -> Connection:
        """A connection to the file."""
        path = self.path
        with _translated(path):
            connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            if writing:
                self._until = None
                # SQLite makes the journal with the file's own mode.
                path.chmod(0o600)
                _check_version(connection, path)
                for setting in _SETTINGS:
                    connection.execute(f"PRAGMA {setting}")
                connection.executescript(_SCHEMA)
                self._move_pieces(connection)
                connection.execute(f"PRAGMA user_version = {_VERSION}")
                self._check_bodies(connection)
            else:
                connection.execute("PRAGMA query_only = ON")
        return connection

    def _move_pieces(self, connection: sqlite3.Connection) -> None:
        """Move the bodies of version 3 into files; done again if it was interrupted."""
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'pieces'").fetchall():
            return
        uploads = set()
        for upload, start, data in connection.execute("SELECT upload, start, data FROM pieces"):
            self.bodies.write(upload, start, data)
            uploads.add(upload)
        for upload in uploads:
            self.bodies.sync(upload)
        connection.execute("DROP TABLE pieces")

    def _check_bodies(self, connection: sqlite3.Connection) -> None:
        missing = list(self.bodies.clean(connection))
        if missing:
            raise DamagedFileError(
                f"{self.bodies.folder / missing[0]}: this body of a waiting letter is missing, or "
                "too short",
                hints=_RESTORE,
            )

    def begin(self, connection: Connection, *, until: Durable) -> None:
        """Begin at once; nobody else writes this file."""
        # With NORMAL a commit is in the log, and a later FULL one waits until all of it is on disk.
        if until is not self._until:
            level = "FULL" if until is Durable.POWER else "NORMAL"
            connection.execute(f"PRAGMA synchronous = {level}")
            self._until = until
        connection.execute("BEGIN IMMEDIATE")

    def problem(self, error: Exception) -> Refusal:
        """A full disk, or a file that cannot be written."""
        name = getattr(error, "sqlite_errorname", "SQLITE_ERROR")
        if name in {"SQLITE_FULL", "SQLITE_IOERR_WRITE"}:
            return disk_full()
        return Refusal(
            503, "storage", f"the coordinator's mailbox cannot be written ({name.lower()})"
        )

    def begin_positions(self, connection: Connection) -> tuple[list[range], int]:
        """Begin a new range of positions for this start."""
        highest = self.highest(connection)
        if highest:
            drawn = SystemEntropy().bits(_DRAWN_BITS)
            first = ((highest >> _START_BITS) + 1 << _START_BITS) + drawn
            with _translated(self.path):
                connection.execute("INSERT INTO starts VALUES (?, ?)", (first, highest))
                connection.execute(
                    "UPDATE sqlite_sequence SET seq = ? WHERE name = 'letters'", (first - 1,)
                )
        starts = connection.execute("SELECT first, before FROM starts ORDER BY first").fetchall()
        firsts = [0, *(first for first, _ in starts)]
        ends = (before + 1 for _, before in starts)
        return [range(*ends_of) for ends_of in zip(firsts, ends, strict=False)], firsts[-1]

    def highest(self, connection: Connection) -> int:
        """The last position, from SQLite's sequence."""
        row = connection.execute(
            "SELECT seq FROM sqlite_sequence WHERE name = 'letters'"
        ).fetchone()
        return 0 if row is None else int(row[0])

    def stored(self, connection: Connection, recipient: str, position: int) -> None:
        """Do nothing: there are no other processes."""

    def listen(self, wake: Told) -> Callable[[], None]:  # noqa: ARG002 - nobody tells anything
        """Do nothing: there are no other processes."""
        return lambda: None

    def committed(self, connection: Connection, size: int) -> None:
        """Delete what was dropped, and move a long log in a thread."""
        if self._until is Durable.POWER:
            self._delete_dropped(connection)
        self._checkpoints.committed(connection, size)

    def rest(self, connection: Connection) -> None:
        """Move the log into the database."""
        move_log(connection)
        self._delete_dropped(connection)

    def settle(self) -> None:
        """Let a thread that moves the log end."""
        self._checkpoints.settle()

    def compact(self, connection: Connection) -> None:
        """Rewrite the file."""
        self._checkpoints.settle()
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._delete_dropped(connection)

    def _delete_dropped(self, connection: Connection) -> None:
        """Delete the files of bodies that were dropped by commits that are on disk now."""
        if uploads := self.bodies.dropped(connection):
            self.bodies.delete(uploads)
            self.begin(connection, until=Durable.PROCESS)
            for upload in uploads:
                connection.execute("DELETE FROM dropped WHERE upload = ?", (upload,))
            connection.execute("COMMIT")


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Translate errors of SQLite: only a damaged file is a reason to restore a copy."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, error: sqlite3.DatabaseError) -> KeyFileError:
    # The low byte is the kind, the others say where it happened.
    match getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF:
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            return KeyFileError(
                f"{path}: cannot be written ({error}); no letter is lost",
                hints=(FREE_SPACE,),
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_ERROR:
            return DamagedFileError(
                f"{path}: cannot be opened as a mailbox ({error})",
                hints=_RESTORE,
            )
    return KeyFileError(
        f"{path}: cannot be opened ({error})",
        hints=("another process uses it, or this user may not write in its folder",),
    )


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    (row,) = connection.execute("PRAGMA user_version").fetchone()
    if row > _VERSION:
        connection.close()
        raise DamagedFileError(
            f"{path}: expected a mailbox of version {_VERSION} at most, found version {row}: "
            "a newer release wrote it, and nothing was changed",
            hints=("pip install --upgrade sottovoce",),
        )
