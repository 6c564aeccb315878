"""Functions that only Unix has: locks and modes of files, and limits of a process.

On another system the package imports, and what needs none of this runs: estimators, studies in
memory, sources, the attacks. Whatever keeps secrets on a disk is refused there, by name.
"""

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

from sottovoce.errors import InputError

CLOEXEC: int = getattr(os, "O_CLOEXEC", 0)
NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
NONBLOCK: int = getattr(os, "O_NONBLOCK", 0)


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


_fcntl = _module("fcntl")
_resource = _module("resource")


def require(what: str) -> None:
    """Refuse what would not be safe here."""
    if _fcntl is None or not hasattr(os, "fchmod"):
        raise InputError(
            f"{what}: expected a Unix system, with locks and modes of files, found {sys.platform}",
            hints=(
                "on Windows, run it inside WSL",
                "studies in memory run here: docs/tutorials/first-study.md",
            ),
        )


def lock_alone(descriptor: int) -> bool:
    """Whether this process is now the only one that holds the file; it stays so until closed."""
    require("a file that one process writes")
    try:
        _fcntl.flock(descriptor, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def set_mode(descriptor: int, mode: int) -> None:
    """Set who may read and write an open file."""
    require("a file with an owner")
    os.fchmod(descriptor, mode)


def owned_by_another(owner: int) -> bool:
    """Whether a file belongs neither to this user nor to root."""
    require("a file with an owner")
    return os.geteuid() not in {owner, 0} and owner != 0


def allow_open_files(wanted: int) -> None:
    """Let this process open as many files as it may, up to what it needs."""
    if _resource is None:
        return
    soft, hard = _resource.getrlimit(_resource.RLIMIT_NOFILE)
    if soft == _resource.RLIM_INFINITY or soft >= wanted:
        return
    allowed = wanted if hard == _resource.RLIM_INFINITY else min(wanted, hard)
    with suppress(OSError, ValueError):
        _resource.setrlimit(_resource.RLIMIT_NOFILE, (allowed, hard))
