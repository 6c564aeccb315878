"""Writes files of the first version: run with the release whose files they are, once.

    PYTHONPATH=src python tests/vectors/make_first_version.py tests/data/first_version

What lies in that folder was written so by the code before journals and mailboxes said their
version; later releases must read it.
"""

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path

from sottovoce.entropy import SystemEntropy
from sottovoce.ledger import Entry, LineKind, SiteLedger
from sottovoce.node.invitations import Invitation
from sottovoce.node.site.site_folder import open_site
from sottovoce.protocols.identities import Identity
from sottovoce.storage.journal import Journal
from sottovoce.storage.records import Outgoing, Sent, SessionStep, StepHead
from sottovoce.study.relay import Letter
from sottovoce.transport.mailbox.mailbox import Mailbox

SESSION = b"s" * 32


def journal(path: Path) -> None:
    """One session, one step, one letter that waits, one note."""
    step = SessionStep(StepHead("begin", "", 0, (Sent("bob", 0, bytes(32)),), ""))
    waiting = Outgoing(Letter(SESSION, "alice", "bob", 0, b"body"), "noise")
    with Journal(path, key=bytes(32)) as made:
        made.open_session(SESSION, b"head")
        made.commit(session=SESSION, step=step, letters=[waiting], notes={"enrolled": b""})


async def mailbox(path: Path) -> None:
    """Two letters that wait."""
    async with Mailbox(path) as made:
        await made.post(Letter(SESSION, "alice", "bob", 0, b"body"))
        await made.post(Letter(SESSION, "alice", "bob", 1, b"taken"))


def home(path: Path) -> None:
    """A site with an invitation that it accepted, and a sealed file."""
    site = open_site(path, entropy=SystemEntropy())
    until = datetime(2030, 1, 1, tzinfo=UTC)
    names = ("study-1", "a study", "North", ("north",))
    site.accept(Invitation("https://127.0.0.1:8443", bytes(32), *names, bytes(32), until))
    key = path / "coordinator" / "key"
    site.files.write(key, b"a key of the first version", entropy=SystemEntropy())


def ledger(path: Path) -> None:
    """One line."""
    with SiteLedger(path, Identity("north", bytes(range(32)))) as made:
        made.append(Entry("study-1", LineKind.CONSENT, note="a line of the first version"))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    journal(folder / "journal.db")
    asyncio.run(mailbox(folder / "mailbox.db"))
    home(folder / "home")
    ledger(folder / "ledger.jsonl")
