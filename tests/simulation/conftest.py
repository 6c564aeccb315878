"""Where simulated seats keep their disks."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the seats' disks are: in memory if that can be, for nothing survives a test anyway."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as made:
        yield Path(made)
