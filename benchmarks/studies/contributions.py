"""What sampling costs: studies of n sampled rados a peer beside exact moments and plaintext.

All learn from the same documents, once for each seed: other made-up notes, or another split of a
set, and other signatures in any case. The plaintext learner has all documents in one place. CPU
seconds are of a whole training, all parties added; the Paillier key is made before.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Self

from benchmarks.accuracy.accuracy import AccuracySetting, SplitPair, simulated_peers
from benchmarks.accuracy.sealed import (
    SealedTask,
    frequent_enough,
    known_tasks,
    source_task,
    study_plan,
)
from benchmarks.studies.steps import StepCounter
from benchmarks.timing import cpu_seconds, one_thread
from sottovoce.cli.terminal.measurements import Row
from sottovoce.course.training import memory
from sottovoce.datasets import clinical_notes
from sottovoce.entropy import SystemEntropy
from sottovoce.estimators.plain_text import PlainText, accuracy
from sottovoce.paillier import SecretKey
from sottovoce.sources import SourceOptions
from sottovoce.study import Study, StudyPlan
from sottovoce.study.choices import Contribution, Engine
from sottovoce.study.in_memory import Setting
from sottovoce.study.roster import draw_roster
from sottovoce.text.documents import Document

Progress = Callable[[str], None]

FEATURES = 256
NOTES = 2_000
SEEDS = 5
RADOS = (64, 256, 1024, 4096)
KEY_BITS = 3072


def notes_task(setting: AccuracySetting, *, seeds: int = SEEDS, notes: int = NOTES) -> SealedTask:
    """Made-up notes and how urgent they are, a fifth to be judged by."""
    pairs = []
    for seed in range(seeds):
        made = [note.document("urgency") for note in clinical_notes(notes, random_state=seed)]
        # Notes come site by site: every fifth of each.
        test = made[::5]
        pairs.append(
            SplitPair([document for number, document in enumerate(made) if number % 5], test)
        )
    return SealedTask("notes", tuple(pairs), setting, Engine.SHARES)


def known_or_named(
    place: Path, options: SourceOptions, setting: AccuracySetting, *, seeds: int = SEEDS
) -> list[SealedTask]:
    """The sets known by name in a folder, or any labelled source; a seed is another split.

    A set with a split of its own keeps it, and seeds are other signatures alone.
    """
    tasks = list(known_tasks(place, setting, splits=seeds))
    tasks = tasks or [source_task(place, options, setting, splits=seeds)]
    return [
        replace(task, pairs=tuple(islice(cycle(task.pairs), seeds)), engine=Engine.SHARES)
        for task in tasks
    ]


@dataclass(frozen=True)
class TrainingFigures:
    """One training: its accuracy on the test documents, CPU seconds, and steps of its solve."""

    accuracy: float
    seconds: float
    steps: int = 0


@dataclass(frozen=True)
class ContributionContest:
    """One seed: the documents of every peer, those to be judged by, and the plan of all studies."""

    plan: StudyPlan
    parts: dict[str, list[Document]] = field(repr=False)
    test: list[Document] = field(repr=False)

    @classmethod
    def of(cls, task: SealedTask, *, kind: type[StudyPlan], key_bits: int) -> Self:
        """The one split of this task."""
        kept = frequent_enough(task)
        (pair,) = kept.pairs
        peers = simulated_peers(pair.train, kept.setting.peers)
        plan = study_plan(kept, peers, kind=kind, key_bits=key_bits)
        parts = {f"peer {number + 1}": part for number, part in enumerate(peers)}
        return cls(plan, parts, pair.test)

    def plain(self) -> TrainingFigures:
        """In one place."""
        start = cpu_seconds()
        learnt = PlainText.learn(self.plan, list(self.parts.values()))
        seconds = cpu_seconds() - start
        return TrainingFigures(learnt.accuracy(self.test), seconds)

    def sealed(self, rados: int, key: SecretKey) -> TrainingFigures:
        """A whole study of so many rados of every peer, or of exact moments."""
        plan, entropy, steps = self.plan, SystemEntropy(), StepCounter()
        if rados:
            plan = replace(plan, contribution=Contribution.RADOS, rados=rados)
        roster, identities = draw_roster(tuple(self.parts), entropy=entropy)
        study = Study(plan, roster)
        setting = Setting(key=key, meddler=steps, views=False)
        start = cpu_seconds()
        outcome = memory.run_study(
            study, self.parts, identities=identities, entropy=entropy, setting=setting
        )
        seconds = cpu_seconds() - start
        labels = outcome.classify("peer 1", self.test).classes
        return TrainingFigures(accuracy(plan, self.test, labels), seconds, steps.of(study))


def measure(
    task: SealedTask,
    rados: Sequence[int] = RADOS,
    *,
    kind: type[StudyPlan] = StudyPlan,
    key_bits: int = KEY_BITS,
    progress: Progress = lambda _: None,
) -> list[Row]:
    """A row for exact moments and one for every number of rados: medians over all seeds."""
    numbers = (0, *rados)
    plain: list[TrainingFigures] = []
    sealed: dict[int, list[TrainingFigures]] = {number: [] for number in numbers}
    key: SecretKey | None = None
    for index, pair in enumerate(task.pairs):
        contest = ContributionContest.of(replace(task, pairs=(pair,)), kind=kind, key_bits=key_bits)
        key = key or contest.plan.generate(entropy=SystemEntropy())
        with one_thread():
            progress(f"{task.name}, {index + 1} of {len(task.pairs)}: in plaintext")
            plain.append(contest.plain())
            for number in numbers:
                what = f"{number:,} rados" if number else "exact moments"
                progress(f"{task.name}, {index + 1} of {len(task.pairs)}: {what}")
                sealed[number].append(contest.sealed(number, key))
    plan, documents = contest.plan, sum(len(part) for part in contest.parts.values())
    return [
        {
            "set": task.name,
            "features": plan.features,
            "documents": documents,
            "contribution": str(Contribution.RADOS if number else Contribution.EXACT),
            "rados": number or None,
            **_medians("", runs),
            "steps": median(run.steps for run in runs),
            **_medians("plain_", plain),
            "ratio": median(run.seconds for run in runs) / median(run.seconds for run in plain),
        }
        for number, runs in sealed.items()
    ]


def _medians(prefix: str, runs: Sequence[TrainingFigures]) -> Row:
    return {
        f"{prefix}accuracy": median(run.accuracy for run in runs),
        f"{prefix}seconds": median(run.seconds for run in runs),
    }
