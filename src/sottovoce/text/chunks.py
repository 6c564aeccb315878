"""Work on documents in fixed chunks, here or by any number of workers, with results in order.

The ends of chunks depend only on the documents, and results come back in the order of the chunks.
So sums over them are the same, bit for bit, with any workers. Only a few chunks are in progress at
any time.

The site chooses the workers, and the study does not depend on them: `working_with` sets them for
this process. Any executor with the `submit` of `concurrent.futures` works.
"""

import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, Protocol, TypeVar

from sottovoce.errors import InputError
from sottovoce.text.documents import Document, PackedDocuments

CHUNK_DOCUMENTS = 2_048
CHUNK_CHARACTERS = 1 << 20
HERE_CHUNKS = 16
"""Fewer chunks than this are done in this process, because workers take longer to start."""

U = TypeVar("U")
U_co = TypeVar("U_co", covariant=True)


def chunked(
    documents: Iterable[Document],
    *,
    most: int = CHUNK_DOCUMENTS,
    characters: int = CHUNK_CHARACTERS,
) -> Iterator[list[Document]]:
    """Yield runs of up to `most` documents; a run also ends when it has reached `characters`."""
    if most < 1 or characters < 1:
        raise InputError(f"chunk: expected sizes of at least 1, found {most} and {characters}")
    chunk: list[Document] = []
    length = 0
    for document in documents:
        chunk.append(document)
        length += len(document.text)
        if len(chunk) == most or length >= characters:
            yield chunk
            chunk, length = [], 0
    if chunk:
        yield chunk


class Task(Protocol[U_co]):
    """A task that was submitted."""

    def result(self) -> U_co:
        """Wait for the result and return it."""

    def cancel(self) -> object:
        """Cancel the task, if it has not begun."""


class TaskExecutor(Protocol):
    """The executor of tasks: processes of this machine, or a cluster."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Task[Any]:
        """Give a task to a worker."""


@dataclass(frozen=True)
class Workers:
    """The workers for chunks: opened when there is enough to do, `ahead` tasks at a time."""

    open: Callable[[], TaskExecutor]
    ahead: int
    tree: Callable[[Callable[[Any, Any], Any], list[Any]], Any] | None = field(
        default=None, repr=False
    )
    """Joins results two by two on the workers; None if all results come to this process."""
    progress: Callable[[int, int], None] | None = None
    """Called with the number of finished tasks and of all tasks."""

    def __post_init__(self) -> None:
        if self.ahead < 1:
            raise InputError(f"workers: expected at least 1 task at a time, found {self.ahead}")


_workers: list[Workers] = []


@contextmanager
def working_with(workers: Workers | None) -> Iterator[None]:
    """Let these workers do the passes over many documents inside the block."""
    if workers is None:
        yield
        return
    _workers.append(workers)
    try:
        yield
    finally:
        _workers.remove(workers)


def current_workers() -> Workers | None:
    """The workers for many documents; None if this process does all."""
    return _workers[-1] if _workers else None


class Job(Protocol[U_co]):
    """Work on chunks of documents that is prepared once: here, or in every worker."""

    @property
    def name(self) -> Hashable:
        """A name, equal for jobs with the same preparation."""

    def travelling(self) -> "Job[U_co] | None":
        """Return the same job for another process; None if only this process can do it."""

    def prepare(self) -> Callable[[Sequence[Document]], U_co]:
        """Return the function that does the work."""


def in_order(job: Job[U], chunks: Iterable[list[Document]]) -> Iterator[U]:
    """Yield the result of `job` for each chunk, in order."""
    rest = iter(chunks)
    first = list(islice(rest, HERE_CHUNKS))
    away = job.travelling() if _workers and len(first) == HERE_CHUNKS else None
    if away is None:
        yield from map(job.prepare(), chain(first, rest))
        return
    workers = _workers[-1]
    executor = workers.open()
    packed = map(PackedDocuments.of, chain(first, rest))
    pending: deque[Task[U]] = deque(
        executor.submit(_remotely, away, chunk) for chunk in islice(packed, workers.ahead)
    )
    try:
        while pending:
            yield pending.popleft().result()
            pending.extend(executor.submit(_remotely, away, chunk) for chunk in islice(packed, 1))
    finally:
        for waiting in pending:
            waiting.cancel()


class _Prepared(threading.local):
    """The job that this thread of a worker prepared last; each thread has its own."""

    name: Hashable = None
    work: Any = None


_prepared = _Prepared()


def prepared_once(name: Hashable, prepare: Callable[[], U]) -> U:
    """In a worker, return what was prepared earlier for a job of this name, or prepare it now."""
    if _prepared.work is None or _prepared.name != name:
        _prepared.name, _prepared.work = name, prepare()
    work: U = _prepared.work
    return work


def _remotely(job: Job[U], chunk: PackedDocuments) -> U:
    return prepared_once(job.name, job.prepare)(chunk.documents())
