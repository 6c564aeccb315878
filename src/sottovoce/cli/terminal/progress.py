"""A progress bar for work that takes longer than two seconds."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from sottovoce.cli.terminal import screen

SHOWN_AFTER = 2.0
"""Seconds that people wait without asking for a progress bar."""

_EVERY = 64
_LINE_EVERY = 10.0
T = TypeVar("T")


def watched(
    items: Iterable[T],
    *,
    title: str,
    position: Callable[[], tuple[int, int | None]],
    clock: Callable[[], float] = time.monotonic,
    console: Console | None = None,
) -> Iterator[T]:
    """Yield `items`; after two seconds show a bar of `position` (done, of how many)."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    terminal = console or screen.console(err=True)
    bar = Progress(*columns, console=terminal, transient=True)
    task = bar.add_task(title, total=None)
    begin = clock()
    try:
        for number, item in enumerate(items):
            if number % _EVERY == 0 and terminal.is_terminal and clock() - begin > SHOWN_AFTER:
                bar.start()
                done, total = position()
                bar.update(task, completed=done, total=total, description=f"{title} {number:,}")
            yield item
    finally:
        if bar.live.is_started:
            bar.stop()


class PartLines:
    """A line now and then about parts of the documents that were read, by whomever."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = clock() + SHOWN_AFTER

    def __call__(self, done: int, of: int) -> None:
        """Show how many tasks are done, and how many there are."""
        now = self._clock()
        if now >= self._next and done < of:
            self._next = now + _LINE_EVERY
            screen.say(f"documents: {done:,} of {of:,} parts of this pass are read", err=True)
