"""Documents read by processes and by a dask cluster: the same counts, also when a worker dies."""

import errno
import logging
import os
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from multiprocessing import active_children
from typing import Any

import numpy as np
import pytest

from sottovoce.clusters import LocalCores, executor_workers, open_cluster
from sottovoce.clusters.dask_cluster import DaskTask, WorkerWatch, _library, dask_workers
from sottovoce.clusters.local_cores import LIVES, usable_cores
from sottovoce.errors import InputError, MisuseError
from sottovoce.estimators.plain_text import PlainText
from sottovoce.study.plan import StudyPlan
from sottovoce.text import chunks
from sottovoce.text.chunks import Workers, working_with
from sottovoce.text.dictionary.counts import Counts
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.documents import Document
from sottovoce.text.labelling import Labelling
from sottovoce.text.labels import Labels
from sottovoce.text.passes import CountPlan, count
from sottovoce.text.streams import DocumentStream

KEY = DictionaryKey(bytes(32))
PLAN = CountPlan(Labelling(Labels(("a", "b"))), bits=12)


def documents() -> Iterator[Document]:
    for number in range(9_000):
        yield Document(f"w{number % 83} w{number % 7} w{number % 1009}", "ab"[number % 2])


@pytest.fixture(autouse=True)
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few thousand documents are many, here."""
    monkeypatch.setattr(chunks, "HERE_CHUNKS", 2)


@pytest.fixture(scope="module")
def expected() -> Counts:
    return count(documents(), PLAN, key=KEY)


def same(first: Counts, other: Counts) -> bool:
    return first.by_class.tobytes() == other.by_class.tobytes() and np.array_equal(
        first.total, other.total
    )


def model() -> bytes:
    """What a plaintext model of a few thousand documents weighs, to the last bit."""
    plan = StudyPlan("clusters", PLAN.labelling.labels, features=64, held_out=0.0)
    return PlainText.learn(plan, [DocumentStream(documents)]).theta.tobytes()


@pytest.fixture(scope="module")
def expected_model() -> bytes:
    return model()


def kill_a_worker(stream: Iterator[Document], children: Any) -> Iterator[Document]:
    """The documents; behind the first chunks one of the processes is killed."""
    yield from islice(stream, 7_000)
    os.kill(children()[0].pid, signal.SIGKILL)
    yield from stream


# By default such processes build parts, in test_parts_on_clusters.py.
@pytest.mark.soak
def test_processes_give_the_same_counts_also_when_one_is_killed(
    expected: Counts, expected_model: bytes
) -> None:
    with LocalCores(2) as cores:
        workers = Workers(lambda: cores, ahead=2)
        with working_with(workers):
            assert model() == expected_model
            assert same(count(documents(), PLAN, key=KEY), expected)
            dying = kill_a_worker(documents(), active_children)
            assert same(count(dying, PLAN, key=KEY), expected)


def test_an_executor_reads_for_a_study_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    from sottovoce import LocalFederation
    from sottovoce.estimators.text_classifier import TextClassifier
    from sottovoce.study import InsecureToyPlan

    class ToyTextClassifier(TextClassifier):
        _plan_type = InsecureToyPlan

    class Counting(ThreadPoolExecutor):
        tasks = 0

        def submit(self, *work: Any) -> Any:
            self.tasks += 1
            return super().submit(*work)

    monkeypatch.setattr(chunks, "HERE_CHUNKS", 1)
    part = (["heart pain", "bone break"] * 9, ["a", "b"] * 9)
    with Counting(2) as pool:
        model = ToyTextClassifier(features=8, key_bits=768)
        model.fit(LocalFederation(dict.fromkeys("abc", part)), executor=pool)
    assert model.predict(["heart pain"]).tolist() == ["a"]
    assert pool.tasks >= 6


def test_work_that_kills_every_process_is_given_up() -> None:
    with LocalCores(1) as cores, pytest.raises(MisuseError, match=f"died {LIVES} times"):
        cores.submit(os.abort).result()


@pytest.mark.parametrize("count_of_workers", [2, pytest.param(4, marks=pytest.mark.soak)])
def test_a_dask_cluster_gives_the_same_counts_also_when_a_worker_is_killed(
    expected: Counts, expected_model: bytes, count_of_workers: int
) -> None:
    distributed = pytest.importorskip("distributed")
    how = {"n_workers": count_of_workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**how, processes=True, silence_logs=50) as cluster,
        dask_workers(cluster.scheduler_address) as workers,
        working_with(workers),
    ):
        assert same(count(documents(), PLAN, key=KEY), expected)
        assert model() == expected_model

        def children() -> Any:
            return [worker.process for worker in cluster.workers.values()]

        dying = kill_a_worker(documents(), children)
        assert same(count(dying, PLAN, key=KEY), expected)


def test_clusters_that_are_none_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from sottovoce.clusters import dask_cluster

    with pytest.raises(InputError, match="expected local, none or the address"), open_cluster("x"):
        pass
    with pytest.raises(InputError, match="cores: expected at least 1, found 0"):
        LocalCores(0)
    with pytest.raises(InputError, match=r"executor: expected something with submit\(\)"):
        executor_workers(5)
    assert executor_workers(None) is None
    with open_cluster("none") as workers:
        assert workers is None
    with open_cluster("local") as workers:
        assert (workers is not None) == (usable_cores() > 1)
    monkeypatch.setattr(dask_cluster, "_WAIT_SECONDS", "1s")
    address = "tcp://127.0.0.1:1"
    with (
        pytest.raises(InputError, match=f"{address}: no dask scheduler answers"),
        open_cluster(address),
    ):
        pass


class Client:
    """A dask client whose workers have these versions."""

    def __init__(self, versions: dict[str, Any]) -> None:
        self.versions = versions

    def run(self, *_: Any, **__: Any) -> dict[str, Any]:
        return self.versions


@pytest.mark.parametrize(
    ("versions", "says"),
    [
        ({}, "the scheduler has no workers"),
        ({"tcp://w": "0.0.1"}, "tcp://w: expected sottovoce .* found version 0.0.1"),
        ({"tcp://w": ModuleNotFoundError()}, "tcp://w: expected sottovoce .* found none"),
    ],
)
def test_workers_without_the_package_are_refused(versions: dict[str, Any], says: str) -> None:
    from sottovoce.clusters.dask_cluster import _check_workers

    with pytest.raises(InputError, match=says):
        _check_workers("tcp://s", Client(versions))


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "the disk of a worker is full"),
        (MemoryError(), "a worker has too little memory"),
    ],
)
def test_what_a_worker_lacks_is_named(fault: Exception, says: str) -> None:
    pytest.importorskip("distributed")
    failed: Future[None] = Future()
    failed.set_exception(fault)
    with pytest.raises(MisuseError, match=says):
        DaskTask(failed).result()


class Waiting:
    """A client of a scheduler that has these workers, and is running until it is `closed`."""

    def __init__(self, workers: dict[str, int]) -> None:
        self.workers = workers
        self.status = "running"
        self.now = 0

    def nthreads(self) -> dict[str, int]:
        return self.workers


def test_a_cluster_without_workers_is_given_up_after_a_minute() -> None:
    client = Waiting({})
    watch = WorkerWatch(client, clock=lambda: client.now)
    for client.now, workers in ((100, 1), (105, 0), (160, 0), (161, 1), (200, 0)):
        client.workers = {"tcp://w": 1} if workers else {}
        watch.check()
    client.now = 260
    with pytest.raises(MisuseError, match="has had no workers for 60 s"):
        watch.check()
    client.status = "connecting"
    watch.check()
    client.status = "closed"
    with pytest.raises(MisuseError, match="the scheduler does not answer any more"):
        watch.check()


def test_work_whose_workers_are_all_gone_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    from sottovoce.clusters import dask_cluster

    monkeypatch.setattr(dask_cluster, "_LOOK_SECONDS", 0.1)
    monkeypatch.setattr(dask_cluster, "_ALONE_SECONDS", 0.2)
    how = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**how, processes=False, silence_logs=50) as cluster,
        dask_workers(cluster.scheduler_address) as workers,
    ):
        executor = workers.open()
        assert executor.submit(int, "7").result() == 7
        assert executor.tree(max, [executor.submit(int, text) for text in "132"]) == 3
        cluster.scale(0)
        cluster.sync(cluster._correct_state)
        for waits in (lambda task: task.result(), lambda task: executor.tree(max, [task])):
            with pytest.raises(MisuseError, match="no workers"):
                waits(executor.submit(int, "7"))


def test_the_log_of_the_cluster_stays_off_the_screen() -> None:
    pytest.importorskip("distributed")
    _library("tcp://s")
    assert not logging.getLogger("distributed.client").isEnabledFor(logging.ERROR)


def test_another_fault_of_the_system_stays_what_it_is() -> None:
    pytest.importorskip("distributed")
    failed: Future[None] = Future()
    failed.set_exception(OSError(errno.EIO, "broken"))
    with pytest.raises(OSError, match="broken"):
        DaskTask(failed).result()
