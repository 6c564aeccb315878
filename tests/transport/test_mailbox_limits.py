"""The limits of a mailbox: uploads in parts, full disks, and senders that take too much."""

import asyncio
import os
import resource
from types import SimpleNamespace

import pytest

from harness.ports import STUDY, served_mailbox
from harness.processes.mailbox_letters import SESSION, letter, run, sealed
from sottovoce.errors import DamagedFileError, KeyFileError, SottovoceError
from sottovoce.keyfiles.storage import SECRET_MODE, write_whole
from sottovoce.transport.mailbox.mailbox import Mailbox
from sottovoce.transport.problems import Refusal
from sottovoce.transport.server.limits import PART, Limits
from sottovoce.transport.server.request_handlers import RequestHandlers


def test_an_upload_goes_on_after_a_restart_and_is_checked_whole(tmp_path):
    path, body = tmp_path / "mail.db", os.urandom(3 * PART + 7)
    letter = sealed(body)

    async def first(mailbox):
        assert (await mailbox.open_upload(letter)).received == 0
        return await mailbox.append(letter, 0, body[:PART])

    assert run(path, first).received == PART

    async def second(mailbox):
        progress = await mailbox.open_upload(letter)
        with pytest.raises(Refusal, match=f"expected the part at {PART}, found the one at 0"):
            await mailbox.append(letter, 0, body[:PART])
        while progress.position is None:
            start = progress.received
            progress = await mailbox.append(letter, start, body[start : start + PART])
        assert (await mailbox.append(letter, 0, body[:PART])).position == progress.position
        return await mailbox.letters("bob")

    assert [letter.body for _, letter in run(path, second)] == [body]


def test_an_upload_of_other_bytes_is_refused_and_can_be_begun_again(tmp_path):
    body = os.urandom(PART)

    async def story(mailbox):
        letter = sealed(body)
        await mailbox.open_upload(letter)
        with pytest.raises(Refusal, match="its bytes do not match its digest"):
            await mailbox.append(letter, 0, body[::-1])
        with pytest.raises(Refusal, match="no upload"):
            await mailbox.append(letter, 0, body)
        await mailbox.open_upload(letter)
        return await mailbox.append(letter, 0, body)

    assert run(tmp_path / "mail.db", story).position == 1


def test_two_uploads_under_one_number_are_a_conflict(tmp_path):
    async def story(mailbox):
        await mailbox.open_upload(sealed(b"one"))
        with pytest.raises(Refusal, match="already announced with other bytes"):
            await mailbox.open_upload(sealed(b"two"))
        with pytest.raises(Refusal, match="more bytes than its 3"):
            await mailbox.append(sealed(b"one"), 0, b"four")

    run(tmp_path / "mail.db", story)


def test_open_uploads_are_bounded_and_old_ones_make_room(tmp_path):
    now = [0.0]

    async def story(mailbox):
        for number in range(3):
            await mailbox.open_upload(sealed(b"body", session=bytes([number])))
        with pytest.raises(Refusal, match="more than 3 open uploads"):
            await mailbox.open_upload(sealed(b"body", session=bytes([3])))
        await mailbox.open_upload(sealed(b"body", 0, sender="carol"))
        now[0] = 8 * 86_400.0
        await mailbox.open_upload(sealed(b"body", session=bytes([3])))

    run(tmp_path / "mail.db", story, limits=Limits(uploads=3), clock=lambda: now[0])


@pytest.mark.parametrize("limits", [Limits(stored=100), Limits(stored_by_sender=100)])
def test_a_full_mailbox_refuses_until_letters_are_taken(tmp_path, limits):
    path = tmp_path / "mail.db"

    async def story(mailbox):
        position = await mailbox.post(letter(0, bytes(80)))
        with pytest.raises(Refusal, match="no room for 21 bytes more") as refused:
            await mailbox.post(letter(1, bytes(21)))
        assert refused.value.status == 507
        with pytest.raises(Refusal, match="no room for 21 bytes more"):
            await mailbox.open_upload(sealed(bytes(21), 1))
        await mailbox.acknowledge("bob", position)
        await mailbox.post(letter(1, bytes(21)))

    run(path, story, limits=limits)

    async def again(mailbox):
        with pytest.raises(Refusal, match="no room for 80 bytes more"):
            await mailbox.post(letter(2, bytes(80)))

    run(path, again, limits=limits)


def test_a_letter_above_the_limit_is_refused(tmp_path):
    async def story(mailbox):
        with pytest.raises(Refusal, match="expected at most 10 bytes, found 11"):
            await mailbox.post(letter(0, bytes(11)))
        with pytest.raises(Refusal, match="expected at most 10 bytes, found 11"):
            await mailbox.open_upload(sealed(bytes(11)))

    run(tmp_path / "mail.db", story, limits=Limits(letter=10))


def test_a_server_that_starts_on_a_full_disk_proposes_to_free_space_and_loses_nothing(tmp_path):
    """No word of a damaged file or of an older copy: restoring one would end the study."""
    path = tmp_path / "mail.db"
    run(path, lambda mailbox: mailbox.post(letter(0, b"kept")))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Like a full disk, this fails the first write to a file.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(KeyFileError, match=r"mail\.db: cannot be written") as failure:
            Mailbox(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not isinstance(failure.value, DamagedFileError)
    assert failure.value.hints == ("free some space, and start again: the study continues",)
    kept = run(path, lambda mailbox: mailbox.letters("bob"))
    assert [stored.body for _, stored in kept] == [b"kept"]


def test_a_site_that_enrols_while_the_disk_is_full_hears_of_the_disk(tmp_path, caplog):
    """Both sides: the coordinator's people are warned, and no error without a name is logged."""

    async def story():
        async with served_mailbox(tmp_path) as served:
            alice = await served.line("alice")

            async def enrol(*_):
                limits = resource.getrlimit(resource.RLIMIT_FSIZE)
                resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
                try:
                    write_whole(tmp_path / "publics", b"key", mode=SECRET_MODE)
                finally:
                    resource.setrlimit(resource.RLIMIT_FSIZE, limits)

            served.callbacks.enrol = enrol
            alice.retry_seconds = 0.1
            with pytest.raises(SottovoceError, match="disk is full"):
                await alice.enrol(b"please")

    asyncio.run(story())
    assert "disk is full" in caplog.text
    assert "request failed" not in caplog.text


def test_a_mailbox_out_of_reach_is_not_called_damaged(tmp_path):
    with pytest.raises(KeyFileError, match=r"mail\.db: cannot be opened") as failure:
        Mailbox(tmp_path / "missing" / "mail.db")
    assert not isinstance(failure.value, DamagedFileError)


def test_a_full_disk_refuses_stores_nothing_and_recovers(tmp_path):
    async def story(mailbox):
        pages = await mailbox._committer.submit(
            lambda to: to.execute("PRAGMA page_count").fetchone()[0]
        )
        await mailbox._committer.submit(
            lambda to: to.execute(f"PRAGMA max_page_count = {pages + 2}").fetchone()
        )
        results = await asyncio.gather(
            mailbox.post(letter(0, os.urandom(60_000))),
            mailbox.post(letter(0, os.urandom(60_000), to="carol")),
            return_exceptions=True,
        )
        assert [(result.status, result.kind) for result in results] == [(507, "disk-full")] * 2
        assert await mailbox.letters("bob") == ()
        assert mailbox._store._stored == {}
        await mailbox._committer.submit(
            lambda to: to.execute("PRAGMA max_page_count = 1000000").fetchone()
        )
        await mailbox.post(letter(0, b"after"))
        return await mailbox.letters("bob")

    assert [letter.body for _, letter in run(tmp_path / "mail.db", story)] == [b"after"]


def test_one_sender_takes_no_more_than_a_quarter_of_the_disk(tmp_path, monkeypatch):
    stored = [0]

    def usage(_):
        return SimpleNamespace(total=10_000, free=8_000 - stored[0])

    monkeypatch.setattr("sottovoce.transport.mailbox.mailbox_tables.shutil.disk_usage", usage)

    async def story(mailbox):
        # A quarter of the 8,000 that are free, less 2,500 that stay so.
        for number in range(13):
            await mailbox.post(letter(number, bytes(100)))
            stored[0] += 100
        with pytest.raises(
            Refusal, match="'alice': expected at most 1375 waiting bytes"
        ) as refused:
            await mailbox.post(letter(13, bytes(100)))
        assert refused.value.status == 507
        await mailbox.post(letter(0, bytes(100), sender="bob", to="carol"))
        await mailbox.acknowledge("bob", 2**40)
        stored[0] -= 1300
        await mailbox.post(letter(13, bytes(100)))

    run(tmp_path / "mail.db", story)


def test_letters_leave_a_part_of_the_disk_free(tmp_path, monkeypatch):
    free = [2_550]

    def usage(_):
        return SimpleNamespace(total=10_000, free=free[0])

    monkeypatch.setattr("sottovoce.transport.mailbox.mailbox_tables.shutil.disk_usage", usage)

    async def story(mailbox):
        with pytest.raises(Refusal, match="no room for 51 bytes beside 2500 kept free") as refused:
            await mailbox.post(letter(0, bytes(51)))
        assert (refused.value.status, refused.value.kind) == (507, "disk-full")
        with pytest.raises(Refusal, match="beside 2500 kept free"):
            await mailbox.open_upload(sealed(bytes(51)))
        free[0] = 5_000
        await mailbox.post(letter(0, bytes(51)))

    run(tmp_path / "mail.db", story)


def test_room_that_letters_left_in_the_file_is_room_for_others(tmp_path, monkeypatch):
    """A file that has grown stays as it is: without its own room nothing would go on any more."""
    usage = SimpleNamespace(total=10_000_000, free=9_000_000)
    monkeypatch.setattr(
        "sottovoce.transport.mailbox.mailbox_tables.shutil.disk_usage", lambda _: usage
    )

    async def story(mailbox):
        for number in range(32):
            await mailbox.post(letter(number, bytes(50_000)))
        # The file has grown to what may be used, and its letters are taken.
        usage.free = 2_500_010
        with pytest.raises(Refusal, match="no room for 50000 bytes beside 2500000 kept free"):
            await mailbox.post(letter(32, bytes(50_000)))
        await mailbox.acknowledge("bob", 2**40)
        await mailbox.post(letter(32, bytes(50_000)))
        with pytest.raises(Refusal, match="no room for 3000000 bytes"):
            await mailbox.post(letter(33, bytes(3_000_000)))

    run(tmp_path / "mail.db", story, limits=Limits(reserved=2_500_000))


def test_the_time_in_which_a_disk_is_full_is_told_to_every_seat(tmp_path, monkeypatch):
    usage = SimpleNamespace(total=10_000, free=2_600)
    monkeypatch.setattr(
        "sottovoce.transport.mailbox.mailbox_tables.shutil.disk_usage", lambda _: usage
    )

    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            mailbox = served.callbacks.mailbox(STUDY)
            posting = asyncio.create_task(alice.post(letter(0, bytes(80), sender="alice")))
            while not mailbox.held_back():  # noqa: ASYNC110 - the server's own state
                await asyncio.sleep(0.01)
            # The coordinator's own letters have room: whoever waits for others waits on.
            await mailbox.post(letter(0, bytes(80), sender="coordinator"))
            while not bob.held_back():
                await bob.fetch(wait=0.0)
            # A quarter of what is free is room enough.
            usage.free = 5_000
            await posting
            before = mailbox.held_back()
            assert 1 <= bob.held_back() <= before
            await asyncio.sleep(0.02)
            assert mailbox.held_back() == before

    asyncio.run(story())


def test_the_coordinators_people_hear_that_letters_wait_for_room(caplog):
    handlers = RequestHandlers(None, bytes(32), Limits())
    for kind in ("mailbox-full", "disk-full", "disk-full"):
        handlers._warn_of_full_disk(Refusal(507, kind, f"{kind}: no room"))
    assert [record.message for record in caplog.records] == [
        "disk-full: no room; letters wait until there is room"
    ]


def test_a_refused_post_takes_nobody_with_it(tmp_path):
    async def story(mailbox):
        return await asyncio.gather(
            mailbox.post(letter(0)),
            mailbox.post(letter(5, to="carol")),
            mailbox.post(letter(0, to="dave")),
            return_exceptions=True,
        )

    first, second, third = run(tmp_path / "mail.db", story)
    assert (first, third) == (1, 2)
    assert isinstance(second, Refusal)


def test_a_fetch_returns_at_most_its_limit_and_one_letter_at_least(tmp_path):
    async def story(mailbox):
        for number in range(5):
            await mailbox.post(letter(number, bytes(100)))
        counts = [len(await mailbox.fetch("bob", limit=limit)) for limit in (0, 100, 250, 10**6)]
        assert counts == [1, 1, 2, 5]

    run(tmp_path / "mail.db", story)


def test_letters_of_one_sender_are_bounded_and_forgetting_makes_room(tmp_path):
    path = tmp_path / "mail.db"

    async def story(mailbox):
        for number in range(3):
            await mailbox.post(letter(number))
        await mailbox.acknowledge("bob", 2)
        with pytest.raises(Refusal, match="at most 3 letters in a study"):
            await mailbox.post(letter(3))
        await mailbox.post(letter(0, sender="carol"))

    run(path, story, limits=Limits(letters_by_sender=3))

    async def again(mailbox):
        with pytest.raises(Refusal, match="at most 3 letters in a study"):
            await mailbox.post(letter(3))
        await mailbox.forget(SESSION)
        await mailbox.post(letter(0))

    run(path, again, limits=Limits(letters_by_sender=3))


def test_a_part_without_bytes_is_refused_and_takes_nobody_with_it(tmp_path):
    async def story(mailbox):
        upload = sealed(b"body")
        await mailbox.open_upload(upload)
        return await asyncio.gather(
            mailbox.append(upload, 0, b""),
            mailbox.append(upload, 0, b""),
            mailbox.post(letter(0, to="carol")),
            return_exceptions=True,
        )

    first, second, third = run(tmp_path / "mail.db", story)
    assert [error.kind for error in (first, second)] == ["size", "size"]
    assert third == 1
