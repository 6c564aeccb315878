"""How cost grows: with documents, features, classes, peers and workers, one thing at a time.

Every point is measured in a process of its own, so that its peak of memory is its own. An
exponent is the slope of the points in logarithms: 1 is in proportion, 0 is no growth.
"""

import math
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from benchmarks.arithmetic.blind_sum import book_bytes, whole_round
from benchmarks.studies.site import WORDS_A_DOCUMENT, by_processes, parted, write_notes
from sottovoce.pictures.charts import DIAGONAL, Axis, line
from sottovoce.pictures.page import style
from sottovoce.study.moment_sums import RowWeights, parted_moments
from sottovoce.text.dictionary.dictionaries import HashedDictionary
from sottovoce.text.dictionary.hashing import PUBLIC
from sottovoce.text.dictionary.selection import Selection, chosen
from sottovoce.text.features import FeatureSpace
from sottovoce.text.labelling import Labelling
from sottovoce.text.labels import Labels
from sottovoce.text.parts import PartedDocuments
from sottovoce.text.passes import CountPlan, PartReader, count, kept_columns

SMALL = 20_000
"""Documents of the axes on which something else grows."""


@dataclass(frozen=True)
class PointCost:
    """What one point took: seconds of the clock and of cores, and by how much memory rose."""

    wall: float
    cpu: float
    megabytes: float


@dataclass(frozen=True)
class GrowthAxis:
    """One thing that grows, the work at every size of it, and the exponents that we expect."""

    name: str
    sizes: tuple[int, ...]
    work: Callable[[int], None]
    seconds: float
    memory: float
    why: str
    by_clock: bool = False

    def upto(self, most: int) -> "GrowthAxis":
        """The same up to a size."""
        sizes = tuple(size for size in self.sizes if size <= most)
        return GrowthAxis(
            self.name, sizes, self.work, self.seconds, self.memory, self.why, self.by_clock
        )


@contextmanager
def notes(documents: int, *, classes: int = 2) -> Iterator[PartedDocuments]:
    """Made-up short documents in a file, in parts; writing them is not measured."""
    with tempfile.TemporaryDirectory(prefix="sottovoce-growth-") as folder:
        path = Path(folder) / "notes.csv"
        _unmeasured(partial(write_notes, path, documents, classes=classes))
        yield parted(path)


def _unmeasured(work: Callable[[], None]) -> None:
    """Do it in a process of its own, and note what is not to be counted."""
    before, began = _cpu(), time.monotonic()
    process = get_context("fork").Process(target=work)
    process.start()
    process.join()
    _left_out.append((time.monotonic() - began, _cpu() - before))


_left_out: list[tuple[float, float]] = []


def passes(documents: int, *, features: int = 512, classes: int = 2) -> None:
    """All passes of a site: listing, counts for a dictionary, and rows to moments."""
    labelling = Labelling(Labels(tuple(map(str, range(classes)))))
    plan = CountPlan(labelling)
    with notes(documents, classes=classes) as corpus:
        counts = count(corpus, plan, key=PUBLIC)
        words = chosen(counts, Selection(features), exclusive=True)
        _add_up(corpus, FeatureSpace(words, plan.reading), labelling)


def _add_up(corpus: PartedDocuments, space: FeatureSpace, labelling: Labelling) -> None:
    kept = kept_columns(corpus, space, fewest=3, key=PUBLIC)
    parted_moments(
        corpus,
        PartReader(space, labelling, PUBLIC, kept),
        RowWeights(None, binary=labelling.labels.width == 1),
        classes=labelling.labels.width,
        rows=len(corpus),
        row_norm=2.0,
    )


def with_features(features: int) -> None:
    """The second pass into exactly so many columns, and their moments."""
    labelling = Labelling(Labels(("0", "1")))
    space = FeatureSpace(HashedDictionary(features), CountPlan(labelling).reading)
    with notes(SMALL) as corpus:
        _add_up(corpus, space, labelling)


def with_classes(classes: int) -> None:
    """Both passes for so many classes."""
    passes(SMALL, features=1024, classes=classes)


def with_peers(peers: int) -> None:
    """One blind sum among so many peers, all of them in this process."""
    whole_round(peers=peers, words=4096)


def with_workers(workers: int) -> None:
    """Both passes, read by so many processes of this machine."""
    with by_processes(workers):
        passes(10 * SMALL)


AXES = (
    GrowthAxis("documents", (10**4, 10**5, 10**6, 10**7), passes, 1.0, 0.0, "streamed"),
    GrowthAxis(
        "features",
        (512, 1024, 2048, 4096, 8192, 16384),
        with_features,
        1.0,
        2.0,
        "second moments are d × d, a document's row as sparse as before: between 0 and 2",
    ),
    GrowthAxis(
        "classes", (2, 5, 20, 50, 200), with_classes, 1.0, 1.0, "a column of counts a class"
    ),
    GrowthAxis(
        "peers",
        (3, 10, 30, 100, 300, 1000),
        with_peers,
        2.0,
        1.0,
        "each checks everybody's signed keys; all of them sit in one process here",
    ),
    GrowthAxis("workers", (1, 2, 4, 8), with_workers, -1.0, 0.0, "up to the cores", by_clock=True),
)


def measured(work: Callable[[int], None], size: int) -> PointCost:
    """One point, in a process of its own."""
    context = get_context("spawn")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_alone, args=(work, size, theirs))
    process.start()
    theirs.close()
    try:
        took: PointCost = mine.recv()
    except EOFError:
        raise SystemExit(f"{work.__name__} at {size:,}: the process died") from None
    finally:
        process.join()
    return took


def _alone(work: Callable[[int], None], size: int, answer: Connection) -> None:
    """What the work takes beyond a process that has loaded everything."""
    cpu, memory, began = _cpu(), _peak(), time.monotonic()
    work(size)
    wall, used = time.monotonic() - began, _cpu() - cpu
    for other_wall, other_cpu in _left_out:
        wall, used = wall - other_wall, used - other_cpu
    answer.send(PointCost(wall, used, max(_peak() - memory, 1.0)))


def _cpu() -> float:
    """Seconds of cores so far, with those of processes that ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def exponent(points: Mapping[int, float]) -> float | None:
    """The slope of the points in logarithms; None of fewer than two."""
    if len(points) < 2:
        return None
    x, y = np.log(list(points)), np.log(list(points.values()))
    return float(np.polyfit(x, y, 1)[0])


def rows_of(axis: GrowthAxis, points: Mapping[int, PointCost]) -> list[dict[str, object]]:
    """The points of an axis as rows, and its exponents beside those that we expect."""
    rows: list[dict[str, object]] = [
        {
            "axis": axis.name,
            "size": size,
            "wall s": took.wall,
            "cpu s": took.cpu,
            "more MB": took.megabytes,
        }
        for size, took in points.items()
    ]
    seconds = {size: _seconds(axis, took) for size, took in points.items()}
    memory = {size: took.megabytes for size, took in points.items()}
    rows.append(
        {
            "axis": f"{axis.name}: exponent, expected",
            "cpu s": f"{_shown(exponent(seconds))}, {axis.seconds:g}",
            "more MB": f"{_shown(exponent(memory))}, {axis.memory:g}",
        }
    )
    return rows


def _seconds(axis: GrowthAxis, took: PointCost) -> float:
    return took.wall if axis.by_clock else took.cpu


def _shown(slope: float | None) -> str:
    return "–" if slope is None else f"{round(slope, 2) + 0.0:.2f}"


def _half_decades(name: str, low: float, length: float) -> Axis:
    """An axis with a tick at every half decade."""
    ticks = range(math.ceil(2 * low), math.floor(2 * (low + length)) + 1)
    return Axis(name, low, low + length, tuple(tick / 2 for tick in ticks))


def draw(axis: GrowthAxis, points: Mapping[int, PointCost]) -> str:
    """The seconds of an axis as a picture; its diagonal is the growth that we expect."""
    places = [(math.log10(size), math.log10(_seconds(axis, took))) for size, took in points.items()]
    if axis.seconds < 0:
        places = [(x, -y) for x, y in places]
    decades = places[-1][0] - places[0][0]
    what = "log₁₀ of seconds" if axis.seconds >= 0 else "log₁₀ of passes a second"
    across = _half_decades(f"log₁₀ of {axis.name}", places[0][0], decades)
    up = _half_decades(what, places[0][1], abs(axis.seconds) * decades or 1.0)
    figure = line(f"growth with {axis.name}", places, (across, up), DIAGONAL)
    svg = figure[figure.index("<svg") : figure.index("</svg>") + len("</svg>")]
    return svg.replace(">", f"><style>{style()}</style>", 1)


def measure(
    axes: Sequence[GrowthAxis], folder: Path | None, progress: Callable[[str], None]
) -> tuple[dict[str, object], list[dict[str, object]]]:
    """Facts and rows of all axes; a picture of each in the folder."""
    rows: list[dict[str, object]] = []
    for axis in axes:
        points: dict[int, PointCost] = {}
        for size in axis.sizes:
            progress(f"{axis.name} {size:,}")
            points[size] = measured(axis.work, size)
        rows += rows_of(axis, points)
        if folder is not None and len(points) > 1:
            (folder / f"growth-{axis.name}.svg").write_text(draw(axis, points), encoding="utf-8")
    facts: dict[str, object] = {
        "cores": os.cpu_count() or 1,
        "words a document": WORDS_A_DOCUMENT,
    }
    for peers in (100, 1_000, 10_000):
        facts[f"books of a blind sum, kB to each of {peers:,} peers"] = book_bytes(peers) / 1e3
    return facts, rows
