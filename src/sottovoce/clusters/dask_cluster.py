"""A dask cluster of the site: its workers are checked, and tasks of one that dies are retried."""

import importlib.metadata
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sottovoce.errors import InputError
from sottovoce.text.chunks import Workers

RETRIES = 3
_WAIT_SECONDS = "10s"


class DaskExecutor:
    """Hands work to a dask client; a task whose worker dies is done by another."""

    def __init__(self, client: Any) -> None:
        """Work with a client that is connected."""
        self._client = client

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        """Hand in work; it is not kept for the next time, because it is the site's text."""
        return self._client.submit(function, *arguments, pure=False, retries=RETRIES)


@contextmanager
def dask_workers(address: str) -> Iterator[Workers]:
    """The workers of the scheduler at `address`, which all have this version of the package."""
    distributed = _library(address)
    try:
        client = distributed.Client(address, timeout=_WAIT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"{address}: expected a dask scheduler that answers, found none "
            f"({type(error).__name__})",
            hints=("dask scheduler", "dask worker " + address),
        ) from error
    try:
        count = _check_workers(address, client)
        executor = DaskExecutor(client)
        yield Workers(lambda: executor, ahead=2 * count)
    finally:
        client.close()


def _check_workers(address: str, client: Any) -> int:
    """How many threads work there; every worker has this very version of the package."""
    own = importlib.metadata.version("sottovoce")
    versions = client.run(importlib.metadata.version, "sottovoce", on_error="return")
    if not versions:
        raise InputError(
            f"{address}: expected workers, found a scheduler without any",
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
            f"{address}: a cluster needs the package distributed, found none",
            hints=("pip install 'sottovoce[dask]'",),
        ) from error
    # Its own log would repeat on the screen what the command says.
    logging.getLogger("distributed").setLevel(logging.ERROR)
    return distributed
