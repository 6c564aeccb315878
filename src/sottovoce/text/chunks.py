"""Documents in fixed chunks, worked on by any number of processes, answered in order.

Where a chunk ends depends on the documents alone, and results come back in the
order of the chunks, so sums over them are the same, bit for bit, whatever the
number of workers. Only a few chunks are under way at any time.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol, TypeVar

from joblib.externals.loky import get_reusable_executor

from sottovoce.errors import InputError
from sottovoce.text.documents import Document, PackedDocuments

CHUNK_DOCUMENTS = 2_048
CHUNK_CHARACTERS = 1 << 20

U = TypeVar("U")
U_co = TypeVar("U_co", covariant=True)


def chunked(
    documents: Iterable[Document],
    *,
    most: int = CHUNK_DOCUMENTS,
    characters: int = CHUNK_CHARACTERS,
) -> Iterator[list[Document]]:
    """Runs of up to `most` documents; one also ends when it has reached `characters`."""
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


class Job(Protocol[U_co]):
    """Work on chunks of documents that takes some preparing: once here, or once in every worker."""

    @property
    def name(self) -> Hashable:
        """Equal for jobs that are prepared alike."""

    def prepare(self) -> Callable[[Sequence[Document]], U_co]:
        """The function that does the work."""


def in_order(job: Job[U], chunks: Iterable[list[Document]], *, workers: int = 1) -> Iterator[U]:
    """What `job` makes of each chunk, in order; with `workers` > 1 in that many processes."""
    if workers < 1:
        raise InputError(f"workers: expected at least 1, found {workers}")
    if workers == 1:
        yield from map(job.prepare(), chunks)
        return
    executor = get_reusable_executor(max_workers=workers)
    rest = map(PackedDocuments.of, chunks)
    # Two chunks a worker: one in hand and one waiting, however long the rest is.
    pending = deque(executor.submit(_remotely, job, chunk) for chunk in islice(rest, 2 * workers))
    try:
        while pending:
            yield pending.popleft().result()
            pending.extend(executor.submit(_remotely, job, chunk) for chunk in islice(rest, 1))
    finally:
        for waiting in pending:
            waiting.cancel()


_prepared: dict[Hashable, Callable[[Sequence[Document]], Any]] = {}


def _remotely(job: Job[U], chunk: PackedDocuments) -> U:
    """In a worker: jobs arrive anew with every chunk, and find by name what was prepared."""
    work = _prepared.get(job.name)
    if work is None:
        _prepared.clear()
        work = _prepared[job.name] = job.prepare()
    result: U = work(chunk.documents())
    return result
