"""Files that are written whole or not at all, and secret ones that only their owner can read."""

import errno
import logging
import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path
from shlex import quote

from sottovoce.errors import FullDiskError, KeyFileError, OpenPermissionsError
from sottovoce.keyfiles import unix

# The permissions by which other users of this machine could read or change a file.
OTHERS = stat.S_IRWXG | stat.S_IRWXO
SECRET_MODE = 0o600
PUBLIC_MODE = 0o644
FREE_SPACE = "free some space, and start again: the study continues"
"""The hint where a site or a server ends because its disk is full."""
_AT_ONCE = 2**20
_log = logging.getLogger("sottovoce.storage")


def write_whole(
    path: Path, data: bytes, *, mode: int, replace: bool = False, synced: bool = True
) -> None:
    """Put `data` at `path`: all of it, on disk, or nothing; an old file stays until then.

    Unless `replace`, a file that exists already is left alone, even if it
    appeared while we wrote. Unless `synced`, nobody waits for the disk: after a
    crash of the machine the file may be empty.
    """
    if replace:
        # Where a link points is what its owner wants to change; the link itself stays.
        path = path.resolve()
    try:
        descriptor, part = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name}.", suffix=".part"
        )
    except OSError as error:
        raise _cannot_write(path, error) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            unix.set_mode(descriptor, mode)
            file.write(data)
            file.flush()
            if synced:
                os.fsync(descriptor)
        _move(Path(part), path, replace=replace)
    except OSError as error:
        raise _cannot_write(path, error) from None
    finally:
        with suppress(FileNotFoundError):
            Path(part).unlink()
    if synced:
        sync_folder(path.parent)


@dataclass(frozen=True, slots=True)
class Stored:
    """The bytes of a file, and who could read it at the moment when we did."""

    path: Path
    data: bytes = field(repr=False)
    mode: int
    owner: int

    def check_private(self) -> None:
        """Raise unless the file is its owner's alone, and the owner is this user or root."""
        if self.mode & OTHERS:
            raise OpenPermissionsError(
                f"{self.path}: other users of this machine can read it, expected mode 600, "
                f"found {stat.S_IMODE(self.mode):03o}",
                hints=(f"chmod 600 {quote(str(self.path))}",),
            )
        if unix.owned_by_another(self.owner):
            raise OpenPermissionsError(
                f"{self.path}: belongs to another user of this machine, number {self.owner}",
                hints=(f"sudo chown $USER {quote(str(self.path))}",),
            )


def read_whole(path: Path, *, limit: int) -> Stored:
    """A regular file of at most `limit` bytes."""
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for its other end.
        descriptor = os.open(path, os.O_RDONLY | unix.CLOEXEC | unix.NONBLOCK)
    except OSError as error:
        raise _cannot_read(path, error) from None
    try:
        status = os.fstat(descriptor)
        _check_file(path, status, limit=limit)
        return Stored(path, read_bounded(descriptor, limit), status.st_mode, status.st_uid)
    except OSError as error:
        raise _cannot_read(path, error) from None
    finally:
        os.close(descriptor)


def read_bounded(descriptor: int, limit: int) -> bytes:
    """Everything up to the end, or the first `limit` + 1 bytes."""
    data = b""
    while len(data) <= limit and (piece := os.read(descriptor, limit + 1 - len(data))):
        data += piece
    return data


def overwrite(path: Path) -> None:
    """Put zeros over a file where it lies, and wait until the disk has them."""
    try:
        descriptor = os.open(path, os.O_WRONLY | unix.CLOEXEC | unix.NOFOLLOW)
        try:
            left = os.fstat(descriptor).st_size
            while left:
                left -= os.write(descriptor, bytes(min(left, _AT_ONCE)))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise KeyFileError(f"{path}: cannot be overwritten ({_reason(error)})") from None


def write_for_information(path: Path, data: bytes, *, synced: bool = True) -> bool:
    """Write a file that only informs people; return whether that worked.

    On a full disk, or if the file cannot be written, the work continues without it.
    """
    try:
        write_whole(path, data, mode=SECRET_MODE, replace=True, synced=synced)
    except KeyFileError as error:
        _log.warning("not written, and not needed: %s", error.message)
        return False
    return True


def check_absent(path: Path, *, hints: tuple[str, ...] = ()) -> None:
    """Raise if there is something at `path` already, before any work is done for it."""
    if os.path.lexists(path):
        raise _exists(path, hints)


def remove_parts(path: Path) -> None:
    """Remove what killed runs left of a file that they did not finish."""
    for part in path.parent.glob(f".{escape(path.name)}.*.part"):
        part.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """A folder that only its owner can enter, unless it is there already."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise KeyFileError(f"{path}: cannot be made ({_reason(error)})") from None


def set_aside(path: Path) -> Path:
    """Rename a file to a name that is free, so that it is not lost; its new path."""
    for number in range(1, 1000):
        aside = path.with_name(f"{path.name}.old-{number}")
        if not os.path.lexists(aside):
            try:
                return path.rename(aside)
            except OSError as error:
                raise _cannot_write(aside, error) from None
    raise KeyFileError(f"{path}: there are already 999 old ones")


def _check_file(path: Path, status: os.stat_result, *, limit: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "no regular file"
        raise KeyFileError(f"{path}: expected a key file, found {what}")
    if status.st_size > limit:
        raise KeyFileError(
            f"{path}: expected a key file of at most {limit} bytes, found {status.st_size}"
        )


def _move(part: Path, path: Path, *, replace: bool) -> None:
    if replace:
        part.replace(path)
        return
    try:
        # A link is the one way to a new name that fails if the name is taken.
        os.link(part, path)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}:
            raise
        _move_without_links(part, path)


def _move_without_links(part: Path, path: Path) -> None:
    """On a file system without hard links: take the name first, then put the file there."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | unix.CLOEXEC, SECRET_MODE))
    except FileExistsError:
        raise _exists(path) from None
    part.replace(path)


def sync_folder(folder: Path) -> None:
    """Bring the new name to disk; the file is in place, so a system that cannot is no error."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | unix.CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _exists(path: Path, hints: tuple[str, ...] = ()) -> KeyFileError:
    return KeyFileError(f"{path}: already exists; nothing was changed", hints=hints)


def room_hints(error: OSError, way_on: str = FREE_SPACE) -> tuple[str, ...]:
    """The way on where a disk is full."""
    return (way_on,) if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG} else ()


def _cannot_write(path: Path, error: OSError) -> KeyFileError:
    hints = room_hints(error, "free some space, and run the same command again")
    kind = FullDiskError if hints else KeyFileError
    return kind(
        f"{path}: cannot be written ({_reason(error)}), and nothing was changed", hints=hints
    )


def _cannot_read(path: Path, error: OSError) -> KeyFileError:
    return KeyFileError(f"{path}: cannot be read ({_reason(error)})")


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
