"""The mailbox by itself: durable, ordered, bounded."""

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.processes.mailbox_letters import SESSION, letter, run, sealed, until_dropped
from sottovoce.errors import DamagedFileError, MisuseError
from sottovoce.transport.mailbox.committing import Committer
from sottovoce.transport.mailbox.mailbox import Mailbox
from sottovoce.transport.mailbox.mailbox_database import SqliteDatabase
from sottovoce.transport.problems import Refusal
from sottovoce.transport.server.limits import PART


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
        return [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()]

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
            results = [arrived for _, arrived in await mailbox.letters(to)]
            for sender in "ab":
                mine = [result for result in results if result.sender == sender]
                assert [letter.body for letter in mine] == kept.get((sender, to), [])
                assert [letter.number for letter in mine] == list(range(len(mine)))

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

    for mode in run(tmp_path / "mail.db", story):
        assert [arrived for _, arrived in mode] == [letter(0)]


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
        await mailbox._committer.submit(
            lambda to: mailbox._store.post(to, summary, second.body, None)
        )
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
        await until_dropped(mailbox)
        assert list((tmp_path / "mail.letters").iterdir()) == []
        with pytest.raises(Refusal, match="other bytes"):
            await mailbox.post(letter(1, b"other"))

    run(tmp_path / "mail.db", story)


def test_acknowledging_what_never_came_hides_nothing(tmp_path):
    async def story(mailbox):
        await mailbox.post(letter(0))
        await mailbox.acknowledge("bob", 10**18)
        await mailbox.post(letter(1))
        return await mailbox.letters("bob")

    assert [arrived for _, arrived in run(tmp_path / "mail.db", story)] == [letter(1)]


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
        assert [arrived.session for _, arrived in await mailbox.letters("bob")] == [b"other"]
        rows = [
            mailbox._reading.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]  # noqa: S608 - constants
            for table in ("letters", "uploads")
        ]
        await until_dropped(mailbox)
        assert list((tmp_path / "mail.letters").iterdir()) == []
        assert mailbox._store._stored == {"alice": 4}
        return rows

    assert run(tmp_path / "mail.db", story) == [1, 0]


def test_a_file_that_is_no_mailbox_is_named(tmp_path):
    path = tmp_path / "mail.db"
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(DamagedFileError, match=r"mail.db: cannot be opened as a mailbox"):
        Mailbox(path)


def test_a_compacted_file_holds_nothing_of_what_was_taken_and_keeps_the_rest(tmp_path):
    taken, long_one, kept = os.urandom(5000), os.urandom(PART + 5), os.urandom(5000)

    def holds(body):
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        return any(body[100:164] in path.read_bytes() for path in files)

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
        assert [arrived for _, arrived in await mailbox.letters("bob")] == [letter(2, kept)]
        await mailbox.post(letter(3))

    run(tmp_path / "mail.db", story)


def test_a_session_that_is_over_for_one_recipient_goes_on_for_others(tmp_path):
    async def story(mailbox):
        await mailbox.post(letter(0))
        await mailbox.post(letter(0, os.urandom(PART + 1), session=b"other"))
        await mailbox.post(letter(0, to="carol"))
        await mailbox.take("bob", SESSION)
        assert [arrived.session for _, arrived in await mailbox.letters("bob")] == [b"other"]
        assert len(await mailbox.letters("carol")) == 1
        assert await mailbox.post(letter(0)) == 1

    run(tmp_path / "mail.db", story)


POSTING = """
import asyncio, sys
from pathlib import Path
from sottovoce.study.relay import Letter
from sottovoce.transport.mailbox.mailbox import Mailbox

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
        positions = [int(killed.stdout.readline()) for _ in range(100)]
        killed.kill()
        positions += [int(line) for line in killed.stdout.read().splitlines()]

    async def everything(mailbox):
        result = []
        while more := await mailbox.letters("bob", after=result[-1][0] if result else 0):
            result += more
        return result

    result = run(path, everything)
    assert [arrived.number for _, arrived in result] == list(range(len(result)))
    assert len(result) >= len(positions)
    assert all(arrived.body == b"%d" % arrived.number * 300 for _, arrived in result)
    assert run(path, lambda mailbox: mailbox.post(letter(len(result))))


def test_a_small_letter_passes_large_ones_and_those_are_not_starved(tmp_path):
    async def story(mailbox):
        order = []

        async def post(name, size):
            await mailbox._committer.submit(lambda to: to.execute("SELECT 1"), size=size)
            order.append(name)

        large = [post(f"large {number}", PART) for number in range(8)]
        small = [post(f"small {number}", 1) for number in range(600)]
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


@pytest.mark.parametrize("beside", [0, 1])
def test_a_refused_job_leaves_nothing_alone_or_beside_others(tmp_path, beside):
    async def story(mailbox):
        def refused(to):
            to.execute("INSERT INTO senders VALUES ('x', 1, X'00')")
            raise Refusal(409, "past", "it changed its mind")

        # The thread waits in the first job, so that the others share a commit.
        begun, held = threading.Event(), threading.Event()
        first = mailbox._committer.submit(lambda to: begun.set() or held.wait(10))
        assert begun.wait(10)
        jobs = [mailbox._committer.submit(refused)]
        jobs += [mailbox._committer.submit(lambda to: None) for _ in range(beside)]
        held.set()
        await first
        results = await asyncio.gather(*jobs, return_exceptions=True)
        assert isinstance(results[0], Refusal)
        assert mailbox.held("x").letters == 0
        await mailbox.post(letter(0))

    run(tmp_path / "mail.db", story)
