"""The process that forks all machines of these tests."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from harness.processes.machines import Forks, Village, forking, village
from harness.processes.scenes import Scene

TESTS = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    with forking(TESTS) as process:
        yield process


@pytest.fixture
def founded(tmp_path: Path, forks: Forks) -> Iterator[Callable[..., Village]]:
    """Makes a village for a scene; all its machines end with the test."""
    with ExitStack() as stack:

        def opened_village(**settings: Any) -> Village:
            return stack.enter_context(village(Scene(**settings), tmp_path, forks))

        yield opened_village
