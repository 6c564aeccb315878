"""Documents in parts that workers read, and sums over these parts.

A part names a place of documents: a stretch of a file, some row groups, some files of a folder. It
is sent to a worker instead of the documents. The beginnings of parts depend only on the data. The
result of a job on a part is integers, whose sum does not depend on order or grouping. So one
process, all cores, a cluster, and a cluster whose worker died give the same bytes. Any engine can
be used that calls `sum_of_parts` and adds up the results.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import islice
from typing import Any, Protocol, Self, TypeVar

from sottovoce.errors import InputError, OurError
from sottovoce.text.chunks import Workers, current_workers, prepared_once
from sottovoce.text.documents import Document, digest_of
from sottovoce.text.streams import DocumentStream, Rule

TASKS_A_WORKER = 4
"""The approximate number of runs of parts for each task that is in progress."""


class DocumentPart(Protocol):
    """The place of some documents."""

    def documents(self) -> Iterator[Document]:
        """Yield the documents, read in the process that calls this."""


class Total(Protocol):
    """A sum of integers, to which others of its kind can be added."""

    def merge(self, other: Self) -> None:
        """Add another one."""


A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T", bound=Total)


class SumJob(Protocol[T]):
    """A job that sums over documents; it is prepared once, here or in every worker."""

    @property
    def name(self) -> Any:
        """A name, equal for jobs with the same preparation."""

    def prepare(self) -> Callable[[T | None, Iterator[Document]], T]:
        """Return a function that adds one part's documents to a sum, or begins one."""


@dataclass(frozen=True)
class PartTask:
    """A run of parts, with the rules that are first applied to their documents."""

    parts: tuple[DocumentPart, ...]
    rules: tuple[Rule, ...] = ()
    begin: Callable[[], None] | None = None
    """Called in the working process before the first part, for example to open an encoder."""

    def read(self, part: DocumentPart) -> Iterator[Document]:
        """Yield the documents of a part, after all rules."""
        return _ruled(part.documents(), self.rules)


class PartedDocuments(DocumentStream):
    """Documents in parts; iterating over them reads them in this process."""

    def __init__(
        self,
        task: PartTask,
        *,
        length: int | None = None,
        facts: dict[Hashable, Any] | None = None,
    ) -> None:
        """Hold the documents of all parts of `task`; `facts` are small sums computed before."""
        super().__init__(self._all, length=length)
        self.task = task
        self._facts = {} if facts is None else facts

    def _all(self) -> Iterator[Document]:
        for part in self.task.parts:
            yield from self.task.read(part)

    def __len__(self) -> int:
        if self._length is None:
            self._length = self.summed_once(_Lengths()).count
        return self._length

    def note_length(self, length: int) -> None:
        """Record the number of documents that another pass counted, which saves a pass."""
        self._length = length

    def refined(self, rule: Rule) -> "PartedDocuments":
        """Return the documents after one more rule, which the workers apply."""
        rules = (*self.task.rules, rule)
        task = PartTask(self.task.parts, rules, self.task.begin)
        return PartedDocuments(task, facts=self._facts)

    def summed_once(self, job: "SumJob[T]") -> "T":
        """Return a small sum, which is computed once for these documents under their rules."""
        fact = (self.task.rules, job.name)
        if fact not in self._facts:
            self._facts[fact] = summed(job, self)
        total: T = self._facts[fact]
        return total


def inputs_digest(documents: Sequence[Document]) -> bytes:
    """Return a digest (32 bytes) of the documents' content, in order; workers read parts.

    The beginnings of parts depend only on the data, so the same documents have the same digest.
    """
    if not isinstance(documents, PartedDocuments):
        return digest_of(documents)
    digests = mapped(partial(_digest_of_part, documents.task.rules), documents.task.parts)
    return hashlib.blake2b(b"".join(digests), digest_size=32, person=b"sottovoce/parts").digest()


def mapped(function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
    """Yield the results of a function for each item, in order, computed by the workers."""
    workers = current_workers()
    if workers is None:
        yield from map(function, items)
        return
    yield from _in_turn(workers, [(_guarded, function, item) for item in items])


def summed(job: SumJob[T], documents: PartedDocuments) -> T:
    """Return the sum of `job` over all documents, computed by the workers."""
    task, workers = documents.task, current_workers()
    if workers is None or len(task.parts) == 1:
        return sum_of_parts(job, task)
    runs = [PartTask(run, task.rules, task.begin) for run in _runs(task.parts, workers)]
    return _gathered(job, runs, workers)


def sum_of_parts(job: SumJob[T], task: PartTask) -> T:
    """Return the sum over a run of parts; this is the only function that an engine calls."""
    total: T = _guarded(_sum, job, task)
    return total


def _sum(job: SumJob[T], task: PartTask) -> T | None:
    if task.begin is not None:
        task.begin()
    work = prepared_once(job.name, job.prepare)
    total: T | None = None
    for part in task.parts:
        total = work(total, task.read(part))
    return total


def _guarded(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call the function, hiding errors that could quote a text, because clusters log errors."""
    try:
        return function(*arguments)
    except (OurError, MemoryError):
        raise
    except OSError as error:
        # The operating system's message names a file or a device, and quotes no text.
        raise InputError(f"reading documents: {error.strerror or type(error).__name__}") from None
    except Exception as error:  # noqa: BLE001 - whatever a library raises
        raise InputError(f"reading documents failed with {type(error).__name__}") from None


def _merged(first: T, other: T) -> T:
    first.merge(other)
    return first


def _sum_of_two(first: T, other: T) -> T:
    """Add two sums on a cluster, without changing either: a dead worker's sum is computed again."""
    return _merged(deepcopy(first), other)


def _gathered(job: SumJob[T], runs: Sequence[PartTask], workers: Workers) -> T:
    if workers.tree is None:
        total: T = reduce(_merged, _in_turn(workers, [(sum_of_parts, job, run) for run in runs]))
        return total
    executor = workers.open()
    tasks = [executor.submit(sum_of_parts, job, run) for run in runs]
    try:
        joined: T = workers.tree(_sum_of_two, tasks)
        return joined
    finally:
        for task in tasks:
            task.cancel()


def _in_turn(workers: Workers, calls: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
    """Yield results in the order of the calls, making only a few calls ahead."""
    executor, rest = workers.open(), iter(calls)
    waiting = deque(executor.submit(*call) for call in islice(rest, workers.ahead))
    try:
        for number in range(1, len(calls) + 1):
            result = waiting.popleft().result()
            waiting.extend(executor.submit(*call) for call in islice(rest, 1))
            if workers.progress is not None:
                workers.progress(number, len(calls))
            yield result
            del result
    finally:
        for task in waiting:
            task.cancel()


def _runs(parts: tuple[DocumentPart, ...], workers: Workers) -> Iterator[tuple[DocumentPart, ...]]:
    length = max(1, len(parts) // (TASKS_A_WORKER * workers.ahead))
    return (parts[start : start + length] for start in range(0, len(parts), length))


def _digest_of_part(rules: tuple[Rule, ...], part: DocumentPart) -> bytes:
    return digest_of(_ruled(part.documents(), rules))


def _ruled(documents: Iterator[Document], rules: tuple[Rule, ...]) -> Iterator[Document]:
    for document in documents:
        left: Document | None = document
        for rule in rules:
            left = None if left is None else rule(left)
        if left is not None:
            yield left


@dataclass
class _Length:
    count: int = 0

    def merge(self, other: Self) -> None:
        self.count += other.count


@dataclass(frozen=True)
class _Lengths:
    name: str = field(default="length", init=False)

    def prepare(self) -> Callable[[_Length | None, Iterator[Document]], _Length]:
        def work(total: _Length | None, documents: Iterator[Document]) -> _Length:
            total = total or _Length()
            total.count += sum(1 for _ in documents)
            return total

        return work
