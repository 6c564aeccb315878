"""Key files of version 1 as they were once written: these bytes must open for ever."""

import json
from pathlib import Path

import pytest

from harness.entropy import SeededEntropy
from sottovoce import errors
from sottovoce.keyfiles import keys
from sottovoce.keyfiles.passphrase import Passphrase
from sottovoce.keyfiles.sealing import MIN_WORK

VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "keyfiles.json").read_text())
PASSPHRASE = Passphrase(VECTORS["passphrase"])


def stored(folder: Path, text: str) -> Path:
    path = folder / "file.key"
    path.write_bytes(text.encode())
    path.chmod(0o600)
    return path


def read(kind: str, path: Path) -> object:
    return keys.read_public(path) if kind == "public" else keys.read_secret(path, PASSPHRASE)


def test_good_files_open_and_are_written_the_same_again(tmp_path: Path) -> None:
    public = keys.read_public(stored(tmp_path, VECTORS["good"]["public"]))
    secret = keys.read_secret(stored(tmp_path, VECTORS["good"]["secret"]), PASSPHRASE)
    assert public == secret.public
    assert public.fingerprint == VECTORS["fingerprint"]
    assert hex(public.modulus) == VECTORS["modulus"]
    keys.write_public(tmp_path / "public.key", public)
    entropy = SeededEntropy(VECTORS["seed"] + 1)
    keys.write_secret(tmp_path / "secret.key", secret, PASSPHRASE, entropy=entropy, work=MIN_WORK)
    for kind in ("public", "secret"):
        assert (tmp_path / f"{kind}.key").read_text() == VECTORS["good"][kind]


@pytest.mark.parametrize("bad", VECTORS["bad"], ids=lambda bad: f"{bad['kind']}: {bad['name']}")
def test_bad_files_are_refused_in_their_own_words(bad: dict[str, str], tmp_path: Path) -> None:
    path = stored(tmp_path, bad["file"])
    with pytest.raises(errors.KeyFileError, match=bad["match"]) as refused:
        read(bad["kind"], path)
    assert type(refused.value) is getattr(errors, bad["error"])
    assert refused.value.message.startswith(f"{path}: ")
    assert VECTORS["passphrase"] not in str(refused.value)
