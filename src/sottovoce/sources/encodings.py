"""The encoding of a text file: stated by the user, by a byte order mark, or guessed."""

import codecs
import re
from dataclasses import dataclass

from sottovoce.errors import InputError

HEAD_BYTES = 2**20
"""The number of a file's first bytes that are examined."""

_MARKS = (  # UTF-32's mark begins with UTF-16's, so it comes first
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNMARKED = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}

_MAGIC = (
    (b"\x89PNG", "a PNG image", ()),
    (b"\xff\xd8\xff", "a JPEG image", ()),
    (b"GIF8", "a GIF image", ()),
    (
        b"PK\x03\x04",
        "a zip archive (a workbook or a document?)",
        ("save the sheet as CSV (UTF-8)",),
    ),
    (b"\xd0\xcf\x11\xe0", "an Office file", ("save the sheet as CSV (UTF-8)",)),
    (b"%PDF", "a PDF", ("extract its text first",)),
    (b"\x1f\x8b", "gzip", ("unpack it first: gunzip --keep FILE",)),
    (b"BZh", "bzip2", ("unpack it first: bunzip2 --keep FILE",)),
    (b"\xfd7zXZ", "xz", ("unpack it first: unxz --keep FILE",)),
    (b"\x28\xb5\x2f\xfd", "zstandard", ("unpack it first: unzstd FILE",)),
    (b"PAR1", "Parquet", ("--format parquet",)),
    (b"ARROW1", "Arrow", ("--format arrow",)),
    (b"FEA1", "Feather, version 1", ("write it again as Arrow or Parquet",)),
    (b"SQLite format 3", "an SQLite database", ()),
    (b"\x7fELF", "a program", ()),
)
_CONTROL_BYTES = bytes([*range(0x09), *range(0x0E, 0x1B), *range(0x1C, 0x20)])
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_UTF8_SEQUENCE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_UNDEFINED_IN_CP1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")


@dataclass(frozen=True, slots=True)
class TextEncoding:
    """An encoding and its line end: `newline` starts at multiples of `unit`."""

    name: str
    mark: int = 0
    newline: bytes = b"\n"
    unit: int = 1
    note: str = ""

    @property
    def title(self) -> str:
        """The encoding's name for people."""
        return self.name.upper() if self.name.startswith("utf") else self.name


def find_encoding(head: bytes, *, stated: str | None, name: str) -> TextEncoding:
    """Return the encoding of the file `name` that begins with `head`; refuse binary files."""
    refuse_magic(head, name=name)
    marked = next(((mark, known) for mark, known in _MARKS if head.startswith(mark)), None)
    if marked and _agrees(stated, marked[1]):
        return _with_lines(marked[1], head, mark=len(marked[0]))
    if stated is not None:
        encoding = codecs.lookup(stated).name
        note = f"begins with the mark of {marked[1].upper()}, read as {stated}" if marked else ""
        return _with_lines(_UNMARKED.get(encoding, encoding), head, note=note)
    wide = _wide(head)
    if wide:
        return _with_lines(
            wide, head, note=f"no byte order mark; read as {wide.upper()} by the look of it"
        )
    few = len(head) // 50 + 1
    if head.count(0) > few or (_controls(head) > few and not _is_utf8(head)):
        raise InputError("expected text, found binary data", place=name)
    return _eight_bit(head)


def refuse_magic(head: bytes, *, name: str) -> None:
    """Refuse a file whose first bytes show that it is not text."""
    start = head[:512]
    plain = _is_utf8(start) and not _controls(start)
    for magic, what, hints in _MAGIC:
        if head.startswith(magic) and not plain:
            raise InputError(f"expected text, found {what}", hints=hints, place=name)


def _controls(head: bytes) -> int:
    return len(head) - len(head.translate(None, delete=_CONTROL_BYTES))


def _agrees(stated: str | None, marked: str) -> bool:
    """Return whether a byte order mark agrees with the encoding that the user stated."""
    if stated is None:
        return True
    name = codecs.lookup(stated).name
    return name in {marked, marked.removesuffix("-le").removesuffix("-be")} or (
        name == "utf-8-sig" and marked == "utf-8"
    )


def _is_utf8(head: bytes) -> bool:
    """Return whether `head` is UTF-8, perhaps cut inside its last character."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def _wide(head: bytes) -> str:
    """Recognise UTF-16 without a mark: one of every two bytes is nearly always zero."""
    pairs = len(head) // 2
    if pairs < 4:
        return ""
    even, odd = head[0 : 2 * pairs : 2].count(0), head[1 : 2 * pairs : 2].count(0)
    if odd > 0.7 * pairs and even < 0.1 * pairs:
        return "utf-16-le"
    if even > 0.7 * pairs and odd < 0.1 * pairs:
        return "utf-16-be"
    return ""


def _eight_bit(head: bytes) -> TextEncoding:
    """Return UTF-8, unless most bytes beyond ASCII are not valid UTF-8."""
    if head.isascii():
        return _with_lines("utf-8", head)
    beyond = len(_BEYOND_ASCII.findall(head))
    as_utf8 = sum(len(sequence) for sequence in _UTF8_SEQUENCE.findall(head))
    stray = beyond - as_utf8
    # The head may end inside a character, so up to three invalid bytes at its end do not count.
    if len(head) >= HEAD_BYTES:
        stray -= min(3, len(_BEYOND_ASCII.findall(head[-3:])))
    if stray <= 0 or as_utf8 > stray:
        return _with_lines("utf-8", head)
    encoding = "latin-1" if _UNDEFINED_IN_CP1252.search(head) else "cp1252"
    first_stray = _first_stray(head)
    line = head.count(b"\n", 0, first_stray) + 1
    return _with_lines(
        encoding,
        head,
        note=f"not UTF-8 (byte 0x{head[first_stray]:02x} at byte {first_stray}, line {line}); "
        f"read as {encoding}, state --encoding to be sure",
    )


def _first_stray(head: bytes) -> int:
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return 0


def _with_lines(encoding: str, head: bytes, *, mark: int = 0, note: str = "") -> TextEncoding:
    """Add where lines end: at LF, or at CR in a file that has no LF (old Macintosh)."""
    line_feed = "\n".encode(encoding)
    carriage_return = "\r".encode(encoding)
    old = line_feed not in head and carriage_return in head[:-1]
    newline = carriage_return if old else line_feed
    return TextEncoding(encoding, mark, newline, len(newline), note)
