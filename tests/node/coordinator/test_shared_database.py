"""A study whose letters wait in PostgreSQL, also while that is away."""

import asyncio
from pathlib import Path

from harness.network import network
from harness.processes.postgres import postgres_server
from sottovoce.course.news import StageBegan

SITES = ("north", "harbour", "valley")


def test_a_study_goes_on_when_its_database_comes_back(tmp_path: Path) -> None:
    with postgres_server() as server:
        net = network(tmp_path, engine="shares")
        net.database = server.address
        begun = net.when(lambda event: isinstance(event, StageBegan) and event.stage == "training")

        async def break_it() -> None:
            await begun.wait()
            await asyncio.to_thread(server.stop)
            await asyncio.to_thread(server.start)

        async def story() -> None:
            async with net.serving():
                breaking = asyncio.create_task(break_it())
                joined = await net.join_all(*SITES)
                await breaking
            assert all(outcome.model is not None and outcome.model.exists() for outcome in joined)
            assert not list(net.place.folder.rglob("mailbox.db"))

        asyncio.run(asyncio.wait_for(story(), 300))
