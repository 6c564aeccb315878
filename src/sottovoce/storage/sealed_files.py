"""A site's secret files, each sealed under the site's key and bound to its path.

The key is beside them, readable by its owner only, or under a passphrase.
"""

from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from sottovoce.entropy import SEED_BYTES, Entropy
from sottovoce.errors import DamagedFileError, KeyFileError
from sottovoce.keyfiles import storage
from sottovoce.keyfiles.keytext import MAX_BYTES as MAX_KEY_BYTES
from sottovoce.keyfiles.keytext import KeyHalf, KeyText, Label
from sottovoce.keyfiles.passphrase import Passphrase
from sottovoce.keyfiles.sealing import DEFAULT_WORK, seal, unseal
from sottovoce.protocols.identities import digest

MAX_BYTES = 2**30
_KIND = b"sottovoce sealed file, version "
_HEAD = _KIND + b"1\n"
# The same with a salt that can be erased.
_ERASABLE = _KIND + b"2\n"
_NONCE_BYTES = 12
_PLAIN_HEAD = b"sottovoce storage key, version 1\n"
_PROFILE = "storage"


@dataclass(frozen=True)
class SealedFiles:
    """Seals files below `root` under the site's key."""

    root: Path
    key: bytes = field(repr=False)

    def key_for(self, purpose: str) -> bytes:
        """A derived key for one purpose, such as a journal."""
        return digest("service/sealed-files/v1", self.key, purpose.encode())

    def write(self, path: Path, data: bytes, *, entropy: Entropy, replace: bool = False) -> None:
        """Seal `data` into a file that only its owner can read, bound to its place."""
        nonce = entropy.read(_NONCE_BYTES)
        sealed = self._cipher(path).encrypt(nonce, data, _HEAD)
        storage.make_folder(path.parent)
        storage.write_whole(path, _HEAD + nonce + sealed, mode=storage.SECRET_MODE, replace=replace)

    def read(self, path: Path) -> bytes:
        """The content of this file, if it is unchanged and in its place."""
        return self._read(path, _HEAD, b"")

    # Files that can be erased from the disk.

    def write_erasable(self, path: Path, data: bytes, *, entropy: Entropy) -> None:
        """As `write`, with a salt in another file: `erase` overwrites the salt.

        Remains of the file on the disk cannot be opened after that, even with the site's key.
        """
        storage.make_folder(path.parent)
        salt, nonce = entropy.read(SEED_BYTES), entropy.read(_NONCE_BYTES)
        storage.write_whole(salt_path(path), salt, mode=storage.SECRET_MODE, replace=True)
        sealed = self._cipher(path, salt).encrypt(nonce, data, _ERASABLE)
        content = _ERASABLE + nonce + sealed
        storage.write_whole(path, content, mode=storage.SECRET_MODE, replace=True)

    def read_erasable(self, path: Path, *, entropy: Entropy) -> bytes:
        """The content; a file of the first version, which had no salt, gets one."""
        if storage.read_whole(path, limit=MAX_BYTES).data.startswith(_HEAD):
            # With a second name the old file can be overwritten after the new one is written.
            if not _first(path).exists():
                _first(path).hardlink_to(path)
            self.write_erasable(path, self.read(path), entropy=entropy)
        if _first(path).exists():
            storage.overwrite(_first(path))
            _first(path).unlink()
        salt = storage.read_whole(salt_path(path), limit=SEED_BYTES)
        salt.check_private()
        return self._read(path, _ERASABLE, salt.data)

    def erase(self, path: Path) -> None:
        """Overwrite salt and file in place, and delete both."""
        parts = [place for place in (salt_path(path), _first(path), path) if place.exists()]
        for part in parts:
            storage.overwrite(part)
        for part in reversed(parts):
            part.unlink()

    def _read(self, path: Path, head: bytes, salt: bytes) -> bytes:
        stored = storage.read_whole(path, limit=MAX_BYTES)
        stored.check_private()
        if not stored.data.startswith(head):
            raise KeyFileError(
                f"{path}: expected a sealed file of {_version(head)}, "
                f"found {_version(stored.data) or 'another file'}"
            )
        rest = stored.data[len(head) :]
        try:
            return self._cipher(path, salt).decrypt(rest[:_NONCE_BYTES], rest[_NONCE_BYTES:], head)
        except (InvalidTag, ValueError):
            raise DamagedFileError(
                f"{path}: it was changed, moved, or sealed under another key",
                hints=("restore the file and storage.key from the same backup",),
            ) from None

    def _cipher(self, path: Path, salt: bytes = b"") -> ChaCha20Poly1305:
        """One key for each file: a moved file does not open."""
        place = path.absolute().relative_to(self.root.absolute())
        key = self.key_for(f"file {place.as_posix()}")
        return ChaCha20Poly1305(digest("service/salted-file/v1", key, salt) if salt else key)


def salt_path(path: Path) -> Path:
    """The path of an erasable file's salt."""
    return path.with_name(f"{path.name}.salt")


def _first(path: Path) -> Path:
    """The second name of a first-version file while it is replaced."""
    return path.with_name(f"{path.name}.first")


def _version(data: bytes) -> str:
    """The version that a sealed file names."""
    number = data.removeprefix(_KIND).split(b"\n")[0]
    known = data.startswith(_KIND) and number.isdigit() and len(number) < 9
    return f"version {number.decode()}" if known else ""


def open_sealed(
    root: Path, *, entropy: Entropy, passphrase: Passphrase | None = None
) -> SealedFiles:
    """The site's sealed files; makes a key if there is none, under the passphrase if given."""
    path = root / "storage.key"
    if path.exists():
        return SealedFiles(root, _read_key(path, passphrase))
    storage.make_folder(root)
    key = entropy.read(SEED_BYTES)
    label = _label(key)
    if passphrase is None:
        data = _PLAIN_HEAD + key.hex().encode() + b"\n"
    else:
        data = seal(label, key, passphrase.chosen(), entropy=entropy, work=DEFAULT_WORK).render()
    storage.write_whole(path, data, mode=storage.SECRET_MODE)
    return SealedFiles(root, key)


def is_locked(root: Path) -> bool:
    """Whether the site's key has a passphrase."""
    path = root / "storage.key"
    return path.exists() and not storage.read_whole(path, limit=MAX_KEY_BYTES).data.startswith(
        _PLAIN_HEAD
    )


def _read_key(path: Path, passphrase: Passphrase | None) -> bytes:
    stored = storage.read_whole(path, limit=MAX_KEY_BYTES)
    stored.check_private()
    if stored.data.startswith(_PLAIN_HEAD):
        try:
            key = bytes.fromhex(stored.data[len(_PLAIN_HEAD) :].decode("ascii").removesuffix("\n"))
        except ValueError:
            key = b""
        if len(key) != SEED_BYTES:
            raise DamagedFileError(
                f"{path}: not what was written",
                hints=("restore the file from a backup: without it no sealed file can be opened",),
            )
        return key
    text = KeyText.parse(stored.data, name=str(path))
    if passphrase is None:
        raise KeyFileError(
            f"{path}: a passphrase is needed to open it",
            hints=("give --passphrase-file FILE or --passphrase-fd NUMBER",),
        )
    key = unseal(text, passphrase, name=str(path))
    if text.label != _label(key):
        raise DamagedFileError(f"{path}: the key does not match its label")
    return key


def _label(key: bytes) -> Label:
    text = digest("service/storage-key/v1", key).hex()[:32]
    groups = "-".join(text[start : start + 4] for start in range(0, len(text), 4))
    return Label(KeyHalf.SECRET, groups, 8 * SEED_BYTES, _PROFILE)
