"""Large rows of a sealed database: a head, and a body that is sealed and read in pieces."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sottovoce.storage.sealed_sqlite import SealedSqlite, damaged, pieces_of, translated


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
CREATE TABLE IF NOT EXISTS {table}_more (owner INTEGER, number INTEGER, box BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS {table}_pieces ON {table}_more (owner, number);
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
        self._table = table
        # The first piece is in the row itself: a small body needs no other.
        self._insert = f"INSERT INTO {table} VALUES (?, ?, ?, ?)"  # noqa: S608 - a name of ours
        self._insert_more = f"INSERT INTO {table}_more VALUES (?, ?, ?)"  # noqa: S608 - as above
        self._head = f"SELECT head FROM {table} WHERE id = ?"  # noqa: S608 - as above
        self._body = f"SELECT pieces, body FROM {table} WHERE id = ?"  # noqa: S608 - as above
        self._more = f"SELECT box FROM {table}_more WHERE owner = ? ORDER BY number"  # noqa: S608 - as above

    def add(self, run: Any, row: SealedRow, *, at: int | None = None) -> int:
        """A new row, at this number or the next; its number."""
        pieces = pieces_of(row.body)
        count = len(pieces).to_bytes(8)
        boxes = (
            self._sealed.seal(piece, self._table, *row.place, number.to_bytes(8), count)
            for number, piece in enumerate(pieces)
        )
        owner: int = run(self._insert, at, row.head, len(pieces), next(boxes)).lastrowid
        for number, box in enumerate(boxes, 1):
            run(self._insert_more, owner, number, box)
        return owner

    def head(self, at: int) -> Any:
        """The sealed head of a row, or None where there is no such row."""
        with translated(self._path):
            row = self._database.execute(self._head, (at,)).fetchone()
        return None if row is None else row[0]

    def body(self, at: int, place: tuple[bytes, ...]) -> bytes:
        """The body of a row, from its pieces; each piece is bound to their number."""
        with translated(self._path):
            count, first = self._database.execute(self._body, (at,)).fetchone()
            if not isinstance(count, int) or not 0 < count < 2**32:
                raise damaged(f"{self._path}: damaged (a row has lost its size)")
            more = self._database.execute(self._more, (at,)).fetchall() if count > 1 else []
        if len(more) != count - 1:
            raise damaged(f"{self._path}: a piece of a row of {self._table!r} is missing")
        last = count.to_bytes(8)
        return b"".join(
            self._sealed.unseal(box, self._table, *place, number.to_bytes(8), last)
            for number, box in enumerate((first, *(box for (box,) in more)))
        )

    def delete(self, run: Any, first: int, last: int) -> None:
        """Delete the rows of these numbers."""
        run(f"DELETE FROM {self._table} WHERE id BETWEEN ? AND ?", first, last)  # noqa: S608 - as above
        run(f"DELETE FROM {self._table}_more WHERE owner BETWEEN ? AND ?", first, last)  # noqa: S608 - as above
