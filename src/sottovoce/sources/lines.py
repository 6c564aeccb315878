"""The lines of a text file one at a time, each with its number, its first byte and its flaw.

No more than one line is in memory, and no more than `limit` bytes of it: what
is longer is passed over to its end, not kept. Every line is decoded by itself,
so a byte that is outside the encoding costs its own line only.
"""

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from sottovoce.sources.encodings import TextEncoding
from sottovoce.sources.problems import ProblemKind

_CHUNK = 2**16


class Flaw(NamedTuple):
    """What is wrong with a line, in words that do not quote it."""

    kind: ProblemKind
    reason: str


class TextLine(NamedTuple):
    """A line with its ending; `offset` is its first byte in the file."""

    number: int
    offset: int
    text: str
    flaw: Flaw | None = None


class Lines:
    """An iterator over a file's lines that knows how many bytes it has passed."""

    def __init__(
        self,
        file: BinaryIO,
        encoding: TextEncoding,
        *,
        limit: int,
        start: int | None = None,
        number: int = 0,
    ) -> None:
        """Read `file` from its start, behind the byte order mark, or from a line that begins there.

        `number` is how many lines lie before that.
        """
        self.passed = encoding.mark if start is None else start
        file.seek(self.passed)
        self._encoding = encoding
        self._limit = limit
        self._pieces = _pieces(file, encoding, limit)
        self.number = number

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
    """Where the first line begins that does not begin before `at`, in a file with LF."""
    file.seek(at - 1)
    while piece := file.readline(_CHUNK):
        if piece.endswith(b"\n"):
            break
    return file.tell()


def too_long(found: int, limit: int) -> str:
    """The words for something longer than may be in memory."""
    return f"expected at most {limit:,} bytes, found {found:,}"


def _pieces(file: BinaryIO, encoding: TextEncoding, limit: int) -> Iterator[tuple[bytes, bool]]:
    """Lines of at most `limit` bytes, and whether each is whole or goes on in the next piece."""
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
    """Where the next line end stands, counted in whole code units from `begin`."""
    end = data.find(encoding.newline, begin)
    while end >= 0 and (end - begin) % encoding.unit:
        end = data.find(encoding.newline, end + 1)
    return end
