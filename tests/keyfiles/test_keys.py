"""Keys through files: what goes in comes out, and only for those who may."""

import json
import stat
from pathlib import Path

import pytest
from cryptography.exceptions import UnsupportedAlgorithm

from harness.entropy import SeededEntropy
from sottovoce.errors import (
    DamagedFileError,
    InputError,
    KeyFileError,
    OpenPermissionsError,
    WrongPassphraseError,
)
from sottovoce.keyfiles import keys, sealing, storage
from sottovoce.keyfiles.keytext import KeyHalf
from sottovoce.keyfiles.passphrase import Passphrase
from sottovoce.paillier import SecretKey

VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "keyfiles.json").read_text())
WORDS = Passphrase(VECTORS["passphrase"])
OTHER = Passphrase("three loud geese sang")


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    public, secret = tmp_path / keys.PUBLIC_NAME, tmp_path / keys.SECRET_NAME
    public.write_text(VECTORS["good"]["public"])
    secret.write_text(VECTORS["good"]["secret"])
    secret.chmod(0o600)
    return public, secret


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> SecretKey:
    path = tmp_path_factory.mktemp("key") / "secret.key"
    storage.write_whole(path, VECTORS["good"]["secret"].encode(), mode=0o600)
    return keys.read_secret(path, WORDS)


def test_a_pair_is_written_and_read(key: SecretKey, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    public, secret = keys.make_pair(folder, key, WORDS, entropy=SeededEntropy())
    assert keys.read_public(public) == key.public
    assert keys.read_secret(secret, WORDS) == key
    assert stat.S_IMODE(public.stat().st_mode) == 0o644
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    for path, kind in ((public, KeyHalf.PUBLIC), (secret, KeyHalf.SECRET)):
        label = keys.read_label(path)
        assert (label.kind, label.bits, label.profile) == (kind, 2048, "short")
        assert label.fingerprint == key.public.fingerprint
    assert keys.DEFAULT_WORK == 17
    assert "sealed: scrypt 17 " in secret.read_text()


def test_the_same_key_is_never_sealed_the_same_way_twice(key: SecretKey, tmp_path: Path) -> None:
    entropy = SeededEntropy()
    for name in ("a", "b"):
        keys.write_secret(tmp_path / name, key, WORDS, entropy=entropy, work=sealing.MIN_WORK)
    a, b = ((tmp_path / name).read_text().splitlines() for name in ("a", "b"))
    assert a[:4] == b[:4]
    assert not set(a[4:]) & set(b[4:]) - {"body:"}


def test_no_secret_number_stands_in_the_file(key: SecretKey, pair: tuple[Path, Path]) -> None:
    from sottovoce.keyfiles.keytext import KeyText

    body = KeyText.parse(pair[1].read_bytes(), name="k").body
    for number in (key.p, key.q, key.hidden_p, key.hidden_q):
        data = number.to_bytes((number.bit_length() + 7) // 8)
        assert data[:8] not in body
        assert data[-8:] not in body


def test_a_wrong_passphrase_is_not_called_damage(pair: tuple[Path, Path]) -> None:
    with pytest.raises(WrongPassphraseError, match="does not open it; the file itself is whole"):
        keys.read_secret(pair[1], OTHER)
    pair[1].write_text(pair[1].read_text().replace("body:\n", "body:\n "))
    with pytest.raises(DamagedFileError, match="the file is damaged or was edited"):
        keys.read_secret(pair[1], OTHER)


@pytest.mark.parametrize("region", ["title", "fingerprint", "salt", "body", "tag", "checksum"])
def test_a_flipped_bit_is_called_damage_in_every_region(
    pair: tuple[Path, Path], region: str
) -> None:
    data = bytearray(pair[1].read_bytes())
    starts = {
        "title": 3,
        "fingerprint": data.index(b"fingerprint: ") + 15,
        "salt": data.index(b"scrypt 16 ") + 12,
        "body": data.index(b"body:\n") + 40,
        "tag": data.index(b"checksum: ") - 10,
        "checksum": len(data) - 5,
    }
    data[starts[region]] ^= 1
    pair[1].write_bytes(data)
    with pytest.raises(DamagedFileError):
        keys.read_secret(pair[1], WORDS)


def test_the_passphrase_changes_and_the_key_stays(pair: tuple[Path, Path], key: SecretKey) -> None:
    keys.write_secret(pair[1], key, OTHER, entropy=SeededEntropy(), replace=True)
    assert keys.read_secret(pair[1], OTHER) == key
    assert stat.S_IMODE(pair[1].stat().st_mode) == 0o600
    with pytest.raises(WrongPassphraseError):
        keys.read_secret(pair[1], WORDS)


def test_a_change_that_fails_changes_nothing(
    pair: tuple[Path, Path], key: SecretKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = pair[1].read_bytes()

    def change(passphrase: Passphrase) -> None:
        keys.write_secret(pair[1], key, passphrase, entropy=SeededEntropy(), replace=True)

    with pytest.raises(InputError, match="expected at least 12 characters"):
        change(Passphrase("short"))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.os, "fsync", full)
    with pytest.raises(KeyFileError, match="no space left on device"):
        change(OTHER)
    assert pair[1].read_bytes() == before


def test_a_secret_key_that_others_can_read_is_refused(pair: tuple[Path, Path]) -> None:
    pair[1].chmod(0o644)
    for read in (keys.read_label, keys.read_public, lambda path: keys.read_secret(path, WORDS)):
        with pytest.raises(OpenPermissionsError, match="expected mode 600, found 644") as refused:
            read(pair[1])
        assert refused.value.hints == (f"chmod 600 {pair[1]}",)


def test_the_wrong_half_points_at_the_right_one(pair: tuple[Path, Path]) -> None:
    with pytest.raises(KeyFileError, match="expected a secret key, found a public key") as refused:
        keys.read_secret(pair[0], WORDS)
    assert str(pair[1]) in refused.value.hints[0]


def test_existing_keys_are_left_alone(pair: tuple[Path, Path], key: SecretKey) -> None:
    before = [path.read_bytes() for path in pair]
    with pytest.raises(KeyFileError, match=r"public\.key: already exists"):
        keys.make_pair(pair[0].parent, key, WORDS, entropy=SeededEntropy())
    pair[0].rename(pair[0].parent / "elsewhere")
    with pytest.raises(KeyFileError, match=r"secret\.key: already exists"):
        keys.make_pair(pair[0].parent, key, WORDS, entropy=SeededEntropy())
    assert not pair[0].exists()
    assert pair[1].read_bytes() == before[1]


def test_a_pair_that_lost_its_public_half_says_how_to_write_it(
    key: SecretKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, _: object) -> None:
        raise KeyFileError(f"{path}: cannot be written (no space left on device)")

    monkeypatch.setattr(keys, "write_public", full)
    with pytest.raises(KeyFileError, match="no space left") as refused:
        keys.make_pair(tmp_path, key, WORDS, entropy=SeededEntropy())
    again = f"sottovoce keys public {tmp_path}/secret.key --out {tmp_path}/public.key"
    assert refused.value.hints[0].endswith(again)
    assert keys.read_secret(tmp_path / "secret.key", WORDS).public == key.public


def test_folders_and_missing_and_binary_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="found a folder"):
        keys.read_public(tmp_path)
    with pytest.raises(KeyFileError, match="no such file"):
        keys.read_public(tmp_path / "nothing.key")
    (tmp_path / "binary.key").write_bytes(bytes(range(256)))
    with pytest.raises(KeyFileError, match="not a key file of Sottovoce"):
        keys.read_public(tmp_path / "binary.key")


@pytest.mark.parametrize(
    ("lack", "match"),
    [
        (MemoryError(), "the lock needs 128 MiB of memory"),
        (UnsupportedAlgorithm("scrypt"), "the OpenSSL of this machine has no scrypt"),
    ],
)
def test_a_machine_that_cannot_seal_says_why(
    key: SecretKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lack: Exception, match: str
) -> None:
    def lacking(**_: object) -> None:
        raise lack

    monkeypatch.setattr(sealing, "Scrypt", lacking)
    with pytest.raises(KeyFileError, match=match):
        keys.write_secret(tmp_path / "k", key, WORDS, entropy=SeededEntropy())
    assert not (tmp_path / "k").exists()


@pytest.mark.parametrize("work", [0, 15, 21, 1000])
def test_no_file_is_sealed_too_weakly_or_too_dearly(
    key: SecretKey, tmp_path: Path, work: int
) -> None:
    with pytest.raises(
        KeyFileError, match=f"expected a lock of scrypt work 16 to 20, found {work}"
    ):
        keys.write_secret(tmp_path / "k", key, WORDS, entropy=SeededEntropy(), work=work)
    assert not (tmp_path / "k").exists()
