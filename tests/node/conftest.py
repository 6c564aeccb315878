"""Studies that select the same words in every run; one is trained once, and copied by tests."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from harness.network import Network, network
from sottovoce.course.news import StudyFinished
from sottovoce.text.dictionary.hashing import DictionaryKey

SITES = ("north", "harbour", "valley")


@contextmanager
def one_dictionary_key() -> Iterator[None]:
    """Which words a study selects follows from this key; all that hides something is drawn."""
    with pytest.MonkeyPatch.context() as patch:
        key = DictionaryKey(bytes(range(32)))
        patch.setattr(DictionaryKey, "draw", staticmethod(lambda *, entropy: key))
        yield


@pytest.fixture(autouse=True, scope="module")
def _the_same_words_in_every_run() -> Iterator[None]:
    with one_dictionary_key():
        yield


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

    with one_dictionary_key():
        asyncio.run(story())
    return net


@pytest.fixture
def trained(trained_once: Network, tmp_path: Path) -> Network:
    """A trained study of this test's own: three sites, a dealer at harbour, 99 evaluations."""
    root = tmp_path / "trained"
    shutil.copytree(trained_once.root, root)
    return replace(trained_once, root=root, events=[], port=0)
