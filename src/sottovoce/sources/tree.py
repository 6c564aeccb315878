"""The files below a folder in a fixed order, links followed but never round in circles."""

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
from sottovoce.sources.problems import Kind, Problem
from sottovoce.text.documents import Origin


@dataclass(frozen=True, slots=True)
class Folder:
    """One folder on the way: its path below the root, and its files by name."""

    path: Path
    relative: str
    files: tuple[str, ...]

    def below(self, name: str) -> str:
        """The path of the file `name` below the root, as messages and labels files write it."""
        return f"{self.relative}/{name}" if self.relative else name


def walk(root: Path) -> Iterator[Folder | Problem]:
    """Every folder from `root` down, in the order of code points; `root` must be readable."""
    found = look_at(root)
    if not stat.S_ISDIR(found.st_mode):
        raise InputError(f"{root}: expected a folder, found {kind_of(found.st_mode)}")
    yield from _walk(root, "", ((found.st_dev, found.st_ino),))


def _walk(
    path: Path, relative: str, above: tuple[tuple[int, int], ...]
) -> Iterator[Folder | Problem]:
    try:
        with os.scandir(path) as entries:
            names = sorted(entry.name for entry in entries)
    except OSError as error:
        refused = refusal(path, error)
        if not relative:
            raise refused from error
        yield Problem(Origin(relative), Kind.UNREADABLE, refused.message)
        return
    files: list[str] = []
    folders: list[tuple[str, tuple[int, int]]] = []
    for name in names:
        here = f"{relative}/{name}" if relative else name
        try:
            found = (path / name).stat()
        except OSError as error:
            yield Problem(Origin(here), Kind.UNREADABLE, _words(path / name, error))
            continue
        if stat.S_ISREG(found.st_mode):
            files.append(name)
        elif not stat.S_ISDIR(found.st_mode):
            reason = f"expected a file, found {kind_of(found.st_mode)}"
            yield Problem(Origin(here), Kind.UNREADABLE, reason)
        elif (found.st_dev, found.st_ino) in above:
            reason = "a link that leads back to a folder above it; not followed"
            yield Problem(Origin(here), Kind.UNREADABLE, reason)
        else:
            folders.append((name, (found.st_dev, found.st_ino)))
    yield Folder(path, relative, tuple(files))
    for name, identity in folders:
        here = f"{relative}/{name}" if relative else name
        yield from _walk(path / name, here, (*above, identity))


def _words(path: Path, error: OSError) -> str:
    return refusal(path, error).message


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file as it was decoded; `text` has no byte order mark, `marked` says it had one."""

    text: str
    marked: bool
    encoding: str
    note: str


def read_text(path: Path, shown: str, options: SourceOptions) -> TextFile | Problem:
    """The text of one small file, or the problem that makes it unusable."""
    limit = options.limits.document_bytes
    origin = Origin(shown)
    try:
        with open_file(path) as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            reason = too_long(path.stat().st_size, limit)
            return Problem(origin, Kind.TOO_LONG, reason)
        refuse_magic(content, name=shown)
        encoding = find_encoding(content, stated=options.encoding, name=shown)
    except InputError as error:
        return Problem(origin, Kind.UNREADABLE, error.message.removeprefix(f"{shown}: "))
    try:
        text = content[encoding.mark :].decode(encoding.name)
    except UnicodeDecodeError as error:
        at = encoding.mark + error.start
        line = content.count(encoding.newline, 0, at) + 1
        return Problem(
            Origin(shown, line, "line"),
            Kind.ENCODING,
            f"byte 0x{content[at]:02x} at byte {at} of the file is not {encoding.title}",
        )
    if "\0" in text:
        before = text[: text.index("\0")]
        at = encoding.mark + len(before.encode(encoding.name))
        origin = Origin(shown, before.count("\n") + 1, "line")
        return Problem(origin, Kind.NUL, f"NUL byte at byte {at} of the file")
    return TextFile(text, marked=encoding.mark > 0, encoding=encoding.name, note=encoding.note)
