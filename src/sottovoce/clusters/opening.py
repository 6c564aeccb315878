"""The workers that a site names: none, its own cores, or a dask scheduler's address."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sottovoce.clusters.dask_cluster import dask_workers
from sottovoce.clusters.local_cores import LocalCores, usable_cores
from sottovoce.errors import InputError
from sottovoce.text.chunks import Workers
from sottovoce.wire.addresses import origin_of

NONE, LOCAL = "none", "local"
_SCHEMES = ("tcp://", "tls://", "ucx://", "inproc://")


@contextmanager
def open_cluster(
    name: str, *, progress: Callable[[int, int], None] | None = None
) -> Iterator[Workers | None]:
    """Open the workers: `local` (all cores), `none` (this process), or a scheduler's address.

    `progress` hears the number of finished tasks, and of all tasks.
    """
    if name.startswith(_SCHEMES):
        with dask_workers(name, progress=progress) as workers:
            yield workers
        return
    if name not in {NONE, LOCAL}:
        raise InputError(
            f"cluster: expected local, none or the address of a dask scheduler, found "
            f"{origin_of(name)!r}",
            hints=("--cluster local", "--cluster tcp://127.0.0.1:8786"),
        )
    if name == NONE or usable_cores() == 1:
        yield None
        return
    with LocalCores() as cores:
        yield Workers(lambda: cores, ahead=2 * cores.count, progress=progress)


def executor_workers(executor: Any) -> Workers | None:
    """Workers behind whatever has `submit` as `concurrent.futures` has it; None behind None."""
    if executor is None:
        return None
    if not hasattr(executor, "submit"):
        raise InputError(
            f"executor: expected something with submit(), found {type(executor).__name__}",
            hints=("concurrent.futures.ProcessPoolExecutor()", "client.get_executor()"),
        )
    count = getattr(executor, "_max_workers", None) or usable_cores()
    return Workers(lambda: executor, ahead=2 * int(count))
