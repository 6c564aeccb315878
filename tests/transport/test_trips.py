"""Letters from one seat to another, through a real server over TLS."""

import asyncio
import os
from functools import partial

import pytest

from harness.ports import STUDY, identity_of, served_mailbox
from sottovoce.errors import CopyError, InputError
from sottovoce.study.relay import Letter
from sottovoce.transport.client import CoordinatorLine

SESSION = b"s" * 16


def letter(number: int, body: bytes = b"body", *, sender: str = "alice", to: str = "bob") -> Letter:
    return Letter(SESSION, sender, to, number, body)


def test_a_letter_comes_as_it_was_sent_and_wakes_who_waits(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            waiting = asyncio.create_task(bob.fetch())
            await asyncio.sleep(0.05)
            position = await alice.post(letter(0))
            assert await waiting == ((position, letter(0)),)
            assert await bob.fetch(position, wait=0) == ()

    asyncio.run(story())


def test_letters_keep_their_order_and_come_again_until_they_are_acknowledged(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            sent = [letter(number, os.urandom(10)) for number in range(20)]
            await asyncio.gather(*(alice.post(letter) for letter in sent))
            first = await bob.fetch()
            assert [arrived for _, arrived in first] == sent
            assert await bob.fetch() == first
            await bob.acknowledge(first[9][0])
            await bob.acknowledge(first[9][0])
            assert await bob.fetch(wait=0.2) == first[10:]

    asyncio.run(story())


def test_a_letter_posted_twice_is_one_letter(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            positions = {await alice.post(letter(0)) for _ in range(3)}
            assert len(positions) == 1
            assert len(await bob.fetch()) == 1
            await bob.acknowledge(positions.pop())
            assert await alice.post(letter(0))
            assert await bob.fetch(wait=0) == ()

    asyncio.run(story())


def test_another_letter_under_a_number_is_refused_and_the_first_stays(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            await alice.post(letter(0, b"first"))
            with pytest.raises(CopyError, match="already stored with other bytes"):
                await alice.post(letter(0, b"other"))
            assert [arrived.body for _, arrived in await bob.fetch()] == [b"first"]

    asyncio.run(story())


def test_a_letter_before_its_turn_is_refused(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            alice = await served.line("alice")
            await served.line("bob")
            with pytest.raises(CopyError, match="letter 0 must come before it"):
                await alice.post(letter(1))

    asyncio.run(story())


def test_a_long_letter_travels_in_parts(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            body = os.urandom(5_000_001)
            waiting = asyncio.create_task(bob.fetch())
            position = await alice.post(letter(0, body))
            assert await waiting == ((position, letter(0, body)),)
            assert await served.mailbox.letters("bob") == ((position, letter(0, body)),)
            await bob.acknowledge(position)
            assert await alice.post(letter(0, body)) == position

    asyncio.run(story())


def test_who_enrols_has_a_seat(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            line = CoordinatorLine(
                served.address,
                fingerprint=served.fingerprint,
                study=STUDY,
                identity=identity_of("Spital Zürich/2"),
                retry_seconds=2,
            )
            async with line:
                assert await line.invitation(b"token") == b"description of study-1"
                with pytest.raises(InputError, match="not known"):
                    await line.invitation(b"another")
                assert await line.enrol(b"please") == b"welcome please"
                assert await line.describe() == "study-1 for Spital Zürich/2".encode()
                assert await line.status() == b"running"

    asyncio.run(story())


def test_long_letters_come_few_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr("sottovoce.transport.client.AT_ONCE", 6_000_000)
    monkeypatch.setattr("sottovoce.transport.mailbox.mailbox.AT_ONCE", 6_000_000)

    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            sent = [letter(number, os.urandom(2_500_000)) for number in range(4)]
            sent.append(letter(4, os.urandom(7_000_000)))
            for posted in sent:
                await alice.post(posted)
            for fetch in (bob.fetch, partial(served.mailbox.letters, "bob")):
                got, counts = [], []
                while page := await fetch(after=got[-1][0] if got else 0, wait=0):
                    got += page
                    counts.append(len(page))
                assert [arrived for _, arrived in got] == sent
                assert counts == [2, 2, 1]

    asyncio.run(story())
