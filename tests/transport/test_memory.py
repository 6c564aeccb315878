"""Requests share a bounded memory: who comes first is served first, and the others wait."""

import asyncio

import pytest

from harness.ports import served_mailbox
from sottovoce.study.relay import Letter
from sottovoce.transport.problems import Refusal
from sottovoce.transport.server.limits import Limits
from sottovoce.transport.server.memory_budget import HeldMemory, MemoryBudget
from sottovoce.transport.server.request_handlers import RequestHandlers

SESSION = b"s" * 16


def test_memory_is_shared_in_the_order_of_asking():
    async def story():
        memory, order = MemoryBudget(10), []

        async def use(name, size):
            await memory.take(size)
            order.append(name)

        await use("a", 6)
        waiting = [asyncio.create_task(use(name, size)) for name, size in (("b", 8), ("c", 4))]
        await asyncio.sleep(0)
        gone = asyncio.create_task(use("d", 1))
        await asyncio.sleep(0)
        assert order == ["a"]
        gone.cancel()
        memory.give(6)
        await asyncio.sleep(0)
        assert order == ["a", "b"]
        memory.give(8)
        await asyncio.gather(*waiting)
        memory.give(4)
        assert memory._free == 10
        assert not memory._line

    asyncio.run(story())


def test_a_body_holds_its_memory_until_it_is_stored_even_if_its_sender_hung_up():
    async def story():
        memory, store = MemoryBudget(10), asyncio.Event()

        async def stored():
            await store.wait()
            raise Refusal(507, "disk-full", "full")

        async def request():
            await memory.take(8)
            held = HeldMemory(memory, 8)
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
            read = RequestHandlers._body

            async def noted(handlers, request, limit, digest):
                nonlocal most
                if not limit:
                    return await read(handlers, request, limit, digest)
                reading.add(id(request))
                most = max(most, len(reading))
                try:
                    await asyncio.sleep(0.05)
                    return await read(handlers, request, limit, digest)
                finally:
                    reading.discard(id(request))

            monkeypatch.setattr(RequestHandlers, "_body", noted)
            posts = (
                line.post(Letter(SESSION, f"seat{number}", "bob", 0, bytes(2**20)))
                for number, line in enumerate(seats)
            )
            await asyncio.gather(*posts)

    asyncio.run(story())
    assert most == 2
