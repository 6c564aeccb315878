"""Lines that are cut, servers that restart, posts that come twice: nothing is lost or doubled."""

import asyncio
import os
import random
import tracemalloc

import pytest

from harness.ports import STUDY, identity_of, served_mailbox
from harness.processes.copies import bodies_read
from harness.processes.wires import wire_to
from sottovoce.errors import AbsenceError, MalformedError, ViolationError
from sottovoce.study.relay import Letter
from sottovoce.transport.answers import CODEC, Fetched, WaitingLetter
from sottovoce.transport.client import CoordinatorLine
from sottovoce.transport.server.limits import PART, Limits
from sottovoce.transport.signing import body_digest

SESSION = b"s" * 16


def letter(number=0, body=b"body", *, sender="alice", to="bob"):
    return Letter(SESSION, sender, to, number, body)


def line(port, fingerprint, seat="alice", *, retry_seconds=20.0):
    return CoordinatorLine(
        f"https://127.0.0.1:{port}",
        fingerprint=fingerprint,
        study=STUDY,
        identity=identity_of(seat),
        retry_seconds=retry_seconds,
    )


class Cutter:
    """Cuts the line after so many bytes, each time anew."""

    def __init__(self, sizes):
        self.sizes = iter(sizes)
        self.left = next(self.sizes)
        self.cuts = 0

    def __call__(self, data, to_server):
        self.left -= len(data)
        if self.left < 0:
            self.left = next(self.sizes, 10**12)
            self.cuts += 1
            return None
        return data


def test_an_upload_that_is_cut_goes_on_where_it_was(tmp_path):
    body = os.urandom(4 * PART + 123)

    async def story():
        async with served_mailbox(tmp_path) as served:
            await served.line("alice")
            bob = await served.line("bob")
            cutter = Cutter([PART // 2, 2 * PART, PART + 99_999])
            async with (
                wire_to(served.server.port, meddle=cutter) as wire,
                line(wire.port, served.fingerprint) as alice,
            ):
                await alice.post(letter(0, body))
            assert [arrived for _, arrived in await bob.fetch()] == [letter(0, body)]
            # Four parts and a bit, and at most one part of it again after each cut.
            assert cutter.cuts == 3
            assert wire.carried < len(body) + 3 * PART + 300_000

    asyncio.run(story())


def test_a_download_that_is_cut_goes_on_where_it_was(tmp_path):
    body = os.urandom(4 * PART + 123)

    async def story():
        async with served_mailbox(tmp_path) as served:
            alice = await served.line("alice")
            await served.line("bob")
            await alice.post(letter(0, body))
            cutter = Cutter([PART // 2, 2 * PART, PART + 99_999])
            async with (
                wire_to(served.server.port, meddle=cutter) as wire,
                line(wire.port, served.fingerprint, "bob") as bob,
            ):
                assert [arrived for _, arrived in await bob.fetch()] == [letter(0, body)]
            assert cutter.cuts == 3
            assert wire.carried < len(body) + 3 * PART + 300_000

    asyncio.run(story())


def test_a_spoiled_byte_on_the_wire_is_noticed_and_mended(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            await served.line("alice")
            bob = await served.line("bob")
            count = [0]

            def spoil(data, to_server):
                count[0] += to_server
                if to_server and count[0] == 4:
                    return data[:-1] + bytes([data[-1] ^ 1])
                return data

            async with (
                wire_to(served.server.port, meddle=spoil) as wire,
                line(wire.port, served.fingerprint) as alice,
            ):
                sent = [letter(number, os.urandom(1000)) for number in range(6)]
                for posted in sent:
                    await alice.post(posted)
            assert [arrived for _, arrived in await bob.fetch()] == sent
            assert wire.connections >= 2

    asyncio.run(story())


def test_a_server_that_restarts_in_the_middle_loses_nothing(tmp_path):
    sent = [letter(number, os.urandom(500)) for number in range(30)]
    long_one = letter(30, os.urandom(2 * PART + 5))

    async def story():
        got, after = [], 0
        async with served_mailbox(tmp_path) as served:
            port, fingerprint = served.server.port, served.fingerprint
            await served.line("alice")
            await served.line("bob")
            keys = served.callbacks.keys
            alice, bob = line(port, fingerprint), line(port, fingerprint, "bob")
            for letter in sent[:10]:
                await alice.post(letter)
            waiting = asyncio.create_task(bob.fetch(10_000))
        posting = asyncio.create_task(post_all(alice, [*sent[10:], long_one]))
        async with alice, bob:
            await asyncio.sleep(0.2)
            async with served_mailbox(tmp_path, port=port) as served:
                served.callbacks.keys.update(keys)
                await posting
                # The restarted server knows nothing behind that position, and waits: it may go.
                waiting.cancel()
                while len(got) < 31:
                    result = await bob.fetch(after, wait=5)
                    got += [arrived for _, arrived in result]
                    after = result[-1][0]
        assert got == [*sent, long_one]

    asyncio.run(story())


async def post_all(alice, letters):
    for letter in letters:
        await alice.post(letter)


def test_a_bad_line_loses_nothing_and_doubles_nothing(tmp_path):
    """Cuts at random places in both directions, answers that are lost after the post was stored."""
    chance = random.Random(5)
    sent = [letter(number, os.urandom(chance.randrange(3000))) for number in range(60)]

    async def story():
        async with served_mailbox(tmp_path) as served:
            await served.line("alice")
            await served.line("bob")
            cutter = Cutter(chance.randrange(5000, 20_000) for _ in range(20))
            got, after = [], 0
            async with (
                wire_to(served.server.port, meddle=cutter) as wire,
                line(wire.port, served.fingerprint) as alice,
                line(wire.port, served.fingerprint, "bob") as bob,
            ):
                posting = asyncio.create_task(post_all(alice, sent))
                while len(got) < len(sent):
                    for position, arrived in await bob.fetch(after):
                        assert position > after
                        after = position
                        got.append(arrived)
                    await bob.acknowledge(after)
                await posting
            assert got == sent
            assert cutter.cuts > 5

    asyncio.run(story())


def test_a_line_without_patience_says_what_it_waited_for_and_how_long(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            port, fingerprint = served.server.port, served.fingerprint
        async with line(port, fingerprint, retry_seconds=0.3) as alice:
            with pytest.raises(AbsenceError, match=r"asking what was sent.*within 0 s") as gone:
                await alice.post(letter())
            assert f"127.0.0.1:{port}" in str(gone.value)
            assert gone.value.party == "coordinator"
            assert "`serve` there" in gone.value.hints[0]

    asyncio.run(story())


def test_a_line_that_is_not_asked_for_its_body_tries_again_and_sends_none(tmp_path, monkeypatch):
    monkeypatch.setattr("sottovoce.transport.client._ANSWER_SECONDS", 0.3)

    async def story():
        over, read_before_tries = asyncio.Event(), []
        async with served_mailbox(tmp_path) as served:
            announced = served.mailbox.announced

            async def silent_at_first(summary, *, run):
                read_before_tries.append(list(bodies))
                if len(read_before_tries) == 1:
                    await over.wait()
                return await announced(summary, run=run)

            monkeypatch.setattr(served.mailbox, "announced", silent_at_first)
            alice, bob = await served.line("alice"), await served.line("bob")
            with bodies_read() as bodies:
                async with asyncio.timeout(30):
                    await alice.post(letter())
            over.set()
            assert read_before_tries[:2] == [[], []]
            assert [arrived.body for _, arrived in await bob.fetch()] == [b"body"]

    asyncio.run(story())


def test_a_full_disk_at_the_coordinator_is_waited_for(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            committer = served.mailbox._committer
            await committer.submit(lambda to: to.execute("PRAGMA max_page_count = 12").fetchone())
            posting = asyncio.create_task(alice.post(letter(0, os.urandom(60_000))))
            await asyncio.sleep(0.3)
            assert not posting.done()
            await committer.submit(lambda to: to.execute("PRAGMA max_page_count = 9999").fetchone())
            await posting
            assert len(await bob.fetch()) == 1
            await committer.submit(lambda to: to.execute("PRAGMA max_page_count = 12").fetchone())
            alice.retry_seconds = 0.2
            with pytest.raises(AbsenceError, match="disk is full"):
                await alice.post(letter(1, os.urandom(60_000)))

    asyncio.run(story())


def test_a_long_letter_is_not_held_several_times_in_memory(tmp_path):
    size = 24 * 2**20
    body = os.urandom(size)

    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            await alice.post(letter(0, b"first"))
            tracemalloc.start()
            try:
                await alice.post(letter(1, body))
                sending = tracemalloc.get_traced_memory()[1]
                tracemalloc.reset_peak()
                result = await bob.fetch(1)
                receiving = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            assert result[0][1].body == body
            # Server and client stand in one process here: a few parts each, and the letter once.
            assert sending < 9 * PART
            assert receiving < size * 1.3 + 9 * PART

    asyncio.run(story())


@pytest.mark.parametrize(
    ("waiting", "message"),
    [
        (
            WaitingLetter(1, SESSION, "bob", 0, 4, bytes(32), b"body"),
            "bytes do not match its digest",
        ),
        (
            WaitingLetter(0, SESSION, "bob", 0, 4, body_digest(b"body"), b"body"),
            "positions behind 0",
        ),
        (WaitingLetter(1, SESSION, "bob", 0, 10**12, bytes(32), b""), "expected at most"),
    ],
)
def test_a_server_that_tells_nonsense_is_named(tmp_path, monkeypatch, waiting, message):
    async def story():
        async with served_mailbox(tmp_path) as served:
            alice = await served.line("alice")

            async def nonsense(call):
                return CODEC.encode(Fetched((waiting,)))

            await alice.take_up()
            monkeypatch.setattr(alice, "_answer", nonsense)
            with pytest.raises((MalformedError, ViolationError), match=message) as refused:
                await alice.fetch()
            assert refused.value.party == "coordinator"

    asyncio.run(story())


def test_answers_that_are_not_one_value_are_refused(tmp_path, monkeypatch):
    async def story():
        async with served_mailbox(tmp_path) as served:
            alice = await served.line("alice")

            async def nonsense(call):
                return b"\x93nothing"

            monkeypatch.setattr(alice, "_answer", nonsense)
            with pytest.raises(MalformedError) as refused:
                await alice.post(letter())
            assert refused.value.party == "coordinator"

    asyncio.run(story())


def test_many_lines_share_the_port(tmp_path):
    async def story():
        async with served_mailbox(tmp_path, limits=Limits(in_memory=3 * PART)) as served:
            bob = await served.line("bob")
            lines = [await served.line(f"peer {number}") for number in range(12)]
            bodies = [os.urandom(PART - 7) for _ in lines]
            posts = [
                peer.post(letter(0, body, sender=peer.seat))
                for peer, body in zip(lines, bodies, strict=True)
            ]
            await asyncio.gather(*posts)
            got, after = {}, 0
            while len(got) < len(lines):
                for position, arrived in await bob.fetch(after):
                    got[arrived.sender], after = arrived.body, position
            assert got == {peer.seat: body for peer, body in zip(lines, bodies, strict=True)}

    asyncio.run(story())
