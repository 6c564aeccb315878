"""The journal of a simulated process: it may die at a commit, and knows what the server forgets."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from sottovoce.storage.journal import Journal

_CURSOR = "simulated/cursor"


class Crash(BaseException):
    """The process is gone."""


class CrashingJournal(Journal):
    """A journal whose process dies before or after a commit, when it is told to.

    It also plays the server's part of acknowledgements: a letter is handed out again until a commit
    has dealt with it.
    """

    bomb: str = ""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._out_again: set[int] = set()
        self._at: int | None = None
        self.cursor = self._handled = int.from_bytes(self.note(_CURSOR) or b"")

    def arrived(self, position: int) -> None:
        """A letter waits for its session: it must be handed out again."""
        self._out_again.add(position)

    @contextmanager
    def handling(self, position: int) -> Iterator[None]:
        """The first commit in this block deals with the letter at this position."""
        self._at = position
        yield
        if self._at is not None:
            self.commit()

    def commit(self, *, notes: Mapping[str, bytes] = MappingProxyType({}), **what: Any) -> None:
        self._explode("before")
        position, self._at = self._at, None
        super().commit(notes={**notes, **self.moved_to(position)}, **what)
        self._explode("after")

    def moved_to(self, position: int | None) -> dict[str, bytes]:
        """What is noted once the letter at this position is dealt with."""
        if position is None:
            return {}
        self._out_again.discard(position)
        self._handled = max(self._handled, position)
        reached = min(self._out_again) - 1 if self._out_again else self._handled
        self.cursor = max(self.cursor, reached)
        return {_CURSOR: self.cursor.to_bytes(8)}

    def _explode(self, when: str) -> None:
        if self.bomb == when:
            self.bomb = ""
            raise Crash(when)
