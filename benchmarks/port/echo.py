"""The partner of the coordinator's port: a bare aiohttp echo over the same TLS."""

from collections.abc import AsyncIterator

import aiohttp

from benchmarks.port.processes import CoordinatorProcess
from sottovoce.errors import ViolationError
from sottovoce.transport.certificates import client_context
from sottovoce.transport.signing import body_digest

PARTNER = "aiohttp echo"


async def echoed(
    session: aiohttp.ClientSession, coordinator: CoordinatorProcess, body: bytes
) -> None:
    """Send a body to the echo, and check its digest."""
    if await echo(session, coordinator, body) != body_digest(body):
        raise ViolationError("the echo changed what was said", party=PARTNER)


def session_to(coordinator: CoordinatorProcess) -> aiohttp.ClientSession:
    """A session with the echo of this coordinator's process."""
    connector = aiohttp.TCPConnector(ssl=client_context(coordinator.fingerprint))
    return aiohttp.ClientSession(connector=connector)


async def echo(
    session: aiohttp.ClientSession, coordinator: CoordinatorProcess, body: bytes
) -> bytes:
    """The digest of a body, as the echo says it."""

    async def slices() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 2**18):
            yield body[start : start + 2**18]

    headers = {"Content-Length": str(len(body))}
    address = f"https://127.0.0.1:{coordinator.echo}/echo"
    async with session.post(address, data=slices(), headers=headers) as response:
        return await response.read()
