"""A process of one seat that is killed at a chosen moment: nothing of it happens after that."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from sottovoce.node.seat.retrying_line import RetryingLine
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.storage.journal import Journal


class KilledError(Exception):
    """The process is dead."""


@dataclass
class Life:
    """One life of a seat's process: it ends before its step number `steps`, or one named so.

    A step is a letter that is posted or comes in, something put on disk, or (`delivering`) the
    answer handed to whoever asked.
    """

    seat: str
    steps: int | str | None = None
    done: list[str] = field(default_factory=list)
    dead: bool = False

    def step(self, what: str) -> None:
        """One more step, or the end."""
        if self.dead or self.steps in {len(self.done), what}:
            self.dead = True
            raise KilledError
        self.done.append(what)

    def delivering(self, answer: object) -> None:
        """The answer is handed over."""
        self.step("deliver")

    @contextmanager
    def lived(self) -> Iterator[None]:
        """While the block runs, the seat's steps are those of this life."""
        with pytest.MonkeyPatch.context() as patch:
            for kind, name in ((Journal, "commit"), (Journal, "forget"), (Journal, "open_session")):
                patch.setattr(
                    kind, name, self._before(kind, name, lambda subject: subject.path.parent)
                )
            patch.setattr(Journal, "close", self._closing(Journal.close))
            patch.setattr(
                SeatRuntime, "_take", self._before(SeatRuntime, "_take", lambda runtime: runtime)
            )
            patch.setattr(RetryingLine, "post", self._before(RetryingLine, "post", _line))
            yield

    def _closing(self, real: Callable[[Journal], None]) -> Callable[[Journal], None]:
        def closing(journal: Journal) -> None:
            if self.dead and journal.path.parent.name == self.seat:
                # A dead process writes nothing down; only its files are let go.
                journal._sent.clear()
            real(journal)

        return closing

    def _before(self, kind: type, name: str, of: Callable[[Any], Any]) -> Callable[..., Any]:
        real = getattr(kind, name)

        def counted(runtime: Any, *arguments: Any, **named: Any) -> Any:
            if of(runtime).name == self.seat:
                self.step(f"{kind.__name__}.{name}")
            return real(runtime, *arguments, **named)

        return counted


@dataclass(frozen=True)
class _Named:
    name: str


def _line(line: RetryingLine) -> _Named:
    return _Named(line._line.seat)
