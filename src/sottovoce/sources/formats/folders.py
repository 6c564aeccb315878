"""Reads a folder of text files; the label is the subfolder's name, or is in a labels file."""

from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePath

from sottovoce.errors import InputError
from sottovoce.sources.columns import Header
from sottovoce.sources.options import Format, SourceOptions
from sottovoce.sources.parting.stretches import MOST_STRETCHES, Stretch
from sottovoce.sources.problems import SourceProblem
from sottovoce.sources.sheets import FileRows
from sottovoce.sources.source import Findings
from sottovoce.sources.tree import Folder, read_text, walk
from sottovoce.text.documents import Document

_FEWEST_FILES = 256


class FolderReader:
    """Reads every file of a folder that matches the pattern, in a fixed order."""

    format = Format.FOLDER

    def __init__(self, path: Path, options: SourceOptions) -> None:
        self._path = path
        self._options = options
        self.name = str(path)

    def header(self) -> Header:
        """Return `text` and `label`: a folder has no columns, and each file is one text."""
        return Header(self.name, ("text", "label"))

    def stretches(self) -> tuple[Stretch, ...]:
        """Return runs of files; none with a labels file, which is compared with all files."""
        if self._options.labels_file is not None:
            return ()
        places = (place for place in walk(self._path) if isinstance(place, Folder))
        files = sum(map(self._matches, (name for place in places for name in place.files)))
        step = max(_FEWEST_FILES, files // MOST_STRETCHES)
        return tuple(Stretch(start, start + step) for start in range(0, files, step))

    def _matches(self, name: str) -> bool:
        return fnmatchcase(name, self._options.pattern)

    def read(
        self, findings: Findings, stretch: Stretch | None = None
    ) -> Iterator[Document | SourceProblem]:
        """Yield one document for each file."""
        if stretch is not None:
            yield from self._read_some(findings, stretch)
            return
        nested = has_folders(self._path)
        rows = FileRows(self._options, findings, root=self._path, nested=nested)
        others: Counter[str] = Counter()
        for place in walk(self._path):
            if isinstance(place, SourceProblem):
                yield place
                continue
            for name in place.files:
                if self._matches(name):
                    findings.done += 1
                    yield self._document(place, name, rows, findings)
                else:
                    others[PurePath(name).suffix or name] += 1
        yield from rows.left_over()
        self._mention(others, findings)

    def _read_some(
        self, findings: Findings, stretch: Stretch
    ) -> Iterator[Document | SourceProblem]:
        """Yield the files of a stretch; problems of entries that are not files are in the first."""
        rows = FileRows(self._options, findings, root=self._path, nested=has_folders(self._path))
        findings.began, findings.ended = stretch.start, stretch.stop
        for place in walk(self._path):
            if isinstance(place, SourceProblem):
                if stretch.start == 0:
                    yield place
                continue
            for name in filter(self._matches, place.files):
                if stretch.start <= findings.done < stretch.stop:
                    yield self._document(place, name, rows, findings)
                findings.done += 1

    def _document(
        self, place: Folder, name: str, rows: FileRows, findings: Findings
    ) -> Document | SourceProblem:
        shown = place.below(name)
        text = read_text(place.path / name, shown, self._options)
        if isinstance(text, SourceProblem):
            return text
        findings.note(f"{shown}: {text.note}" if text.note else "")
        return rows.read(shown, text.text)

    def _mention(self, others: Counter[str], findings: Findings) -> None:
        words = ", ".join(f"{count:,} × {suffix}" for suffix, count in others.most_common(5))
        if findings.done == 0:
            hints = (
                ("name one file if it is a table", "--pattern '*' takes every file as a text")
                if others
                else (f"ls {self._path}",)
            )
            raise InputError(
                f"{self._path}: expected files that match {self._options.pattern!r}, "
                f"found {words or 'none at all'}",
                hints=hints,
            )
        if others:
            findings.note(f"files that do not match {self._options.pattern!r}: {words}")


def has_folders(root: Path) -> bool:
    """Return whether there is a readable folder below `root`, whose name could be a label."""
    places = (place for place in walk(root) if not isinstance(place, SourceProblem))
    next(places, None)
    return next(places, None) is not None
