"""Secrets of a site on its disk: each file sealed under the site's own key, in its own place.

The key lies beside them, readable by its owner alone, or under a passphrase.
"""

from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from sottovoce.entropy import SEED_BYTES, Entropy
from sottovoce.errors import DamagedFileError, KeyFileError
from sottovoce.keyfiles import storage
from sottovoce.keyfiles.keytext import MAX_BYTES as MAX_KEY_BYTES
from sottovoce.keyfiles.keytext import KeyText, Kind, Label
from sottovoce.keyfiles.passphrase import Passphrase
from sottovoce.keyfiles.sealing import DEFAULT_WORK, seal, unseal
from sottovoce.protocols.identities import digest

MAX_BYTES = 2**30
_HEAD = b"sottovoce sealed file, version 1\n"
_NONCE_BYTES = 12
_PLAIN_HEAD = b"sottovoce storage key, version 1\n"
_PROFILE = "storage"


@dataclass(frozen=True)
class SealedFiles:
    """The site's key, and what it seals below `root`."""

    root: Path
    key: bytes = field(repr=False)

    def key_for(self, purpose: str) -> bytes:
        """A key of its own for one purpose, such as a journal."""
        return digest("service/sealed-files/v1", self.key, purpose.encode())

    def write(self, path: Path, data: bytes, *, entropy: Entropy, replace: bool = False) -> None:
        """Seal `data` into a file that only its owner can read, bound to its place."""
        nonce = entropy.read(_NONCE_BYTES)
        sealed = self._cipher(path).encrypt(nonce, data, _HEAD)
        storage.make_folder(path.parent)
        storage.write_whole(path, _HEAD + nonce + sealed, mode=storage.SECRET_MODE, replace=replace)

    def read(self, path: Path) -> bytes:
        """What was sealed into this file, if it is whole, in its place and nobody else's."""
        stored = storage.read_whole(path, limit=MAX_BYTES)
        stored.check_private()
        if not stored.data.startswith(_HEAD):
            raise KeyFileError(f"{path}: expected a sealed file of version 1, found another file")
        rest = stored.data[len(_HEAD) :]
        try:
            return self._cipher(path).decrypt(rest[:_NONCE_BYTES], rest[_NONCE_BYTES:], _HEAD)
        except (InvalidTag, ValueError):
            raise DamagedFileError(
                f"{path}: not what was written here: changed, moved, or sealed under another key",
                hints=("restore the file and storage.key from the same backup",),
            ) from None

    def _cipher(self, path: Path) -> ChaCha20Poly1305:
        """A key a file: moved to another place it does not open."""
        place = path.absolute().relative_to(self.root.absolute())
        return ChaCha20Poly1305(self.key_for(f"file {place.as_posix()}"))


def open_sealed(
    root: Path, *, entropy: Entropy, passphrase: Passphrase | None = None
) -> SealedFiles:
    """The site's sealed files; a new key where there is none, under the passphrase if given."""
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
    """Whether the site's key lies under a passphrase."""
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
            raise DamagedFileError(f"{path}: not what was written", hints=("restore it",))
        return key
    text = KeyText.parse(stored.data, name=str(path))
    if passphrase is None:
        raise KeyFileError(
            f"{path}: lies under a passphrase, and none was given",
            hints=("give --passphrase-file FILE or --passphrase-fd NUMBER",),
        )
    key = unseal(text, passphrase, name=str(path))
    if text.label != _label(key):
        raise DamagedFileError(f"{path}: says it is another key than it is")
    return key


def _label(key: bytes) -> Label:
    text = digest("service/storage-key/v1", key).hex()[:32]
    groups = "-".join(text[start : start + 4] for start in range(0, len(text), 4))
    return Label(Kind.SECRET, groups, 8 * SEED_BYTES, _PROFILE)
