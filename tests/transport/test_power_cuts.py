"""A power cut takes back what was not yet on disk: never that a letter was announced."""

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from sottovoce.storage.journal import Journal
from sottovoce.transport.mailbox.letter_bodies import BodyFiles, Connection
from sottovoce.transport.mailbox.mailbox import Mailbox
from sottovoce.transport.mailbox.mailbox_database import Durable, SqliteDatabase
from sottovoce.transport.mailbox.mailbox_tables import LetterSummary, Place
from sottovoce.transport.problems import Refusal
from sottovoce.transport.server.limits import PART
from sottovoce.transport.signing import body_digest

RUN = b"r" * 16
# No zeros, which a file that lost its bytes may read as.
FIRST, SECOND = b"\1" * (2 * PART + 7), bytes(2 * PART + 7)


def summary(body: bytes, number: int = 0) -> LetterSummary:
    return LetterSummary(Place(b"s" * 16, "alice", "bob", number), len(body), body_digest(body))


class Disk:
    """What would be left of a mailbox: its files as they were when they were last on disk.

    A body is there once it was synced, and gone once it was deleted, as a disk may have it.
    """

    def __init__(self, path: Path, left: Path, patch: pytest.MonkeyPatch) -> None:
        self.path, self.left, self.until = path, left, Durable.POWER
        begin, committed = SqliteDatabase.begin, SqliteDatabase.committed

        def noted(database: SqliteDatabase, connection: Connection, *, until: Durable) -> None:
            self.until = until
            begin(database, connection, until=until)

        def kept(database: SqliteDatabase, connection: Connection, size: int) -> None:
            if self.until is Durable.POWER and database.path == self.path:
                self.keep()
            committed(database, connection, size)

        patch.setattr(SqliteDatabase, "begin", noted)
        patch.setattr(SqliteDatabase, "committed", kept)
        sync, delete = BodyFiles.sync, BodyFiles.delete

        def synced(bodies: BodyFiles, upload: int) -> None:
            sync(bodies, upload)
            if bodies.folder.parent == self.path.parent:
                self.bodies.mkdir(parents=True, exist_ok=True)
                shutil.copy(bodies.folder / str(upload), self.bodies)

        def deleted(bodies: BodyFiles, uploads: Sequence[int]) -> None:
            if bodies.folder.parent == self.path.parent:
                for upload in uploads:
                    (self.bodies / str(upload)).unlink(missing_ok=True)
            delete(bodies, uploads)

        patch.setattr(BodyFiles, "sync", synced)
        patch.setattr(BodyFiles, "delete", deleted)

    @property
    def bodies(self) -> Path:
        return self.left / f"{self.path.name}.letters"

    def keep(self) -> None:
        self.left.mkdir(exist_ok=True)
        for file in self.left.glob("*"):
            if file.is_file():
                file.unlink()
        for file in self.path.parent.glob(f"{self.path.name}*"):
            if file.is_file() and not file.name.endswith("-shm"):
                shutil.copy(file, self.left)

    @property
    def after(self) -> Path:
        return self.left / self.path.name


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    folder = tmp_path / "server"
    folder.mkdir()
    return Disk(folder / "mailbox", tmp_path / "left", monkeypatch)


async def begun(mailbox: Mailbox, *, parts: int) -> None:
    """Alice takes her seat, announces a long letter, and sends some of it."""
    await mailbox.take_up("alice", RUN, mailbox.held("alice"))
    await mailbox.announced(summary(FIRST), run=RUN)
    for part in range(parts):
        start = part * PART
        await mailbox.append(summary(FIRST), start, FIRST[start : start + PART])
    # What is done after the answer is done.
    await asyncio.sleep(0.05)


@pytest.mark.parametrize("parts", [0, 1, 2])
def test_other_bytes_are_refused_after_a_power_cut(disk: Disk, parts: int) -> None:
    """Else a seat that changed its documents meanwhile could put one mask over two values."""

    async def story() -> None:
        mailbox = Mailbox(disk.path)
        await begun(mailbox, parts=parts)
        known = mailbox.held("alice")
        left = Mailbox(disk.after)
        assert left.held("alice") == known
        await left.take_up("alice", RUN, known)
        with pytest.raises(Refusal, match="other bytes"):
            await left.announced(summary(SECOND), run=RUN)
        # Its own bytes are taken again from where the disk had them.
        progress = await left.announced(summary(FIRST), run=RUN)
        assert progress.received == 0
        await sent(left)
        ((_, letter),) = await left.letters("bob")
        assert letter.body == FIRST
        await left.close()
        await mailbox.close()

    asyncio.run(story())


def test_parts_that_were_counted_and_never_were_on_disk_are_sent_again(disk: Disk) -> None:
    async def story() -> None:
        mailbox = Mailbox(disk.path)
        await begun(mailbox, parts=2)
        # The next letter waits for the disk, and what was committed before it is on disk, too.
        other = LetterSummary(Place(b"s" * 16, "alice", "carol", 0), 5, body_digest(b"short"))
        await mailbox.put(other, b"short")
        await asyncio.sleep(0.05)
        left = Mailbox(disk.after)
        await left.take_up("alice", RUN, left.held("alice"))
        assert (await left.announced(summary(FIRST), run=RUN)).received == 2 * PART
        with pytest.raises(Refusal, match="parts of it were lost") as lost:
            await left.append(summary(FIRST), 2 * PART, FIRST[2 * PART :])
        assert (lost.value.kind, lost.value.facts) == ("offset", {"received": 0})
        assert (await left.announced(summary(FIRST), run=RUN)).received == 0
        await sent(left)
        assert [letter.body for _, letter in await left.letters("bob")] == [FIRST]
        await left.close()
        await mailbox.close()

    asyncio.run(story())


async def sent(mailbox: Mailbox) -> None:
    for start in range(0, len(FIRST), PART):
        await mailbox.append(summary(FIRST), start, FIRST[start : start + PART])


@pytest.mark.parametrize("body", [b"short", FIRST[: PART // 2], FIRST])
def test_a_letter_that_was_acknowledged_before_a_power_cut_comes_once_more(
    disk: Disk, body: bytes
) -> None:
    """An acknowledgement does not wait for the disk: the seat knows the letter, and leaves it."""

    async def story() -> None:
        mailbox = Mailbox(disk.path)
        await mailbox.put(summary(body), body)
        ((position, _),) = await mailbox.letters("bob")
        await mailbox.acknowledge("bob", position)
        await asyncio.sleep(0.05)
        assert await mailbox.letters("bob") == ()
        left = Mailbox(disk.after)
        ((again, letter),) = await left.letters("bob")
        assert (again, letter.body) == (position, body)
        left.check_position(position)
        await left.close()
        await mailbox.close()

    asyncio.run(story())


def test_a_seat_s_own_journal_waits_for_the_disk(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", key=bytes(32)) as journal:
        (level,) = journal._database.execute("PRAGMA synchronous").fetchone()
    assert level >= 2  # FULL
