"""A study that was trained once, in as many copies as there are tests that use it up."""

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from harness.network import Network, network
from sottovoce.node.events import StudyFinished

SITES = ("north", "harbour", "valley")


@pytest.fixture(scope="session")
def trained_once(tmp_path_factory: pytest.TempPathFactory) -> Network:
    """A study whose training is over, and nobody of which runs; not to be used itself."""
    more = "evaluations = 99\n"
    net = network(tmp_path_factory.mktemp("trained"), features="16", more=more, enrolment="1 hour")

    async def story() -> None:
        async with net.serving():
            await net.join_all(*SITES)
            # The others are at their end before the coordinator is.
            while StudyFinished(net.study, "coordinator") not in net.events:  # noqa: ASYNC110 - told by a list
                await asyncio.sleep(0.05)

    asyncio.run(story())
    return net


@pytest.fixture
def trained(trained_once: Network, tmp_path: Path) -> Network:
    """A trained study of this test's own: three sites, a dealer at harbour, 99 evaluations."""
    root = tmp_path / "trained"
    shutil.copytree(trained_once.root, root)
    return replace(trained_once, root=root, events=[], port=0)
