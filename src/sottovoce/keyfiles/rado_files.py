"""Encrypted rados in a file: whose key they are under stands in its head, for everybody to see."""

import hashlib
from pathlib import Path

from sottovoce.errors import DamagedFileError, KeyFileError, MalformedError, MismatchError
from sottovoce.keyfiles import storage
from sottovoce.paillier import PublicKey
from sottovoce.protocols.ciphertexts import ciphertexts_under
from sottovoce.study.stages.encrypted.exported_rados import ExportedRados
from sottovoce.wire import Codec

VERSION = 1
_KIND = b"sottovoce exported rados, version "
_HEAD = _KIND + str(VERSION).encode() + b"\n"
_MAX_BYTES = 2**30
_PARTS = 3


def write_rados(
    path: Path, exported: ExportedRados, key: PublicKey, *, replace: bool = False
) -> None:
    """Write the file, whole or not at all."""
    body = _codec(key).encode(exported)
    digest = hashlib.sha256(body).hexdigest()
    head = _HEAD + f"{key.fingerprint}\n{digest}\n".encode()
    storage.write_whole(path, head + body, mode=storage.SECRET_MODE, replace=replace)


def read_rados(path: Path, key: PublicKey) -> ExportedRados:
    """The rados of a file, if it is whole and under this key."""
    data = storage.read_whole(path, limit=_MAX_BYTES).data
    if not data.startswith(_HEAD):
        what = "another version" if data.startswith(_KIND) else "another file"
        raise KeyFileError(f"{path}: expected exported rados of version {VERSION}, found {what}")
    fingerprint, digest, body = _split(path, data[len(_HEAD) :])
    if fingerprint != key.fingerprint:
        raise MismatchError(
            f"{path}: expected rados under the key {key.fingerprint}, found rados under another "
            f"key, {fingerprint}",
            hints=("rados add up under one key alone: ask the site to write them under this one",),
        )
    if hashlib.sha256(body).hexdigest() != digest:
        raise DamagedFileError(f"{path}: not what was written (its SHA-256 is another)")
    try:
        return _codec(key).decode(body, ExportedRados)
    except MalformedError as error:
        raise DamagedFileError(f"{path}: cannot be read: {error}") from error


def _split(path: Path, data: bytes) -> tuple[str, str, bytes]:
    parts = data.split(b"\n", _PARTS - 1)
    if len(parts) != _PARTS or not all(part.isascii() for part in parts[:2]):
        raise DamagedFileError(f"{path}: its head cannot be read")
    return parts[0].decode(), parts[1].decode(), parts[2]


def _codec(key: PublicKey) -> Codec:
    return Codec(ciphertexts_under(key), limit=_MAX_BYTES)
