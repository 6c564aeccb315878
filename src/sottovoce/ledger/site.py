"""The ledger of one seat on its disk: append-only, each line written before its letter leaves."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import Self

from sottovoce.errors import LedgerError, LedgerInUseError
from sottovoce.hints import Hint, ShellCommand
from sottovoce.keyfiles import unix
from sottovoce.keyfiles.storage import room_hints
from sottovoce.ledger.chain import Head, LedgerEnd, LedgerLine, read_signed, sign_line
from sottovoce.ledger.entries import Entry, LineKind
from sottovoce.ledger.verification import (
    LedgerSeat,
    NotedEnd,
    Verified,
    head_path,
    read_lines,
    verify,
)
from sottovoce.protocols.identities import Identity

_MODE = 0o600


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class SiteLedger:
    """Appends lines; `append` returns when the line is on disk. One process at a time."""

    def __init__(self, path: Path, identity: Identity, *, clock: Callable[[], str] = _now) -> None:
        """Open or begin the ledger at `path`, signed by the seat's `identity`.

        A line that a crash cut off in the middle is taken away, and a line says so.
        """
        self.path = path
        self._identity = identity
        self._clock = clock
        self._lock = RLock()
        self._places: dict[tuple[str, str, str, int], str] = {}
        self.has_left = False
        """Whether a line says that this seat withdrew: nothing follows but its last word."""
        self._end = LedgerEnd.none(identity.name, identity.public)
        self._size = self._head_size = 0
        with ExitStack() as undo:
            self._file = self._opened(path, undo)
            self._head = self._opened(head_path(path), undo)
            self._read()
            undo.pop_all()

    def __repr__(self) -> str:
        return f"SiteLedger({str(self.path)!r}, {self._end.count} lines)"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, *entries: Entry) -> int:
        """Write lines, and return when they are on disk; how many were new.

        The line of a letter that stands there already (a resend after a crash) is not
        written again. Another letter under the same number is refused.
        """
        with self._lock:
            new = [entry for entry in entries if not self._known(entry)]
            if not new:
                return 0
            end, data = self._end, b""
            for entry in new:
                line = LedgerLine.of(entry, end, when=self._clock(), seat=self._identity.name)
                encoded = sign_line(line, self._identity).encoded()
                end, data = end.after(encoded), data + encoded
            self._write(data)
            self._places |= {line.place: line.digest for line in new if line.place is not None}
            self.has_left |= any(line.what is LineKind.WITHDRAWAL for line in new)
            self._end = end
            self._write_head()
            return len(new)

    def has(self, entry: Entry) -> bool:
        """Whether the ledger already has the line of this letter."""
        with self._lock:
            return self._known(entry)

    def entries(self) -> Iterator[LedgerLine]:
        """Every line, in order, as it stands; `verify` says whether it is what was written."""
        return read_ledger(self.path)

    def head(self) -> Head:
        """Our signed word for where the ledger ends now: a receipt to give away."""
        return Head.of(self._end, self._identity)

    @property
    def words(self) -> str:
        """The end of the ledger in words that a person can write down."""
        return self._end.words

    def verify(self, *, noted: tuple[NotedEnd, ...] = ()) -> Verified:
        """Check every line and the end, as anybody with our public key can."""
        return verify(self.path, self.seat, noted=noted)

    @property
    def seat(self) -> LedgerSeat:
        """The seat and the key of a ledger."""
        return LedgerSeat(self._identity.name, self._identity.public)

    def close(self) -> None:
        """Let another process open the ledger."""
        with self._lock:
            os.close(self._file)
            os.close(self._head)

    def _known(self, entry: Entry) -> bool:
        place = entry.place
        if place is None or place not in self._places:
            return False
        if self._places[place] != entry.digest:
            raise LedgerError(
                f"{self.path}: expected letter {entry.number} {entry.what} "
                f"{entry.party!r} as it stands there, found another under the same number"
            )
        return True

    def _opened(self, path: Path, undo: ExitStack) -> int:
        try:
            flags = os.O_RDWR | os.O_CREAT | unix.CLOEXEC
            descriptor = os.open(path, flags, _MODE)
        except OSError as error:
            raise self._unusable(error) from None
        undo.callback(os.close, descriptor)
        if not unix.lock_alone(descriptor):
            raise LedgerInUseError(
                f"{path}: another process writes it",
                hints=("one process runs a seat at a time; end the other one first",),
            )
        return descriptor

    def _read(self) -> None:
        """Find the end; what a crash left of an unfinished line goes, and is written about."""
        size, torn, study = 0, 0, ""
        for data in read_lines(self.path):
            if not data.endswith(b"\n"):
                torn = len(data)
                break
            line = read_signed(LedgerLine, data)
            if line is None or (line.line, line.after) != (self._end.count + 1, self._end.hash):
                raise LedgerError(
                    f"{self.path}: line {self._end.count + 1} is not what was written there",
                    hints=(
                        Hint(
                            "`", ShellCommand("sottovoce ledger verify"), "` says what was changed"
                        ),
                    ),
                )
            self._end = self._end.after(data)
            size, study = size + len(data), line.study
            self.has_left |= line.what == LineKind.WITHDRAWAL
            place = line.entry.place
            if place is not None:
                self._places[place] = line.digest
        self._check_head()
        self._size = size
        if torn:
            os.ftruncate(self._file, size)
            note = f"{torn} bytes of a line that a crash had cut off were taken away"
            self.append(Entry(study, LineKind.REPAIR, note=note))
        else:
            self._write_head()

    def _check_head(self) -> None:
        """Refuse a ledger with fewer lines than its head: lines were removed at the end."""
        head = read_signed(Head, os.pread(self._head, 4096, 0))
        if head is not None and head.count > self._end.count:
            raise LedgerError(
                f"{self.path}: lines are missing at the end: the head beside it says "
                f"{head.count} lines, found {self._end.count}",
                hints=("restore the whole ledger from a copy",),
            )

    def _write(self, data: bytes) -> None:
        try:
            written = 0
            while written < len(data):
                written += os.pwrite(self._file, data[written:], self._size + written)
            os.fsync(self._file)
        except OSError as error:
            # Nothing of an unfinished line stays, so that the next one follows the last whole one.
            os.ftruncate(self._file, self._size)
            raise self._unusable(error) from None
        self._size += len(data)

    def _write_head(self) -> None:
        """After the line, and without waiting: a head that lags behind is no harm."""
        data = self.head().encoded()
        try:
            os.pwrite(self._head, data, 0)
            if len(data) != self._head_size:
                # Lines only become more: the first head of a process may follow a longer one.
                os.ftruncate(self._head, len(data))
                self._head_size = len(data)
        except OSError as error:
            raise self._unusable(error) from None

    def _unusable(self, error: OSError) -> LedgerError:
        reason = (error.strerror or type(error).__name__).lower()
        return LedgerError(
            f"{self.path}: cannot be written ({reason}), and nothing was sent without its line",
            hints=room_hints(error),
        )


def read_ledger(path: Path) -> Iterator[LedgerLine]:
    """The lines of a ledger, unverified; `LedgerError` at the first malformed one."""
    for number, data in enumerate(read_lines(path), 1):
        line = read_signed(LedgerLine, data)
        if line is None:
            raise LedgerError(
                f"{path}: line {number} is no ledger line",
                hints=(
                    Hint("`", ShellCommand("sottovoce ledger verify"), "` says what was changed"),
                ),
            )
        yield line


def select(
    lines: Iterable[LedgerLine], *, what: LineKind | None = None, party: str = ""
) -> Iterator[LedgerLine]:
    """The lines of one sort, or about one party."""
    for line in lines:
        if (what is None or line.what == what) and (not party or line.party == party):
            yield line
