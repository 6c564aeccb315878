"""A mailbox in PostgreSQL: the same letters, several processes, and a server that goes away."""

import asyncio
import hashlib
import os
import signal
import sys
from asyncio.subprocess import PIPE
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import count
from pathlib import Path

import pytest

from harness.ports import STUDY, certificate_files, identity_of
from harness.processes.postgres import postgres_server
from sottovoce.errors import InputError
from sottovoce.study.relay import Letter
from sottovoce.transport.client import CoordinatorLine
from sottovoce.transport.mailbox.mailbox import Mailbox
from sottovoce.transport.mailbox.mailbox_tables import LetterSummary, Place
from sottovoce.transport.problems import Refusal
from sottovoce.transport.server.limits import PART, Limits

SESSION = b"s" * 16
_names = count()


@pytest.fixture(scope="module")
def postgres():
    with postgres_server() as server:
        yield server


@pytest.fixture
def database(postgres):
    return a_database(postgres)


def a_database(postgres, name=""):
    from sottovoce.transport.mailbox.postgres_mailbox import PostgresDatabase

    return PostgresDatabase(postgres.address, name or f"test_{next(_names)}")


def letter(number=0, body=b"body", *, sender="alice", to="bob"):
    return Letter(SESSION, sender, to, number, body)


def run(database, story, **options):
    async def told():
        async with Mailbox(database, **options) as mailbox:
            return await story(mailbox)

    return asyncio.run(told())


def test_letters_outlive_the_process_and_are_stored_once(database):
    first = run(database, lambda mailbox: mailbox.post(letter(0)))
    second = run(database, lambda mailbox: mailbox.post(letter(1)))
    assert second > first
    assert run(database, lambda mailbox: mailbox.post(letter(0))) == first
    result = run(database, lambda mailbox: mailbox.letters("bob"))
    assert result == ((first, letter(0)), (second, letter(1)))


def test_another_letter_under_a_number_and_one_before_its_turn_are_refused(database):
    async def story(mailbox):
        await mailbox.post(letter(0))
        with pytest.raises(Refusal, match="already stored with other bytes"):
            await mailbox.post(letter(0, b"other"))
        with pytest.raises(Refusal, match="letter 1 must come before it"):
            await mailbox.post(letter(2))
        await mailbox.post(letter(1))
        return len(await mailbox.letters("bob"))

    assert run(database, story) == 2


def test_a_long_letter_comes_in_parts_and_goes_once_it_was_taken(database):
    body = os.urandom(PART + 5)
    summary = LetterSummary(
        Place(SESSION, "alice", "bob", 0), len(body), hashlib.sha256(body).digest()
    )

    async def story(mailbox):
        await mailbox.open_upload(summary)
        await mailbox.append(summary, 0, body[:PART])
        done = await mailbox.append(summary, PART, body[PART:])
        ((position, letter_back),) = await mailbox.letters("bob")
        assert (position, letter_back.body) == (done.position, body)
        await mailbox.acknowledge("bob", position)
        assert await mailbox.fetch("bob") == ()
        await mailbox.compact()
        await mailbox.forget(SESSION)
        return mailbox.held("alice").letters

    assert run(database, story) == 1


def test_the_room_of_a_sender_counts_what_other_processes_stored(postgres):
    limits = Limits(stored_by_sender=10)

    async def story():
        name = f"room_{next(_names)}"
        async with (
            Mailbox(a_database(postgres, name), limits=limits) as left,
            Mailbox(a_database(postgres, name), limits=limits) as right,
        ):
            await left.post(letter(0, b"12345678"))
            with pytest.raises(Refusal, match="no room"):
                await right.post(letter(1, b"12345678"))

    asyncio.run(story())


def test_who_waits_at_one_process_hears_of_letters_at_another(postgres):
    async def story():
        name = f"two_{next(_names)}"
        async with (
            Mailbox(a_database(postgres, name)) as left,
            Mailbox(a_database(postgres, name)) as right,
        ):
            waiting = asyncio.create_task(right.letters("bob", wait=60))
            await asyncio.sleep(0)
            position = await left.post(letter())
            assert await waiting == ((position, letter()),)
            # Whoever read it at one process may go on at the other.
            left.check_position(position)
            right.check_position(position)
            with pytest.raises(Refusal, match="never gave"):
                right.check_position(position + 1)

    asyncio.run(story())


def test_a_letter_from_before_the_first_fetch_is_found(postgres):
    async def story():
        name = f"early_{next(_names)}"
        async with (
            Mailbox(a_database(postgres, name)) as right,
            Mailbox(a_database(postgres, name)) as left,
        ):
            position = await left.post(letter())
            # Nobody asked at this process before, and no further letter comes.
            return position, await right.letters("bob", wait=60)

    position, letter_back = asyncio.run(story())
    assert letter_back == ((position, letter()),)


def test_all_processes_know_who_is_at_work_at_a_seat(postgres):
    async def story():
        name = f"runs_{next(_names)}"
        async with (
            Mailbox(a_database(postgres, name)) as left,
            Mailbox(a_database(postgres, name)) as right,
        ):
            await left.take_up("alice", b"1" * 16, left.held("alice"))
            right.check_run("alice", b"1" * 16)
            await right.take_up("alice", b"2" * 16, right.held("alice"))
            with pytest.raises(Refusal, match="another process has taken it up"):
                left.check_run("alice", b"1" * 16)

    asyncio.run(story())


def test_letters_at_several_processes_keep_one_order(postgres):
    async def story():
        name = f"order_{next(_names)}"
        async with AsyncExitStack() as stack:
            boxes = [
                await stack.enter_async_context(Mailbox(a_database(postgres, name)))
                for _ in range(2)
            ]
            senders = [f"sender {number}" for number in range(6)]

            async def post_all(number, sender):
                for turn in range(10):
                    await boxes[(number + turn) % 2].post(letter(turn, sender=sender))

            async def read_all():
                read, after = [], 0
                while len(read) < 60:
                    for position, arrived in await boxes[0].letters("bob", after=after, wait=60):
                        assert position > after
                        after = position
                        read.append((arrived.sender, arrived.number))
                return read

            reading = asyncio.create_task(read_all())
            await asyncio.gather(*(post_all(*numbered) for numbered in enumerate(senders)))
            read = await reading
        assert sorted(read) == [(sender, turn) for sender in senders for turn in range(10)]

    asyncio.run(story())


def test_a_database_that_goes_away_is_named_and_comes_back(postgres):
    async def story():
        async with Mailbox(a_database(postgres)) as mailbox:
            await mailbox.post(letter(0))
            await asyncio.to_thread(postgres.stop)
            try:
                with pytest.raises(Refusal) as refused:
                    await mailbox.post(letter(1))
                assert refused.value.kind == "database"
                assert f"127.0.0.1:{postgres.port}/postgres does not answer" in refused.value.detail
                with pytest.raises(Refusal, match="does not answer"):
                    mailbox.held("alice")
            finally:
                await asyncio.to_thread(postgres.start)
            await mailbox.post(letter(1))
            return [arrived.number for _, arrived in await mailbox.letters("bob")]

    assert asyncio.run(story()) == [0, 1]


def test_a_database_that_cannot_be_reached_is_named_without_its_password(postgres):
    from sottovoce.transport.mailbox.postgres_mailbox import PostgresDatabase

    away = PostgresDatabase("postgresql://me:hunter2@127.0.0.1:1/letters", "x")
    with pytest.raises(InputError, match=r"127\.0\.0\.1:1/letters: cannot be opened") as refused:
        Mailbox(away)
    assert "hunter2" not in refused.value.message


def test_an_address_that_is_none_is_named():
    pytest.importorskip("psycopg", reason="the extra postgres is not installed")
    from sottovoce.transport.mailbox.postgres_mailbox import PostgresDatabase

    with pytest.raises(InputError, match="an invalid address"):
        Mailbox(PostgresDatabase("letters at home", "x"))


# Two processes behind a balancer.


@asynccontextmanager
async def letter_server(postgres, name, folder):
    """A process with a port; killed at the end, if it still runs."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "harness.processes.letter_server",
        postgres.address, name, str(folder),
        stdout=PIPE, env=environment,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield process, int(await process.stdout.readline())
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@asynccontextmanager
async def balancer(ports):
    """Passes every connection on to the first port that takes it, in turns."""
    turns = count()

    async def pump(reader, writer):
        with suppress(OSError):
            while data := await reader.read(2**16):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def passed(reader, writer):
        turn = next(turns)
        for step in range(len(ports)):
            with suppress(OSError):
                port = ports[(turn + step) % len(ports)]
                theirs = await asyncio.open_connection("127.0.0.1", port)
                await asyncio.gather(pump(reader, theirs[1]), pump(theirs[0], writer))
                return
        writer.close()

    server = await asyncio.start_server(passed, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def line_of(seat, port, fingerprint):
    return CoordinatorLine(
        f"https://127.0.0.1:{port}",
        fingerprint=fingerprint,
        study=STUDY,
        identity=identity_of(seat),
        retry_seconds=120.0,
    )


def test_nothing_is_lost_when_one_of_two_servers_is_killed(postgres, tmp_path):
    *_, fingerprint = certificate_files(tmp_path)
    total = 40

    async def story():
        name = f"failover_{next(_names)}"
        async with (
            letter_server(postgres, name, tmp_path) as (first, port_1),
            letter_server(postgres, name, tmp_path) as (_, port_2),
            balancer([port_1, port_2]) as port,
            line_of("alice", port, fingerprint) as alice,
            line_of("bob", port, fingerprint) as bob,
        ):

            async def post_all():
                for number in range(total):
                    if number == total // 2:
                        first.send_signal(signal.SIGKILL)
                    await alice.post(letter(number, b"%d" % number))

            async def read_all():
                read, after = [], 0
                while len(read) < total:
                    for position, arrived in await bob.fetch(after):
                        after = position
                        read.append(arrived.body)
                return read

            _, read = await asyncio.gather(post_all(), read_all())
            assert read == [b"%d" % number for number in range(total)]
            assert first.returncode == -signal.SIGKILL

    asyncio.run(asyncio.wait_for(story(), 300))
