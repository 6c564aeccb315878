"""Files on disk: whole or not at all, never over another, and secret ones for their owner alone."""

import errno
import os
import resource
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from sottovoce.errors import KeyFileError, OpenPermissionsError
from sottovoce.keyfiles import storage


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in which no half-written file is left behind."""
    yield tmp_path
    assert not [path.name for path in tmp_path.rglob("*") if path.name.endswith(".part")]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
@pytest.mark.parametrize("wanted", [storage.SECRET_MODE, storage.PUBLIC_MODE])
def test_the_mode_is_as_wanted_whatever_the_umask(folder: Path, umask: int, wanted: int) -> None:
    before = os.umask(umask)
    try:
        storage.write_whole(folder / "k", b"data", mode=wanted)
    finally:
        os.umask(before)
    assert mode(folder / "k") == wanted
    assert storage.read_whole(folder / "k", limit=4).data == b"data"


def test_no_moment_at_which_others_could_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    fsync = os.fsync

    def watch(descriptor: int) -> None:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    storage.write_whole(folder / "k", b"data", mode=0o600)
    assert seen == [0o600]


def test_an_existing_file_is_left_alone(folder: Path) -> None:
    path = folder / "k"
    storage.write_whole(path, b"old", mode=0o600)
    with pytest.raises(KeyFileError, match="k: already exists; nothing was changed"):
        storage.write_whole(path, b"new", mode=0o600)
    with pytest.raises(KeyFileError, match="already exists"):
        storage.check_absent(path)
    assert path.read_bytes() == b"old"
    storage.write_whole(path, b"new", mode=0o600, replace=True)
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_a_file_that_appears_meanwhile_is_left_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool
) -> None:
    path, link = folder / "k", os.link

    def late(source: Path, target: Path) -> None:
        path.write_bytes(b"theirs")
        if not links:
            raise OSError(errno.EPERM, "Operation not permitted")
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(KeyFileError, match="already exists"):
        storage.write_whole(path, b"ours", mode=0o600)
    assert path.read_bytes() == b"theirs"


def test_a_file_system_without_links_will_do(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(source: Path, target: Path) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", none)
    storage.write_whole(folder / "k", b"ours", mode=0o600)
    assert ((folder / "k").read_bytes(), mode(folder / "k")) == (b"ours", 0o600)


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("where", ["fsync", "replace or link"])
def test_a_full_disk_loses_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, where: str, *, replace: bool
) -> None:
    path = folder / "k"
    if replace:
        storage.write_whole(path, b"old", mode=0o600)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if where == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        monkeypatch.setattr(os, "link", full)
        monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(
        KeyFileError, match=r"cannot be written \(no space left on device\), and noth"
    ):
        storage.write_whole(path, b"new" * 100, mode=0o600, replace=replace)
    assert path.exists() == replace
    assert not replace or path.read_bytes() == b"old"


def test_a_disk_that_takes_only_a_part_loses_nothing(folder: Path) -> None:
    path = folder / "k"
    storage.write_whole(path, b"old", mode=0o600)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(KeyFileError, match=r"cannot be written \(file too large\)"):
            storage.write_whole(path, b"new" * 100, mode=0o600, replace=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_bytes() == b"old"


def test_replacing_follows_a_link_and_keeps_it(folder: Path) -> None:
    storage.write_whole(folder / "real", b"old", mode=0o600)
    (folder / "link").symlink_to(folder / "real")
    storage.write_whole(folder / "link", b"new", mode=0o600, replace=True)
    assert (folder / "link").is_symlink()
    assert (folder / "real").read_bytes() == b"new"


def test_a_dangling_link_counts_as_there(folder: Path) -> None:
    (folder / "link").symlink_to(folder / "nowhere")
    with pytest.raises(KeyFileError, match="already exists"):
        storage.check_absent(folder / "link")
    with pytest.raises(KeyFileError, match="already exists"):
        storage.write_whole(folder / "link", b"data", mode=0o600)
    assert not (folder / "nowhere").exists()


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o620, 0o602, 0o644, 0o666, 0o610])
def test_open_permissions_are_refused_with_the_remedy(folder: Path, bits: int) -> None:
    storage.write_whole(folder / "k", b"data", mode=bits)
    stored = storage.read_whole(folder / "k", limit=9)
    with pytest.raises(
        OpenPermissionsError, match=f"expected mode 600, found {bits:03o}"
    ) as refused:
        stored.check_private()
    assert refused.value.hints == (f"chmod 600 {folder / 'k'}",)


@pytest.mark.parametrize("bits", [0o600, 0o400])
def test_the_owner_alone_is_fine(folder: Path, bits: int) -> None:
    storage.write_whole(folder / "k", b"data", mode=bits)
    storage.read_whole(folder / "k", limit=9).check_private()


def test_a_remedy_can_be_pasted_whatever_the_name(folder: Path) -> None:
    path = folder / "my key; reboot"
    storage.write_whole(path, b"data", mode=0o644)
    with pytest.raises(OpenPermissionsError) as refused:
        storage.read_whole(path, limit=9).check_private()
    assert refused.value.hints == (f"chmod 600 '{path}'",)


def test_another_users_file_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = storage.Stored(folder / "k", b"", 0o100600, owner=1001)
    monkeypatch.setattr(os, "geteuid", lambda: 1002)
    with pytest.raises(OpenPermissionsError, match="belongs to another user of this machine"):
        stored.check_private()
    for reader in (1001, 0):
        monkeypatch.setattr(os, "geteuid", lambda reader=reader: reader)
        stored.check_private()


def test_what_is_not_a_file_is_named(folder: Path) -> None:
    with pytest.raises(KeyFileError, match="expected a key file, found a folder"):
        storage.read_whole(folder, limit=9)
    with pytest.raises(
        KeyFileError, match=r"nothing: cannot be read \(no such file or directory\)"
    ):
        storage.read_whole(folder / "nothing", limit=9)
    os.mkfifo(folder / "pipe")
    with pytest.raises(KeyFileError, match="expected a key file, found no regular file"):
        storage.read_whole(folder / "pipe", limit=9)
    with pytest.raises(KeyFileError, match="expected a key file, found no regular file"):
        storage.read_whole(Path(os.devnull), limit=9)


def test_a_long_file_is_not_read(folder: Path) -> None:
    (folder / "k").write_bytes(b"x" * 10)
    with pytest.raises(KeyFileError, match="at most 9 bytes, found 10"):
        storage.read_whole(folder / "k", limit=9)


def test_a_folder_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(KeyFileError, match=r"cannot be written \(no such file or directory\)"):
        storage.write_whole(folder / "no" / "k", b"", mode=0o600)


def test_new_folders_are_their_owners_alone(folder: Path) -> None:
    storage.make_folder(folder / "keys")
    storage.make_folder(folder / "keys")
    assert mode(folder / "keys") == 0o700
    (folder / "file").write_bytes(b"")
    with pytest.raises(KeyFileError, match=r"file: cannot be made \(file exists\)"):
        storage.make_folder(folder / "file")


def test_what_is_set_aside_is_not_lost(folder: Path) -> None:
    for text in (b"first", b"second"):
        (folder / "k").write_bytes(text)
        storage.set_aside(folder / "k")
    assert sorted(path.name for path in folder.iterdir()) == ["k.old-1", "k.old-2"]
    assert (folder / "k.old-1").read_bytes() == b"first"
    assert (folder / "k.old-2").read_bytes() == b"second"
    with pytest.raises(KeyFileError, match=r"k\.old-3: cannot be written"):
        storage.set_aside(folder / "k")


def test_there_is_an_end_to_setting_aside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "lexists", lambda path: True)
    with pytest.raises(KeyFileError, match="there are already 999 old ones"):
        storage.set_aside(folder / "k")


def test_a_disk_that_fails_while_reading_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(descriptor: int, count: int) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    storage.write_whole(folder / "k", b"data", mode=0o600)
    monkeypatch.setattr(os, "read", broken)
    with pytest.raises(KeyFileError, match=r"k: cannot be read \(input/output error\)"):
        storage.read_whole(folder / "k", limit=9)
