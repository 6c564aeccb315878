"""A study whose letters wait in PostgreSQL, also while that is away."""

import asyncio
from pathlib import Path

import pytest

from harness.network import network
from harness.processes.postgres import postgres_server
from sottovoce.course.news import StageBegan
from sottovoce.errors import InputError
from sottovoce.node.coordinator.local_letters import letters_of
from sottovoce.node.coordinator.registry import Registry

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


def test_a_study_stays_with_the_kind_of_mailbox_with_which_it_began(tmp_path: Path) -> None:
    postgres, registry = "postgresql://letters@db.example.org/letters", Registry(tmp_path / "s-1")
    file, journal = registry.folder / "mailbox.db", registry.folder / "coordinator" / "journal.db"
    journal.parent.mkdir(parents=True)
    assert letters_of(registry, "") == file
    file.touch()
    journal.touch()
    assert letters_of(registry, "") == file
    with pytest.raises(InputError, match=r"mailbox\.db, expected no --database"):
        letters_of(registry, postgres)
    file.unlink()
    with pytest.raises(InputError, match="or the --database where it began"):
        letters_of(registry, "")
    assert letters_of(registry, postgres) != file
