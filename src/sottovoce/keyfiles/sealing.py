"""Sealing under a passphrase: scrypt makes the key, ChaCha20-Poly1305 locks body and head.

scrypt is memory-hard: at the default work of 17 each guess takes 128 MiB and
some tenths of a second. The lock is part of the file, so it is judged before it
is used: a file can ask neither for gigabytes nor for next to nothing.
"""

from cryptography.exceptions import InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from sottovoce.entropy import Entropy
from sottovoce.errors import DamagedFileError, KeyFileError, WrongPassphraseError
from sottovoce.keyfiles.keytext import KeyText, Label, Lock, head
from sottovoce.keyfiles.passphrase import Passphrase

# 2^work blocks of 1 KiB: 64 MiB, 128 MiB, 1 GiB.
MIN_WORK = 16
DEFAULT_WORK = 17
MAX_WORK = 20
SALT_BYTES = 16

_BLOCK = 8
_TAG_BYTES = 16
# Safe because the salt, and so the key, is new with every sealing.
_NONCE = bytes(12)


def seal(
    label: Label, secret: bytes, passphrase: Passphrase, *, entropy: Entropy, work: int
) -> KeyText:
    """The key file of `secret`, which nobody opens, or moves under another label, without it."""
    lock = Lock(work, entropy.read(SALT_BYTES))
    cipher = _cipher(lock, passphrase, name="new key file")
    return KeyText(label, lock, cipher.encrypt(_NONCE, secret, head(label, lock)))


def unseal(text: KeyText, passphrase: Passphrase, *, name: str) -> bytes:
    """The secret of a key file that is whole already, as its checksum says."""
    if text.lock is None or len(text.body) < _TAG_BYTES:
        raise DamagedFileError(f"{name}: the sealed body is missing")
    cipher = _cipher(text.lock, passphrase, name=name)
    try:
        return cipher.decrypt(_NONCE, text.body, head(text.label, text.lock))
    except InvalidTag:
        raise WrongPassphraseError(
            f"{name}: this passphrase does not open it; the file itself is whole",
            hints=("try again, and mind the keyboard layout and Caps Lock",),
        ) from None


def _cipher(lock: Lock, passphrase: Passphrase, *, name: str) -> ChaCha20Poly1305:
    if not MIN_WORK <= lock.work <= MAX_WORK:
        raise KeyFileError(
            f"{name}: expected a lock of scrypt work {MIN_WORK} to {MAX_WORK}, "
            f"found {lock.work}, which is {'too weak' if lock.work < MIN_WORK else 'too costly'}"
        )
    if len(lock.salt) != SALT_BYTES:
        raise KeyFileError(f"{name}: expected a salt of {SALT_BYTES} bytes, found {len(lock.salt)}")
    try:
        kdf = Scrypt(salt=lock.salt, length=32, n=1 << lock.work, r=_BLOCK, p=1)
        return ChaCha20Poly1305(kdf.derive(passphrase.encoded()))
    except UnsupportedAlgorithm:
        raise KeyFileError(f"{name}: the OpenSSL of this machine has no scrypt") from None
    except MemoryError:
        raise KeyFileError(
            f"{name}: the lock needs {1 << lock.work - 10} MiB of memory, which are not there"
        ) from None
