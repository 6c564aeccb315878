"""Reads the JSON objects of a file one at a time: one on each line, or members of one array."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import msgspec

from sottovoce.errors import InputError
from sottovoce.sources.encodings import HEAD_BYTES, TextEncoding, find_encoding
from sottovoce.sources.files import open_file, size_of
from sottovoce.sources.lines import Lines, next_line, too_long
from sottovoce.sources.options import SourceOptions
from sottovoce.sources.parting.stretches import Stretch, stretches_of_bytes
from sottovoce.sources.problems import ProblemKind, SourceProblem
from sottovoce.sources.rows import Row
from sottovoce.sources.source import Findings
from sottovoce.text.documents import Origin

_BYTE = re.compile(r"\(byte \d+\)")
_MARKS = re.compile(r'\\.|["{}\[\],]', re.DOTALL)
"""Finds the characters that separate an array's members; an escape counts as one character."""
_BROKEN_OFF = "{"
"""Replaces the last member of an array that ends too early; it is malformed, too."""
_CHUNK = 2**16

Outcome = tuple[Origin, Row | SourceProblem]


@dataclass(frozen=True, slots=True)
class JsonRecords:
    """The objects of one file, each with its origin."""

    path: Path
    options: SourceOptions

    def read(self, findings: Findings, stretch: Stretch | None = None) -> Iterator[Outcome]:
        """Yield every object, or the problem of one that cannot be read."""
        with open_file(self.path) as file:
            encoding, is_array = self._look(file)
            findings.note(encoding.note)
            if is_array:
                yield from self._members(file, encoding)
            else:
                yield from self._lines(file, encoding, findings, stretch)

    def stretches(self) -> tuple[Stretch, ...]:
        """Return stretches of lines, if they end in the single byte LF; an array has none."""
        with open_file(self.path) as file:
            encoding, is_array = self._look(file)
        if is_array or encoding.newline != b"\n":
            return ()
        return stretches_of_bytes(self.path, start=encoding.mark)

    def first(self, count: int) -> Iterator[Row]:
        """Yield the first objects that can be read."""
        for number, (_, row) in enumerate(self.read(Findings()), 1):
            if not isinstance(row, SourceProblem):
                yield row
            if number == count:
                return

    def _look(self, file: BinaryIO) -> tuple[TextEncoding, bool]:
        """Return the file's encoding, and whether it is one array."""
        head = file.read(HEAD_BYTES)
        name = str(self.path)
        encoding = find_encoding(head, stated=self.options.encoding, name=name)
        start = head[encoding.mark :].decode(encoding.name, "replace").lstrip()
        if not start:
            raise InputError(f"{name}: expected an object a line, found an empty file")
        return encoding, start.startswith("[")

    def _lines(
        self,
        file: BinaryIO,
        encoding: TextEncoding,
        findings: Findings,
        stretch: Stretch | None,
    ) -> Iterator[Outcome]:
        start, before = encoding.mark, 0
        if stretch is not None:
            guessed = stretch.guessed
            start = next_line(file, stretch.start) if guessed else stretch.start
            before = stretch.before
        lines = Lines(
            file, encoding, limit=self.options.limits.document_bytes, start=start, number=before
        )
        findings.total = size_of(self.path)
        findings.began, stop = start, None if stretch is None else stretch.stop
        while stop is None or lines.passed < stop:
            line = next(lines, None)
            if line is None:
                break
            findings.done = lines.passed
            origin = Origin(self.path.name, line.number, "line")
            if line.flaw:
                yield origin, SourceProblem(origin, *line.flaw)
            elif not line.text.isspace():
                yield origin, _object(line.text, origin)
        findings.ended, findings.lines = lines.passed, lines.number

    def _members(self, file: BinaryIO, encoding: TextEncoding) -> Iterator[Outcome]:
        file.seek(encoding.mark)
        members = _members(_characters(file, encoding, self.path), self._limit)
        for number, text in enumerate(members, 1):
            origin = Origin(self.path.name, number, "object")
            if text is None:
                size = too_long(self._limit + 1, self._limit)
                yield origin, SourceProblem(origin, ProblemKind.TOO_LONG, size)
            else:
                yield origin, _object(text, origin)

    @property
    def _limit(self) -> int:
        return self.options.limits.document_bytes


def _characters(file: BinaryIO, encoding: TextEncoding, path: Path) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding.name)()
    rest = ""
    while chunk := file.read(_CHUNK):
        try:
            text = rest + decoder.decode(chunk)
            # An escape is never cut in two.
            rest = text[-1] if _odd_escape(text) else ""
            yield text[: len(text) - len(rest)]
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}: expected {encoding.title} in a JSON array, found byte "
                f"0x{error.object[error.start]:02x} near byte {file.tell() - len(chunk):,}",
                hints=("--encoding says how the file is written",),
            ) from error


def _odd_escape(text: str) -> bool:
    """Return whether the text ends in the middle of an escape."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


class _Members:
    """Cuts the text of one array into its members, chunk by chunk."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: list[str] = []
        self._size = 0
        self._depth = 0
        self._quoted = False
        self.ended = False

    def feed(self, chunk: str) -> Iterator[str | None]:
        """Yield the members that end in this chunk; None for a member longer than the limit."""
        begin = 0
        for mark in _MARKS.finditer(chunk):
            at, sign = mark.start(), mark[0]
            if self.ended:
                return
            if sign == '"':
                self._quoted = not self._quoted
            elif self._quoted:
                continue
            elif sign in "{[":
                self._depth += 1
                begin = at + 1 if self._depth == 1 else begin
            elif self._depth == 1 and sign in ",}]":
                self._hold(chunk[begin:at])
                yield from self._whole()
                begin, self.ended = at + 1, sign != ","
            elif sign in "}]":
                self._depth -= 1
        if not self.ended and self._depth:
            self._hold(chunk[begin:])

    def _hold(self, text: str) -> None:
        self._size += len(text)
        self._held = [*self._held, text] if self._size <= self._limit else []

    def _whole(self) -> Iterator[str | None]:
        text = "".join(self._held)
        if self._size > self._limit:
            yield None
        elif text.strip():
            yield text
        self._held, self._size = [], 0


def _members(chunks: Iterator[str], limit: int) -> Iterator[str | None]:
    """Yield the text of every member of an array."""
    members = _Members(limit)
    for chunk in chunks:
        yield from members.feed(chunk)
        if members.ended:
            return
    yield _BROKEN_OFF


def _object(text: str, origin: Origin) -> Row | SourceProblem:
    """Return the object in a text, or the problem with it."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return SourceProblem(origin, ProblemKind.MALFORMED, _in_words(error))
    except RecursionError:
        return SourceProblem(origin, ProblemKind.MALFORMED, "the JSON is nested too deeply")
    if not isinstance(value, dict):
        return SourceProblem(
            origin, ProblemKind.MALFORMED, f"expected a JSON object, found {type(value).__name__}"
        )
    return value


def _in_words(error: Exception) -> str:
    """Return where the JSON is malformed; the decoder's own message could quote it."""
    for known in ("truncated", "out of range"):
        if known in str(error):
            return f"the JSON is {known}" if known == "truncated" else f"a number is {known}"
    place = _BYTE.search(str(error))
    return f"the JSON is malformed {place[0]}" if place else "the JSON is malformed"
