"""A site's folder that is brought back from a backup, or runs twice, sends nothing: in every stage.

The attack: a restored home whose documents had changed put one mask over two values, and the
coordinator read the difference. A letter that differs from the one before it under the same place
must never reach the coordinator's process.
"""

import asyncio
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from harness.network import Network, network
from harness.processes.copies import Copying, bodies_read
from harness.processes.lives import KilledError
from sottovoce.course.news import StudyFinished
from sottovoce.errors import CopyError, JournalError
from sottovoce.text.documents import Document
from sottovoce.transport import client

SITES = ("north", "harbour", "valley")


def _edited(documents: Sequence[Document]) -> list[Document]:
    """One document is redacted."""
    first, *others = documents
    return [replace(first, text="redacted"), *others]


async def _cancelled(tasks: Sequence["asyncio.Task[object]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize(
    ("stage", "seat"),
    [
        ("agreement", "valley"),
        ("dictionary", "valley"),
        pytest.param("dictionary", "evaluator", marks=pytest.mark.soak),
        ("training", "valley"),
        pytest.param("training", "evaluator", marks=pytest.mark.soak),
        pytest.param("training", "dealer", marks=pytest.mark.soak),
    ],
)
def test_a_restored_site_sends_nothing(tmp_path: Path, stage: str, seat: str) -> None:
    net = network(tmp_path, documents=120, features="8", stage="1 minute")
    site = {"evaluator": "north", "dealer": "harbour"}.get(seat, seat)

    async def story() -> None:
        async with net.serving():
            net_folder = net.membership(site).folder
            copying = Copying(seat, stage, net_folder, tmp_path / "backup")
            others = [asyncio.create_task(net.join(other)) for other in SITES if other != site]
            with copying.watched(), suppress(KilledError):
                await net.join(site)
            assert copying.dead, copying.sent
            await _cancelled(others)
            same = net.documents[site]
            for documents, error in ((same, CopyError), (_edited(same), JournalError)):
                copying.restore()
                with bodies_read() as read, pytest.raises(error) as refused:
                    await net.join(site, partial(list, documents))
                assert not read
                assert "nothing was sent" in refused.value.message
                # Other documents and the server's record are noticed side by side.
                copied = isinstance(refused.value, CopyError)
                way_out = "a peer to `hand`" if copied else "put back the documents"
                assert way_out in " ".join(refused.value.hints)

    asyncio.run(story())


@pytest.mark.parametrize("stage", ["query", pytest.param("evaluation", marks=pytest.mark.soak)])
def test_a_restored_asker_sends_nothing(trained: Network, tmp_path: Path, stage: str) -> None:
    mine = list(trained.documents["valley"])
    asked = mine[:3] if stage == "query" else mine

    async def ask(documents: Sequence[Document]) -> None:
        if stage == "query":
            await trained.classify("valley", documents)
            return
        trained.documents = {**trained.documents, "valley": documents}
        await trained.evaluate("valley")

    async def story() -> None:
        async with trained.serving(), trained.staying("north", "harbour"):
            # The seats that stay begin in the same process as the peers of their sites.
            both = {StudyFinished(trained.study, site) for site in SITES[:2]}
            while not both <= set(trained.events):  # noqa: ASYNC110 - told by a list
                await asyncio.sleep(0.02)
            folder = trained.membership("valley").folder
            copying = Copying("valley", "control", folder, tmp_path / "backup", kills=False)
            with copying.watched():
                beside = [
                    asyncio.create_task(trained.evaluate(site))
                    for site in SITES[:2]
                    if stage == "evaluation"
                ]
                await asyncio.gather(ask(asked), *beside)
            for documents in (asked, _edited(asked)):
                copying.restore()
                with bodies_read() as read, pytest.raises(CopyError, match="nothing was sent"):
                    await ask(documents)
                assert not read

    asyncio.run(story())


# By default simulation/test_copies.py runs seats twice.
@pytest.mark.soak
def test_of_a_site_and_its_copy_that_run_at_once_one_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_AT_WORK_SECONDS", 0.3)
    net = network(tmp_path, documents=120, features="8", stage="1 minute")

    async def story() -> None:
        async with net.serving():
            folder = net.membership("valley").folder
            copying = Copying("valley", "dictionary", folder, tmp_path / "copy", kills=False)
            with copying.watched():
                joining = [asyncio.create_task(net.join(site)) for site in SITES]
                while not copying.sent:  # noqa: ASYNC110 - told by a list
                    await asyncio.sleep(0.01)
                beside = replace(net, root=tmp_path / "elsewhere", events=[])
                elsewhere = beside.membership("valley").folder
                shutil.copytree(tmp_path / "copy", elsewhere, dirs_exist_ok=True)
                done = await asyncio.gather(beside.join("valley"), *joining, return_exceptions=True)
            copy, *others, original = done
            assert not any(isinstance(other, BaseException) for other in others)
            found_out = [
                outcome for outcome in (copy, original) if isinstance(outcome, BaseException)
            ]
            assert [type(error) for error in found_out] == [CopyError]

    asyncio.run(story())


# By default simulation/test_copies.py.
@pytest.mark.soak
def test_a_restored_site_that_sent_nothing_since_goes_on_with_the_same_bytes(
    tmp_path: Path,
) -> None:
    net = network(tmp_path, documents=120, features="8", stage="1 minute")

    async def story() -> None:
        async with net.serving():
            folder = net.membership("valley").folder
            copying = Copying("valley", "training", folder, tmp_path / "backup", kills_early=True)
            others = [asyncio.create_task(net.join(site)) for site in SITES[:2]]
            with copying.watched(), suppress(KilledError):
                await net.join("valley")
            assert copying.dead
            copying.restore()
            joined = await net.join("valley")
            assert joined.model is not None
            await asyncio.gather(*others)

    asyncio.run(story())


def test_a_copy_that_went_on_is_the_one_that_counts(tmp_path: Path) -> None:
    """Moved to another machine: the copy finishes the study, the original is an older copy now."""
    net = network(tmp_path, documents=120, features="8", stage="1 minute")

    async def story() -> None:
        async with net.serving():
            folder = net.membership("valley").folder
            copying = Copying("valley", "training", folder, tmp_path / "unused", kills_early=True)
            others = [asyncio.create_task(net.join(site)) for site in SITES[:2]]
            with copying.watched(), suppress(KilledError):
                await net.join("valley")
            moved = replace(net, root=tmp_path / "elsewhere", events=[])
            shutil.copytree(folder, moved.membership("valley").folder, dirs_exist_ok=True)
            joined = await moved.join("valley")
            assert joined.model is not None
            await asyncio.gather(*others)
            with bodies_read() as read, pytest.raises(CopyError, match="nothing was sent"):
                await net.join("valley")
            assert not read

    asyncio.run(story())
