"""Opening what a user named: a regular file that is there, may be read and holds something."""

import errno
import os
import stat
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO

from sottovoce.errors import InputError
from sottovoce.sources.packed import is_packed, open_packed

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
}


def kind_of(mode: int) -> str:
    """The words for what a path leads to."""
    return _KINDS.get(stat.S_IFMT(mode), "something that is not a file")


def look_at(path: Path) -> os.stat_result:
    """Return the state of `path`; raise an error that a user understands if it leads nowhere."""
    try:
        return path.stat()
    except OSError as error:
        raise refusal(path, error) from error
    except ValueError as error:
        raise InputError(f"{str(path)!r} is no path: {error}") from error


def open_file(path: Path) -> BinaryIO:
    """Open the regular file `path` to be read, unpacked if it is packed; it may be empty."""
    status = look_at(path)
    if not stat.S_ISREG(status.st_mode):
        raise InputError(
            f"{path}: expected a file that can be read more than once, "
            f"found {kind_of(status.st_mode)}",
            hints=("write the data to a file first, and name that file",),
        )
    try:
        return open_packed(path) if is_packed(path) else path.open("rb")
    except OSError as error:
        raise refusal(path, error) from error


def size_of(path: Path) -> int | None:
    """The number of bytes to read; None for a packed file."""
    return None if is_packed(path) else path.stat().st_size


def refusal(path: Path, error: OSError) -> InputError:
    """The operating system's word translated: which path, what is wrong, what to do next."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return InputError(f"{path}: expected a file or a folder, found nothing", hints=_near(path))
    if isinstance(error, PermissionError):
        return InputError(
            f"{path} may not be read by this user", hints=(f"chmod u+r {path}", f"ls -ld {path}")
        )
    if error.errno == errno.ELOOP:
        return InputError(
            f"{path}: expected a file or a folder, found a link that leads back to itself",
            hints=(f"ls -l {path}",),
        )
    return InputError(f"{path} cannot be read: {error.strerror or error}")


def _near(path: Path) -> tuple[str, ...]:
    """Names that are close to a name that is not there."""
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return (f"ls {path.parent}",)
    close = get_close_matches(path.name, names, n=1)
    return (f"did you mean {path.parent / close[0]}?",) if close else (f"ls {path.parent}",)
