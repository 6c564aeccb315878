"""The text of a key file: what it says in the open, its body, and a checksum over all of it.

    sottovoce secret key, version 1
    fingerprint: 0f3c-…                     what may be shown to anybody
    bits: 3072
    profile: short
    sealed: scrypt 17 <salt>                secret keys only
    body:
    <base64, 64 characters a line>
    checksum: <64 hexadecimal digits>

The first word and the last line stay the same in every version, so that damage,
a newer version and a file of another program can always be told apart. There
is one text per key file: other line ends, spaces or spellings are damage.
"""

import binascii
import hashlib
import re
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from enum import StrEnum
from shlex import quote

from sottovoce.errors import DamagedFileError, KeyFileError
from sottovoce.hints import Hint, ShellCommand

VERSION = 1
# Several times the largest key; whatever is longer is not read at all.
MAX_BYTES = 64 * 1024

_SEAL = re.compile(rb"(?P<sealed>.*\n)checksum: (?P<checksum>[0-9a-f]{64})\n", re.DOTALL)
_TITLE = re.compile(
    r"sottovoce (?P<kind>public|secret) key, version (?P<version>[1-9][0-9]{0,8})\n"
)
_TEXT = re.compile(
    _TITLE.pattern + r"fingerprint: (?P<fingerprint>[0-9a-f]{4}(?:-[0-9a-f]{4}){7})\n"
    r"bits: (?P<bits>[1-9][0-9]{0,5})\n"
    r"profile: (?P<profile>[a-z]{1,32})\n"
    r"(?:sealed: scrypt (?P<work>[1-9][0-9]{0,2}) (?P<salt>[A-Za-z0-9+/=]{1,64})\n)?"
    r"body:\n"
    r"(?P<body>(?:[A-Za-z0-9+/=]{1,64}\n)+)"
)


class KeyHalf(StrEnum):
    """The half of a key that a file holds."""

    PUBLIC = "public"
    SECRET = "secret"  # noqa: S105 - the name of a kind


@dataclass(frozen=True, slots=True)
class Label:
    """The open part of a key file."""

    kind: KeyHalf
    fingerprint: str
    bits: int
    profile: str


@dataclass(frozen=True, slots=True)
class Lock:
    """The way from passphrase to key: scrypt with 2^work steps, over a salt used once."""

    work: int
    salt: bytes


@dataclass(frozen=True, slots=True)
class KeyText:
    """One key file: its label, its lock if it is sealed, and its body."""

    label: Label
    lock: Lock | None
    body: bytes = field(repr=False)

    def render(self) -> bytes:
        """The one text of this key file."""
        encoded = b64encode(self.body)
        lines = [encoded[start : start + 64] + b"\n" for start in range(0, len(encoded), 64)]
        text = head(self.label, self.lock) + b"".join(lines)
        return text + b"checksum: " + _checksum(text) + b"\n"

    @classmethod
    def parse(cls, data: bytes, *, name: str) -> "KeyText":
        """The key file of these bytes, of which errors speak as `name`."""
        text = _whole(data, name).decode("ascii", errors="replace")
        title = _TITLE.match(text)
        if title is None:
            raise _not_ours(name)
        if int(title["version"]) != VERSION:
            raise KeyFileError(
                f"{name}: expected a key file of version {VERSION}, "
                f"found version {title['version']}",
                hints=("update Sottovoce: pip install --upgrade sottovoce",),
            )
        parts = _TEXT.fullmatch(text)
        if parts is None or (parts["kind"] == KeyHalf.SECRET) != (parts["work"] is not None):
            raise _unlike_version(name)
        try:
            key_text = cls(_label(parts), _lock(parts), b64decode(parts["body"].replace("\n", "")))
        except binascii.Error:
            raise _unlike_version(name) from None
        # Base64 has several spellings of some bytes; only ours is accepted.
        if key_text.render() != data:
            raise _unlike_version(name)
        return key_text


def head(label: Label, lock: Lock | None) -> bytes:
    """Everything before the body; a sealed body is bound to it."""
    lines = [
        f"sottovoce {label.kind} key, version {VERSION}",
        f"fingerprint: {label.fingerprint}",
        f"bits: {label.bits}",
        f"profile: {label.profile}",
    ]
    if lock is not None:
        lines.append(f"sealed: scrypt {lock.work} {b64encode(lock.salt).decode()}")
    return "\n".join([*lines, "body:", ""]).encode("ascii")


def _label(parts: re.Match[str]) -> Label:
    return Label(KeyHalf(parts["kind"]), parts["fingerprint"], int(parts["bits"]), parts["profile"])


def _lock(parts: re.Match[str]) -> Lock | None:
    return None if parts["work"] is None else Lock(int(parts["work"]), b64decode(parts["salt"]))


def _whole(data: bytes, name: str) -> bytes:
    """The bytes that the checksum covers; an error says in which way they are not whole."""
    if not data:
        raise DamagedFileError(f"{name}: expected a key file, found an empty file", hints=_BACKUP)
    if len(data) > MAX_BYTES:
        raise KeyFileError(f"{name}: expected a key file of at most {MAX_BYTES} bytes, found more")
    seal = _SEAL.fullmatch(data)
    if seal is None and not data.startswith(b"sottovoce "):
        raise _not_ours(name)
    if b"\r" in data:
        raise DamagedFileError(
            f"{name}: expected lines that end in LF, found CR: another program changed the file",
            hints=(f"sed -i 's/\\r//' {quote(name)}", *_BACKUP),
        )
    if seal is None:
        raise DamagedFileError(
            f"{name}: the checksum in the last line is missing: the file was cut short or changed",
            hints=_BACKUP,
        )
    if _checksum(seal["sealed"]) != seal["checksum"]:
        raise DamagedFileError(
            f"{name}: expected checksum {seal['checksum'][:8].decode()}…, found "
            f"{_checksum(seal['sealed'])[:8].decode()}…: the file is damaged or was edited",
            hints=_BACKUP,
        )
    return seal["sealed"]


def _checksum(text: bytes) -> bytes:
    """Against accidents only: anybody can make it; the secret body has a lock of its own."""
    digest = hashlib.blake2b(text, digest_size=32, person=b"sottovoce/file/1")
    return digest.hexdigest().encode("ascii")


def _not_ours(name: str) -> KeyFileError:
    return KeyFileError(
        f"{name}: not a key file of Sottovoce, whose first line is "
        f"`sottovoce public key, version {VERSION}` or `sottovoce secret key, version {VERSION}`",
        hints=(Hint("make a key: ", ShellCommand("sottovoce keys generate --out FOLDER")),),
    )


def _unlike_version(name: str) -> DamagedFileError:
    return DamagedFileError(
        f"{name}: the lines are not those of a key file of version {VERSION}", hints=_BACKUP
    )


_BACKUP = ("restore the file from a backup",)
