"""A home in one file: the same bytes come back, once, and never over a home that is in use."""

import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest

from harness.commands import call
from sottovoce.entropy import SystemEntropy
from sottovoce.errors import DamagedFileError, InputError, JournalError
from sottovoce.storage.backups import read_backup, write_backup
from sottovoce.storage.journal import Journal
from sottovoce.storage.sealed_files import open_sealed

SEAT = Path("studies", "s-1", "north")
AT_REST = bytes(range(32))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a study in it, and a journal that something stands in."""
    place = tmp_path / "home"
    open_sealed(place, entropy=SystemEntropy())
    (place / SEAT).mkdir(parents=True, mode=0o700)
    (place / SEAT / "ledger.jsonl").write_text("{}\n", encoding="utf-8")
    (place / "studies" / "s-1" / "orders").mkdir(mode=0o700)
    (place / SEAT / ".draft.part").write_text("half", encoding="utf-8")
    with Journal(place / SEAT / "journal.db", key=AT_REST) as journal:
        journal.forget(notes={"kept": b"what was drawn"})
    return place


def files(root: Path) -> dict[str, bytes]:
    by_name = {
        path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()
    }
    return {name: path.read_bytes() for name, path in by_name.items() if "part" not in name}


def test_the_same_bytes_come_back_with_the_key_that_was_kept_apart(
    home: Path, tmp_path: Path
) -> None:
    key = Path(shutil.copy(home / "storage.key", tmp_path / "apart"))
    made = json.loads(call("backup", tmp_path / "home.tar", "--home", home, "--json"))
    assert not made["has_key"]
    assert (tmp_path / "home.tar").stat().st_mode & 0o077 == 0
    before = files(home)
    words = ("restore", tmp_path / "home.tar", "--home", tmp_path / "new")
    with pytest.raises(InputError, match="made without the key that opens it"):
        call(*words)
    assert not (tmp_path / "new").exists()
    assert "as they were at" in call(*words, "--key", key)
    assert files(tmp_path / "new") == before
    assert (tmp_path / "new" / "studies" / "s-1" / "orders").is_dir()
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "new").rglob("*")} <= {0o600, 0o700}
    with Journal(tmp_path / "new" / SEAT / "journal.db", key=AT_REST) as journal:
        assert journal.note("kept") == b"what was drawn"


def test_a_home_that_somebody_works_in_is_not_copied(home: Path, tmp_path: Path) -> None:
    with Journal(home / SEAT / "journal.db", key=AT_REST):
        with pytest.raises(JournalError, match=r"journal\.db: another process uses it"):
            write_backup(home, tmp_path / "home.tar", with_key=True)
        assert [path.name for path in tmp_path.iterdir()] == ["home"]
    write_backup(home, tmp_path / "home.tar", with_key=True)
    with pytest.raises(InputError, match="already exists; nothing was copied"):
        write_backup(home, tmp_path / "home.tar", with_key=True)
    with pytest.raises(InputError, match="write the backup outside of"):
        write_backup(home, home / "home.tar", with_key=True)
    with pytest.raises(InputError, match="there is no such folder"):
        write_backup(tmp_path / "nothing", tmp_path / "other.tar", with_key=True)


def test_nothing_comes_back_over_a_home_that_is_in_use(home: Path, tmp_path: Path) -> None:
    write_backup(home, tmp_path / "home.tar", with_key=True)
    with Journal(home / SEAT / "journal.db", key=AT_REST) as journal:
        journal.forget(notes={"kept": b"what was drawn since"})
    before = files(home)
    with pytest.raises(InputError, match="would use the same masks again"):
        read_backup(tmp_path / "home.tar", home)
    assert files(home) == before


def changed(path: Path, name: str, content: bytes, *, kind: bytes = tarfile.REGTYPE) -> None:
    """The backup with one more thing before its list."""
    with tarfile.open(path) as old:
        members = [(member, old.extractfile(member).read()) for member in old]
    entry = tarfile.TarInfo(name)
    entry.size, entry.type = len(content), kind
    with tarfile.open(path, "w") as new:
        for entry_written, data in [(entry, content), *members]:
            new.addfile(entry_written, io.BytesIO(data))


def test_damaged_and_made_up_backups_are_refused(home: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole.tar"
    write_backup(home, whole, with_key=True)
    data = whole.read_bytes()
    path, place = tmp_path / "bad.tar", tmp_path / "new"

    def refused(says: str) -> None:
        with pytest.raises((DamagedFileError, InputError), match=says):
            read_backup(path, place)
        assert not place.exists()
        assert not list(tmp_path.glob(".new*"))

    path.write_bytes(data[: len(data) // 2])
    refused("expected a whole backup")
    path.write_bytes(data.replace(b"{}\n", b"{ \n", 1))
    refused("other files than its list names")
    path.write_bytes(b"text,label\n")
    refused("expected a whole backup")
    for name in ("../outside", "/outside", "more"):
        path.write_bytes(data)
        changed(path, name, b"x")
        refused("a name outside of a home|other files than")
    for name in (b"../../outside/here", b"/tmp/outside/there"):
        path.write_bytes(data.replace(b'"studies/s-1/orders"', b'"%s"' % name))
        refused("a name outside of a home")
    path.write_bytes(data)
    changed(path, "link", b"", kind=tarfile.SYMTYPE)
    refused("something that no backup holds")
    path.write_bytes(data.replace(b'"format": 1', b'"format": 9'))
    refused("expected a backup of format 1, found format 9")
    path.unlink()
    refused("cannot be read")
