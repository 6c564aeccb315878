"""Requests share a bounded memory: who comes first is served first, and the others wait."""

import asyncio
import os

import pytest
from aiohttp import web

from harness.ports import served_mailbox
from sottovoce.study.relay import Letter
from sottovoce.transport.problems import Refusal
from sottovoce.transport.server.bodies import BodyReader
from sottovoce.transport.server.limits import PART, Limits
from sottovoce.transport.server.memory_budget import HeldMemory, MemoryBudget

SESSION = b"s" * 16


def test_memory_is_shared_in_the_order_of_asking():
    async def story():
        memory, order = MemoryBudget(10, of_one=10), []

        async def use(name, size):
            await memory.take(size, name)
            order.append(name)

        await use("a", 6)
        waiting = [asyncio.create_task(use(name, size)) for name, size in (("b", 8), ("c", 4))]
        await asyncio.sleep(0)
        gone = asyncio.create_task(use("d", 1))
        await asyncio.sleep(0)
        assert order == ["a"]
        gone.cancel()
        memory.give(6, "a")
        await asyncio.sleep(0)
        assert order == ["a", "b"]
        memory.give(8, "b")
        await asyncio.gather(*waiting)
        memory.give(4, "c")
        assert memory._free == 10
        assert not memory._line

    asyncio.run(story())


def test_one_caller_has_a_part_of_the_memory_and_others_pass_its_requests_by():
    async def story():
        memory, order = MemoryBudget(10, of_one=4), []

        async def use(name, size):
            await memory.take(size, name[0])
            order.append(name)

        names = ("a1", 3), ("a2", 2), ("a3", 1), ("b1", 4), ("b2", 4), ("c1", 3)
        tasks = [asyncio.create_task(use(*name)) for name in names]
        await asyncio.sleep(0.01)
        # What is smaller and later of the same caller may pass, too.
        assert order == ["a1", "a3", "b1"]
        memory.give(3, "a")
        await asyncio.sleep(0.01)
        assert order[3:] == ["a2", "c1"]
        tasks[4].cancel()
        for size, caller in ((2, "a"), (1, "a"), (4, "b"), (3, "c")):
            memory.give(size, caller)
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (memory._free, memory._held, memory._line) == (10, {}, {})

    asyncio.run(story())


def test_a_body_holds_its_memory_until_it_is_stored_even_if_its_sender_hung_up():
    async def story():
        memory, store = MemoryBudget(10, of_one=10), asyncio.Event()

        async def stored():
            await store.wait()
            raise Refusal(507, "disk-full", "full")

        async def request():
            await memory.take(8, "a")
            held = HeldMemory(memory, 8, "a")
            try:
                await held.until(stored())
            finally:
                held.leave()

        asking = asyncio.create_task(request())
        await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert memory._free == 2
        store.set()
        await asyncio.sleep(0.01)
        assert memory._free == 10
        with pytest.raises(Refusal, match="full"):
            await request()
        assert memory._free == 10

    asyncio.run(story())


def test_bodies_of_many_letters_share_a_bounded_memory(tmp_path, monkeypatch):
    """Requests for whose bodies there is no memory wait, and nothing of them is read meanwhile."""
    reading, most = set(), 0

    async def story():
        limits = Limits(in_memory=2 * 2**20)
        async with served_mailbox(tmp_path, limits=limits) as served:
            seats = [await served.line(f"seat{number}") for number in range(6)]
            await served.line("bob")
            read = BodyReader.read

            async def noted(bodies, request, limit, digest):
                nonlocal most
                if not limit:
                    return await read(bodies, request, limit, digest)
                reading.add(id(request))
                most = max(most, len(reading))
                try:
                    await asyncio.sleep(0.05)
                    return await read(bodies, request, limit, digest)
                finally:
                    reading.discard(id(request))

            monkeypatch.setattr(BodyReader, "read", noted)
            posts = (
                line.post(Letter(SESSION, f"seat{number}", "bob", 0, bytes(2**20)))
                for number, line in enumerate(seats)
            )
            await asyncio.gather(*posts)

    asyncio.run(story())
    assert most == 2


def test_a_large_answer_is_written_in_slices(tmp_path, monkeypatch):
    """What a connection encrypts at once, it keeps the memory for, as long as it is open."""
    sizes, write = [], web.StreamResponse.write

    async def noted(answer, data):
        sizes.append(len(data))
        await write(answer, data)

    monkeypatch.setattr(web.StreamResponse, "write", noted)

    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            bodies = [os.urandom(PART), os.urandom(PART + 7)]
            for number, body in enumerate(bodies):
                await alice.post(Letter(SESSION, "alice", "bob", number, body))
            arrived: list[tuple[int, Letter]] = []
            while len(arrived) < len(bodies):
                arrived += await bob.fetch(arrived[-1][0] if arrived else 0)
            assert [letter.body for _, letter in arrived] == bodies

    asyncio.run(story())
    assert sum(sizes) > 2 * PART
    assert max(sizes) <= 2**16
