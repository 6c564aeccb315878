"""What a mailbox needs of a database: SQLite beside the coordinator, or a PostgreSQL server.

The statements of `mailbox_tables` are the same for both. What differs stands behind `Database`:
how connections are opened, how a transaction begins, what an error means, and who tells a process
of letters that another process stored.
"""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from sottovoce.entropy import SystemEntropy
from sottovoce.errors import DamagedFileError
from sottovoce.transport.problems import Refusal

AWAY = "database"
"""The kind of a refusal because the database does not answer: it passes."""
Told = Callable[[str, int], None]
"""Hears that a letter for a recipient stands at a position."""


class Connection(Protocol):
    """One connection: statements with `?` for their values, as SQLite writes them."""

    def execute(self, statement: str, values: Any = ..., /) -> Any:
        """Run a statement; its rows are read from what this returns."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""

    def close(self) -> None:
        """Let go of the database."""


class Database(Protocol):
    """Where the letters of one study lie."""

    folder: Path | None
    """Whose disk letters take; None where that is another machine's."""
    shared: bool
    """Whether other processes store letters here, too."""
    errors: tuple[type[Exception], ...]
    """What a statement raises."""
    fatal: tuple[type[Exception], ...]
    """Of these, what is everybody's trouble and not one statement's."""

    def open(self, *, writing: bool) -> Connection:
        """A connection; one writes, others read beside it."""

    def begin(self, connection: Connection) -> None:
        """Begin a transaction that no other one of this study overlaps."""

    def problem(self, error: Exception) -> Refusal:
        """What an error tells the other side."""

    def begin_positions(self, connection: Connection) -> tuple[list[range], int]:
        """Give the letters of a new start positions that begin elsewhere, where one can.

        Comes back with the positions of all starts before, as far as this copy of the mailbox
        knows, and the first of this one.
        """

    def highest(self, connection: Connection) -> int:
        """The last position that was ever given: those of deleted letters count, too."""

    def stored(self, connection: Connection, recipient: str, position: int) -> None:
        """Within a transaction: let other processes know of a letter once it is committed."""

    def listen(self, told: Told) -> Callable[[], None]:
        """Tell of letters that other processes stored, until the returned function is called."""

    def rest(self, connection: Connection) -> None:
        """Nobody waits: do what can be done meanwhile."""

    def compact(self, connection: Connection) -> None:
        """Rewrite the tables without the remains of what was taken."""


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
CREATE TABLE IF NOT EXISTS pieces (
    upload INTEGER NOT NULL, start INTEGER NOT NULL, data BLOB NOT NULL,
    UNIQUE (upload, start)
) STRICT;
CREATE TABLE IF NOT EXISTS senders (
    sender TEXT PRIMARY KEY, letters INTEGER NOT NULL, chain BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS starts (
    first INTEGER PRIMARY KEY, before INTEGER NOT NULL
) STRICT;
"""
# 1: letters, uploads and pieces. 2: also what is held of every sender, which begins empty.
# 3: also where the positions of every start of the server begin, and where those before it ended.
_VERSION = 3
# The positions of two starts are apart by more letters than a study can have; the last ones are
# drawn, so that two servers that went on from one copy do not use the same.
_START_BITS, _DRAWN_BITS = 32, 31
_SETTINGS = (
    # Contributions are a megabyte and more; most other letters a few kilobytes.
    "page_size = 8192",
    "journal_mode = WAL",
    # Every commit is on disk before it is told.
    "synchronous = FULL",
    "busy_timeout = 10000",
    # Zeros over what was taken would write every letter twice; a study's file is deleted whole.
    "secure_delete = FAST",
    # The committer carries the log over when nobody waits; here only if that never comes.
    "wal_autocheckpoint = 16384",
    "journal_size_limit = 67108864",
)


class SqliteDatabase:
    """One SQLite file, of one process."""

    shared = False
    errors: tuple[type[Exception], ...] = (sqlite3.Error,)
    # The disk or the file.
    fatal: tuple[type[Exception], ...] = (sqlite3.OperationalError,)

    def __init__(self, path: Path) -> None:
        """The file, which is made when it is opened first."""
        self.path = path
        self.folder: Path | None = path.parent

    def open(self, *, writing: bool) -> Connection:
        """A connection to the file."""
        path = self.path
        try:
            connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            if writing:
                # The journal beside the file is made with the file's own mode.
                path.chmod(0o600)
                _check_version(connection, path)
                for setting in _SETTINGS:
                    connection.execute(f"PRAGMA {setting}")
                connection.executescript(_SCHEMA)
                connection.execute(f"PRAGMA user_version = {_VERSION}")
            else:
                connection.execute("PRAGMA query_only = ON")
        except sqlite3.DatabaseError as error:
            raise DamagedFileError(
                f"{path}: cannot be opened as a mailbox ({error})",
                hints=(
                    "bring back the newest copy of the whole folder, with the journal beside it",
                    "without one the study is over: sottovoce study create --from STUDY",
                ),
            ) from error
        return connection

    def begin(self, connection: Connection) -> None:
        """Nobody else writes this file."""
        connection.execute("BEGIN IMMEDIATE")

    def problem(self, error: Exception) -> Refusal:
        """A full disk, or a file that cannot be written."""
        name = getattr(error, "sqlite_errorname", "SQLITE_ERROR")
        if name in {"SQLITE_FULL", "SQLITE_IOERR_WRITE"}:
            return Refusal(
                507,
                "disk-full",
                "the coordinator's disk is full, and nothing was stored",
                hints=("the coordinator frees some space; the letter is sent again by itself",),
            )
        return Refusal(
            503, "storage", f"the coordinator's mailbox cannot be written ({name.lower()})"
        )

    def begin_positions(self, connection: Connection) -> tuple[list[range], int]:
        """Every start of this one process has positions of its own."""
        highest = self.highest(connection)
        if highest:
            drawn = SystemEntropy().bits(_DRAWN_BITS)
            first = ((highest >> _START_BITS) + 1 << _START_BITS) + drawn
            connection.execute("INSERT INTO starts VALUES (?, ?)", (first, highest))
            connection.execute(
                "UPDATE sqlite_sequence SET seq = ? WHERE name = 'letters'", (first - 1,)
            )
        starts = connection.execute("SELECT first, before FROM starts ORDER BY first").fetchall()
        firsts = [0, *(first for first, _ in starts)]
        ends = (before + 1 for _, before in starts)
        return [range(*ends_of) for ends_of in zip(firsts, ends, strict=False)], firsts[-1]

    def highest(self, connection: Connection) -> int:
        """What SQLite remembers of the column."""
        row = connection.execute(
            "SELECT seq FROM sqlite_sequence WHERE name = 'letters'"
        ).fetchone()
        return 0 if row is None else int(row[0])

    def stored(self, connection: Connection, recipient: str, position: int) -> None:
        """There are no others."""

    def listen(self, told: Told) -> Callable[[], None]:  # noqa: ARG002 - nobody tells anything
        """There are no others."""
        return lambda: None

    def rest(self, connection: Connection) -> None:
        """What the log holds moves into the database."""
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def compact(self, connection: Connection) -> None:
        """Write the file anew."""
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    (row,) = connection.execute("PRAGMA user_version").fetchone()
    if row > _VERSION:
        connection.close()
        raise DamagedFileError(
            f"{path}: expected a mailbox of version {_VERSION} at most, found version {row}: "
            "a newer release wrote it, and nothing was changed",
            hints=("pip install --upgrade sottovoce",),
        )
