"""Large rows of a sealed database: a head, and a body that is sealed and read in pieces.

A small body lies in its row. A large one has a file of its own in a folder beside the database,
where it is written once; in the database it would be written to the log and then again from there.
The file is on disk before the transaction ends that adds its row, and deleted after the one that
deletes it. What a crash leaves between the two is deleted when the database is opened again.
"""

import os
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sottovoce.keyfiles import unix
from sottovoce.keyfiles.storage import SECRET_MODE, sync_folder
from sottovoce.storage.sealed_sqlite import (
    BOX_BYTES,
    SealedSqlite,
    damaged,
    pieces_of,
    translated,
)

# Bodies of at most this size lie in their row.
IN_ROW_BYTES = 64 * 1024


@dataclass(frozen=True, repr=False)
class SealedRow:
    """A row: its sealed head, its plain body, and the place to which the body is bound."""

    head: bytes
    body: bytes
    place: tuple[bytes, ...]


def schema_of(table: str) -> str:
    """The SQL that makes such a table; numbers of deleted rows are not used again."""
    return f"""
CREATE TABLE IF NOT EXISTS {table} (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    head BLOB NOT NULL, pieces INTEGER NOT NULL, body BLOB NOT NULL);
"""


class SealedTable:
    """One table. A writer holds a transaction, a reader holds a lock."""

    def __init__(
        self, database: sqlite3.Connection, sealed: SealedSqlite, path: Path, *, table: str
    ) -> None:
        """The table of this name, which is one of ours and never a user's."""
        self._database = database
        self._sealed = sealed
        self._path = path
        self._folder = path.with_suffix(".letters")
        self._table = table
        # The rows whose bodies have a file, and those of them that this transaction deletes.
        self._filed: set[int] = set()
        self._deleted: set[int] = set()
        self._insert = f"INSERT INTO {table} VALUES (?, ?, ?, ?)"  # noqa: S608 - a name of ours
        self._head = f"SELECT head FROM {table} WHERE id = ?"  # noqa: S608 - as above
        self._body = f"SELECT pieces, body FROM {table} WHERE id = ?"  # noqa: S608 - as above
        self._delete = f"DELETE FROM {table} WHERE id BETWEEN ? AND ?"  # noqa: S608 - as above

    def add(self, run: Any, row: SealedRow, *, at: int | None = None) -> int:
        """A new row, at this number or the next; its number."""
        pieces = pieces_of(row.body)
        count = len(pieces).to_bytes(8)
        boxes = (
            self._sealed.seal(piece, self._table, *row.place, number.to_bytes(8), count)
            for number, piece in enumerate(pieces)
        )
        if len(row.body) <= IN_ROW_BYTES:
            return int(run(self._insert, at, row.head, 1, next(boxes)).lastrowid)
        owner = int(run(self._insert, at, row.head, len(pieces), b"").lastrowid)
        self._write(owner, boxes)
        return owner

    def head(self, at: int) -> Any:
        """The sealed head of a row, or None where there is no such row."""
        with translated(self._path):
            row = self._database.execute(self._head, (at,)).fetchone()
        return None if row is None else row[0]

    def body(self, at: int, place: tuple[bytes, ...]) -> bytes:
        """The body of a row, from its pieces; each piece is bound to their number."""
        with translated(self._path):
            count, box = self._database.execute(self._body, (at,)).fetchone()
        if not isinstance(count, int) or not 0 < count < 2**32:
            raise damaged(f"{self._path}: damaged (a row has lost its size)")
        boxes = [box] if box else self._read(at)
        if len(boxes) != count:
            raise damaged(f"{self._path}: a piece of a row of {self._table!r} is missing")
        last = count.to_bytes(8)
        return b"".join(
            self._sealed.unseal(box, self._table, *place, number.to_bytes(8), last)
            for number, box in enumerate(boxes)
        )

    def delete(self, run: Any, first: int, last: int) -> None:
        """Delete the rows of these numbers; their files, once that is on disk."""
        run(self._delete, first, last)
        self._deleted |= {owner for owner in self._filed if first <= owner <= last}

    def committed(self) -> None:
        """Delete the files of rows that a transaction deleted, which is on disk now."""
        for owner in self._deleted:
            self._file(owner).unlink(missing_ok=True)
        self._filed -= self._deleted
        self._deleted.clear()

    def rolled_back(self) -> None:
        """Keep all files: a commit that failed may be found on the disk after a crash."""
        self._deleted.clear()

    # Files.

    def clean(self) -> None:
        """At a start: delete the files that no row has."""
        with translated(self._path):
            for path in self._folder.glob(f"{self._table}-*"):
                owner = int(path.name.removeprefix(f"{self._table}-"))
                _, box = self._database.execute(self._body, (owner,)).fetchone() or (0, None)
                if box == b"":
                    self._filed.add(owner)
                else:
                    path.unlink()

    def move_pieces(self, run: Any) -> None:
        """Move the bodies of an earlier version, whose pieces had a table, into files."""
        more = f"{self._table}_more"
        if not run("SELECT 1 FROM sqlite_schema WHERE name = ?", more).fetchall():
            return
        rows = f"SELECT box FROM {more} WHERE owner = ? ORDER BY number"  # noqa: S608 - as above
        for (owner,) in run(f"SELECT DISTINCT owner FROM {more}").fetchall():  # noqa: S608 - as above
            first = [box for _, box in run(self._body, owner)]
            self._write(owner, (*first, *(box for (box,) in run(rows, owner))))
            run(f"UPDATE {self._table} SET body = ? WHERE id = ?", b"", owner)  # noqa: S608 - as above
        run(f"DROP TABLE {more}")

    def _file(self, owner: int) -> Path:
        return self._folder / f"{self._table}-{owner}"

    def _write(self, owner: int, boxes: Iterable[bytes]) -> None:
        """Write a body to the disk; a file that a broken transaction left is replaced."""
        self._filed.add(owner)
        if not self._folder.is_dir():
            self._folder.mkdir(mode=0o700, exist_ok=True)
            sync_folder(self._folder.parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | unix.CLOEXEC
        with os.fdopen(os.open(self._file(owner), flags, SECRET_MODE), "wb", buffering=0) as file:
            for box in boxes:
                view = memoryview(box)
                while view:
                    view = view[file.write(view) :]
            os.fsync(file.fileno())
        sync_folder(self._folder)

    def _read(self, owner: int) -> list[memoryview]:
        with translated(self._path):
            view = memoryview(self._file(owner).read_bytes() if owner in self._filed else b"")
        return [view[at : at + BOX_BYTES] for at in range(0, len(view), BOX_BYTES)]
