"""Files say their version: those of the first are read, those of a newer release are refused."""

import asyncio
import shutil
import sqlite3
from pathlib import Path

import pytest

from sottovoce.course.letter_chain import HeldLetters
from sottovoce.entropy import SystemEntropy
from sottovoce.errors import DamagedFileError, JournalError, KeyFileError
from sottovoce.ledger import read_ledger
from sottovoce.node.site.site_folder import open_site
from sottovoce.storage.journal import Journal
from sottovoce.storage.sealed_files import salt_path
from sottovoce.study.relay import Letter
from sottovoce.transport.mailbox.mailbox import Mailbox

FIRST = Path(__file__).parents[2] / "data" / "first_version"
SESSION = b"s" * 32


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """The files of the first version, as private as they were."""
    folder = tmp_path / "first"
    shutil.copytree(FIRST, folder)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return folder


def _version(path: Path) -> int:
    database = sqlite3.connect(path)
    try:
        return int(database.execute("PRAGMA user_version").fetchone()[0])
    finally:
        database.close()


def _is_of_version(path: Path, version: int) -> None:
    database = sqlite3.connect(path)
    database.execute(f"PRAGMA user_version = {version}")
    database.close()


def test_a_journal_of_the_first_version_goes_on(first: Path) -> None:
    path = first / "journal.db"
    assert _version(path) == 0
    with Journal(path, key=bytes(32)) as journal:
        (step,) = journal.steps(SESSION)
        assert step.head.event == "begin"
        (waiting,) = journal.pending()
        assert waiting.letter == Letter(SESSION, "alice", "bob", 0, b"body")
        assert journal.note("enrolled") == b""
        # A server of that time held nothing by its chain, and neither does the journal.
        journal.check_past(HeldLetters())
        journal.mark_sent(waiting.position)
    assert _version(path) == 3


def test_a_mailbox_of_the_first_version_goes_on(first: Path) -> None:
    path = first / "mailbox.db"
    assert _version(path) == 1

    async def story() -> None:
        async with Mailbox(path) as mailbox:
            bodies = [arrived.body for _, arrived in await mailbox.letters("bob")]
            assert bodies == [b"body", b"taken"]
            assert mailbox.held("alice") == HeldLetters()
            await mailbox.post(Letter(SESSION, "alice", "bob", 2, b"next"))
            assert mailbox.held("alice").letters == 1

    asyncio.run(story())
    assert _version(path) == 4


def test_a_site_and_a_key_of_the_first_version_go_on(first: Path) -> None:
    site = open_site(first / "home", entropy=SystemEntropy())
    (joined,) = site.joined()
    assert joined.invitation.seats == ("north",)
    key = first / "home" / "coordinator" / "key"
    old = key.read_bytes()
    for _ in range(2):
        data = site.files.read_erasable(key, entropy=SystemEntropy())
        assert data == b"a key of the first version"
    assert key.read_bytes() != old
    assert salt_path(key).exists()
    assert not key.with_name("key.first").exists()


def test_a_ledger_of_the_first_version_is_read(first: Path) -> None:
    (line,) = read_ledger(first / "ledger.jsonl")
    assert line.entry.note == "a line of the first version"


def test_what_a_newer_release_wrote_is_refused_and_not_changed(first: Path) -> None:
    for name in ("journal.db", "mailbox.db"):
        _is_of_version(first / name, 9)
    before = {path: path.read_bytes() for path in first.glob("*.db")}
    with pytest.raises(JournalError, match="version 3 at most, found version 9: a newer") as caught:
        Journal(first / "journal.db", key=bytes(32))
    assert caught.value.hints == ("pip install --upgrade sottovoce",)

    async def story() -> None:
        with pytest.raises(DamagedFileError, match="version 4 at most, found version 9: a newer"):
            Mailbox(first / "mailbox.db")

    asyncio.run(story())
    assert {path: path.read_bytes() for path in before} == before


def test_a_sealed_file_and_a_membership_of_a_newer_release_are_refused(first: Path) -> None:
    site = open_site(first / "home", entropy=SystemEntropy())
    key = first / "home" / "coordinator" / "key"
    key.write_bytes(key.read_bytes().replace(b"version 1", b"version 9"))
    with pytest.raises(KeyFileError, match="expected a sealed file of version 1, found version 9"):
        site.files.read(key)
    path = first / "home" / "studies" / "study-1" / "membership"
    content = site.files.read(path).replace(b"{", b'{"version": 2, ', 1)
    site.files.write(path, content, entropy=SystemEntropy(), replace=True)
    (joined,) = site.joined()
    with pytest.raises(KeyFileError, match="version 1 at most, found version 2: a newer release"):
        _ = joined.invitation
