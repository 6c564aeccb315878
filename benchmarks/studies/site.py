"""One site with many short documents in a file, beside two small ones: to a trained sealed study.

The file is made up and written before anything is measured. Then it is cut into parts, listed,
rehearsed and learnt from as `sottovoce join` does it, by as many processes as there are cores
unless told; the study itself runs in memory, with engine quorum.
"""

import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sottovoce.cli.terminal.measurements import Row
from sottovoce.clusters import LocalCores
from sottovoce.clusters.local_cores import usable_cores
from sottovoce.course.training.memory import run_study
from sottovoce.entropy import SystemEntropy
from sottovoce.sources import SourceOptions, open_source
from sottovoce.sources.parting.parts import list_parts, parts_of
from sottovoce.study import Study, StudyPlan
from sottovoce.study.choices import Engine
from sottovoce.study.in_memory import Setting
from sottovoce.study.rehearsal import check_documents
from sottovoce.study.roster import draw_roster
from sottovoce.text.chunks import Workers, working_with
from sottovoce.text.labels import Labels
from sottovoce.text.parts import PartedDocuments, PartTask, mapped

WORDS_A_DOCUMENT = 12
VOCABULARY = 50_000
SITES = ("north", "harbour", "valley")
OPTIONS = SourceOptions(text=("note",), label=("kind",))
_AT_ONCE = 50_000
_FEW = 2_000


def write_notes(path: Path, documents: int, *, classes: int = 2, seed: int = 17) -> None:
    """A table of made-up documents: words by Zipf's law, and one that tells the class."""
    draw = np.random.default_rng(seed)
    names = np.array([f"word{rank}" for rank in range(VOCABULARY + 1)], object)
    with path.open("w") as file:
        file.write("note,kind\n")
        for start in range(0, documents, _AT_ONCE):
            size = min(_AT_ONCE, documents - start)
            ranks = (VOCABULARY ** draw.random((size, WORDS_A_DOCUMENT))).astype(np.int64)
            labels = draw.integers(0, classes, size)
            of_class = np.where(draw.random(size) < 0.9, labels, draw.integers(0, classes, size))
            for words, kind, hint in zip(names[ranks], labels, of_class, strict=True):
                file.write(f"class{hint} {' '.join(words)},{kind}\n")


def parted(path: Path) -> PartedDocuments:
    """The documents of a file, in parts that are listed by whoever works."""
    listed = list_parts(parts_of(str(path), OPTIONS), mapped)
    return PartedDocuments(PartTask(listed.parts), length=listed.documents)


@contextmanager
def by_processes(count: int) -> Iterator[None]:
    """Have documents read by so many processes of this machine; by this one, if by one."""
    if count == 1:
        yield
        return
    with LocalCores(count) as cores, working_with(Workers(lambda: cores, ahead=2 * count)):
        yield


@dataclass(frozen=True)
class LargeSite:
    """How many documents the large site has, and who reads them into how many features."""

    documents: int = 10**5
    features: int = 512
    processes: int = 0

    @property
    def workers(self) -> int:
        """How many processes read."""
        return self.processes or usable_cores()


def measure(trial: LargeSite, progress: Callable[[str], None]) -> tuple[Row, list[Row]]:
    """Seconds of the clock and of cores for every step, and the most memory of a process."""
    clock = _StepTimes(progress)
    with tempfile.TemporaryDirectory(prefix="sottovoce-site-") as folder:
        path = Path(folder) / "notes.csv"
        progress("writing documents")
        write_notes(path, trial.documents)
        others = {}
        for number, site in enumerate(SITES[1:]):
            small = Path(folder) / f"{site}.csv"
            write_notes(small, _FEW, seed=number)
            others[site] = list(open_source(small, OPTIONS).documents())
        size = path.stat().st_size
        plan = StudyPlan(
            "site",
            Labels(("0", "1")),
            features=trial.features,
            engine=Engine.QUORUM,
        )
        entropy = SystemEntropy()
        roster, identities = draw_roster(
            SITES, entropy=entropy, with_dealer=False, with_evaluator=False
        )
        study = Study(plan, roster)
        with by_processes(trial.workers):
            with clock.step("list"):
                large = parted(path)
            with clock.step("rehearse"):
                check_documents(study, SITES[0], large)
            with clock.step("train"):
                outcome = run_study(
                    study,
                    {SITES[0]: large, **others},
                    identities=identities,
                    entropy=entropy,
                    setting=Setting(views=False),
                )
        asked = others[SITES[1]][:200]
        labels = outcome.classify(SITES[1], asked).classes
        right = sum(label == (str(note.label),) for label, note in zip(labels, asked, strict=True))
    facts: Row = {
        "documents": trial.documents,
        "features": trial.features,
        "processes": trial.workers,
        "megabytes": size / 1e6,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "worker_peak_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
        "labels_right_of_200": right,
    }
    return facts, clock.rows(trial.documents)


class _StepTimes:
    """Times steps; CPU counts processes that ended, too, so the last one has the workers'."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self._took: dict[str, float] = {}
        self._cpu = _cpu()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time one step."""
        self._progress(name)
        began = time.monotonic()
        yield
        self._took[name] = time.monotonic() - began

    def rows(self, documents: int) -> list[Row]:
        """A row for each step, and the CPU of all of them."""
        rows: list[Row] = [
            {"step": name, "wall s": wall, "µs a document": wall * 1e6 / documents}
            for name, wall in self._took.items()
        ]
        cpu = _cpu() - self._cpu
        rows.append({"step": "all", "cpu s": cpu, "µs a document": cpu * 1e6 / documents})
        return rows


def _cpu() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)
