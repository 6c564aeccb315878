"""The key of a study that was closed is gone: also for one who reads the disk, with the site's key.

The attack: `study close` deleted the file of the Paillier key. Its blocks stayed on the disk, and
the site's storage key, which is not deleted, opened them.
"""

import os
from pathlib import Path

import pytest

from sottovoce.entropy import SystemEntropy
from sottovoce.errors import DamagedFileError, KeyFileError
from sottovoce.storage.sealed_files import open_sealed, salt_path

SECRET = b"the Paillier key of a study"


def test_blocks_of_an_erased_key_do_not_open_with_the_sites_key(tmp_path: Path) -> None:
    files = open_sealed(tmp_path, entropy=SystemEntropy())
    key = tmp_path / "coordinator" / "key"
    files.write_erasable(key, SECRET, entropy=SystemEntropy())
    blocks, salt = key.read_bytes(), salt_path(key).read_bytes()
    assert files.read_erasable(key, entropy=SystemEntropy()) == SECRET
    # What lies where the files lie: the same blocks of the disk, read after the deletion.
    raw = [os.open(path, os.O_RDONLY) for path in (key, salt_path(key))]
    files.erase(key)
    assert not key.exists()
    assert not salt_path(key).exists()
    for descriptor, before in zip(raw, (blocks, salt), strict=True):
        data = os.pread(descriptor, 2**16, 0)
        os.close(descriptor)
        assert data == bytes(len(before))
    # An older copy of the sealed file, from a journal of the file system: the salt is missing.
    key.write_bytes(blocks)
    key.chmod(0o600)
    with pytest.raises(KeyFileError, match="cannot be read"):
        files.read_erasable(key, entropy=SystemEntropy())
    salt_path(key).write_bytes(bytes(len(salt)))
    salt_path(key).chmod(0o600)
    with pytest.raises(DamagedFileError, match="changed, moved, or sealed under another key"):
        files.read_erasable(key, entropy=SystemEntropy())


def test_a_key_of_the_first_version_is_overwritten_when_it_gets_its_salt(tmp_path: Path) -> None:
    files = open_sealed(tmp_path, entropy=SystemEntropy())
    key = tmp_path / "coordinator" / "key"
    files.write(key, SECRET, entropy=SystemEntropy())
    size, raw = key.stat().st_size, os.open(key, os.O_RDONLY)
    assert files.read_erasable(key, entropy=SystemEntropy()) == SECRET
    assert os.pread(raw, 2**16, 0) == bytes(size)
    os.close(raw)


def test_a_crash_while_a_key_gets_its_salt_loses_nothing(tmp_path: Path) -> None:
    files = open_sealed(tmp_path, entropy=SystemEntropy())
    key = tmp_path / "coordinator" / "key"
    files.write(key, SECRET, entropy=SystemEntropy())
    # Killed after the salt and before the new file; then after the new file.
    salt_path(key).write_bytes(bytes(32))
    salt_path(key).chmod(0o600)
    key.with_name("key.first").hardlink_to(key)
    for _ in range(2):
        assert files.read_erasable(key, entropy=SystemEntropy()) == SECRET
    assert not key.with_name("key.first").exists()
