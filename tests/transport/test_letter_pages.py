"""Letters that come in pages of one open answer: asked for once, and never lost with it."""

import asyncio
import time
from dataclasses import replace

import aiohttp
import pytest

from harness.ports import served_mailbox
from sottovoce.errors import MalformedError
from sottovoce.study.relay import Letter
from sottovoce.transport import client, letter_pages
from sottovoce.transport.mailbox.mailbox import Mailbox
from sottovoce.transport.server import request_handlers
from sottovoce.transport.server.limits import PART

SESSION = b"s" * 16


def letter(number, body=b"body"):
    return Letter(SESSION, "alice", "bob", number, body)


def counted(monkeypatch):
    """The requests that reach a server, as they come."""
    asked = []
    answered = request_handlers.RequestHandlers._answered

    async def noted(self, request, handler):
        asked.append(f"{request.method} {request.path}")
        return await answered(self, request, handler)

    monkeypatch.setattr(request_handlers.RequestHandlers, "_answered", noted)
    return asked


@pytest.fixture(autouse=True)
def long_trial(monkeypatch):
    """Also the first answer stays open, so that requests can be counted."""
    monkeypatch.setattr(client, "_TRIAL_SECONDS", 10.0)


async def in_turn(alice, bob, count):
    """Letters that are posted once the recipient has the one before."""
    got, after = [], 0
    for number in range(count):
        await alice.post(letter(number, b"body %d" % number))
        for position, came in await bob.fetch(after, wait=10):
            after = position
            got.append(came.body)
    return got, after


@pytest.mark.parametrize(("offer", "requests"), [("2, 3", 1), ("2", 20)])
def test_a_recipient_asks_once_for_letters_that_come_one_after_the_other(
    tmp_path, monkeypatch, offer, requests
):
    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            monkeypatch.setattr(client, "OFFER", offer)
            got, _ = await in_turn(alice, bob, 20)
            assert got == [b"body %d" % number for number in range(20)]

    asked = counted(monkeypatch)
    asyncio.run(story())
    assert asked.count("GET /v1/mailbox") == requests


def test_what_an_answer_did_not_bring_is_asked_for_again(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            _, after = await in_turn(alice, bob, 3)
            # The connection breaks while a page is on its way.
            bob._open_answer.response.connection.transport.abort()
            await alice.post(letter(3, b"after the cut"))
            ((position, came),) = await bob.fetch(after, wait=10)
            assert came.body == b"after the cut"
            # A reader that goes back gets the letters again.
            again = await bob.fetch(after, wait=10)
            assert [where for where, _ in again] == [position]

    asyncio.run(story())


def test_an_answer_is_closed_when_its_reader_is_cancelled(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            _, after = await in_turn(alice, bob, 1)
            reading = asyncio.create_task(bob.fetch(after, wait=10))
            await asyncio.sleep(0.05)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            await alice.post(letter(1))
            assert len(await bob.fetch(after, wait=10)) == 1

    asyncio.run(story())


def test_an_answer_ends_when_its_time_is_over(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            await alice.post(letter(0))
            ((after, _),) = await bob.fetch(0, wait=0.3)
            started = time.monotonic()
            assert await bob.fetch(after, wait=0.3) == ()
            assert time.monotonic() - started < 5
            assert bob._open_answer is None

    asyncio.run(story())


def test_a_page_that_is_too_long_is_the_server_s_fault(tmp_path, monkeypatch):
    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            await alice.post(letter(0, bytes(4096)))
            with pytest.raises(MalformedError, match="at most 1024 bytes") as caught:
                await bob.fetch(0, wait=5)
            assert caught.value.party == "coordinator"

    monkeypatch.setattr(letter_pages, "MAX_PAGE", 1024)
    asyncio.run(story())


def test_a_changed_part_of_a_long_letter_is_refused_with_the_whole_letter(tmp_path, monkeypatch):
    """Its parts are signed with the digest of all of it, and so are checked together."""
    once = client.CoordinatorLine._once
    spoilt = []

    async def spoil(self, call):
        if call.asked.method == "PATCH" and not spoilt:
            spoilt.append(call.asked.digest)
            call = replace(call, body=memoryview(b"x" + bytes(call.body[1:])))
        return await once(self, call)

    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            long = letter(0, bytes(2 * PART + 5))
            with pytest.raises(Exception, match="do not match its digest"):
                await alice.post(long)
            assert spoilt == [long.digest]
            assert await bob.fetch(0, wait=0.1) == ()
            # What was discarded is sent again from its beginning.
            await alice.post(long)
            ((_, came),) = await bob.fetch(0, wait=10)
            assert came.body == long.body

    monkeypatch.setattr(client.CoordinatorLine, "_once", spoil)
    asyncio.run(story())


def test_where_answers_are_kept_until_they_are_whole_pages_are_asked_for_one_by_one(
    tmp_path, monkeypatch
):
    """A proxy that buffers costs one short trial, and not the time of every answer."""
    request = aiohttp.ClientSession._request

    async def whole(self, *arguments, **options):
        response = await request(self, *arguments, **options)
        await response.read()
        response.content = aiohttp.StreamReader(response.content._protocol, 2**16)
        response.content.feed_data(response._body)
        response.content.feed_eof()
        return response

    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            started = time.monotonic()
            got, _ = await in_turn(alice, bob, 5)
            assert len(got) == 5
            assert time.monotonic() - started < 8
            assert bob._pages_flow is False

    monkeypatch.setattr(client, "_TRIAL_SECONDS", 1.0)
    monkeypatch.setattr(aiohttp.ClientSession, "_request", whole)
    asyncio.run(story())


def test_a_server_that_fails_in_the_middle_of_an_answer_is_asked_again(tmp_path, monkeypatch):
    fetch, calls = Mailbox.fetch, []

    async def failing(self, *arguments, **options):
        calls.append(arguments)
        if len(calls) == 2:
            raise ZeroDivisionError
        return await fetch(self, *arguments, **options)

    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            got, _ = await in_turn(alice, bob, 3)
            assert got == [b"body 0", b"body 1", b"body 2"]

    asked, refused = counted(monkeypatch), []
    refuse = request_handlers.RequestHandlers._refuse

    def noted(self, request, problem):
        refused.append(problem)
        return refuse(self, request, problem)

    monkeypatch.setattr(request_handlers.RequestHandlers, "_refuse", noted)
    monkeypatch.setattr(Mailbox, "fetch", failing)
    asyncio.run(story())
    assert asked.count("GET /v1/mailbox") == 2
    # A problem document among the pages would be read as one of them.
    assert refused == []
