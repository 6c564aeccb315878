"""A mailbox in a PostgreSQL server (extra `postgres`), which several coordinator processes share.

Every study has its own schema. A transaction takes the study's lock first, so that all processes
give and see positions in one order. Processes learn of each other's letters by NOTIFY. An absent
server is a named refusal, which seats retry; connections are reopened automatically.
"""

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from sottovoce.errors import InputError
from sottovoce.transport.mailbox.letter_bodies import Bodies, BodyRows, Connection
from sottovoce.transport.mailbox.mailbox_database import Durable, Told
from sottovoce.transport.problems import DISK_FULL, Refusal

if TYPE_CHECKING:
    import psycopg

_SCHEMA = """
CREATE TABLE IF NOT EXISTS letters (
    position BIGSERIAL PRIMARY KEY,
    session BYTEA NOT NULL, sender TEXT NOT NULL, recipient TEXT NOT NULL, number BIGINT NOT NULL,
    size BIGINT NOT NULL, digest BYTEA NOT NULL,
    taken BIGINT NOT NULL DEFAULT 0, body BYTEA, upload BIGINT,
    UNIQUE (session, sender, recipient, number)
);
CREATE INDEX IF NOT EXISTS waiting ON letters (recipient, position) WHERE taken = 0;
CREATE INDEX IF NOT EXISTS stored ON letters (sender) INCLUDE (size) WHERE taken = 0;
CREATE TABLE IF NOT EXISTS uploads (
    id BIGSERIAL PRIMARY KEY,
    session BYTEA NOT NULL, sender TEXT NOT NULL, recipient TEXT NOT NULL, number BIGINT NOT NULL,
    size BIGINT NOT NULL, digest BYTEA NOT NULL,
    received BIGINT NOT NULL DEFAULT 0, touched DOUBLE PRECISION NOT NULL,
    UNIQUE (session, sender, recipient, number)
);
CREATE TABLE IF NOT EXISTS pieces (
    upload BIGINT NOT NULL, start BIGINT NOT NULL, data BYTEA NOT NULL,
    UNIQUE (upload, start)
);
CREATE TABLE IF NOT EXISTS senders (
    sender TEXT PRIMARY KEY, letters BIGINT NOT NULL, chain BYTEA NOT NULL
);
CREATE TABLE IF NOT EXISTS runs (sender TEXT PRIMARY KEY, run BYTEA NOT NULL);
"""
_CONNECT_SECONDS = 5
# Seconds after which the listening thread checks whether it should end.
_LISTEN_SECONDS = 0.5
_NAMES = re.compile(r"[a-z0-9_]{1,50}")


def _driver() -> Any:
    try:
        import psycopg
    except ImportError:
        raise InputError(
            "mailbox in PostgreSQL: the package psycopg is not installed",
            hints=('pip install "sottovoce[postgres]"',),
        ) from None
    return psycopg


def _away(address: str, error: Exception) -> Refusal:
    """The refusal of an absent server, without the driver's message, which may hold a password."""
    return Refusal(
        503,
        "database",
        f"the coordinator's database at {place_of(address)} does not answer "
        f"({type(error).__name__}): a letter on its way counts as not stored",
        hints=("the letter is sent again automatically once the database is back",),
    )


def place_of(address: str) -> str:
    """Host, port and database of an address, without user and password."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        known = conninfo_to_dict(address)
    except ProgrammingError:
        return "an invalid address (expected postgresql://USER@HOST/DATABASE)"
    host = known.get("host") or known.get("hostaddr") or "local socket"
    return f"{host}:{known.get('port') or 5432}/{known.get('dbname') or ''}"


class PostgresConnection:
    """A connection that is reopened after the server was away."""

    def __init__(self, connect: Callable[[], "psycopg.Connection[Any]"]) -> None:
        self._connect = connect
        self._inner = connect()

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Any:
        """Run a statement; outside a transaction, over a new connection if the old one broke."""
        if self._inner.closed or self._inner.broken:
            self._inner = self._connect()
        return self._inner.execute(statement.replace("?", "%s"), values or None)

    def notices(self, seconds: float) -> Sequence["psycopg.Notify"]:
        """The notifications that arrive within these seconds."""
        return list(self._inner.notifies(timeout=seconds, stop_after=1))

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, or failed without a rollback."""
        from psycopg.pq import TransactionStatus

        status = self._inner.info.transaction_status
        return status in {TransactionStatus.INTRANS, TransactionStatus.INERROR}

    def close(self) -> None:
        """Close the connection."""
        self._inner.close()


class PostgresDatabase:
    """The schema of one study in a PostgreSQL database."""

    shared = True
    folder: Path | None = None

    def __init__(self, address: str, name: str) -> None:
        """`address` as libpq takes it (postgresql://…); `name` names the study's schema."""
        driver = _driver()
        self.errors: tuple[type[Exception], ...] = (driver.Error,)
        self.fatal: tuple[type[Exception], ...] = (driver.OperationalError, driver.InterfaceError)
        if not _NAMES.fullmatch(name):
            raise InputError(f"schema {name!r}: expected 1 to 50 of a–z, 0–9 and _")
        self.bodies: Bodies = BodyRows()
        self._address = address
        self._schema = f"mailbox_{name}"
        self._lock = int.from_bytes(hashlib.sha256(self._schema.encode()).digest()[:7])
        self._driver = driver

    def open(self, *, writing: bool) -> Connection:
        """Open a connection; the writing one makes the tables if needed."""
        try:
            connection = PostgresConnection(self._connected)
            if writing:
                self._make(connection)
        except self.errors as error:
            raise InputError(
                f"mailbox at {place_of(self._address)}: cannot be opened ({type(error).__name__})",
                hints=("is the server up, and may this user make a schema there?",),
            ) from None
        return connection if writing else _Reading(connection, self)

    def _make(self, connection: PostgresConnection) -> None:
        self.begin(connection, until=Durable.POWER)
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {self._schema}")
        for statement in _SCHEMA.split(";"):
            if statement.strip():
                connection.execute(statement)
        connection.execute("COMMIT")

    def _connected(self) -> "psycopg.Connection[Any]":
        connection: psycopg.Connection[Any] = self._driver.connect(
            self._address,
            autocommit=True,
            connect_timeout=_CONNECT_SECONDS,
            options=f"-c search_path={self._schema} -c synchronous_commit=on",
        )
        return connection

    def begin(self, connection: Connection, *, until: Durable) -> None:
        """Begin the study's only transaction, so that positions are seen in order."""
        connection.execute("BEGIN")
        if until is not Durable.POWER:
            connection.execute("SET LOCAL synchronous_commit = off")
        connection.execute("SELECT pg_advisory_xact_lock(?)", (self._lock,))

    def problem(self, error: Exception) -> Refusal:
        """Return the refusal for a server that is away, or whose disk is full."""
        if isinstance(error, self._driver.errors.DiskFull):
            return Refusal(507, DISK_FULL, "the disk of the coordinator's database is full")
        if isinstance(error, self.fatal):
            return _away(self._address, error)
        kind = type(error).__name__
        return Refusal(503, "storage", f"the coordinator's mailbox cannot be written ({kind})")

    def begin_positions(self, connection: Connection) -> tuple[list[range], int]:  # noqa: ARG002
        """Keep one sequence: processes that share positions begin no new range."""
        return [], 0

    def highest(self, connection: Connection) -> int:
        """The last position of the sequence."""
        last, called = connection.execute(
            "SELECT last_value, is_called FROM letters_position_seq"
        ).fetchone()
        return int(last) if called else 0

    def stored(self, connection: Connection, recipient: str, position: int) -> None:
        """Notify all processes with the commit."""
        connection.execute("SELECT pg_notify(?, ?)", (self._schema, f"{position} {recipient}"))

    def listen(self, wake: Told) -> Callable[[], None]:
        """Listen in a thread with its own connection; after a break it looks for missed letters."""
        over = Event()
        thread = Thread(target=self._hear, args=(wake, over), name="mailbox ear", daemon=True)
        thread.start()

        def stop() -> None:
            over.set()
            thread.join()

        return stop

    def _hear(self, wake: Told, over: Event) -> None:
        while not over.is_set():
            with suppress(*self.errors):
                connection = PostgresConnection(self._connected)
                try:
                    self._hear_over(connection, wake, over)
                finally:
                    connection.close()
            if not over.is_set():
                time.sleep(_LISTEN_SECONDS)

    def _hear_over(self, connection: PostgresConnection, wake: Told, over: Event) -> None:
        connection.execute(f"LISTEN {self._schema}")
        for recipient, position in connection.execute(
            "SELECT recipient, MAX(position) FROM letters GROUP BY recipient"
        ).fetchall():
            wake(recipient, position)
        while not over.is_set():
            for notice in connection.notices(_LISTEN_SECONDS):
                position, _, recipient = notice.payload.partition(" ")
                wake(recipient, int(position))

    def committed(self, connection: Connection, size: int) -> None:
        """Do nothing: the server maintains itself."""

    def rest(self, connection: Connection) -> None:
        """Do nothing: the server maintains itself."""

    def settle(self) -> None:
        """Do nothing: the server maintains itself."""

    def compact(self, connection: Connection) -> None:
        """Rewrite the tables."""
        for table in ("letters", "pieces", "uploads"):
            connection.execute(f"VACUUM FULL {table}")


class _Reading:
    """A reading connection; an absent server becomes a refusal."""

    def __init__(self, inner: PostgresConnection, database: PostgresDatabase) -> None:
        self._inner = inner
        self._database = database

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Any:
        """Run a statement, over a new connection if the old one broke."""
        for last in (False, True):
            try:
                return self._inner.execute(statement, values)
            except self._database.fatal as error:
                if last:
                    raise self._database.problem(error) from None
        raise AssertionError

    @property
    def in_transaction(self) -> bool:
        """Readers open none."""
        return False

    def close(self) -> None:
        """Close the connection."""
        self._inner.close()
