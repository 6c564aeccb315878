"""Processes of this machine, started when there is work, and restarted when one dies."""

import os
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, Self

from sottovoce.errors import InputError, MisuseError

LIVES = 4
"""The most tries of a task whose process dies."""


class LocalCores:
    """A pool of processes; the task of a process that was killed is done again."""

    def __init__(self, count: int | None = None) -> None:
        """Start `count` processes; by default one for each core that this process may use."""
        self.count = usable_cores() if count is None else count
        if self.count < 1:
            raise InputError(f"cores: expected at least 1, found {self.count}")
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes; what waits is not begun."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> "RetriedTask":
        """Hand in work."""
        return RetriedTask(self, function, arguments)

    def begun(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> "Future[Any]":
        """Hand work to the pool as it is now, or to a new one."""
        if self._pool is None:
            # A forked process would inherit locks that threads of this one hold.
            self._pool = ProcessPoolExecutor(self.count, mp_context=get_context("spawn"))
        try:
            return self._pool.submit(function, *arguments)
        except BrokenExecutor:
            self.renew(self._pool)
            return self.begun(function, arguments)

    def renew(self, broken: ProcessPoolExecutor | None) -> None:
        """Leave a pool whose process died; the next job starts another one."""
        if self._pool is broken and broken is not None:
            broken.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    @property
    def pool(self) -> ProcessPoolExecutor | None:
        """The pool that works now."""
        return self._pool


class RetriedTask:
    """Work that is handed in again when its process dies."""

    def __init__(
        self, cores: LocalCores, function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> None:
        self._cores = cores
        self._work = (function, arguments)
        self._future = cores.begun(*self._work)
        self._pool = cores.pool

    def result(self) -> Any:
        """Wait for the result and return it."""
        for _ in range(LIVES):
            try:
                return self._future.result()
            except BrokenExecutor:
                self._cores.renew(self._pool)
                self._future = self._cores.begun(*self._work)
                self._pool = self._cores.pool
        raise MisuseError(
            f"a process that reads documents died {LIVES} times at the same ones",
            hints=(
                "is there enough memory? dmesg | grep -i kill",
                "--cluster none reads them here",
            ),
        )

    def cancel(self) -> bool:
        """Give it up, if it has not begun."""
        return self._future.cancel()


def usable_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
