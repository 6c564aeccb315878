"""Opens the file that a user named, or explains why it cannot be read.

A file may lie behind an address such as s3://bucket/notes.csv, which fsspec opens (extra `remote`).
A path keeps only one of its two slashes (s3:/bucket/notes.csv), so readers need no other kind of
path. A worker that reads a part of such a file opens it itself, with its own credentials.
"""

import errno
import os
import re
import stat
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO, cast

from sottovoce.errors import InputError
from sottovoce.sources.packed import is_packed, open_packed
from sottovoce.wire.addresses import without_secrets

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
}

# A scheme of one letter would be a drive of Windows.
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:")


def kind_of(mode: int) -> str:
    """The kind of a path's target, in words."""
    return _KINDS.get(stat.S_IFMT(mode), "something that is not a file")


def look_at(path: Path) -> os.stat_result:
    """Return the status of `path`, or raise an error for the user if there is nothing."""
    if (address := address_of(path)) is not None:
        return _look_at_remote(address)
    try:
        return path.stat()
    except OSError as error:
        raise refusal(path, error) from error
    except ValueError as error:
        raise InputError(f"{str(path)!r} is no path: {error}") from error


def open_file(path: Path) -> BinaryIO:
    """Open the regular file `path` for reading, unpacking it if needed; it may be empty."""
    status = look_at(path)
    if not stat.S_ISREG(status.st_mode):
        raise InputError(
            f"{path}: expected a file that can be read more than once, "
            f"found {kind_of(status.st_mode)}",
            hints=("write the data to a file first, and name that file",),
        )
    if (address := address_of(path)) is not None:
        if is_packed(path):
            raise InputError(f"{address}: expected a file that is not packed")
        return _open_remote(address)
    try:
        return open_packed(path) if is_packed(path) else path.open("rb")
    except OSError as error:
        raise refusal(path, error) from error


def size_of(path: Path) -> int | None:
    """The number of bytes to read; None for a packed file."""
    return None if is_packed(path) else look_at(path).st_size


def refusal(path: Path, error: OSError) -> InputError:
    """Translate the operating system's error: which path, what is wrong, what to do next."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return InputError(f"{path}: there is no such file or folder", hints=_near(path))
    if isinstance(error, PermissionError):
        return InputError(
            f"{path} may not be read by this user", hints=(f"chmod u+r {path}", f"ls -ld {path}")
        )
    if error.errno == errno.ELOOP:
        return InputError(
            f"{path}: the link leads back to itself",
            hints=(f"ls -l {path}",),
        )
    return InputError(f"{path} cannot be read: {error.strerror or error}")


def _near(path: Path) -> tuple[str, ...]:
    """Return names that are similar to a missing one."""
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return (f"ls {path.parent}",)
    close = get_close_matches(path.name, names, n=1)
    return (f"did you mean {path.parent / close[0]}?",) if close else (f"ls {path.parent}",)


def address_of(path: Path) -> str | None:
    """Return the address that a path stands for; None for a path of this machine.

    It appears in messages, logs and the site's own files, so one that may hold a secret is refused.
    """
    scheme, *rest = path.parts or ("",)
    if not rest or not _SCHEME.fullmatch(scheme):
        return None
    # The addresses of local files have no host between the slashes.
    address = f"{scheme}//{'/' * (scheme == 'file:')}{'/'.join(rest)}"
    if _may_hold_secret(scheme, address, user=rest[0].rpartition("@")[0]):
        raise InputError(
            f"{without_secrets(address)}: expected an address without a password and without a "
            f"query, which may be secrets",
            hints=("put credentials into the configuration of the store, not into its address",),
        )
    return address


def _may_hold_secret(scheme: str, address: str, *, user: str) -> bool:
    """Return whether an address has a password, a query, or a web user, which may be a token."""
    of_web = scheme in {"http:", "https:"}
    return ":" in user or (of_web and bool(user)) or (scheme != "file:" and "?" in address)


def _look_at_remote(address: str) -> os.stat_result:
    """Return the same status as for a local file of this size."""
    system, name = _store_of(address)
    try:
        facts = system.info(name)
    except Exception as error:  # noqa: BLE001 - every store has errors of its own
        raise _remote_refusal(address, error) from None
    if facts.get("type") == "directory":
        raise InputError(
            f"{address}: expected a file, found a folder, which is not read from there"
        )
    return os.stat_result(
        (stat.S_IFREG | 0o400, 0, 0, 1, 0, 0, int(facts.get("size") or 0), 0, 0, 0)
    )


def _open_remote(address: str) -> BinaryIO:
    """Open the file for reading; only the parts that are read are fetched."""
    system, name = _store_of(address)
    try:
        return cast("BinaryIO", system.open(name, "rb"))
    except Exception as error:  # noqa: BLE001 - every store has errors of its own
        raise _remote_refusal(address, error) from None


def _store_of(address: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise InputError(
            f"{address}: reading from an address needs the package fsspec",
            hints=("pip install 'sottovoce[remote]'",),
        ) from None
    try:
        return cast("tuple[Any, str]", url_to_fs(address))
    except ImportError:
        scheme = address.partition(":")[0]
        raise InputError(
            f"{address}: a package that reads {scheme}:// is not installed",
            hints=("https://filesystem-spec.readthedocs.io lists it under its scheme",),
        ) from None
    except Exception as error:  # noqa: BLE001 - every store has errors of its own
        raise _remote_refusal(address, error) from None


def _remote_refusal(address: str, error: Exception) -> InputError:
    """Return the error for a remote failure, without its message, which may be a server's."""
    if isinstance(error, FileNotFoundError):
        return InputError(f"{address}: expected a file, found nothing")
    if isinstance(error, PermissionError):
        return InputError(f"{address} may not be read with the rights of this process")
    return InputError(f"{address} cannot be read ({type(error).__name__})")
