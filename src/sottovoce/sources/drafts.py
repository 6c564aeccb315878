"""Writes files and folders under a draft's name, and renames them when they are complete.

Content is written to a hidden draft beside the target, synced to disk, and then renamed: a reader
sees the old content or the new, never half of it. If the work is interrupted or the disk is full,
an earlier target is untouched, and what was written so far is kept under `<name>.partial`.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import BinaryIO

from sottovoce.errors import InputError, SottovoceError


@contextmanager
def draft_file(path: Path, *, replace: bool = False) -> Iterator[BinaryIO]:
    """Yield a file to write to; it is renamed to `path` if the block ends without an error."""
    _check_target(path, replace=replace)
    try:
        descriptor, name = tempfile.mkstemp(
            prefix=f".{path.name}.", suffix=".part", dir=path.parent
        )
    except OSError as error:
        raise _refusal(path, error) from error
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, draft)
        draft.replace(path)
    except BaseException as error:
        _keep(draft, path, error, worth=draft.stat().st_size > 0)
        raise
    _settle(path.parent)


@contextmanager
def draft_folder(path: Path) -> Iterator[Path]:
    """Yield a folder to write to; it is renamed to `path` if the block ends without an error."""
    _check_target(path, replace=False)
    try:
        draft = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent))
    except OSError as error:
        raise _refusal(path, error) from error
    try:
        yield draft
        for folder, _, _ in os.walk(draft):
            _settle(Path(folder))
        draft.rename(path)
    except BaseException as error:
        _keep(draft, path, error, worth=any(draft.iterdir()))
        raise
    _settle(path.parent)


def write_settled(path: Path, content: bytes) -> None:
    """Write one file inside a draft folder, and sync it to disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _check_target(path: Path, *, replace: bool) -> None:
    if not path.parent.is_dir():
        raise InputError(
            f"{path} cannot be written: there is no folder {path.parent}",
            hints=(f"mkdir -p {path.parent}",),
        )
    if path.is_dir() or (path.exists() and not replace):
        raise InputError(
            f"{path} cannot be written: it is there already",
            hints=("name another place, or move it away first",),
        )


def _keep(draft: Path, path: Path, error: BaseException, *, worth: bool) -> None:
    """Keep a non-empty draft, and add its place to the error; translate system errors."""
    words: tuple[str, ...] = ()
    if worth:
        place = next(p for p in _partial_names(path) if not p.exists())
        draft.rename(place)
        words = (f"what was written so far is in {place}",)
    elif draft.is_dir():
        shutil.rmtree(draft)
    else:
        draft.unlink()
    if isinstance(error, OSError):
        raise _refusal(path, error, *words) from error
    if isinstance(error, SottovoceError):
        error.hints = (*error.hints, *words)
    elif words:
        error.add_note(words[0])


def _partial_names(path: Path) -> Iterator[Path]:
    yield path.with_name(f"{path.name}.partial")
    for number in count(2):
        yield path.with_name(f"{path.name}.partial{number}")


def _refusal(path: Path, error: OSError, *hints: str) -> InputError:
    return InputError(f"{path} cannot be written: {error.strerror or error}", hints=hints)


def _settle(folder: Path) -> None:
    """Sync the names in `folder` to disk, if the system can do that."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except OSError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
