"""What the paper's other arrangements cost: a training of each beside peers with rows of their own.

The same made-up table is learnt from by peers that hold different rows of it, by peers that hold
different columns, through an intermediary per peer, and by an owner who lends the work; the paper's
own learner in each, and its sum around rings. CPU of all parties is added, with the trips between
evaluator and coordinator and everybody's bytes; the Paillier keys are made before the clock starts.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, ClassVar

import numpy as np

from benchmarks.timing import cpu_seconds, one_thread
from sottovoce.cli.measurements import Row
from sottovoce.entropy import Entropy, SystemEntropy
from sottovoce.errors import InputError
from sottovoce.estimators import LocalFederation, SealedClassifier
from sottovoce.paillier import SecretKey
from sottovoce.study import StudyPlan
from sottovoce.text.labels import Labels

Progress = Callable[[str], None]

PEERS = ("alice", "bob", "carol")
# A ring needs one more.
FOUR = (*PEERS, "dave")
DESCENT = {"learner": "rado-descent", "contribution": "rados", "rados": 128}
WARDS = ("eye", "heart")
# Two of its own for every peer, besides the ward that all of them know.
COLUMNS = 2 * len(PEERS)
LABELS = Labels(("sick", "well"))
ENGINES = ("shares", "paillier")


@dataclass(frozen=True)
class Arranged:
    """One way to learn from the table: its name, its engine, who takes part, and settings."""

    name: str
    engine: str
    federation: LocalFederation = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EntityTableMade:
    """Made-up entities with a ward, six numbers and a class."""

    frame: Any = field(repr=False)
    labels: list[str] = field(repr=False)

    @classmethod
    def of(cls, rows: int) -> "EntityTableMade":
        """So many of them, the same every time."""
        try:
            import pandas as pd
        except ImportError as error:
            raise InputError(
                "bench arrangements: expected pandas, found that it is not installed",
                hints=("pip install 'sottovoce[frames]'",),
            ) from error
        rng = np.random.default_rng(0)
        numbers = rng.uniform(-1, 1, (rows, COLUMNS)).round(2)
        frame = pd.DataFrame(numbers, columns=[f"column {n}" for n in range(COLUMNS)])
        frame["ward"] = rng.choice(WARDS, rows)
        labels = np.where(numbers.sum(axis=1) > 0, "sick", "well").tolist()
        return cls(frame, labels)

    def rows(self, peers: tuple[str, ...] = PEERS, **settings: Any) -> LocalFederation:
        """Every peer has some rows."""
        parts = {
            name: (self.frame.iloc[number :: len(peers)], self.labels[number :: len(peers)])
            for number, name in enumerate(peers)
        }
        return LocalFederation(parts, **settings)

    def columns(self) -> LocalFederation:
        """Every peer has the ward and two columns of all entities."""
        entities = [f"entity {number}" for number in range(len(self.labels))]
        parts = {
            name: (
                self.frame[["ward", f"column {2 * number}", f"column {2 * number + 1}"]],
                self.labels,
                entities,
            )
            for number, name in enumerate(PEERS)
        }
        return LocalFederation(parts, partition="features", shared=["ward"])

    def alone(self) -> LocalFederation:
        """One owner has everything and lends the work."""
        return LocalFederation({PEERS[0]: (self.frame, self.labels)}, outsourced_to="cloud")

    def arrangements(self) -> Iterator[Arranged]:
        """Each with its engine; rows first, for the others to be compared with."""
        for engine in ENGINES:
            yield Arranged("rows", engine, self.rows())
            yield Arranged("features", engine, self.columns())
        clouds: Mapping[str, str] = dict.fromkeys(PEERS, "cloud")
        helped = self.rows(intermediaries=clouds)
        yield Arranged("intermediaries", "paillier", helped)
        yield Arranged("outsourced", "paillier", self.alone())
        yield Arranged("ring of four", "paillier", self.rows(FOUR), {"addition": "ring"})
        yield Arranged("descent", "paillier", self.rows(), DESCENT)
        yield Arranged("descent, intermediaries", "paillier", helped, DESCENT)
        yield Arranged("descent, outsourced", "paillier", self.alone(), DESCENT)


def classifier_with(kind: type[StudyPlan], keys: Iterator[SecretKey]) -> type[SealedClassifier]:
    """A classifier whose parties take keys that were made before."""

    class KeptKeys(kind):  # type: ignore[misc, valid-type]  # a plan is a plan of its kind
        def generate(self, *, entropy: Entropy) -> SecretKey:  # noqa: ARG002 - drawn before
            return next(keys)

    class PreparedClassifier(SealedClassifier):
        _plan_type: ClassVar[type[StudyPlan]] = KeptKeys

    return PreparedClassifier


def measure(
    rows: int,
    *,
    kind: type[StudyPlan] = StudyPlan,
    key_bits: int = 3072,
    progress: Progress = lambda _: None,
) -> Iterator[Row]:
    """A row for each arrangement and engine."""
    table, plain = EntityTableMade.of(rows), {}
    progress("making keys")
    like = kind("bench arrangements", LABELS, features=1, key_bits=key_bits)
    # Two parties of a study may each need one, and never the same.
    keys = cycle([like.generate(entropy=SystemEntropy()) for _ in range(2)])
    classifier = classifier_with(kind, keys)
    common: dict[str, Any] = {
        "categories": {"ward": WARDS},
        "held_out": 0.0,
        "key_bits": key_bits,
    }
    for arranged in table.arrangements():
        progress(f"{arranged.name}, engine {arranged.engine}")
        model = classifier(**common, engine=arranged.engine, **arranged.settings)
        with one_thread():
            start = cpu_seconds()
            model.fit(arranged.federation)
            seconds = cpu_seconds() - start
        if arranged.name == "rows":
            plain[arranged.engine] = seconds
        outcome = model.study_
        traffic, roster = outcome.traffic, outcome.study.roster
        yield {
            "arrangement": arranged.name,
            "engine": arranged.engine,
            "rows": rows,
            "columns": len(table.frame.columns),
            "seconds": seconds,
            "ratio": seconds / plain[arranged.engine],
            "trips": traffic.trips(roster.evaluator, roster.coordinator),
            "megabytes": traffic.total_bytes / 1e6,
        }
