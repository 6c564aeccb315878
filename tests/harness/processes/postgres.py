"""A PostgreSQL server of a test's own, from `initdb` and `pg_ctl`, as a user that is not root."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_DEBIAN = "/usr/lib/postgresql"
_USER = "nobody"


def program(name: str) -> str | None:
    """A program of PostgreSQL: on the PATH, or where Debian puts it, the newest."""
    result = shutil.which(name)
    if result is not None:
        return result
    versions = sorted(Path(_DEBIAN).glob(f"*/bin/{name}"), key=lambda path: float(path.parts[-3]))
    return str(versions[-1]) if versions else None


class PostgresServer:
    """A server on loopback, whose data lies in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        """Make the data folder; the server is not started yet."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            self.port = listening.getsockname()[1]
        self._data = folder / "data"
        self._log = folder / "log"
        self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "--no-sync")

    @property
    def address(self) -> str:
        """What libpq connects to."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start, and wait until it answers."""
        # Loopback alone: no socket in a shared folder.
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
        self._run("pg_ctl", "-D", self._data, "-l", self._log, "-o", options, "-w", "start")

    def stop(self) -> None:
        """Go away at once, as in a crash."""
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")

    def _run(self, name: str, *arguments: object) -> None:
        path = program(name)
        assert path is not None
        as_user = {"user": _USER, "group": pwd.getpwnam(_USER).pw_gid} if _is_root() else {}
        done = subprocess.run(
            [path, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd="/",
            check=False,
            **as_user,
        )
        assert done.returncode == 0, done.stderr.decode()


def _is_root() -> bool:
    return os.geteuid() == 0


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A running server; a test without PostgreSQL is skipped, and says so."""
    pytest.importorskip("psycopg", reason="the extra postgres is not installed")
    if program("initdb") is None or program("pg_ctl") is None:
        pytest.skip(f"no initdb and pg_ctl on the PATH or below {_DEBIAN} (make postgres)")
    with tempfile.TemporaryDirectory(prefix="sv-pg-") as name:
        folder = Path(name)
        if _is_root():
            os.chown(folder, pwd.getpwnam(_USER).pw_uid, -1)
        server = PostgresServer(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
