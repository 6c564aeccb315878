"""A dask cluster of the site: its workers are checked, and tasks of one that dies are retried."""

import importlib.metadata
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from errno import ENOSPC
from queue import Empty, SimpleQueue
from typing import Any

from sottovoce.errors import InputError, MisuseError
from sottovoce.text.chunks import Workers

RETRIES = 3
_WAIT_SECONDS = "10s"
# Seconds without any result after which somebody looks whether there are workers at all.
_LOOK_SECONDS = 5.0
# Seconds for which a cluster may be without workers: those that died are started again by then.
_ALONE_SECONDS = 60.0


class WorkerWatch:
    """Whether a cluster has workers; a scheduler without any lets its tasks wait for ever."""

    def __init__(self, client: Any, clock: Callable[[], float] = time.monotonic) -> None:
        """Ask a client that is connected."""
        self._client = client
        self._clock = clock
        self._alone: float | None = None

    def check(self) -> None:
        """Give up a cluster whose scheduler is gone, or has had no workers for a minute."""
        if self._client.status == "closed":
            raise _scheduler_gone()
        if self._client.status != "running" or self._has_workers():
            # The client itself tries for a while to reach its scheduler again.
            self._alone = None
            return
        self._alone = self._clock() if self._alone is None else self._alone
        if self._clock() - self._alone >= _ALONE_SECONDS:
            raise MisuseError(
                f"cluster: the scheduler has had no workers for {_ALONE_SECONDS:.0f} s",
                hints=("start some with dask worker, then repeat the command",),
            )

    def _has_workers(self) -> bool:
        with suppress(OSError):
            return bool(self._client.nthreads())
        return True


class DaskExecutor:
    """Hands work to a dask client; a task whose worker dies is done by another."""

    def __init__(self, client: Any, progress: Callable[[int, int], None] | None = None) -> None:
        """Work with a client that is connected; `progress` hears how far it is."""
        self._client = client
        self._progress = progress
        self._watch = WorkerWatch(client)

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> "DaskTask":
        """Hand in work; it is not kept for the next time, because it is the site's text."""
        return DaskTask(self._future(_on_worker, function, *arguments), self._watch.check)

    def tree(self, function: Callable[[Any, Any], Any], tasks: list["DaskTask"]) -> Any:
        """Join the results of tasks two by two on the workers; one comes here."""
        leaves = level = [task.future for task in tasks]
        while len(level) > 1:
            pairs = [level[start : start + 2] for start in range(0, len(level), 2)]
            level = [self._future(function, *pair) if pair[1:] else pair[0] for pair in pairs]
        for number, _ in enumerate(self._as_they_end(leaves), 1):
            if self._progress is not None:
                self._progress(number, len(leaves))
        return DaskTask(level[0], self._watch.check).result()

    def _as_they_end(self, futures: list[Any]) -> Iterator[Any]:
        """Each future when it has a result or failed."""
        ended: SimpleQueue[Any] = SimpleQueue()
        for future in futures:
            future.add_done_callback(ended.put)
        left = len(futures)
        while left:
            try:
                yield ended.get(timeout=_LOOK_SECONDS)
            except Empty:
                self._watch.check()
            else:
                left -= 1

    def _future(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._client.submit(function, *arguments, pure=False, retries=RETRIES)


class DaskTask:
    """Work at a cluster; what goes wrong there is told in the words of this package."""

    def __init__(self, future: Any, check: Callable[[], None] = lambda: None) -> None:
        """Wait for a future; `check` is called now and then while it has no result."""
        self.future = future
        self._check = check

    def result(self) -> Any:
        """Wait for the result and return it."""
        from distributed import KilledWorker

        try:
            return self._result()
        except KilledWorker as error:
            raise MisuseError(
                f"{error.last_worker.address}: workers died {RETRIES} times at the same documents",
                hints=("is there enough memory? dask worker --memory-limit",),
            ) from None
        except MemoryError:
            raise MisuseError(
                "cluster: a worker has too little memory for the sums of a part",
                hints=("dask worker --memory-limit", "--cluster local reads them here"),
            ) from None
        except OSError as error:
            if error.errno != ENOSPC:
                raise
            raise MisuseError(
                "cluster: the disk of a worker is full",
                hints=(
                    "free some space there, or give workers another: dask worker --local-directory",
                    "--cluster local reads them here",
                ),
            ) from None
        except CancelledError:
            raise _scheduler_gone() from None

    def _result(self) -> Any:
        while True:
            try:
                return self.future.result(timeout=_LOOK_SECONDS)
            except TimeoutError:
                if self.future.done():
                    # The work's own.
                    raise
            self._check()

    def cancel(self) -> object:
        """Give it up: the scheduler forgets what nobody wants."""
        return self.future.release()


def _scheduler_gone() -> MisuseError:
    return MisuseError(
        "cluster: the scheduler does not answer any more",
        hints=("start it again, then repeat the command",),
    )


def _on_worker(function: Callable[..., Any], *arguments: Any) -> Any:
    """At a worker: an error names it."""
    from distributed import get_worker

    try:
        return function(*arguments)
    except InputError as error:
        where = f"worker {get_worker().address}: "
        hints = (*error.hints, "every worker sees the site's files under the same path")
        raise InputError(where + error.message, hints=hints) from None


@contextmanager
def dask_workers(
    address: str, *, progress: Callable[[int, int], None] | None = None
) -> Iterator[Workers]:
    """The workers of the scheduler at `address`, which all have this version of the package."""
    distributed = _library(address)
    try:
        client = distributed.Client(address, timeout=_WAIT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"{address}: no dask scheduler answers ({type(error).__name__})",
            hints=("dask scheduler", "dask worker " + address),
        ) from error
    try:
        count = _check_workers(address, client)
        executor = DaskExecutor(client, progress)
        yield Workers(lambda: executor, ahead=2 * count, tree=executor.tree, progress=progress)
    finally:
        client.close()


def _check_workers(address: str, client: Any) -> int:
    """Count the cluster's threads; check that every worker has this version of the package."""
    own = importlib.metadata.version("sottovoce")
    versions = client.run(importlib.metadata.version, "sottovoce", on_error="return")
    if not versions:
        raise InputError(
            f"{address}: the scheduler has no workers",
            hints=(f"dask worker {address}",),
        )
    for worker, version in versions.items():
        if version != own:
            has = "none" if isinstance(version, Exception) else f"version {version}"
            raise InputError(
                f"{worker}: expected sottovoce {own} on every worker, found {has}",
                hints=(f"pip install sottovoce=={own} on that machine",),
            )
    return sum(client.nthreads().values())


def _library(address: str) -> Any:
    try:
        import distributed
    except ImportError as error:
        raise InputError(
            f"{address}: a cluster needs the package distributed, which is not installed",
            hints=("pip install 'sottovoce[dask]'",),
        ) from error
    # Its own log would repeat on the screen what the command says.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return distributed
