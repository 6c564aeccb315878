"""Reads one file inside a .gz or .zip as a stream of bounded size; nothing is unpacked to disk."""

import gzip
import io
import zipfile
import zlib
from pathlib import Path
from shlex import quote
from typing import Any, BinaryIO

from sottovoce.errors import InputError

GZIP, ZIP = ".gz", ".zip"
UNPACKED_FREE = 2**26
"""The bytes to which every packed file may grow."""
UNPACKED_RATIO = 250
"""Beyond that, the largest factor by which a file may grow; text compresses 3 to 50 times."""

_ENCRYPTED = 0x1
_LITTER = ("__MACOSX/", ".DS_Store", "Thumbs.db")


def is_packed(path: Path) -> bool:
    """Return whether a file's name says that it is packed."""
    return path.suffix.lower() in {GZIP, ZIP}


def inner_name(path: Path) -> Path:
    """Return the name without the suffix of packing; a plain file's name is unchanged."""
    if path.suffix.lower() == GZIP:
        return path.with_suffix("")
    if path.suffix.lower() == ZIP:
        with _archive(path) as archive:
            return Path(_only_member(path, archive).filename)
    return path


def open_packed(path: Path) -> BinaryIO:
    """Return a stream of the unpacked bytes, which can be read again from the start."""
    if path.suffix.lower() == ZIP:
        archive = _archive(path)
        member = _only_member(path, archive)
        try:
            inner: Any = archive.open(member)
        except (NotImplementedError, zipfile.BadZipFile) as error:
            archive.close()
            raise _damaged(path, error) from error
        return io.BufferedReader(_Unpacking(path, inner, member.compress_size, archive))
    return io.BufferedReader(_Unpacking(path, gzip.open(path), path.stat().st_size))


def _archive(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, ValueError) as error:
        raise _damaged(path, error) from error


def _only_member(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """Return the one file that the archive holds."""
    members = [
        member
        for member in archive.infolist()
        if not member.is_dir() and not member.filename.startswith(_LITTER[0])
        if not member.filename.endswith(_LITTER[1:])
    ]
    if len(members) != 1:
        raise InputError(
            f"{path}: expected one file in the archive, found {len(members) or 'none'}",
            hints=(f"unzip {quote(str(path))} -d texts", "then name the file or folder in texts"),
        )
    if members[0].flag_bits & _ENCRYPTED:
        raise InputError(
            f"{path}: the archive needs a password",
            hints=(
                f"unzip {quote(str(path))} asks for the password; name the file that it writes",
            ),
        )
    return members[0]


class _Unpacking(io.RawIOBase):
    """Unpacks while it is read, and raises if a file grows beyond its limit."""

    def __init__(self, path: Path, inner: Any, size: int, archive: Any = None) -> None:
        super().__init__()
        self._path = path
        self._inner = inner
        self._archive = archive
        self._most = max(UNPACKED_FREE, UNPACKED_RATIO * size)

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True: it unpacks again."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go to a position; for an earlier one, unpack again from the start."""
        return int(self._inner.seek(offset, whence))

    def tell(self) -> int:
        """Return the position of the next byte to read."""
        return int(self._inner.tell())

    def readinto(self, buffer: Any, /) -> int:
        """Read the next bytes; the libraries' own messages about a damaged file could quote it."""
        try:
            data = self._inner.read(len(buffer))
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError) as error:
            raise _damaged(self._path, error) from error
        if self._inner.tell() > self._most:
            raise InputError(
                f"{self._path}: expected at most {self._most:,} bytes once unpacked, found more",
                hints=("unpack it first if that size is right",),
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the stream and its archive."""
        self._inner.close()
        if self._archive is not None:
            self._archive.close()
        super().close()


def _damaged(path: Path, error: Exception) -> InputError:
    kind = path.suffix.lower().removeprefix(".")
    return InputError(
        f"{path}: expected a whole {kind} file, found one that cannot be unpacked "
        f"({type(error).__name__})",
        hints=(f"{'gzip -t' if kind == 'gz' else 'unzip -t'} {quote(str(path))}",),
    )
