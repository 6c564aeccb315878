"""Bodies of large letters in files: full disks, losses, leftovers, mailboxes of version 3."""

import asyncio
import errno
import os
import sqlite3
from pathlib import Path

import pytest

from harness.processes.mailbox_letters import letter, run, sealed, until_dropped
from sottovoce.errors import DamagedFileError
from sottovoce.transport.mailbox.letter_bodies import BodyFiles
from sottovoce.transport.mailbox.mailbox import Mailbox
from sottovoce.transport.mailbox.mailbox_database import SqliteDatabase
from sottovoce.transport.problems import Refusal
from sottovoce.transport.server.limits import PART

LARGE = os.urandom(BodyFiles.in_row + 1)
LONG = os.urandom(2 * PART + 7)


def files(path: Path) -> list[Path]:
    return sorted((path / "mail.letters").glob("*"))


@pytest.mark.parametrize("body", [LARGE, LONG])
def test_a_large_body_lies_in_a_file_of_its_owner_alone(tmp_path, body):
    async def story(mailbox):
        await mailbox.post(letter(0, body))
        (file,) = files(tmp_path)
        assert file.read_bytes() == body
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        return await mailbox.letters("bob")

    assert [arrived for _, arrived in run(tmp_path / "mail.db", story)] == [letter(0, body)]
    assert body[:64] not in (tmp_path / "mail.db").read_bytes()


def test_a_repeated_letter_leaves_no_second_file(tmp_path):
    async def story(mailbox):
        assert await mailbox.post(letter(0, LARGE)) == await mailbox.post(letter(0, LARGE))
        with pytest.raises(Refusal, match="other bytes"):
            await mailbox.post(letter(0, LARGE[::-1]))
        await until_dropped(mailbox)
        (file,) = files(tmp_path)
        return file.read_bytes()

    assert run(tmp_path / "mail.db", story) == LARGE


def test_a_disk_that_is_full_refuses_a_part_and_takes_it_later(tmp_path, monkeypatch):
    full = [True]
    write = os.pwrite

    def pwrite(descriptor, data, start):
        if full[0]:
            # Half of it finds room.
            half = write(descriptor, data[: len(data) // 2], start)
            assert half
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data, start)

    monkeypatch.setattr(os, "pwrite", pwrite)

    async def story(mailbox):
        summary = sealed(LONG)
        await mailbox.open_upload(summary)
        with pytest.raises(Refusal) as refused:
            await mailbox.append(summary, 0, LONG[:PART])
        assert (refused.value.status, refused.value.kind) == (507, "disk-full")
        assert (await mailbox.open_upload(summary)).received == 0
        full[0] = False
        for start in range(0, len(LONG), PART):
            await mailbox.append(summary, start, LONG[start : start + PART])
        return await mailbox.letters("bob")

    ((_, arrived),) = run(tmp_path / "mail.db", story)
    assert arrived.body == LONG


def test_two_requests_with_the_same_part_write_one_after_the_other(tmp_path):
    async def story(mailbox):
        summary = sealed(LONG)
        await mailbox.open_upload(summary)
        first = mailbox.append(summary, 0, LONG[:PART])
        second = mailbox.append(summary, 0, bytes(PART))
        results = await asyncio.gather(first, second, return_exceptions=True)
        assert results[0].received == PART
        assert results[1].kind == "offset"
        for start in range(PART, len(LONG), PART):
            await mailbox.append(summary, start, LONG[start : start + PART])
        return await mailbox.letters("bob")

    ((_, arrived),) = run(tmp_path / "mail.db", story)
    assert arrived.body == LONG


def test_wrong_bytes_are_dropped_and_the_right_ones_taken_in_another_file(tmp_path):
    async def story(mailbox):
        summary = sealed(LONG)
        for body, is_right in ((bytes(len(LONG)), False), (LONG, True)):
            assert (await mailbox.open_upload(summary)).received == 0
            for start in range(0, len(LONG) - PART, PART):
                await mailbox.append(summary, start, body[start : start + PART])
            last = mailbox.append(summary, start + PART, body[start + PART :])
            if is_right:
                await last
            else:
                with pytest.raises(Refusal, match="do not match its digest"):
                    await last
        await until_dropped(mailbox)
        (file,) = files(tmp_path)
        return file.read_bytes()

    assert run(tmp_path / "mail.db", story) == LONG


@pytest.mark.parametrize("size", [1000, 100_000])
def test_a_whole_letter_of_wrong_bytes_is_refused_before_any_are_written(tmp_path, size):
    right = LONG[:size]

    async def story(mailbox):
        await mailbox.open_upload(sealed(right))
        with pytest.raises(Refusal, match="do not match its digest"):
            await mailbox.complete(sealed(right), bytes(size))
        assert files(tmp_path) == []
        await mailbox.complete(sealed(right), right)
        return await mailbox.letters("bob")

    ((_, arrived),) = run(tmp_path / "mail.db", story)
    assert arrived.body == right


def test_an_upload_goes_on_after_a_start(tmp_path):
    summary = sealed(LONG)

    async def begin(mailbox):
        await mailbox.open_upload(summary)
        await mailbox.append(summary, 0, LONG[:PART])

    async def go_on(mailbox):
        assert (await mailbox.open_upload(summary)).received == PART
        for start in range(PART, len(LONG), PART):
            await mailbox.append(summary, start, LONG[start : start + PART])
        return await mailbox.letters("bob")

    run(tmp_path / "mail.db", begin)
    ((_, arrived),) = run(tmp_path / "mail.db", go_on)
    assert arrived.body == LONG


def test_a_start_deletes_files_that_no_letter_has(tmp_path):
    async def post(mailbox):
        await mailbox.post(letter(0, LARGE))

    async def nothing(_):
        pass

    run(tmp_path / "mail.db", post)
    (tmp_path / "mail.letters" / "77").write_bytes(b"of a process that was killed")
    run(tmp_path / "mail.db", nothing)
    (file,) = files(tmp_path)
    assert file.read_bytes() == LARGE


@pytest.mark.parametrize("fault", ["missing", "short"])
def test_a_body_that_was_taken_away_is_named_at_the_start(tmp_path, fault):
    async def post(mailbox):
        await mailbox.post(letter(0, LARGE))

    run(tmp_path / "mail.db", post)
    (file,) = files(tmp_path)
    file.unlink() if fault == "missing" else file.write_bytes(LARGE[:-1])
    with pytest.raises(DamagedFileError, match=rf"mail.letters/{file.name}: this body") as damaged:
        Mailbox(tmp_path / "mail.db")
    assert "restore the newest copy of the whole folder" in damaged.value.hints[0]


def test_bodies_of_version_3_move_into_files_and_an_upload_goes_on(tmp_path):
    path = tmp_path / "mail.db"
    summary = sealed(LONG)

    async def before(mailbox):
        await mailbox.open_upload(summary)
        await mailbox.append(summary, 0, LONG[:PART])
        await mailbox.post(letter(0, LONG, to="carol"))

    run(path, before)
    _as_version_3(path)
    assert not files(tmp_path)

    async def after(mailbox):
        assert (await mailbox.open_upload(summary)).received == PART
        for start in range(PART, len(LONG), PART):
            await mailbox.append(summary, start, LONG[start : start + PART])
        return [await mailbox.letters(recipient) for recipient in ("bob", "carol")]

    for ((_, arrived),) in run(path, after):
        assert arrived.body == LONG
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (4,)
        assert not database.execute("SELECT 1 FROM sqlite_schema WHERE name = 'pieces'").fetchall()


def _as_version_3(path: Path) -> None:
    """Put the bodies back into the table in which they were."""
    bodies = SqliteDatabase(path).bodies
    with sqlite3.connect(path) as database:
        database.executescript(
            "DROP TABLE dropped; PRAGMA user_version = 3; CREATE TABLE pieces (upload INTEGER NOT "
            "NULL, start INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE (upload, start)) STRICT;"
        )
        for file in bodies.folder.iterdir():
            data = file.read_bytes()
            for start in range(0, len(data), PART):
                row = (int(file.name), start, data[start : start + PART])
                database.execute("INSERT INTO pieces VALUES (?, ?, ?)", row)
            file.unlink()
    bodies.folder.rmdir()
