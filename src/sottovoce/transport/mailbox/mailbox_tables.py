"""The tables of a mailbox: letters in order, uploads in parts, and acknowledged letters.

An acknowledged ("taken") letter loses its body and keeps its place and digest. So a repeated letter
is recognised while its session is kept, and another letter under its number is refused.
"""

import shutil
from dataclasses import dataclass

from sottovoce.course.control import COORDINATOR
from sottovoce.course.letter_chain import HeldLetters, mark_of
from sottovoce.transport.mailbox.letter_bodies import Connection
from sottovoce.transport.mailbox.mailbox_database import Database
from sottovoce.transport.problems import DISK_FULL, Refusal
from sottovoce.transport.server.limits import PART, Limits
from sottovoce.transport.signing import body_digest

# The current process of a seat sends these bytes with every request; a later process has others.
RUN_BYTES = 16
_AT = "session = ? AND sender = ? AND recipient = ? AND number = ?"
_BEGIN = "INSERT INTO uploads (session, sender, recipient, number, size, digest, touched) VALUES"
DAY = 86_400.0
# The largest part of the disk's room for letters that one sender may use.
_SENDERS = 4


@dataclass(frozen=True)
class Place:
    """The place of a letter: session, sender, recipient, and number."""

    session: bytes
    sender: str
    recipient: str
    number: int

    @property
    def row(self) -> tuple[bytes, str, str, int]:
        """The place as values of a row."""
        return (self.session, self.sender, self.recipient, self.number)

    def __str__(self) -> str:
        return f"letter {self.number} from {self.sender!r} to {self.recipient!r}"


@dataclass(frozen=True)
class LetterSummary:
    """A letter's place, size and digest: its announcement."""

    place: Place
    size: int
    digest: bytes

    def check(self, body: bytes) -> None:
        """Refuse a body that is not the announced one."""
        if body_digest(body) != self.digest:
            raise wrong_bytes(self)


@dataclass(frozen=True)
class Progress:
    """The progress of an upload: durable bytes, and its position once it is posted."""

    received: int
    position: int | None = None


class MailboxTables:
    """Operations on the tables, each within a transaction of the caller."""

    def __init__(self, connection: Connection, limits: Limits, database: Database) -> None:
        self._limits = limits
        self._database = database
        self._bodies = database.bodies
        self._stored: dict[str, int] = {}
        self._stored_by_all = 0
        self._letters: dict[str, int] = {}
        # The run of each seat. Not on disk: after a restart every seat is compared again.
        self._runs: dict[str, bytes] = {}
        self.count(connection)

    def count(self, connection: Connection) -> None:
        """Count what is stored: at the start, and after a rollback."""
        self._count_stored(connection)
        rows = connection.execute("SELECT sender, COUNT(*) FROM letters GROUP BY sender")
        self._letters = dict(rows.fetchall())

    def _count_stored(self, connection: Connection) -> None:
        rows = connection.execute(
            "SELECT sender, CAST(SUM(size) AS BIGINT) FROM letters WHERE taken = 0 GROUP BY sender"
        )
        self._stored = dict(rows.fetchall())
        for sender, size in connection.execute(
            "SELECT sender, CAST(SUM(received) AS BIGINT) FROM uploads GROUP BY sender"
        ):
            self._stored[sender] = self._stored.get(sender, 0) + size
        self._stored_by_all = sum(self._stored.values())

    # Runs and chains.

    def check_run(self, to: Connection, sender: str, run: bytes) -> None:
        """Refuse a process that has not taken the seat up since this server started."""
        if self._run_of(to, sender) != run:
            raise Refusal(
                409,
                "no-run",
                f"seat {sender!r}: another process has taken it up",
            )

    def take_up(self, to: Connection, sender: str, run: bytes, held: HeldLetters) -> None:
        """Let a process work at a seat, if it knows all letters that the seat announced."""
        if self.held(to, sender) != held:
            raise Refusal(409, "past", f"seat {sender!r}: its letters have changed meanwhile")
        self._runs[sender] = run
        if self._database.shared:
            to.execute(
                "INSERT INTO runs VALUES (?, ?) ON CONFLICT (sender) "
                "DO UPDATE SET run = excluded.run",
                (sender, run),
            )

    def _run_of(self, to: Connection, sender: str) -> bytes | None:
        """The run of a sender; processes that share a database share it."""
        if not self._database.shared:
            return self._runs.get(sender)
        row = to.execute("SELECT run FROM runs WHERE sender = ?", (sender,)).fetchone()
        return None if row is None else bytes(row[0])

    def held(self, to: Connection, sender: str) -> HeldLetters:
        """The letters that a sender announced, with or without their bodies."""
        row = to.execute(
            "SELECT letters, chain FROM senders WHERE sender = ?", (sender,)
        ).fetchone()
        return HeldLetters() if row is None else HeldLetters(*row)

    def forget_sender(self, to: Connection, sender: str) -> None:
        """Forget a sender whose seat has a new key, and so a new chain."""
        to.execute("DELETE FROM senders WHERE sender = ?", (sender,))
        self._runs.pop(sender, None)
        if self._database.shared:
            to.execute("DELETE FROM runs WHERE sender = ?", (sender,))

    def _announce(self, to: Connection, letter: LetterSummary) -> None:
        place = letter.place
        mark = mark_of(place.session, place.recipient, place.number, letter.digest)
        held = self.held(to, place.sender).after(mark)
        to.execute(
            "INSERT INTO senders VALUES (?, ?, ?) ON CONFLICT (sender) "
            "DO UPDATE SET letters = excluded.letters, chain = excluded.chain",
            (place.sender, held.letters, held.chain),
        )

    # Letters.

    def known(self, to: Connection, letter: LetterSummary) -> int | None:
        """The position of this letter, if it is stored; another under its number is a conflict."""
        row = to.execute(
            f"SELECT position, size, digest FROM letters WHERE {_AT}",  # noqa: S608 - constant
            letter.place.row,
        ).fetchone()
        if row is None:
            return None
        position, size, digest = row
        if (size, digest) != (letter.size, letter.digest):
            raise Refusal(
                409,
                "conflict",
                f"{letter.place}: already stored with other bytes; the first letter stays",
            )
        return int(position)

    def post(self, to: Connection, letter: LetterSummary, body: bytes, upload: int | None) -> int:
        """Store a letter in order; return its position, the same for a repetition.

        The body of a large one was written under the number `upload`.
        """
        if (position := self.known(to, letter)) is not None:
            if upload is not None:
                self._bodies.drop(to, upload)
            return position
        self._check_turn(to, letter.place)
        self._check_room(to, letter.place.sender, letter.size)
        self._announce(to, letter)
        if upload is None:
            return self._insert(to, letter, body, None)
        self._bodies.insert(to, upload, 0, body)
        return self._insert(to, letter, None, upload)

    def open_upload(self, to: Connection, letter: LetterSummary, *, now: float) -> Progress:
        """Begin an upload, or find out how far it came."""
        if (position := self.known(to, letter)) is not None:
            return Progress(letter.size, position)
        upload = self._upload(to, letter)
        if upload is not None:
            to.execute("UPDATE uploads SET touched = ? WHERE id = ?", (now, upload[0]))
            return Progress(upload[1])
        self._check_turn(to, letter.place)
        self._check_uploads(to, letter.place.sender, now=now)
        self._check_room(to, letter.place.sender, letter.size)
        self._announce(to, letter)
        self._begin(to, letter, now=now)
        return Progress(0)

    def check_announced(self, to: Connection, letter: LetterSummary) -> None:
        """Refuse bytes of a letter that was not announced with this size and digest."""
        if self.known(to, letter) is None and self._upload(to, letter) is None:
            raise Refusal(404, "no-upload", f"{letter.place}: it was not announced")

    def check_part(
        self, to: Connection, letter: LetterSummary, start: int, data: bytes
    ) -> int | None:
        """The number under which a part is written, if it is the next one; None if it is known."""
        if self.known(to, letter) is not None:
            return None
        upload, received, is_open = self._upload(to, letter) or (0, 0, False)
        if not is_open:
            raise Refusal(404, "no-upload", f"{letter.place}: no upload of it is open")
        if start != received:
            raise Refusal(
                409,
                "offset",
                f"{letter.place}: expected the part at {received}, found the one at {start}",
                facts={"received": received},
            )
        if not data:
            raise Refusal(400, "size", f"{letter.place}: the part has no bytes")
        if start + len(data) > letter.size:
            raise Refusal(400, "size", f"{letter.place}: more bytes than its {letter.size}")
        self._check_room(to, letter.place.sender, len(data))
        return upload

    def append(
        self, to: Connection, letter: LetterSummary, start: int, data: bytes, *, now: float
    ) -> Progress:
        """Store a part that begins where the last one ended."""
        upload = self.check_part(to, letter, start, data)
        if upload is None:
            return Progress(letter.size, self.known(to, letter))
        if len(data) == letter.size <= PART:
            # Complete: its digest was checked when it was read.
            to.execute("DELETE FROM uploads WHERE id = ?", (upload,))
            if letter.size <= self._bodies.in_row:
                return Progress(letter.size, self._insert(to, letter, data, None))
            self._bodies.insert(to, upload, 0, data)
            return Progress(letter.size, self._insert(to, letter, None, upload))
        self._bodies.insert(to, upload, start, data)
        received = start + len(data)
        to.execute(
            "UPDATE uploads SET received = ?, touched = ? WHERE id = ?", (received, now, upload)
        )
        self._count(letter.place.sender, len(data))
        return Progress(received)

    def finish(self, to: Connection, letter: LetterSummary, digest: bytes) -> int:
        """Turn a complete upload into a letter; the digest was computed over its pieces."""
        if (position := self.known(to, letter)) is not None:
            return position
        upload, received, is_open = self._upload(to, letter) or (0, 0, False)
        if not is_open or received != letter.size:
            raise Refusal(
                409, "offset", f"{letter.place}: incomplete", facts={"received": received}
            )
        if digest != letter.digest:
            raise wrong_bytes(letter)
        self._check_turn(to, letter.place)
        to.execute("DELETE FROM uploads WHERE id = ?", (upload,))
        self._count(letter.place.sender, -letter.size)
        return self._insert(to, letter, None, upload)

    def discard(self, to: Connection, letter: LetterSummary) -> None:
        """Drop an upload with wrong bytes."""
        if (upload := self._upload(to, letter)) is not None:
            self._empty(to, upload[0], upload[1], letter.place.sender)

    def piece(self, to: Connection, recipient: str, position: int, start: int) -> bytes:
        """The bytes of a letter from `start` on, at most a part of a long one."""
        row = to.execute(
            "SELECT size, body, upload FROM letters "
            "WHERE position = ? AND recipient = ? AND taken = 0",
            (position, recipient),
        ).fetchone()
        if row is None:
            raise Refusal(404, "no-letter", f"no letter {position} waits for {recipient!r}")
        size, body, upload = row
        if not 0 <= start < size:
            raise Refusal(
                416, "offset", f"letter {position}: expected an offset below {size}, found {start}"
            )
        if body is not None:
            return bytes(body[start:])
        data = self._bodies.read(to, upload, start)
        if not data:
            raise Refusal(503, "storage", f"letter {position}: its file is shorter than {size}")
        return data

    def acknowledge(self, to: Connection, recipient: str, position: int) -> None:
        """Drop the bodies of letters that this recipient has on its own disk."""
        self._take(to, "position <= ?", recipient, position)

    def take(self, to: Connection, recipient: str, session: bytes) -> None:
        """Drop the bodies for this recipient in a finished session."""
        self._take(to, "session = ?", recipient, session)

    def _take(self, to: Connection, which: str, recipient: str, value: int | bytes) -> None:
        rows = to.execute(
            "SELECT sender, size, upload FROM letters "  # noqa: S608 - constants
            f"WHERE recipient = ? AND taken = 0 AND {which}",
            (recipient, value),
        ).fetchall()
        if rows:
            to.execute(
                "UPDATE letters SET taken = 1, body = NULL "  # noqa: S608 - constants
                f"WHERE recipient = ? AND taken = 0 AND {which}",
                (recipient, value),
            )
        for sender, size, upload in rows:
            if upload is not None:
                self._bodies.drop(to, upload)
            self._count(sender, -size)

    def forget(self, to: Connection, session: bytes) -> None:
        """Drop everything of a session, taken or not."""
        for sender, size, count in to.execute(
            "SELECT sender, CAST(SUM(size * (1 - taken)) AS BIGINT), COUNT(*) FROM letters "
            "WHERE session = ? GROUP BY sender",
            (session,),
        ).fetchall():
            self._count(sender, -size)
            self._letters[sender] = self._letters.get(sender, 0) - count
        for (upload,) in to.execute(
            "SELECT upload FROM letters WHERE session = ? AND taken = 0 AND upload IS NOT NULL",
            (session,),
        ).fetchall():
            self._bodies.drop(to, upload)
        to.execute("DELETE FROM letters WHERE session = ?", (session,))
        for upload, received, sender in to.execute(
            "SELECT id, received, sender FROM uploads WHERE session = ?", (session,)
        ).fetchall():
            self._bodies.drop(to, upload)
            self._count(sender, -received)
        to.execute("DELETE FROM uploads WHERE session = ?", (session,))

    def _check_turn(self, to: Connection, place: Place) -> None:
        (last,) = to.execute(
            "SELECT MAX(number) FROM letters WHERE session = ? AND sender = ? AND recipient = ?",
            place.row[:3],
        ).fetchone()
        turn = 0 if last is None else last + 1
        if place.number != turn:
            raise Refusal(
                409, "gap", f"{place}: letter {turn} must come before it", facts={"expected": turn}
            )

    def _check_room(self, to: Connection, sender: str, size: int) -> None:
        if self._database.shared:
            # Other processes stored letters too. All announced letters count here, acknowledged or
            # not.
            self._count_stored(to)
            self._letters[sender] = self.held(to, sender).letters
        if self._letters.get(sender, 0) >= self._limits.letters_by_sender:
            raise Refusal(
                507,
                "mailbox-full",
                f"{sender!r}: expected at most {self._limits.letters_by_sender} letters in a study",
            )
        self._check_disk(to, sender, size)
        mine, all_of_them = self._stored.get(sender, 0) + size, self._stored_by_all + size
        if mine > self._limits.stored_by_sender or all_of_them > self._limits.stored:
            raise Refusal(
                507,
                "mailbox-full",
                f"letters of {sender!r}: the mailbox has no room for {size} bytes more",
                hints=("the letter is sent again automatically when others were taken",),
            )

    def _check_disk(self, to: Connection, sender: str, size: int) -> None:
        """Refuse letters that would fill the disk, which holds all other files of the coordinator.

        One sender may not use most of it, because the senders of all studies share it. The
        coordinator's own letters, without which a study does not end, may use the reserve. The
        file keeps the room of letters that were taken: what is free inside it counts as free, as
        far as the log, which every letter passes through, can grow by as much.
        """
        if self._database.folder is None or sender == COORDINATOR:
            return
        disk = shutil.disk_usage(self._database.folder)
        reserved = min(self._limits.reserved, disk.total // 4)
        inside = min(_room_inside(to), disk.free)
        free, mine = disk.free - reserved + inside, self._stored.get(sender, 0)
        share = (free + mine) // _SENDERS
        if size > min(free, share):
            # There is no room even without this sender's letters, so it can do nothing about it.
            raise Refusal(
                507,
                DISK_FULL,
                f"the coordinator's disk has no room for {size} bytes beside {reserved} kept free",
                hints=(
                    "the coordinator must free some space; the letter is sent again automatically",
                ),
            )
        if mine + size > share:
            raise Refusal(
                507,
                "mailbox-full",
                f"letters of {sender!r}: expected at most {share} waiting bytes, a quarter of "
                f"the coordinator's free disk, found {mine + size}",
                hints=("the letter is sent again automatically when others were taken",),
            )

    def _check_uploads(self, to: Connection, sender: str, *, now: float) -> None:
        rows = to.execute(
            "SELECT id, received, touched FROM uploads WHERE sender = ? AND touched >= 0", (sender,)
        ).fetchall()
        oldest = now - self._limits.upload_days * DAY
        open_ones = [row for row in rows if row[2] >= oldest]
        for upload, received, _ in set(rows) - set(open_ones):
            self._empty(to, upload, received, sender)
        if len(open_ones) >= self._limits.uploads:
            raise Refusal(
                429,
                "too-many-uploads",
                f"{sender!r} has more than {self._limits.uploads} open uploads",
            )

    def upload_of(self, to: Connection, letter: LetterSummary) -> int | None:
        """The number of an announced letter that is not complete."""
        upload = self._upload(to, letter)
        return None if upload is None else upload[0]

    def _upload(self, to: Connection, letter: LetterSummary) -> tuple[int, int, bool] | None:
        """The number of an upload, its progress, and whether it is open."""
        row = to.execute(
            f"SELECT id, received, touched, size, digest FROM uploads WHERE {_AT}",  # noqa: S608 - constant
            letter.place.row,
        ).fetchone()
        if row is None:
            return None
        upload, received, touched, size, digest = row
        if (size, digest) != (letter.size, letter.digest):
            raise Refusal(409, "conflict", f"{letter.place}: already announced with other bytes")
        return upload, received, touched >= 0

    def _begin(self, to: Connection, letter: LetterSummary, *, now: float) -> None:
        values = (*letter.place.row, letter.size, letter.digest, now)
        to.execute(f"{_BEGIN} (?, ?, ?, ?, ?, ?, ?)", values)

    def _insert(
        self, to: Connection, letter: LetterSummary, body: bytes | None, upload: int | None
    ) -> int:
        cursor = to.execute(
            "INSERT INTO letters (session, sender, recipient, number, size, digest, body, upload) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING position",
            (*letter.place.row, letter.size, letter.digest, body, upload),
        )
        (position,) = cursor.fetchone()
        self._count(letter.place.sender, letter.size)
        self._letters[letter.place.sender] = self._letters.get(letter.place.sender, 0) + 1
        self._database.stored(to, letter.place.recipient, position)
        return int(position)

    def _empty(self, to: Connection, upload: int, received: int, sender: str) -> None:
        """Drop the bytes of an upload, but keep its announcement, under another number."""
        self._bodies.drop(to, upload)
        (row,) = to.execute(
            "SELECT session, sender, recipient, number, size, digest FROM uploads WHERE id = ?",
            (upload,),
        ).fetchall()
        to.execute("DELETE FROM uploads WHERE id = ?", (upload,))
        to.execute(f"{_BEGIN} (?, ?, ?, ?, ?, ?, ?)", (*row, -1))
        self._count(sender, -received)

    def _count(self, sender: str, size: int) -> None:
        self._stored[sender] = self._stored.get(sender, 0) + size
        self._stored_by_all += size


def wrong_bytes(letter: LetterSummary) -> Refusal:
    """The refusal of a letter whose bytes are not those that were announced."""
    return Refusal(400, "digest", f"{letter.place}: its bytes do not match its digest")


def _room_inside(to: Connection) -> int:
    """The bytes of a file of SQLite that held letters once, and hold others next."""
    (pages,), (size,) = (
        to.execute(f"PRAGMA {name}").fetchone() for name in ("freelist_count", "page_size")
    )
    return int(pages * size)
