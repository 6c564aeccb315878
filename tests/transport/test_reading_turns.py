"""Large bodies are read in turns, a piece in a round of the event loop, and small ones at once."""

import asyncio

from harness.ports import served_mailbox
from sottovoce.study.relay import Letter
from sottovoce.transport.server.limits import PART
from sottovoce.transport.server.reading_turns import ReadingTurns

SESSION = b"s" * 16


def test_one_has_its_turn_in_a_round_and_the_first_comes_first():
    async def story():
        turns, order = ReadingTurns(), []

        async def use(name):
            await turns.wait()
            order.append(name)

        tasks = [asyncio.create_task(use(name)) for name in "abcde"]
        await asyncio.sleep(0)
        tasks[2].cancel()
        for rounds in range(1, 8):
            await asyncio.sleep(0)
            assert len(order) <= rounds
        assert order == ["a", "b", "d", "e"]
        await asyncio.wait_for(use("later"), 5)

    asyncio.run(story())


def test_pieces_of_large_bodies_wait_for_their_turn_and_small_ones_do_not(tmp_path, monkeypatch):
    waited, real = 0, ReadingTurns.wait

    async def noted(turns):
        nonlocal waited
        waited += 1
        await real(turns)

    monkeypatch.setattr(ReadingTurns, "wait", noted)

    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            await alice.post(Letter(SESSION, "alice", "bob", 0, bytes(1024)))
            assert not waited
            await alice.post(Letter(SESSION, "alice", "bob", 1, bytes(PART)))
            assert waited >= PART // 2**20
            assert [arrived.number for _, arrived in await bob.fetch()] == [0]

    asyncio.run(story())
