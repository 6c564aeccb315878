"""An SQLite file for one process, whose rows are sealed under the site's key."""

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TypeAlias

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from sottovoce.entropy import Entropy
from sottovoce.errors import DamagedJournalError, JournalError, JournalInUseError, MisuseError
from sottovoce.keyfiles.storage import FREE_SPACE, SECRET_MODE, Stored, room_hints
from sottovoce.protocols.identities import framed

KEY_BYTES = 32
Buffer: TypeAlias = bytes | memoryview
_SALT_BYTES = 32
_NONCE_BYTES = 12
_TAG_BYTES = 16
# Part of the format since its first version, as is the name of the table.
_PURPOSE = "service/vault/v1"
# The size of a piece of a large body; pieces avoid a copy of the whole body.
PIECE_BYTES = 2**20
# The size of a sealed piece.
BOX_BYTES = _NONCE_BYTES + PIECE_BYTES + _TAG_BYTES


class SealedSqlite:
    """Seals rows under the key of one file, each bound to its place in the file.

    The key is derived from the site's key and a salt in the file: without the salt even the site's
    key cannot open remains of the file on a disk.
    """

    def __init__(self, path: Path, key: bytes, salt: bytes, *, entropy: Entropy) -> None:
        own = hashlib.blake2b(framed(_PURPOSE, salt), key=key, digest_size=32).digest()
        self._cipher = ChaCha20Poly1305(own)
        self._path = path
        self._entropy = entropy

    def __repr__(self) -> str:
        return "SealedSqlite(<secret>)"

    @classmethod
    def open(
        cls, database: sqlite3.Connection, path: Path, key: bytes, *, entropy: Entropy
    ) -> Self:
        """The key of an open file; a new file gets a salt."""
        if len(key) != KEY_BYTES:
            raise MisuseError(f"database: expected a key of {KEY_BYTES} bytes, found {len(key)}")
        with translated(path):
            database.execute("CREATE TABLE IF NOT EXISTS vault (salt BLOB, proof BLOB)")
            row = database.execute("SELECT salt, proof FROM vault").fetchone()
        if row is not None:
            if not isinstance(row[0], bytes):
                raise damaged(f"{path}: damaged (it has lost its salt)")
            sealed = cls(path, key, row[0], entropy=entropy)
            try:
                sealed.unseal(row[1], "proof")
            except JournalError:
                raise JournalError(
                    f"{path}: this key does not open it",
                    hints=("use the key of the site that began the study",),
                ) from None
            return sealed
        salt = entropy.read(_SALT_BYTES)
        sealed = cls(path, key, salt, entropy=entropy)
        with translated(path):
            database.execute("INSERT INTO vault VALUES (?, ?)", (salt, sealed.seal(b"", "proof")))
        return sealed

    def seal(self, content: Buffer, table: str, *place: bytes) -> bytes:
        """Seal data for one place."""
        nonce = self._entropy.read(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, content, framed(f"{_PURPOSE}/{table}", *place))

    def unseal(self, box: object, table: str, *place: bytes) -> bytes:
        """Open the data of one place."""
        # A view, so that a large letter is copied only once, when it is decrypted.
        view = memoryview(box if isinstance(box, Buffer) else b"")
        bound = framed(f"{_PURPOSE}/{table}", *place)
        try:
            return self._cipher.decrypt(
                bytes(view[:_NONCE_BYTES]).ljust(_NONCE_BYTES), view[_NONCE_BYTES:], bound
            )
        except InvalidTag:
            raise damaged(
                f"{self._path}: a row of kind {table!r} is not what was written there"
            ) from None


def pieces_of(body: bytes) -> list[memoryview]:
    """A body in pieces, without a copy; an empty body is one empty piece."""
    view = memoryview(body)
    return [view[at : at + PIECE_BYTES] for at in range(0, max(len(body), 1), PIECE_BYTES)]


def connect(path: Path) -> sqlite3.Connection:
    """Open the database at `path` for this process only; every commit is durable."""
    existed = path.exists()
    with translated(path):
        if existed:
            status = path.stat()
            Stored(path, b"", status.st_mode, status.st_uid).check_private()
        else:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, SECRET_MODE))
        database = sqlite3.connect(
            path, isolation_level=None, timeout=0, check_same_thread=False, cached_statements=64
        )
        try:
            # Exclusive: the lock stays while we run, and a second process is refused.
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            database.execute("PRAGMA secure_delete = FAST")
            # Temporary data stay in memory, out of files that are not ours.
            database.execute("PRAGMA temp_store = MEMORY")
            database.execute("BEGIN EXCLUSIVE")
            database.execute("COMMIT")
        except BaseException:
            database.close()
            raise
    return database


def check_version(database: sqlite3.Connection, path: Path, *, version: int) -> int:
    """The version of a file's tables, 0 for a new file; a newer version is refused."""
    with translated(path):
        (row,) = database.execute("PRAGMA user_version").fetchone()
    if row > version:
        raise JournalError(
            f"{path}: expected version {version} at most, found version {row}: a newer release "
            "wrote it, and nothing was changed",
            hints=("pip install --upgrade sottovoce",),
        )
    return int(row)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Translate errors of SQLite and of the system."""
    try:
        yield
    except sqlite3.Error as error:
        raise _in_our_words(path, error) from error
    except UnicodeDecodeError as error:
        # SQLite's message about a damaged file quotes its content.
        raise damaged(f"{path}: damaged") from error
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        if room_hints(error):
            raise _full(path, reason) from error
        raise JournalError(f"{path}: cannot be used ({reason})") from error


def damaged(message: str) -> DamagedJournalError:
    """A file that is not what was written there, and where the ways back are described."""
    way_back = "the file was changed; when a copy of the folder helps: docs/backup.md"
    return DamagedJournalError(message, hints=(way_back,))


def _in_our_words(path: Path, error: sqlite3.Error) -> JournalError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return JournalInUseError(
            f"{path}: another process uses it",
            hints=("only one process may run a seat; end the other one first",),
        )
    if code in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}:
        return _full(path, str(error))
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return damaged(f"{path}: damaged ({error})")
    return JournalError(f"{path}: cannot be used ({error})")


def _full(path: Path, reason: str) -> JournalError:
    return JournalError(
        f"{path}: cannot be written ({reason}); nothing was sent, and nothing is lost",
        hints=(FREE_SPACE,),
    )
