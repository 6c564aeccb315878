"""The processes of the benchmarks of the port: the coordinator and others, which say JSON."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.port.server_process import COORDINATOR
from sottovoce.errors import ViolationError


class CoordinatorProcess:
    """The coordinator's process: where it listens, and how to ask it."""

    def __init__(self, process: asyncio.subprocess.Process, hello: dict[str, Any]) -> None:
        """Keep what it told at its start."""
        self._process = process
        self.port: int = hello["port"]
        self.echo: int = hello["echo"]
        self.fingerprint = bytes.fromhex(hello["fingerprint"])

    async def report(self) -> dict[str, Any]:
        """What it received, the most memory that it held, the CPU time that it took."""
        return await asked(self._process)


@asynccontextmanager
async def started(module: str, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process of the benchmark, which ends when the block does."""
    command = (sys.executable, "-m", f"benchmarks.{module}", *arguments)
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, limit=2**24)
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


@asynccontextmanager
async def coordinator_process(folder: str) -> AsyncIterator[CoordinatorProcess]:
    """A coordinator that keeps its letters in this folder, in a process of its own."""
    async with started("port.server_process", folder) as process:
        yield CoordinatorProcess(process, await heard(process))


async def asked(process: asyncio.subprocess.Process) -> dict[str, Any]:
    """Ask a process, and return its answer."""
    assert process.stdin is not None
    process.stdin.write(b"\n")
    return await heard(process)


async def heard(process: asyncio.subprocess.Process) -> dict[str, Any]:
    """The next line that a process says."""
    assert process.stdout is not None
    line = await process.stdout.readline()
    if not line:
        raise ViolationError("a process of the benchmark ended early", party=COORDINATOR)
    line_read: dict[str, Any] = json.loads(line)
    return line_read
