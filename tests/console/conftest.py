"""A coordinator's home, and consoles that a test can call."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from harness.commands import call
from sottovoce.config.study_file import example
from sottovoce.console.guard import ConsoleGuard
from sottovoce.console.listening import ConsoleAddress
from sottovoce.console.server import ConsolePages, run_console
from sottovoce.console.work import ConsoleWork
from sottovoce.entropy import SystemEntropy
from sottovoce.node.site.site_folder import open_site


@pytest.fixture
def coordinator_home(tmp_path: Path) -> Path:
    """A coordinator with one study, whose names are hostile."""
    study, home = tmp_path / "study.toml", tmp_path / "cate"
    text = example().replace("2048", "64").replace("Stanmore Practice", "<script>alert(1)</script>")
    study.write_text(text, encoding="utf-8")
    call("study", "create", study, "--home", home, "--address", "https://127.0.0.1:8443")
    return home


@asynccontextmanager
async def running(
    home: Path, *, read_only: bool = False
) -> AsyncIterator[tuple[str, ConsolePages]]:
    """A console of this home: the link that opens it once."""
    site = open_site(home, entropy=SystemEntropy())
    console = ConsolePages(ConsoleWork(site), ConsoleGuard(SystemEntropy(), read_only=read_only))
    until, link = asyncio.Event(), asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(
        run_console(console, at=ConsoleAddress(), announce=link.set_result, until=until)
    )
    try:
        yield await asyncio.wait_for(link, 300), console
    finally:
        until.set()
        await serving
