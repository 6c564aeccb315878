"""A coordinator's port on loopback: a mailbox, a server with its certificate, and lines to it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from harness.entropy import SeededEntropy
from sottovoce.errors import InputError
from sottovoce.protocols.identities import Identity
from sottovoce.transport.certificates import fingerprint_of, make_certificate, server_context
from sottovoce.transport.client import CoordinatorLine
from sottovoce.transport.mailbox.mailbox import Mailbox
from sottovoce.transport.server.connections import Server
from sottovoce.transport.server.limits import Limits
from sottovoce.transport.server.server import build_app, serve

STUDY = "study-1"


@dataclass
class Callbacks:
    """A front callbacks that knows some seats, and remembers who enrolled."""

    mailboxes: dict[str, Mailbox]
    keys: dict[tuple[str, str], bytes] = field(default_factory=dict)
    met: list[str] = field(default_factory=list)
    lost: list[tuple[str, str]] = field(default_factory=list)

    async def invitation(self, study: str, token: bytes) -> bytes:
        if token != b"token":
            raise InputError("invitation: not known", hints=("ask for another",))
        return b"description of " + study.encode()

    async def enrol(self, study: str, seat: str, key: bytes, request: bytes) -> bytes:
        self.keys[study, seat] = key
        return b"welcome " + request

    async def describe(self, study: str, seat: str) -> bytes:
        return f"{study} for {seat}".encode()

    async def status(self, study: str, seat: str) -> bytes:
        return b"running"

    def identity_of(self, study: str, seat: str) -> bytes | None:
        return self.keys.get((study, seat))

    def seen(self, study: str, seat: str, version: str) -> None:
        self.met.append(seat)

    async def lose(self, study: str, seat: str) -> None:
        self.lost.append((study, seat))

    def takes_letters(self, study: str, seat: str) -> bool:
        return (study, seat) in self.keys or seat == "coordinator"

    def mailbox(self, study: str) -> Mailbox:
        return self.mailboxes[study]


@dataclass
class ServedMailbox:
    """An open port."""

    callbacks: Callbacks
    server: Server
    fingerprint: bytes
    stack: AsyncExitStack

    @property
    def address(self) -> str:
        return f"https://127.0.0.1:{self.server.port}"

    @property
    def mailbox(self) -> Mailbox:
        return self.callbacks.mailboxes[STUDY]

    async def line(
        self,
        seat: str,
        *,
        study: str = STUDY,
        retry_seconds: float = 30.0,
        largest: int = Limits().letter,
    ) -> CoordinatorLine:
        """The line of a seat that is enrolled."""
        identity = identity_of(seat)
        self.callbacks.keys[study, seat] = identity.public
        line = CoordinatorLine(
            self.address,
            fingerprint=self.fingerprint,
            study=study,
            identity=identity,
            retry_seconds=retry_seconds,
            largest=largest,
        )
        return await self.stack.enter_async_context(line)


def identity_of(seat: str) -> Identity:
    """The same identity for a seat in every test."""
    return Identity.draw(seat, SeededEntropy(int.from_bytes(seat.encode()[:31])))


def certificate_files(folder: Path, name: str = "coordinator") -> tuple[Path, Path, bytes]:
    """A certificate on disk: its file, its key's, its fingerprint."""
    made = make_certificate(name, now=datetime.now(UTC))
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    certificate.write_bytes(made.certificate)
    key.write_bytes(made.key)
    return certificate, key, made.fingerprint


@asynccontextmanager
async def served_mailbox(
    folder: Path, *, limits: Limits | None = None, port: int = 0
) -> AsyncIterator[ServedMailbox]:
    """A server on a port that the system chose, with one study; everything ends with it."""
    certificate, key = folder / "coordinator.pem", folder / "coordinator.key"
    if not certificate.exists():
        certificate_files(folder)
    context = server_context(certificate, key)
    fingerprint = fingerprint_of(certificate.read_bytes())
    async with AsyncExitStack() as stack:
        mailbox = await stack.enter_async_context(Mailbox(folder / "mail.db", limits=limits))
        callbacks = Callbacks({STUDY: mailbox})
        app = build_app(callbacks, fingerprint=fingerprint, limits=limits)
        server = await serve(app, host="127.0.0.1", port=port, context=context)
        stack.push_async_callback(server.close)
        yield ServedMailbox(callbacks, server, fingerprint, stack)
