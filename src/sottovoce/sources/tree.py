"""Walks the files below a folder in a fixed order; links are followed, but never in circles."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sottovoce.errors import InputError
from sottovoce.sources.encodings import find_encoding, refuse_magic
from sottovoce.sources.files import kind_of, look_at, open_file, refusal
from sottovoce.sources.lines import too_long
from sottovoce.sources.options import SourceOptions
from sottovoce.sources.problems import ProblemKind, SourceProblem
from sottovoce.text.documents import Origin


@dataclass(frozen=True, slots=True)
class Folder:
    """One folder: its path below the root, and its files by name."""

    path: Path
    relative: str
    files: tuple[str, ...]

    def below(self, name: str) -> str:
        """Return the path of the file `name` below the root, for messages and labels files."""
        return f"{self.relative}/{name}" if self.relative else name


def walk(root: Path) -> Iterator[Folder | SourceProblem]:
    """Yield every folder from `root` down, ordered by code points; `root` must be readable."""
    status = look_at(root)
    if not stat.S_ISDIR(status.st_mode):
        raise InputError(f"{root}: expected a folder, found {kind_of(status.st_mode)}")
    waiting = [_Step(root, "", ((status.st_dev, status.st_ino),))]
    while waiting:
        step = waiting.pop()
        try:
            with os.scandir(step.path) as entries:
                names = sorted(entry.name for entry in entries)
        except OSError as error:
            refused = refusal(step.path, error)
            if not step.relative:
                raise refused from error
            yield SourceProblem(Origin(step.relative), ProblemKind.UNREADABLE, refused.message)
            continue
        files: list[str] = []
        folders: list[_Step] = []
        for name in names:
            met = _meet(step, name)
            if isinstance(met, SourceProblem):
                yield met
            elif met is None:
                files.append(name)
            else:
                folders.append(met)
        yield Folder(step.path, step.relative, tuple(files))
        waiting.extend(reversed(folders))


@dataclass(frozen=True, slots=True)
class _Step:
    """A folder to visit, and the folders above it."""

    path: Path
    relative: str
    above: tuple[tuple[int, int], ...]


def _meet(step: _Step, name: str) -> _Step | SourceProblem | None:
    """Return what `name` is: a folder to visit, a problem, or None for a file."""
    path = step.path / name
    here = f"{step.relative}/{name}" if step.relative else name
    try:
        status = path.stat()
    except OSError as error:
        return SourceProblem(Origin(here), ProblemKind.UNREADABLE, refusal(path, error).message)
    if stat.S_ISREG(status.st_mode):
        return None
    if not stat.S_ISDIR(status.st_mode):
        reason = f"expected a file, found {kind_of(status.st_mode)}"
        return SourceProblem(Origin(here), ProblemKind.UNREADABLE, reason)
    identity = (status.st_dev, status.st_ino)
    if identity in step.above:
        reason = "a link that leads back to a folder above it; not followed"
        return SourceProblem(Origin(here), ProblemKind.UNREADABLE, reason)
    return _Step(path, here, (*step.above, identity))


@dataclass(frozen=True, slots=True)
class TextFile:
    """A decoded text file; `marked` says whether a byte order mark was removed from `text`."""

    text: str
    marked: bool
    encoding: str
    note: str


def read_text(path: Path, shown: str, options: SourceOptions) -> TextFile | SourceProblem:
    """Return the text of one small file, or the problem that makes it unusable."""
    limit = options.limits.document_bytes
    origin = Origin(shown)
    try:
        with open_file(path) as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            reason = too_long(path.stat().st_size, limit)
            return SourceProblem(origin, ProblemKind.TOO_LONG, reason)
        refuse_magic(content, name=shown)
        encoding = find_encoding(content, stated=options.encoding, name=shown)
    except InputError as error:
        return SourceProblem(origin, ProblemKind.UNREADABLE, error.reason)
    try:
        text = content[encoding.mark :].decode(encoding.name)
    except UnicodeDecodeError as error:
        at = encoding.mark + error.start
        line = content.count(encoding.newline, 0, at) + 1
        return SourceProblem(
            Origin(shown, line, "line"),
            ProblemKind.ENCODING,
            f"byte 0x{content[at]:02x} at byte {at} of the file is not {encoding.title}",
        )
    if "\0" in text:
        before = text[: text.index("\0")]
        at = encoding.mark + len(before.encode(encoding.name))
        origin = Origin(shown, before.count("\n") + 1, "line")
        return SourceProblem(origin, ProblemKind.NUL, f"NUL byte at byte {at} of the file")
    return TextFile(text, marked=encoding.mark > 0, encoding=encoding.name, note=encoding.note)
