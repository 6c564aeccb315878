"""Copies a site's whole folder into one file, and restores it.

Every database of the folder is locked while the copy is made, so that no seat and no coordinator
changes it. Sealed files stay sealed; the key that opens them is left out by default. A copy is
restored only where there is no folder yet. Each seat then checks whether it may continue: before it
sends anything it compares its journal with the server's record of it, and an older copy stops.
"""

import hashlib
import json
import os
import shutil
import tarfile
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, BinaryIO

from sottovoce import __version__
from sottovoce.errors import DamagedFileError, InputError
from sottovoce.keyfiles import storage
from sottovoce.storage.sealed_sqlite import connect, translated

FORMAT = 1
KEY = "storage.key"
_MANIFEST = "manifest.json"
_KIND = "sottovoce backup"
_MANIFEST_BYTES = 2**26
_PIECE = 2**20
_FOLDER_MODE = 0o700


@dataclass(frozen=True)
class BackupSummary:
    """The content of a backup."""

    files: int
    size: int
    at: str
    has_key: bool


def write_backup(home: Path, out: Path, *, with_key: bool) -> BackupSummary:
    """Copy the folder to the file `out`, while nobody works in it."""
    if not (home / KEY).is_file():
        raise InputError(f"{home}: there is no such folder", hints=("--home FOLDER",))
    if out.exists():
        raise InputError(f"{out}: already exists; nothing was copied", hints=("another name",))
    if out.resolve().is_relative_to(home.resolve()):
        raise InputError(f"{out}: write the backup outside of {home}")
    descriptor, draft = _draft(out)
    try:
        with os.fdopen(descriptor, "wb") as file:
            summary = _write(home, file, with_key=with_key)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, out)  # refuses a file that appeared meanwhile
    finally:
        Path(draft).unlink()
    return summary


def _draft(out: Path) -> tuple[int, str]:
    try:
        return tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.", suffix=".part")
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(f"{out}: cannot be written ({reason})") from None


def _write(home: Path, out: BinaryIO, *, with_key: bool) -> BackupSummary:
    known: dict[str, dict[str, Any]] = {}
    with ExitStack() as held, tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        paths = [path for path in sorted(home.rglob("*")) if path.is_file()]
        for path in (path for path in paths if path.suffix == ".db"):
            database = held.enter_context(_closing(path))
            with translated(path):
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for path in paths:
            name = path.relative_to(home).as_posix()
            if not _belongs(path) or (name == KEY and not with_key):
                continue
            # Closed at the end only: closing a database's file releases its lock.
            file = held.enter_context(path.open("rb"))
            known[name] = _add(tar, name, file)
        at = datetime.now(UTC).isoformat(timespec="seconds")
        head = {"kind": _KIND, "format": FORMAT, "release": __version__, "at": at}
        # A study that nobody joined yet has folders without a file.
        folders = [path.relative_to(home).as_posix() for path in _folders(home)]
        data = json.dumps({**head, "files": known, "folders": folders}).encode()
        entry = tarfile.TarInfo(_MANIFEST)
        entry.size, entry.mode = len(data), storage.SECRET_MODE
        tar.addfile(entry, BytesIO(data))
    return BackupSummary(len(known), sum(file["size"] for file in known.values()), at, KEY in known)


def _folders(home: Path) -> list[Path]:
    return sorted(path for path in home.rglob("*") if path.is_dir() and not path.is_symlink())


def _closing(path: Path) -> Any:
    from contextlib import closing

    return closing(connect(path))


def _belongs(path: Path) -> bool:
    """Whether a file belongs to the copy; drafts and a database's temporary files do not."""
    return not path.name.endswith(("-wal", "-shm", ".part"))


def _add(tar: tarfile.TarFile, name: str, file: BinaryIO) -> dict[str, Any]:
    size = os.fstat(file.fileno()).st_size
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, storage.SECRET_MODE
    reader = _Hashing(file)
    tar.addfile(entry, reader)
    return {"size": size, "sha256": reader.digest.hexdigest()}


class _Hashing(BytesIO):
    """A file that is hashed as it is read."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int | None = -1, /) -> bytes:
        data = self._file.read(-1 if size is None else size)
        self.digest.update(data)
        return data


def read_backup(path: Path, home: Path, *, key: Path | None = None) -> BackupSummary:
    """Restore a copy as the folder `home`, which must not exist or must be empty."""
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise InputError(
            f"{home}: expected no folder or an empty one, found files: that folder may have sent "
            f"values since the copy was made, and an older copy would use the same masks again",
            hints=("--home NEW-FOLDER", "what helps when: docs/backup.md"),
        )
    if not home.absolute().parent.is_dir():
        raise InputError(f"{home}: its parent folder does not exist")
    draft = Path(tempfile.mkdtemp(dir=home.absolute().parent, prefix=f".{home.name}."))
    try:
        summary = _unpack(path, draft)
        if key is not None:
            storage.write_whole(
                draft / KEY,
                storage.read_whole(key, limit=2**16).data,
                mode=storage.SECRET_MODE,
                replace=True,
            )
        if not (draft / KEY).is_file():
            raise InputError(
                f"{path}: this copy was made without the key that opens it",
                hints=("--key storage.key, the copy that you kept",),
            )
        if home.exists():
            home.rmdir()
        draft.rename(home)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return summary


def _unpack(path: Path, draft: Path) -> BackupSummary:
    sums: dict[str, dict[str, Any]] = {}
    manifest: dict[str, Any] | None = None
    try:
        with tarfile.open(path, mode="r:") as tar:
            for entry in tar:
                if not entry.isreg() or manifest is not None:
                    raise _damaged(path, "something that no backup holds")
                content = tar.extractfile(entry)
                assert content is not None
                if entry.name == _MANIFEST:
                    manifest = _manifest(path, content.read(_MANIFEST_BYTES))
                else:
                    sums[entry.name] = _extract(path, draft, entry.name, content)
    except (tarfile.TarError, EOFError) as error:
        raise _damaged(path, type(error).__name__) from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(f"{path}: cannot be read, or not written back ({reason})") from None
    if manifest is None or manifest.get("files") != sums:
        raise _damaged(path, "other files than its list names")
    # Copies of earlier releases name none.
    for name in manifest.get("folders", []):
        _make_folders(draft, _inner(path, name))
    return BackupSummary(
        len(sums), sum(file["size"] for file in sums.values()), str(manifest.get("at")), KEY in sums
    )


def _manifest(path: Path, data: bytes) -> dict[str, Any]:
    try:
        manifest = json.loads(data)
    except ValueError:
        manifest = None
    if not isinstance(manifest, dict) or manifest.get("kind") != _KIND:
        raise _damaged(path, "another file")
    if manifest.get("format") != FORMAT:
        raise InputError(
            f"{path}: expected a backup of format {FORMAT}, found format {manifest.get('format')}",
            hints=("pip install --upgrade sottovoce",),
        )
    return manifest


def _extract(path: Path, draft: Path, name: str, content: Any) -> dict[str, Any]:
    target = draft / _inner(path, name)
    _make_folders(draft, target.relative_to(draft).parent)
    digest, size = hashlib.sha256(), 0
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(target, flags, storage.SECRET_MODE), "wb") as file:
        while piece := content.read(_PIECE):
            digest.update(piece)
            size += len(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return {"size": size, "sha256": digest.hexdigest()}


def _inner(path: Path, name: object) -> PurePosixPath:
    """A name of a copy, if it stays inside of a home."""
    inner = PurePosixPath(name) if isinstance(name, str) else PurePosixPath()
    if inner.is_absolute() or ".." in inner.parts or not inner.parts:
        raise _damaged(path, "a name outside of a home")
    return inner


def _make_folders(draft: Path, inner: PurePath) -> None:
    for folder in (*reversed(inner.parents), inner):
        (draft / folder).mkdir(mode=_FOLDER_MODE, exist_ok=True)


def _damaged(path: Path, fault: str) -> DamagedFileError:
    return DamagedFileError(f"{path}: expected a whole backup of a home, found {fault}")
