"""A seat's journal on disk: what its programs received and sent, so that a crash loses nothing.

Every step of a program is one transaction: what happened (a letter, an expired wait, a partner
that left), and what the program sent in answer. Only after the commit a letter is acknowledged or
anything leaves. From the seed of a session and its steps, in order, the program is run again to
the same place.

It also keeps a hash chain over all sent letters, as the server does. If the server's chain differs,
this journal is an older copy of itself or a second one (`check_past`).

One journal belongs to one seat, and to one process at a time. Every row is encrypted under a key of
the site and bound to its place: a row that was changed, moved, or taken from another journal does
not open.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from types import MappingProxyType
from typing import Any, Self

from sottovoce.course.letter_chain import HeldLetters, mark_of
from sottovoce.entropy import SEED_BYTES, Entropy, SystemEntropy
from sottovoce.errors import JournalError, MisuseError
from sottovoce.storage.posted_letters import Posted, copy_error
from sottovoce.storage.records import (
    Opened,
    Outgoing,
    OutHead,
    SessionHead,
    SessionStep,
    StepHead,
)
from sottovoce.storage.sealed_rows import SealedRow, SealedTable, schema_of
from sottovoce.storage.sealed_sqlite import (
    SealedSqlite,
    check_version,
    connect,
    damaged,
    translated,
)
from sottovoce.study.relay import Letter
from sottovoce.wire import Codec

_SCHEMA = """
CREATE TABLE IF NOT EXISTS sessions (id INTEGER PRIMARY KEY, name BLOB UNIQUE NOT NULL, box BLOB);
CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, box BLOB NOT NULL) WITHOUT ROWID;
"""
# 1: seeds, steps, outbox and notes. 2: also the chain of letters that were sent. 3: large bodies in
# files beside it.
_VERSION = 3
# A step's row number is the session's number followed by the step's, so steps stay together.
_STEP_BITS = 32
_CODEC = Codec()
_NOTHING: Mapping[str, bytes] = MappingProxyType({})
# The most bytes of waiting letters that are kept in memory, beside the disk.
_KEPT_BYTES = 2**26
_CLOSED, _UNTIDY = "journal/closed", "journal/untidy"
_POSTED = "journal/posted"


class Journal:
    """The journal of one seat in one study."""

    def __init__(self, path: Path, *, key: bytes, entropy: Entropy | None = None) -> None:
        """Open or make the journal at `path` under a 32-byte `key` of the site."""
        self.path = path
        self._entropy = entropy or SystemEntropy()
        self._lock = RLock()
        # By position: letters sent since the last commit, and the marks of waiting letters.
        self._sent: dict[int, bytes] = {}
        self._marks: dict[int, bytes] = {}
        # Letters that this process committed: what leaves next is not read from the disk again.
        self._kept: dict[int, Outgoing] = {}
        self._kept_bytes = 0
        self._leaving = 0
        # The letters that wait, by position and in order: which does not need the disk to be told.
        self._waiting: dict[int, None] = {}
        self._database = connect(path)
        try:
            # Files of the first version name none; missing tables are made here.
            check_version(self._database, path, version=_VERSION)
            self._sealed = SealedSqlite.open(self._database, path, key, entropy=self._entropy)
            self._steps = SealedTable(self._database, self._sealed, path, table="steps")
            self._outbox = SealedTable(self._database, self._sealed, path, table="outbox")
            with self._transaction() as run:
                for statement in (_SCHEMA + schema_of("steps") + schema_of("outbox")).split(";"):
                    run(statement)
                for table in (self._steps, self._outbox):
                    table.move_pieces(run)
                run(f"PRAGMA user_version = {_VERSION}")
            for table in (self._steps, self._outbox):
                table.clean()
            self._ids, self._counts = self._known_sessions()
            with translated(path):
                rows = self._database.execute("SELECT id FROM outbox ORDER BY id").fetchall()
            self._waiting = dict.fromkeys(position for (position,) in rows)
            noted = self.note(_POSTED)
            self._posted = Posted() if noted is None else self._read(Posted, noted)
            # Set after a withdrawal or the study's end: nothing is sent any longer.
            self.closed = self.note(_CLOSED) is not None
            if self.note(_UNTIDY) is not None:
                # An earlier process crashed while it deleted.
                self._tidy()
        except BaseException:
            self._database.close()
            raise

    def _known_sessions(self) -> tuple[dict[bytes, int], dict[int, int]]:
        """The row of every session, and how many steps each has."""
        with translated(self.path):
            ids = dict(self._database.execute("SELECT name, id FROM sessions ORDER BY id"))
            lasts = self._database.execute(
                f"SELECT id >> {_STEP_BITS}, max(id) FROM steps GROUP BY 1"  # noqa: S608 - a constant
            ).fetchall()
        if not all(isinstance(name, bytes) for name in ids):
            raise damaged(f"{self.path}: damaged (a session has lost its name)")
        return ids, {session: last - (session << _STEP_BITS) for session, last in lasts}

    def __repr__(self) -> str:
        return f"Journal({str(self.path)!r}, {len(self._ids)} sessions)"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Sessions.

    def open_session(self, session: bytes, head: bytes = b"") -> Opened:
        """Open the session of this name: a new one with a fresh seed, or the existing one.

        `head` is the caller's description of the session; a session that was begun with another
        head, or that was deleted, is refused.
        """
        known = self._ids.get(session)
        if known is None:
            return self._new_session(session, head)
        with translated(self.path):
            row = self._database.execute("SELECT box FROM sessions WHERE id = ?", (known,))
            box = row.fetchone()[0]
        if box is None:
            raise MisuseError(f"{self.path}: session {session.hex()[:16]} is over, and was deleted")
        session_head = self._read(SessionHead, self._sealed.unseal(box, "session", session))
        if session_head.head != head:
            raise JournalError(
                f"{self.path}: session {session.hex()[:16]} was begun with other documents, "
                f"participants or settings; nothing was sent with the present ones",
                hints=("put back the documents and settings that the study began with",),
            )
        return Opened(session_head.seed, begun=known in self._counts)

    def _new_session(self, session: bytes, head: bytes) -> Opened:
        seed = self._entropy.read(SEED_BYTES)
        content = _CODEC.encode(SessionHead(seed, head))
        box = self._sealed.seal(content, "session", session)
        with self._transaction() as run:
            cursor = run("INSERT INTO sessions (name, box) VALUES (?, ?)", session, box)
            number = cursor.lastrowid
        assert number is not None
        self._ids[session] = number
        return Opened(seed, begun=False)

    def sessions(self) -> tuple[bytes, ...]:
        """The names of all sessions, in the order in which they were opened."""
        return tuple(self._ids)

    def has_begun(self, session: bytes) -> bool:
        """Whether a program took a step in this session, and it was not deleted since."""
        return self._ids.get(session) in self._counts

    def remembered(self) -> tuple[bytes, ...]:
        """The sessions that were not deleted."""
        with translated(self.path), self._lock:
            rows = self._database.execute("SELECT name FROM sessions WHERE box IS NOT NULL")
            return tuple(name for (name,) in rows)

    def steps(self, session: bytes) -> Iterator[SessionStep]:
        """The steps of a session, in order, one at a time."""
        number = self._ids[session]
        for index in range(1, self._counts.get(number, 0) + 1):
            at = number << _STEP_BITS | index
            with self._lock:
                box = self._steps.head(at)
                if box is None:
                    name = session.hex()[:16]
                    raise damaged(f"{self.path}: step {index} of {name} is missing")
                place = (session, index.to_bytes(8))
                head = self._read(StepHead, self._sealed.unseal(box, "step", *place))
                body = self._steps.body(at, place)
            yield SessionStep(head, body)

    # Writing.

    def commit(
        self,
        *,
        session: bytes = b"",
        step: SessionStep | None = None,
        letters: Sequence[Outgoing] = (),
        notes: Mapping[str, bytes] = _NOTHING,
    ) -> None:
        """Write a step, letters to send and notes, all or nothing."""
        with self._lock:
            if letters and self.closed:
                raise MisuseError(f"{self.path}: the outbox is closed, and takes no more letters")
            with self._transaction() as run:
                if step is not None:
                    self._add_step(run, session, step)
                added = [self._add_letter(run, letter) for letter in letters]
                self._add_notes(run, notes)
                posted = self._delete_sent(run)
            if step is not None:
                number = self._ids[session]
                self._counts[number] = self._counts.get(number, 0) + 1
            self._keep_in_memory(added)
            self._sent_is_on_disk(posted)

    def _add_step(self, run: Any, session: bytes, step: SessionStep) -> None:
        number = self._ids[session]
        (over,) = run("SELECT box IS NULL FROM sessions WHERE id = ?", number).fetchone()
        if over:
            raise MisuseError(f"{self.path}: session {session.hex()[:16]} is over, and was deleted")
        index = self._counts.get(number, 0) + 1
        place = (session, index.to_bytes(8))
        head = self._sealed.seal(_CODEC.encode(step.head), "step", *place)
        self._steps.add(run, SealedRow(head, step.body, place), at=number << _STEP_BITS | index)

    def _add_letter(self, run: Any, outgoing: Outgoing) -> Outgoing:
        letter = outgoing.letter
        place = (letter.session, letter.recipient.encode(), letter.number.to_bytes(8))
        head = OutHead(
            letter.session, letter.sender, letter.recipient, letter.number, outgoing.kind
        )
        sealed = self._sealed.seal(_CODEC.encode(head), "outbox")
        position = self._outbox.add(run, SealedRow(sealed, letter.body, place))
        return Outgoing(letter, outgoing.kind, position)

    def _keep_in_memory(self, added: Sequence[Outgoing]) -> None:
        """Letters that are on disk now; their bytes, too, as long as few wait."""
        for outgoing in added:
            self._waiting[outgoing.position] = None
            size = len(outgoing.letter.body)
            if self._kept_bytes + size <= _KEPT_BYTES:
                self._kept[outgoing.position] = outgoing
                self._kept_bytes += size

    def _let_go(self, position: int) -> None:
        outgoing = self._kept.pop(position, None)
        self._kept_bytes -= len(outgoing.letter.body) if outgoing is not None else 0

    def _add_notes(self, run: Any, notes: Mapping[str, bytes]) -> None:
        for name, value in notes.items():
            box = self._sealed.seal(value, "note", name.encode())
            run("INSERT OR REPLACE INTO notes VALUES (?, ?)", name, box)

    # The outbox.

    @property
    def has_pending(self) -> bool:
        """Whether a letter waits to be sent."""
        return bool(self._waiting)

    def has_waiting(self, position: int) -> bool:
        """Whether the letter at this position waits to be sent."""
        return position in self._waiting

    def pending(self) -> Iterator[Outgoing]:
        """Every letter that waits to be sent, in order, one at a time."""
        with self._lock:
            waiting = list(self._waiting)
        for position in waiting:
            outgoing = self._outgoing(position)
            if outgoing is not None:
                yield outgoing

    def _outgoing(self, position: int) -> Outgoing | None:
        with self._lock:
            outgoing = self._kept.get(position) or self._from_disk(position)
        if outgoing is not None:
            letter = outgoing.letter
            place = (letter.session, letter.recipient, letter.number)
            self._marks[position] = mark_of(*place, letter.digest)
        return outgoing

    def _from_disk(self, position: int) -> Outgoing | None:
        with self._lock:
            box = self._outbox.head(position)
            if box is None:
                return None
            head = self._read(OutHead, self._sealed.unseal(box, "outbox"))
            place = (head.session, head.recipient.encode(), head.number.to_bytes(8))
            body = self._outbox.body(position, place)
        letter = Letter(head.session, head.sender, head.recipient, head.number, body)
        return Outgoing(letter, head.kind, position)

    def leaving(self, position: int) -> None:
        """Note that this letter is on its way: even if it is discarded, the server may have it."""
        with self._lock:
            self._leaving = position

    def mark_sent(self, position: int) -> None:
        """Note that the server has this letter; it is deleted with the next commit.

        After a crash before that the same letter is sent again, which changes nothing.
        """
        with self._lock:
            self._leaving = 0
            self._no_longer_wait([position])
            self._sent[position] = self._marks.pop(position)

    def check_past(self, held: HeldLetters) -> None:
        """Compare the server's record of this seat with this journal, before a letter leaves.

        It may have some of the waiting letters, from the first on, if their receipts were lost. It
        cannot have other letters, nor miss one.
        """
        with self._lock:
            waiting = ((letter.position, self._marks[letter.position]) for letter in self.pending())
            here = self._posted_now()
            posted = here.reaching(held, waiting)
            if posted is None:
                raise copy_error(self.path, here.held, held)
            with self._transaction() as run:
                self._delete_sent(run)
                self._add_notes(run, {_POSTED: _CODEC.encode(posted)})
            self._sent_is_on_disk(posted)

    def _posted_now(self) -> Posted:
        posted = self._posted
        for position, mark in self._sent.items():
            posted = posted.after(position, mark)
        return posted

    def _delete_sent(self, run: Any) -> Posted:
        """Delete the sent letters, and note their chain."""
        for position in self._sent:
            self._outbox.delete(run, position, position)
        posted = self._posted_now()
        if posted != self._posted:
            self._add_notes(run, {_POSTED: _CODEC.encode(posted)})
        return posted

    def _drop(self, run: Any, positions: Sequence[int]) -> Posted:
        """Delete these waiting letters, and the sent ones."""
        posted = self._delete_sent(run)
        for position in positions:
            self._outbox.delete(run, position, position)
        if self._leaving in positions:
            posted = posted.without(self._leaving, self._marks[self._leaving])
            self._add_notes(run, {_POSTED: _CODEC.encode(posted)})
        return posted

    def _no_longer_wait(self, positions: Sequence[int]) -> None:
        for position in positions:
            self._let_go(position)
            self._waiting.pop(position, None)

    def _sent_is_on_disk(self, posted: Posted) -> None:
        self._sent.clear()
        self._posted = posted

    def close_outbox(
        self, last: Sequence[Outgoing] = (), *, notes: Mapping[str, bytes] = _NOTHING
    ) -> None:
        """Close the outbox: only the `last` letters may still leave, all others are deleted."""
        with self._lock:
            stay = {letter.position for letter in last}
            waiting = [letter.position for letter in self.pending() if letter.position not in stay]
            with self._transaction() as run:
                posted = self._drop(run, waiting)
                added = [self._add_letter(run, letter) for letter in last if not letter.position]
                self._add_notes(run, {**notes, _CLOSED: b""})
            self._no_longer_wait(waiting)
            self._keep_in_memory(added)
            self._sent_is_on_disk(posted)
            self.closed = True

    # Notes.

    def note(self, name: str) -> bytes | None:
        """The last note of this name, if there is one."""
        with translated(self.path), self._lock:
            row = self._database.execute("SELECT box FROM notes WHERE name = ?", (name,)).fetchone()
        return None if row is None else self._sealed.unseal(row[0], "note", name.encode())

    # The end.

    def forget(self, *sessions: bytes, notes: Mapping[str, bytes] = _NOTHING) -> None:
        """Delete the seeds and steps of sessions, which can never be opened again.

        In one transaction with the notes, so that a note of the deletion is true.
        """
        numbers = [self._ids[session] for session in sessions]
        with self._lock:
            with self._transaction() as run:
                for number in numbers:
                    run("UPDATE sessions SET box = NULL WHERE id = ?", number)
                    first = number << _STEP_BITS
                    self._steps.delete(run, first, first + 2**_STEP_BITS - 1)
                posted = self._delete_sent(run)
                self._add_notes(run, {**notes, _UNTIDY: b""})
            self._sent_is_on_disk(posted)
            for number in numbers:
                self._counts.pop(number, None)
            self._tidy()

    def discard(self, *sessions: bytes) -> None:
        """Delete the unsent letters of these sessions, because nobody waits for them."""
        with self._lock:
            waiting = [
                letter.position for letter in self.pending() if letter.letter.session in sessions
            ]
            with self._transaction() as run:
                posted = self._drop(run, waiting)
            self._no_longer_wait(waiting)
            self._sent_is_on_disk(posted)

    def _tidy(self) -> None:
        """Rewrite the file, so that nothing deleted stays in free pages or in the log.

        A note makes the next start finish the work after a crash.
        """
        with self._lock, translated(self.path):
            self._database.execute("VACUUM")
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._database.execute("DELETE FROM notes WHERE name = ?", (_UNTIDY,))

    def close(self) -> None:
        """Write the rest, and let another process open the journal."""
        with self._lock:
            try:
                if self._sent:
                    self.commit()
            finally:
                self._database.close()

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        """A function that runs statements in one transaction."""
        with self._lock, translated(self.path):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield lambda statement, *values: self._database.execute(statement, values)
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                self._steps.rolled_back()
                self._outbox.rolled_back()
                raise
            self._steps.committed()
            self._outbox.committed()

    def _read(self, kind: type[Any], data: bytes) -> Any:
        return _CODEC.decode(data, kind)
