"""The mailbox by itself: durable, ordered, bounded."""

import asyncio
import hashlib
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.errors import DamagedFileError, MisuseError
from sottovoce.study.relay import Letter
from sottovoce.transport import Limits, Mailbox
from sottovoce.transport.committing import Committer
from sottovoce.transport.limits import PART
from sottovoce.transport.mailbox_database import SqliteDatabase
from sottovoce.transport.mailbox_tables import LetterSummary, Place
from sottovoce.transport.problems import Refusal

SESSION = b"s" * 16


def letter(number=0, body=b"body", *, sender="alice", to="bob", session=SESSION):
    return Letter(session, sender, to, number, body)


def sealed(body, number=0, *, sender="alice", session=SESSION):
    return LetterSummary(
        Place(session, sender, "bob", number), len(body), hashlib.sha256(body).digest()
    )


def run(path, story, **options):
    async def told():
        async with Mailbox(path, **options) as mailbox:
            return await story(mailbox)

    return asyncio.run(told())


def test_letters_outlive_the_process(tmp_path):
    path = tmp_path / "mail.db"
    first = run(path, lambda mailbox: mailbox.post(letter(0)))
    second = run(path, lambda mailbox: mailbox.post(letter(1)))
    assert second > first
    assert run(path, lambda mailbox: mailbox.post(letter(0))) == first
    result = run(path, lambda mailbox: mailbox.letters("bob"))
    assert result == ((first, letter(0)), (second, letter(1)))


def test_a_letter_is_on_disk_before_post_returns(tmp_path):
    async def story(mailbox):
        await mailbox.post(letter(0))
        # Another process, as after a power cut: nothing of ours was closed or flushed.
        beside = sqlite3.connect(tmp_path / "mail.db")
        rows = beside.execute("SELECT number, body FROM letters").fetchall()
        beside.close()
        return rows

    assert run(tmp_path / "mail.db", story) == [(0, b"body")]


def test_the_database_syncs_every_commit(tmp_path):
    async def story(mailbox):
        return await mailbox._committer.submit(
            lambda to: [
                to.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("journal_mode", "synchronous")
            ]
        )

    assert run(tmp_path / "mail.db", story) == ["wal", 2]


def test_only_its_owner_can_read_the_file(tmp_path):
    async def story(mailbox):
        await mailbox.post(letter(0))
        return [stat.S_IMODE(found.stat().st_mode) for found in tmp_path.iterdir()]

    assert set(run(tmp_path / "mail.db", story)) == {0o600}


def test_posts_that_come_together_share_a_commit(tmp_path):
    async def story(mailbox):
        commits = []
        await mailbox._committer.submit(
            lambda to: to.set_trace_callback(
                lambda text: commits.append(text) if text == "COMMIT" else None
            )
        )
        await asyncio.gather(
            *(mailbox.post(letter(0, to=f"peer-{number}")) for number in range(100))
        )
        return len(commits)

    assert run(tmp_path / "mail.db", story) < 50


@given(
    posts=st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.integers(0, 4), st.booleans()),
        max_size=30,
    )
)
def test_whatever_is_posted_each_line_is_dense_and_the_first_letter_stays(tmp_path_factory, posts):
    kept = {}

    async def story(mailbox):
        for sender, to, number, second in posts:
            body = f"{sender}{to}{number}{second}".encode()
            line = kept.setdefault((sender, to), [])
            posted = mailbox.post(letter(number, body, sender=sender, to=to))
            if number < len(line) and line[number] != body:
                with pytest.raises(Refusal, match="other bytes"):
                    await posted
            elif number > len(line):
                with pytest.raises(Refusal, match=f"letter {len(line)} must come before it"):
                    await posted
            else:
                await posted
                line[number:] = line[number:] or [body]
        for to in "xy":
            results = [one for _, one in await mailbox.letters(to)]
            for sender in "ab":
                mine = [result for result in results if result.sender == sender]
                assert [letter.body for letter in mine] == kept.get((sender, to), [])
                assert [one.number for one in mine] == list(range(len(mine)))

    run(tmp_path_factory.mktemp("mail") / "mail.db", story)


def test_who_waits_is_woken_and_who_waits_in_vain_gets_nothing(tmp_path):
    async def story(mailbox):
        waiting = [asyncio.create_task(mailbox.letters("bob", wait=20)) for _ in range(3)]
        other = asyncio.create_task(mailbox.letters("carol", wait=0.1))
        await asyncio.sleep(0.02)
        await mailbox.post(letter(0))
        assert await other == ()
        assert not mailbox._waiters["carol"]
        return await asyncio.gather(*waiting)

    for found in run(tmp_path / "mail.db", story):
        assert [one for _, one in found] == [letter(0)]


def test_a_sender_that_hangs_up_does_not_keep_the_recipient_waiting(tmp_path):
    async def story(mailbox):
        waiting = asyncio.create_task(mailbox.letters("bob", wait=20))
        posting = asyncio.create_task(mailbox.post(letter(0)))
        await asyncio.sleep(0)
        posting.cancel()
        return await asyncio.wait_for(waiting, 300)

    assert len(run(tmp_path / "mail.db", story)) == 1


def test_what_was_read_was_given_also_before_its_post_goes_on(tmp_path):
    """A letter stands in the file from its commit on; the loop hears of the commit later."""

    async def story(mailbox):
        await mailbox.post(letter(0))
        second = letter(1)
        summary = sealed(second.body, 1)
        await mailbox._committer.submit(lambda to: mailbox._store.post(to, summary, second.body))
        delivered = await mailbox.letters("bob")
        assert [read for _, read in delivered] == [letter(0), second]
        mailbox.check_position(delivered[-1][0])
        with pytest.raises(Refusal, match="never gave"):
            mailbox.check_position(delivered[-1][0] + 1)

    run(tmp_path / "mail.db", story)


def test_closing_wakes_who_waits_and_refuses_what_comes_later(tmp_path):
    async def story(mailbox):
        waiting = asyncio.create_task(mailbox.letters("bob", wait=20))
        await asyncio.sleep(0.02)
        await mailbox.close()
        assert await waiting == ()
        with pytest.raises(MisuseError, match="it is closed"):
            await mailbox.post(letter(0))

    run(tmp_path / "mail.db", story)


def test_an_acknowledged_body_is_gone_and_its_place_is_kept(tmp_path):
    body = os.urandom(PART + 1)

    async def story(mailbox):
        await mailbox.post(letter(0, b"a body that must go"))
        last = await mailbox.post(letter(1, body))
        await mailbox.acknowledge("bob", last)
        assert await mailbox.letters("bob") == ()
        with pytest.raises(Refusal, match="no letter"):
            mailbox.piece("bob", last, 0)
        count = mailbox._reading.execute("SELECT COUNT(*) FROM pieces").fetchone()
        with pytest.raises(Refusal, match="other bytes"):
            await mailbox.post(letter(1, b"other"))
        return count

    assert run(tmp_path / "mail.db", story) == (0,)


def test_acknowledging_what_never_came_hides_nothing(tmp_path):
    async def story(mailbox):
        await mailbox.post(letter(0))
        await mailbox.acknowledge("bob", 10**18)
        await mailbox.post(letter(1))
        return await mailbox.letters("bob")

    assert [one for _, one in run(tmp_path / "mail.db", story)] == [letter(1)]


def test_one_seat_can_neither_read_nor_acknowledge_for_another(tmp_path):
    async def story(mailbox):
        position = await mailbox.post(letter(0))
        with pytest.raises(Refusal, match="no letter"):
            mailbox.piece("carol", position, 0)
        await mailbox.acknowledge("carol", position)
        return await mailbox.letters("bob")

    assert len(run(tmp_path / "mail.db", story)) == 1


def test_a_session_that_is_forgotten_leaves_nothing(tmp_path):
    async def story(mailbox):
        await mailbox.post(letter(0, os.urandom(PART + 1)))
        await mailbox.post(letter(0, session=b"other"))
        await mailbox.open_upload(sealed(os.urandom(10), 1))
        await mailbox.forget(SESSION)
        assert [one.session for _, one in await mailbox.letters("bob")] == [b"other"]
        rows = [
            mailbox._reading.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]  # noqa: S608 - constants
            for table in ("letters", "uploads", "pieces")
        ]
        assert mailbox._store._stored == {"alice": 4}
        return rows

    assert run(tmp_path / "mail.db", story) == [1, 0, 0]


def test_an_upload_goes_on_after_a_restart_and_is_checked_whole(tmp_path):
    path, body = tmp_path / "mail.db", os.urandom(3 * PART + 7)
    one = sealed(body)

    async def first(mailbox):
        assert (await mailbox.open_upload(one)).received == 0
        return await mailbox.append(one, 0, body[:PART])

    assert run(path, first).received == PART

    async def second(mailbox):
        progress = await mailbox.open_upload(one)
        with pytest.raises(Refusal, match=f"expected the part at {PART}, found the one at 0"):
            await mailbox.append(one, 0, body[:PART])
        while progress.position is None:
            start = progress.received
            progress = await mailbox.append(one, start, body[start : start + PART])
        assert (await mailbox.append(one, 0, body[:PART])).position == progress.position
        return await mailbox.letters("bob")

    assert [found.body for _, found in run(path, second)] == [body]


def test_an_upload_of_other_bytes_is_refused_and_can_be_begun_again(tmp_path):
    body = os.urandom(PART)

    async def story(mailbox):
        one = sealed(body)
        await mailbox.open_upload(one)
        with pytest.raises(Refusal, match="its bytes do not match its digest"):
            await mailbox.append(one, 0, body[::-1])
        with pytest.raises(Refusal, match="no upload"):
            await mailbox.append(one, 0, body)
        await mailbox.open_upload(one)
        return await mailbox.append(one, 0, body)

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
        with pytest.raises(Refusal, match="at most 3 open uploads"):
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


def test_a_full_disk_refuses_stores_nothing_and_recovers(tmp_path):
    async def story(mailbox):
        pages = await mailbox._committer.submit(
            lambda to: to.execute("PRAGMA page_count").fetchone()[0]
        )
        await mailbox._committer.submit(
            lambda to: to.execute(f"PRAGMA max_page_count = {pages + 4}").fetchone()
        )
        results = await asyncio.gather(
            mailbox.post(letter(0, os.urandom(100_000))),
            mailbox.post(letter(0, os.urandom(100_000), to="carol")),
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

    assert [one.body for _, one in run(tmp_path / "mail.db", story)] == [b"after"]


def test_one_sender_takes_no_more_than_a_quarter_of_the_disk(tmp_path, monkeypatch):
    stored = [0]

    def usage(_):
        return SimpleNamespace(total=10_000, free=8_000 - stored[0])

    monkeypatch.setattr("sottovoce.transport.mailbox_tables.shutil.disk_usage", usage)

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


def test_a_file_that_is_no_mailbox_is_named(tmp_path):
    path = tmp_path / "mail.db"
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(DamagedFileError, match=r"mail.db: cannot be opened as a mailbox"):
        Mailbox(path)


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
        one = sealed(b"body")
        await mailbox.open_upload(one)
        return await asyncio.gather(
            mailbox.append(one, 0, b""),
            mailbox.append(one, 0, b""),
            mailbox.post(letter(0, to="carol")),
            return_exceptions=True,
        )

    first, second, third = run(tmp_path / "mail.db", story)
    assert [one.kind for one in (first, second)] == ["size", "size"]
    assert third == 1


def test_a_compacted_file_holds_nothing_of_what_was_taken_and_keeps_the_rest(tmp_path):
    taken, long_one, kept = os.urandom(5000), os.urandom(PART + 5), os.urandom(5000)

    def holds(body):
        return any(body[100:164] in found.read_bytes() for found in tmp_path.iterdir())

    async def story(mailbox):
        await mailbox.post(letter(0, taken))
        position = await mailbox.post(letter(1, long_one))
        await mailbox.post(letter(2, kept))
        assert holds(taken)
        assert holds(long_one)
        await mailbox.acknowledge("bob", position)
        posts = [mailbox.post(letter(0, bytes(100), to=f"peer {number}")) for number in range(20)]
        await asyncio.gather(*posts[:10], mailbox.compact(), *posts[10:])
        assert not holds(taken)
        assert not holds(long_one)
        assert [one for _, one in await mailbox.letters("bob")] == [letter(2, kept)]
        await mailbox.post(letter(3))

    run(tmp_path / "mail.db", story)


def test_a_session_that_is_over_for_one_recipient_goes_on_for_others(tmp_path):
    async def story(mailbox):
        await mailbox.post(letter(0))
        await mailbox.post(letter(0, os.urandom(PART + 1), session=b"other"))
        await mailbox.post(letter(0, to="carol"))
        await mailbox.take("bob", SESSION)
        assert [one.session for _, one in await mailbox.letters("bob")] == [b"other"]
        assert len(await mailbox.letters("carol")) == 1
        assert await mailbox.post(letter(0)) == 1

    run(tmp_path / "mail.db", story)


POSTING = """
import asyncio, sys
from pathlib import Path
from sottovoce.study.relay import Letter
from sottovoce.transport import Mailbox

async def main():
    async with Mailbox(Path(sys.argv[1])) as mailbox:
        for number in range(10**6):
            await mailbox.post(Letter(b"s" * 16, "alice", "bob", number, b"%d" % number * 300))
            print(number, flush=True)

asyncio.run(main())
"""


def test_a_process_that_is_killed_has_lost_nothing_that_it_acknowledged(tmp_path):
    path = tmp_path / "mail.db"
    killed = subprocess.Popen(
        [sys.executable, "-c", POSTING, str(path)], stdout=subprocess.PIPE, text=True
    )
    with killed:
        told = [int(killed.stdout.readline()) for _ in range(100)]
        killed.kill()
        told += [int(line) for line in killed.stdout.read().splitlines()]

    async def everything(mailbox):
        result = []
        while more := await mailbox.letters("bob", after=result[-1][0] if result else 0):
            result += more
        return result

    result = run(path, everything)
    assert [one.number for _, one in result] == list(range(len(result)))
    assert len(result) >= len(told)
    assert all(one.body == b"%d" % one.number * 300 for _, one in result)
    assert run(path, lambda mailbox: mailbox.post(letter(len(result))))


def test_a_small_letter_passes_large_ones_and_those_are_not_starved(tmp_path):
    async def story(mailbox):
        order = []

        async def post(name, body):
            await mailbox.post(letter(0, body, to=name))
            order.append(name)

        large = [post(f"large {number}", bytes(PART)) for number in range(8)]
        small = [post(f"small {number}", b"") for number in range(600)]
        await asyncio.gather(*large, *small)
        assert order.index("small 0") < order.index("large 7")
        assert order.index("large 7") < order.index("small 599")

    run(tmp_path / "mail.db", story)


def test_a_small_letter_is_on_disk_before_the_bytes_of_a_large_one_are_written(tmp_path):
    database, order = SqliteDatabase(tmp_path / "mail.db"), []
    running, go = threading.Event(), threading.Event()

    async def story():
        writing, reading = database.open(writing=True), database.open(writing=False)
        writing.execute("CREATE TABLE seen (name TEXT)")
        committer = Committer(database, writing, lambda _: None)

        def add(name):
            def job(to):
                order.append((name, reading.execute("SELECT COUNT(*) FROM seen").fetchone()[0]))
                to.execute("INSERT INTO seen VALUES (?)", (name,))

            return job

        def hold(_):
            running.set()
            go.wait()

        held = committer.submit(hold)
        await asyncio.to_thread(running.wait)
        waiting = [
            committer.submit(add("small 1")),
            committer.submit(add("large"), size=2**20),
            committer.submit(add("small 2")),
        ]
        go.set()
        await asyncio.gather(held, *waiting)
        committer.close()
        reading.close()

    asyncio.run(story())
    assert [name for name, _ in order] == ["small 1", "small 2", "large"]
    assert order[-1] == ("large", 2)
