"""What a mailbox has on disk when it answers, and that moving its log keeps nobody waiting."""

import asyncio
import threading

import pytest

from harness.processes.mailbox_letters import run, sealed
from sottovoce.transport.mailbox import checkpoints
from sottovoce.transport.mailbox.checkpoints import Checkpoints
from sottovoce.transport.mailbox.mailbox_database import Durable, SqliteDatabase
from sottovoce.transport.mailbox.mailbox_tables import MailboxTables
from sottovoce.transport.server.limits import PART

FULL, NORMAL = 2, 1


@pytest.fixture
def synced(monkeypatch):
    """What the database was told of the disk, at every statement of the tables."""
    levels = {}

    def watched(name):
        inner = getattr(MailboxTables, name)

        def watch(self, to, *arguments, **named):
            (level,) = to.execute("PRAGMA synchronous").fetchone()
            levels.setdefault(name, []).append(level)
            return inner(self, to, *arguments, **named)

        monkeypatch.setattr(MailboxTables, name, watch)

    for name in ("open_upload", "append", "finish", "acknowledge"):
        watched(name)
    return levels


def test_parts_wait_for_no_disk_and_announcements_and_whole_letters_do(tmp_path, synced):
    body = bytes(2 * PART + 5)
    letter = sealed(body)

    async def story(mailbox):
        progress = await mailbox.open_upload(letter)
        while not progress.position:
            start = progress.received
            progress = await mailbox.append(letter, start, body[start : start + PART])
        await mailbox.acknowledge("bob", progress.position)

    run(tmp_path / "mail.db", story)
    assert synced == {
        "open_upload": [FULL],
        "append": [NORMAL] * 3,
        "finish": [FULL],
        "acknowledge": [NORMAL],
    }


def test_a_short_letter_is_on_disk_when_it_is_complete(tmp_path, synced):
    async def story(mailbox):
        await mailbox.open_upload(sealed(b"body"))
        await mailbox.complete(sealed(b"body"), b"body")

    run(tmp_path / "mail.db", story)
    assert synced == {"open_upload": [FULL], "append": [FULL]}


def test_beside_one_that_waits_for_the_disk_a_part_does(tmp_path):
    running, go = threading.Event(), threading.Event()

    def hold(_):
        running.set()
        go.wait()

    def level(to):
        return to.execute("PRAGMA synchronous").fetchone()[0]

    async def story(mailbox):
        submit = mailbox._committer.submit
        held = submit(hold)
        await asyncio.to_thread(running.wait)
        # Both wait, and go into one commit.
        waiting = submit(level, until=Durable.PROCESS), submit(level)
        go.set()
        await held
        return await asyncio.gather(*waiting)

    assert run(tmp_path / "mail.db", story) == [FULL, FULL]


def test_a_log_is_moved_beside_the_letters_and_begins_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "_LOG_BYTES", PART)
    body = bytes(PART + 1)

    async def story(mailbox):
        for number in range(12):
            letter = sealed(body, number)
            await mailbox.append(*(await upload(mailbox, letter)), body[:PART])
            done = await mailbox.append(letter, PART, body[PART:])
            await mailbox.acknowledge("bob", done.position)
        return (tmp_path / "mail.db-wal").stat().st_size

    async def upload(mailbox, letter):
        return letter, (await mailbox.open_upload(letter)).received

    assert run(tmp_path / "mail.db", story) < 8 * PART


def test_a_log_that_grows_too_fast_is_moved_while_letters_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "_MOST_BYTES", 3)
    database, moved = SqliteDatabase(tmp_path / "mail.db"), []
    monkeypatch.setattr(checkpoints, "move_log", moved.append)
    connection = database.open(writing=True)
    log = Checkpoints(lambda: database.open(writing=False))
    log.committed(connection, 2)
    assert not moved
    log.committed(connection, 2)
    assert moved == [connection]
    connection.close()
