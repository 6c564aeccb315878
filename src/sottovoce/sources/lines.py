"""Reads the lines of a text file, each with its number, its offset and its flaw, if any.

No more than one line is in memory (or a run of short ones), and no more than `limit` bytes of it:
the rest of a longer line is skipped. Every line is decoded by itself, so a byte outside the
encoding makes only its own line unusable.
"""

from collections.abc import Iterator
from io import BytesIO
from typing import BinaryIO, NamedTuple

from sottovoce.sources.encodings import TextEncoding
from sottovoce.sources.problems import ProblemKind

_CHUNK = 2**16


class Flaw(NamedTuple):
    """A line's flaw, in words that do not quote the line."""

    kind: ProblemKind
    reason: str


class TextLine(NamedTuple):
    """A line with its ending; `offset` is its first byte in the file."""

    number: int
    offset: int
    text: str
    flaw: Flaw | None = None


class Lines:
    """An iterator over a file's lines that counts the bytes it has read."""

    def __init__(
        self,
        file: BinaryIO,
        encoding: TextEncoding,
        *,
        limit: int,
        start: int | None = None,
        number: int = 0,
    ) -> None:
        """Read `file` from its start, after the byte order mark, or from the line at `start`.

        `number` is the number of lines before it.
        """
        self.passed = encoding.mark if start is None else start
        file.seek(self.passed)
        self._file = file
        self._encoding = encoding
        self._limit = limit
        self._pieces = _pieces(file, encoding, limit)
        self.number = number
        self._run: list[bytes] = []
        self._tried = 0

    def run(self, stop: int) -> list[str]:
        """Return the next lines that begin before `stop` at once, in a file with LF.

        Return none if one of them has a flaw: then nothing is consumed, and the caller reads them
        one by one.
        """
        if self.passed < self._tried:
            return []
        block = self._file.read(min(_CHUNK, stop - self.passed))
        if not block.endswith(b"\n"):
            block += self._file.readline(self._limit + 1)
        self._run = BytesIO(block).readlines()
        self._tried = self.passed + len(block)
        texts = self._flawless(block)
        if not texts:
            self._file.seek(self.passed)
            return []
        self.passed, self.number = self._tried, self.number + len(texts)
        return texts

    def back_in_run(self, behind: int) -> None:
        """Go back to a line of the last run: the one after its first `behind` lines."""
        self.passed -= sum(map(len, self._run[behind:]))
        self.number -= len(self._run) - behind
        self._file.seek(self.passed)

    def _flawless(self, block: bytes) -> list[str]:
        if len(block) > self._limit:
            return []
        try:
            texts = [raw.decode(self._encoding.name) for raw in self._run]
        except UnicodeDecodeError:
            return []
        return [] if any("\0" in text for text in texts) else texts

    def __iter__(self) -> Iterator[TextLine]:
        return self

    def __next__(self) -> TextLine:
        raw, whole = next(self._pieces)
        start = self.passed
        self.passed += len(raw)
        self.number += 1
        if whole:
            try:
                text = raw.decode(self._encoding.name)
            except UnicodeDecodeError as error:
                return self._undecodable(raw, start, error)
            return (
                self._with_nul(text, start) if "\0" in text else TextLine(self.number, start, text)
            )
        while not whole:
            rest, whole = next(self._pieces, (b"", True))
            self.passed += len(rest)
        length = self.passed - start
        return TextLine(
            self.number, start, "", Flaw(ProblemKind.TOO_LONG, too_long(length, self._limit))
        )

    def _undecodable(self, raw: bytes, start: int, error: UnicodeDecodeError) -> TextLine:
        flaw = Flaw(
            ProblemKind.ENCODING,
            f"byte 0x{raw[error.start]:02x} at byte {start + error.start} of the file "
            f"is not {self._encoding.title}",
        )
        return TextLine(self.number, start, raw.decode(self._encoding.name, "replace"), flaw)

    def _with_nul(self, text: str, start: int) -> TextLine:
        before = len(text[: text.index("\0")].encode(self._encoding.name))
        flaw = Flaw(ProblemKind.NUL, f"NUL byte at byte {start + before} of the file")
        return TextLine(self.number, start, text, flaw)


def next_line(file: BinaryIO, at: int) -> int:
    """Return where the first line at or after `at` begins, in a file with LF."""
    file.seek(at - 1)
    while piece := file.readline(_CHUNK):
        if piece.endswith(b"\n"):
            break
    return file.tell()


def too_long(length: int, limit: int) -> str:
    """Return the message for something that is too long for memory."""
    return f"expected at most {limit:,} bytes, found {length:,}"


def _pieces(file: BinaryIO, encoding: TextEncoding, limit: int) -> Iterator[tuple[bytes, bool]]:
    """Yield pieces of at most `limit` bytes, and whether each is a whole line or continues."""
    if encoding.newline == b"\n":
        while raw := file.readline(limit + 1):
            yield raw, len(raw) <= limit or raw.endswith(b"\n")
        return
    yield from _wide_pieces(file, encoding, limit)


def _wide_pieces(
    file: BinaryIO, encoding: TextEncoding, limit: int
) -> Iterator[tuple[bytes, bool]]:
    """As `_pieces`, for line ends that are not the single byte LF."""
    width = len(encoding.newline)
    rest = b""
    while chunk := file.read(_CHUNK):
        rest += chunk
        begin = 0
        while (end := _aligned(rest, encoding, begin)) >= 0:
            yield rest[begin : end + width], True
            begin = end + width
        rest = rest[begin:]
        if len(rest) > limit:
            cut = len(rest) - len(rest) % width
            yield rest[:cut], False
            rest = rest[cut:]
    if rest:
        yield rest, True


def _aligned(data: bytes, encoding: TextEncoding, begin: int) -> int:
    """Return the next line end, in whole code units from `begin`."""
    end = data.find(encoding.newline, begin)
    while end >= 0 and (end - begin) % encoding.unit:
        end = data.find(encoding.newline, end + 1)
    return end
