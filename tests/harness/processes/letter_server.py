"""A process with a port to a mailbox that it shares with others; it says where it listens."""

import asyncio
import sys
from pathlib import Path

from harness.ports import STUDY, Callbacks, identity_of
from sottovoce.transport.certificates import fingerprint_of, server_context
from sottovoce.transport.mailbox.mailbox import Mailbox
from sottovoce.transport.mailbox.postgres_mailbox import PostgresDatabase
from sottovoce.transport.server.server import build_app, serve

SEATS = ("alice", "bob")


async def attend(address: str, name: str, folder: Path) -> None:
    """Serve until killed."""
    certificate, key = folder / "coordinator.pem", folder / "coordinator.key"
    async with Mailbox(PostgresDatabase(address, name)) as mailbox:
        keys = {(STUDY, seat): identity_of(seat).public for seat in SEATS}
        callbacks = Callbacks({STUDY: mailbox}, keys)
        app = build_app(callbacks, fingerprint=fingerprint_of(certificate.read_bytes()))
        context = server_context(certificate, key)
        server = await serve(app, host="127.0.0.1", port=0, context=context)
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(attend(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
