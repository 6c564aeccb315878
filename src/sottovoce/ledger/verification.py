"""Whether a ledger is what the seat wrote: the first line that was changed, moved or cut out.

What each check needs: a changed line fails its signature, a missing or moved one its
number, a rewritten history the hash of the line before. That the end was cut off only
shows against a head: the one beside the ledger (which whoever cuts both can cut too),
or one that was given away before, such as the coordinator's receipt or the words that a
person wrote down.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sottovoce.errors import LedgerError
from sottovoce.hints import Hint, ShellCommand
from sottovoce.ledger.chain import (
    MAX_LINE_BYTES,
    Head,
    LedgerEnd,
    LedgerLine,
    line_is_signed,
    read_signed,
)


@dataclass(frozen=True)
class Verified:
    """A whole ledger: its number of lines, its end in words, and the ends it was compared with."""

    lines: int
    words: str
    against: tuple[str, ...]


@dataclass(frozen=True)
class NotedEnd:
    """An earlier end of the ledger that somebody else noted: who, how many lines, which hash."""

    name: str
    count: int
    hash: str

    @classmethod
    def of_words(cls, words: str) -> "NotedEnd":
        """Read the words that a person wrote down (`LedgerEnd.words`)."""
        count, _, parts = words.strip().partition("-")
        known = set(parts) <= set("0123456789abcdef") and len(parts) == 32
        if not (count.isascii() and count.isdecimal() and len(count) < 16 and known):
            raise LedgerError(
                f"expected a count, a dash and 32 digits of a hash, found {words[:64]!r}",
                hints=(Hint("as printed by: ", ShellCommand("sottovoce ledger verify")),),
            )
        return cls("the words that were written down", int(count), parts)

    @classmethod
    def of_head(cls, head: Head, name: str) -> "NotedEnd":
        """A head that was given away."""
        return cls(name, head.count, head.hash)


@dataclass(frozen=True)
class LedgerSeat:
    """The seat and the key of a ledger."""

    name: str
    public: bytes


def verify(path: Path, seat: LedgerSeat, *, noted: tuple[NotedEnd, ...] = ()) -> Verified:
    """Check every line, and the end against the head beside it and against all noted ends."""
    heads = (*noted, *_head_beside(path, seat))
    end, hashes = LedgerEnd.none(seat.name, seat.public), []
    lines = list(read_lines(path))
    for line in lines:
        problem = _problem(line, end, seat)
        if problem:
            raise LedgerError(f"{path}: {_place(problem, line, end, lines)}")
        end = end.after(line)
        hashes.append(end.hash)
    for noted_end in heads:
        _compare(path, noted_end, hashes)
    return Verified(end.count, end.words, tuple(head.name for head in heads))


def read_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file with their ends, each cut where it is longer than a line can be."""
    try:
        with path.open("rb") as file:
            while line := file.readline(MAX_LINE_BYTES + 1):
                yield line
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise LedgerError(f"{path}: cannot be read ({reason})") from None


def head_path(path: Path) -> Path:
    """The path of a ledger's head, beside it."""
    return path.with_name(path.name + ".head")


def _head_beside(path: Path, seat: LedgerSeat) -> Iterator[NotedEnd]:
    beside = head_path(path)
    try:
        data = beside.read_bytes()[: MAX_LINE_BYTES + 1]
    except FileNotFoundError:
        raise LedgerError(
            f"{beside}: there is no head of the ledger; "
            "without it nobody can say whether the end was cut off"
        ) from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise LedgerError(f"{beside}: cannot be read ({reason})") from None
    head = read_signed(Head, data)
    if head is None:
        raise LedgerError(f"{beside}: it is no head of a ledger")
    head.check(seat.name, seat.public, str(beside))
    yield NotedEnd.of_head(head, "the head beside it")


def _problem(data: bytes, end: LedgerEnd, seat: LedgerSeat) -> str:
    """Return the fault of the next line, or None."""
    line = read_signed(LedgerLine, data)
    if line is None:
        return "is no ledger line" if data.endswith(b"\n") else "is cut off in the middle"
    if line.seat != seat.name:
        return f"is of another seat, {line.seat!r}"
    if not line_is_signed(line, seat.name, seat.public):
        return "was changed: its signature does not fit"
    if line.line != end.count + 1:
        return "moved"
    if line.after != end.hash:
        return "does not follow the line before it: another history was put together with this one"
    return ""


def _place(problem: str, data: bytes, end: LedgerEnd, lines: list[bytes]) -> str:
    """The problem with the number of the line; a line at the wrong place is missing or moved."""
    here = end.count + 1
    if problem != "moved":
        return f"line {here} {problem}"
    line = read_signed(LedgerLine, data)
    assert line is not None
    if line.line < here:
        return f"line {line.line} appears again, as line {here}"
    if any(other is not None and other.line == here for other in _parsed(lines[end.count :])):
        return f"found line {line.line} in place of line {here}: the order was changed"
    missing = f"line {here} is" if line.line == here + 1 else f"lines {here} to {line.line - 1} are"
    return f"{missing} missing: line {line.line} follows line {end.count}"


def _parsed(lines: list[bytes]) -> Iterator[LedgerLine | None]:
    return (read_signed(LedgerLine, line) for line in lines)


def _compare(path: Path, end: NotedEnd, hashes: list[str]) -> None:
    if end.count > len(hashes):
        raise LedgerError(
            f"{path}: lines are missing at the end: {end.name} says {end.count} lines, "
            f"found {len(hashes)}"
        )
    if end.count and not hashes[end.count - 1].startswith(end.hash):
        raise LedgerError(
            f"{path}: line {end.count} differs from the one in {end.name}: the ledger was rewritten"
        )
