"""Reading, counting and moments on the workers: one model's bytes, also when a worker is killed."""

import hashlib
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.examples.encoders import SmallEncoder
from sottovoce.clusters import LocalCores, executor_workers
from sottovoce.clusters.dask_cluster import dask_workers
from sottovoce.errors import InputError
from sottovoce.sources import SourceOptions
from sottovoce.sources.parting import stretches
from sottovoce.sources.parting.parts import SourcePart, list_parts, parts_of
from sottovoce.study.moment_sums import RowWeights, parted_moments
from sottovoce.text.blocks import Blocks
from sottovoce.text.chunks import Workers, working_with
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.dictionary.selection import Selection, chosen
from sottovoce.text.documents import Document
from sottovoce.text.encoding import provide
from sottovoce.text.features import FeatureSpace
from sottovoce.text.labelling import Labelling
from sottovoce.text.labels import Labels
from sottovoce.text.parts import PartedDocuments, PartTask, mapped
from sottovoce.text.passes import CountPlan, PartReader, count, kept_columns

KEY = DictionaryKey(bytes(32))
LABELLING = Labelling(Labels(("a", "b")))
PLAN = CountPlan(LABELLING, bits=12)


@dataclass(frozen=True)
class Deadly:
    """A part whose first reader is killed in the middle of it."""

    part: SourcePart
    mark: Path

    def documents(self) -> Iterator[Document]:
        for number, document in enumerate(self.part.documents()):
            if number == 50 and not self.mark.exists():
                self.mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield document


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("site") / "notes.csv"
    with path.open("w") as file:
        file.write("note,kind\n")
        for number in range(3_000):
            file.write(f'"w{number % 83} w{number % 7}\nw{number % 509}",{"ab"[number % 2]}\n')
    return path


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "SMALLEST_BYTES", 4_096)


def open_small() -> None:
    """Open the encoder, wherever this is called."""
    provide(SmallEncoder())


def task_of(table: Path) -> PartTask:
    """The parts of the table, listed by whoever works; with an encoder that they open there."""
    options = SourceOptions(text=("note",), label=("kind",))
    listed = list_parts(parts_of(str(table), options), mapped)
    assert listed.documents == 3_000
    assert len(listed.parts) >= 4
    return PartTask(listed.parts, (), open_small)


def digest(task: PartTask) -> str:
    """The SHA-256 of the counts and of the moments' words."""
    documents = PartedDocuments(task)
    counts = count(documents, PLAN, key=KEY)
    blocks = Blocks(encoder=SmallEncoder().name)
    space = FeatureSpace(chosen(counts, Selection(60), exclusive=True), blocks=blocks)
    kept = kept_columns(documents, space, fewest=3, key=KEY)
    moments = parted_moments(
        documents,
        PartReader(space, LABELLING, KEY, kept),
        RowWeights((0.7, 1.3), binary=True),
        classes=1,
        rows=3_000,
        row_norm=2.0,
    )
    whole = hashlib.sha256(counts.by_class.tobytes())
    whole.update(np.triu(moments.upper).tobytes() + moments.products.tobytes())
    return whole.hexdigest()


@pytest.fixture(scope="module")
def expected(table: Path) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stretches, "SMALLEST_BYTES", 4_096)
        return digest(task_of(table))


def deadly(task: PartTask, mark: Path) -> PartTask:
    first, second, *others = task.parts
    return PartTask((first, Deadly(second, mark), *others), task.rules, task.begin)  # type: ignore[arg-type]


def test_two_processes_give_the_same_bytes_also_when_one_is_killed(
    table: Path, expected: str, tmp_path: Path
) -> None:
    with LocalCores(2) as cores, working_with(Workers(lambda: cores, ahead=4)):
        task = task_of(table)
        assert digest(deadly(task, tmp_path / "killed")) == expected
    assert (tmp_path / "killed").exists()


# By default test_clusters.py counts on such a cluster, and processes build parts, above.
@pytest.mark.soak
@pytest.mark.parametrize("number", [2, 4])
def test_a_dask_cluster_gives_the_same_bytes_and_names_what_is_wrong(
    table: Path, expected: str, number: int, tmp_path: Path
) -> None:
    distributed = pytest.importorskip("distributed")
    progress: list[tuple[int, int]] = []
    how = {"n_workers": number, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**how, processes=True, silence_logs=50) as cluster,
        dask_workers(
            cluster.scheduler_address, progress=lambda *far: progress.append(far)
        ) as workers,
        working_with(workers),
    ):
        task = task_of(table)
        assert digest(deadly(task, tmp_path / "killed")) == expected
        assert (tmp_path / "killed").exists()
        assert progress[-1][0] == progress[-1][1] > 2
        table.rename(tmp_path / "elsewhere.csv")
        try:
            with pytest.raises(
                InputError, match=r"worker tcp://.*notes.csv: there is no such file"
            ):
                count(PartedDocuments(task), PLAN, key=KEY)
        finally:
            (tmp_path / "elsewhere.csv").rename(table)
        logs: Any = (cluster.get_logs(), *progress)
        assert "w82" not in str(logs)


def test_spark_runs_the_same_tasks_by_the_recipe_of_the_manual(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    monkeypatch.setattr(stretches, "SMALLEST_BYTES", table.stat().st_size // 4)
    # Its workers begin with nothing but their environment.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    expected = digest(task_of(table))
    page = (Path(__file__).parents[2] / "docs" / "operating.md").read_text()
    recipe: dict[str, Any] = {}
    exec(page.split("```python spark\n")[1].split("```")[0], recipe)  # noqa: S102 - our own page
    settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}
    spark = pyspark.SparkContext("local[2]", conf=pyspark.SparkConf().setAll(settings.items()))
    try:
        with recipe["SparkTasks"](spark, 4) as pool:
            workers = executor_workers(pool)
            assert workers is not None
            with working_with(workers):
                assert digest(task_of(table)) == expected
    finally:
        spark.stop()
