"""Paillier keys in files: the public half for everybody, the secret half under a passphrase."""

from pathlib import Path
from shlex import quote

from sottovoce.entropy import Entropy
from sottovoce.errors import DamagedFileError, KeyFileError, MalformedError
from sottovoce.hints import Hint, ShellCommand
from sottovoce.keyfiles import storage
from sottovoce.keyfiles.keytext import MAX_BYTES, KeyHalf, KeyText, Label
from sottovoce.keyfiles.passphrase import Passphrase
from sottovoce.keyfiles.sealing import DEFAULT_WORK, seal, unseal
from sottovoce.paillier import PublicKey, SecretKey

PUBLIC_NAME = "public.key"
SECRET_NAME = "secret.key"  # noqa: S105 - the name of a file


def write_public(path: Path, key: PublicKey) -> None:
    """Write the public half, for everybody to read."""
    text = KeyText(_label(KeyHalf.PUBLIC, key), None, key.to_bytes())
    storage.write_whole(path, text.render(), mode=storage.PUBLIC_MODE)


def write_secret(
    path: Path,
    key: SecretKey,
    passphrase: Passphrase,
    *,
    entropy: Entropy,
    work: int = DEFAULT_WORK,
    replace: bool = False,
) -> None:
    """Write the secret half, sealed under `passphrase`, for its owner alone to read."""
    label = _label(KeyHalf.SECRET, key.public)
    text = seal(label, key.to_bytes(), passphrase.chosen(), entropy=entropy, work=work)
    storage.write_whole(path, text.render(), mode=storage.SECRET_MODE, replace=replace)


def make_pair(
    folder: Path, key: SecretKey, passphrase: Passphrase, *, entropy: Entropy
) -> tuple[Path, Path]:
    """Write both halves into `folder`; the paths of the public and of the secret one.

    The secret half goes first: a public key whose secret was never stored would
    swallow whatever is encrypted under it.
    """
    public, secret = folder / PUBLIC_NAME, folder / SECRET_NAME
    storage.check_absent(public)
    write_secret(secret, key, passphrase, entropy=entropy)
    try:
        write_public(public, key.public)
    except KeyFileError as error:
        again = ShellCommand(
            f"sottovoce keys public {quote(str(secret))} --out {quote(str(public))}"
        )
        error.hints = (Hint("the secret half is stored; write the public one later: ", again),)
        raise
    return public, secret


def read_label(path: Path) -> Label:
    """Read the open part of the file; refuse a secret key file that others can read."""
    return _text(path, None).label


def read_public(path: Path) -> PublicKey:
    """The public key of this file, checked."""
    text = _text(path, KeyHalf.PUBLIC)
    try:
        key = PublicKey.from_bytes(text.body)
    except MalformedError as error:
        raise _holds_no_key(path, error) from None
    _check_label(path, text.label, key)
    return key


def read_secret(path: Path, passphrase: Passphrase) -> SecretKey:
    """The secret key of this file, opened and checked."""
    text = _text(path, KeyHalf.SECRET)
    try:
        key = SecretKey.from_bytes(unseal(text, passphrase, name=str(path)))
    except MalformedError as error:
        raise _holds_no_key(path, error) from None
    _check_label(path, text.label, key.public)
    return key


def _text(path: Path, wanted: KeyHalf | None) -> KeyText:
    stored = storage.read_whole(path, limit=MAX_BYTES)
    text = KeyText.parse(stored.data, name=str(path))
    if text.label.kind is KeyHalf.SECRET:
        stored.check_private()
    if wanted is not None and text.label.kind is not wanted:
        raise KeyFileError(
            f"{path}: expected a {wanted} key, found a {text.label.kind} key",
            hints=(f"the {wanted} half is usually beside it: {path.parent / _NAMES[wanted]}",),
        )
    return text


def _label(kind: KeyHalf, key: PublicKey) -> Label:
    return Label(kind, key.fingerprint, key.bits, str(key.profile))


def _check_label(path: Path, label: Label, key: PublicKey) -> None:
    if label != _label(label.kind, key):
        raise DamagedFileError(
            f"{path}: says {label.bits}-bit `{label.profile}` key {label.fingerprint}, holds "
            f"{key.bits}-bit `{key.profile}` key {key.fingerprint}"
        )


def _holds_no_key(path: Path, error: MalformedError) -> DamagedFileError:
    return DamagedFileError(f"{path}: whole, but its body is no key ({error.message})")


_NAMES = {KeyHalf.PUBLIC: PUBLIC_NAME, KeyHalf.SECRET: SECRET_NAME}
