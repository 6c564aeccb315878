"""The coordinator's side of `bench serve`, a process of its own: a mailbox server, and a bare echo.

It says on its output where both listen, answers until its input ends, and then says what it
received: one JSON object a line.
"""

import asyncio
import gc
import json
import os
import resource
import sys
from datetime import UTC, datetime
from pathlib import Path

from aiohttp import web

from benchmarks.timing import cpu_seconds
from sottovoce.errors import InputError
from sottovoce.study.relay import Letter
from sottovoce.transport.certificates import make_certificate, server_context
from sottovoce.transport.mailbox.mailbox import Mailbox
from sottovoce.transport.server.limits import Limits
from sottovoce.transport.server.server import build_app, serve
from sottovoce.transport.signing import body_digest

STUDY = "bench"
COORDINATOR = "coordinator"
HELLO, CONTRIBUTION = 0, 1
_LARGEST_ECHO = 512 * 2**20


class OpenDesk:
    """A front party that gives a seat to whoever asks."""

    def __init__(self, mailbox: Mailbox) -> None:
        """Serve one study, and its mailbox."""
        self._mailbox = mailbox
        self._keys: dict[str, bytes] = {}

    async def invitation(self, study: str, token: bytes) -> bytes:
        """Nobody is invited: everybody may come."""
        raise InputError(
            f"study {study!r}: expected no invitation, found one of {len(token)} bytes"
        )

    async def enrol(self, study: str, seat: str, key: bytes, request: bytes) -> bytes:
        """Give the seat to the holder of this key."""
        del study
        self._keys[seat] = key
        return body_digest(request)

    async def describe(self, study: str, seat: str) -> bytes:
        """Something to read."""
        return f"{study} {seat}".encode()

    async def status(self, study: str, seat: str) -> bytes:
        """Something to read."""
        return f"{study} {seat}".encode()

    def identity_of(self, study: str, seat: str) -> bytes | None:
        """Whoever enrolled has a seat."""
        return self._keys.get(seat) if study == STUDY else None

    def seen(self, study: str, seat: str, version: str) -> None:
        """Nobody is missed here."""

    async def lose(self, study: str, seat: str) -> None:
        """Nobody gives up here."""

    def takes_letters(self, study: str, seat: str) -> bool:
        """Whoever enrolled gets letters, and the coordinator does."""
        return study == STUDY and (seat == COORDINATOR or seat in self._keys)

    def mailbox(self, study: str) -> Mailbox:
        """The one mailbox."""
        assert study == STUDY
        return self._mailbox


async def coordinate(mailbox: Mailbox, received: dict[str, str]) -> None:
    """Answer every letter with its digest, and remember those of the contributions."""
    after = 0
    while True:
        letters = await mailbox.letters(COORDINATOR, after=after, wait=20)
        answers = []
        for position, letter in letters:
            # As at a seat, whose thread reads its letters.
            after, digest = position, await asyncio.to_thread(body_digest, letter.body)
            if letter.number == CONTRIBUTION:
                received[letter.sender] = digest.hex()
            answer = Letter(letter.session, COORDINATOR, letter.sender, letter.number, digest)
            answers.append(mailbox.post(answer))
        await asyncio.gather(*answers)
        if letters:
            await mailbox.acknowledge(COORDINATOR, after)


async def echo(request: web.Request) -> web.Response:
    """The partner: the digest of what came, over the same TLS; no signature, mailbox or disk."""
    return web.Response(body=body_digest(await request.read()))


def memory(field: str) -> int:
    """The bytes that this process holds (`VmRSS`), or has held at most (`VmHWM`)."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


async def attend(folder: Path) -> None:
    """Open both ports, say where, and say at the end what came."""
    made = make_certificate("bench", now=datetime.now(UTC))
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(made.certificate)
    descriptor = os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(descriptor, made.key)
    os.close(descriptor)
    context = server_context(certificate, key)
    bare = web.Application(client_max_size=_LARGEST_ECHO)
    bare.add_routes([web.post("/echo", echo)])
    runner = web.AppRunner(bare, access_log=None)
    await runner.setup()
    received: dict[str, str] = {}
    async with Mailbox(folder / "mailbox.db") as mailbox:
        # All peers come from this machine.
        limits = Limits(connections_by_address=Limits().connections)
        app = build_app(OpenDesk(mailbox), fingerprint=made.fingerprint, limits=limits)
        server = await serve(app, host="127.0.0.1", port=0, context=context)
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context, backlog=512)
        await site.start()
        # As `serve` does.
        gc.collect()
        gc.freeze()
        task = asyncio.create_task(coordinate(mailbox, received))
        say(port=server.port, echo=runner.addresses[0][1], fingerprint=made.fingerprint.hex())
        # Each line asks for the peak so far; the end of the input ends the process.
        while await asyncio.to_thread(sys.stdin.readline):
            say(
                peak=memory("VmHWM"),
                memory=memory("VmRSS"),
                cpu=cpu_seconds(),
                received=received,
            )
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await server.close()
        await runner.cleanup()


def say(**facts: object) -> None:
    """One JSON object on one line."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(attend(Path(sys.argv[1])))
