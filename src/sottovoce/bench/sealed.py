"""Sealed equals plain: a whole study on real text beside the same learner in plaintext.

The plaintext twin has the same dictionary (under the study's own key) and all peers' rows. A
study does not start with a class that has too few documents: such classes are left out of
training and test alike, and counted.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np

from sottovoce.bench.accuracy import (
    KEY,
    Pair,
    Setting,
    pooled_accuracy,
    simulated_peers,
    split_pairs,
)
from sottovoce.bench.corpora import mts_pair
from sottovoce.bench.report import Row
from sottovoce.bench.timing import cpu_seconds
from sottovoce.entropy import SystemEntropy
from sottovoce.errors import InputError
from sottovoce.estimators.plain_text import PlainText, accuracy
from sottovoce.roles import Study, StudyPlan
from sottovoce.roles.memory import StudyOutcome, run_study
from sottovoce.roles.plan import Engine
from sottovoce.roles.roster import draw_roster
from sottovoce.sources import SourceOptions, open_source
from sottovoce.text.documents import Document
from sottovoce.text.labels import Labels, label_name
from sottovoce.text.passes import count
from sottovoce.text.reading import NGrams, Reading
from sottovoce.text.selection import chosen

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Task:
    """Documents to learn from and to be judged by, and how they are read."""

    name: str
    pair: Pair
    setting: Setting
    engine: Engine = Engine.AUTO


def known_tasks(folder: Path, setting: Setting) -> Iterator[Task]:
    """The sets known by name that lie in the folder."""
    sms, mts = folder / "sms_spam.csv", folder / "mts_dialog.jsonl"
    if sms.exists():
        yield Task("SMS", split_pairs(list(open_source(sms)), splits=1)[0], setting)
    if mts.exists():
        yield Task("MTS", mts_pair(mts), replace(setting, ngrams=(1, 1)))


def source_task(place: Path, options: SourceOptions, setting: Setting) -> Task:
    """Any labelled source, split by content."""
    pair = split_pairs(list(open_source(place, options)), splits=1)[0]
    return Task(place.name, pair, setting)


def measure(
    task: Task,
    *,
    kind: type[StudyPlan] = StudyPlan,
    key_bits: int = 3072,
    progress: Progress = lambda _: None,
) -> Row:
    """One row: how often sealed and plain agree, and how accurate both and each peer alone are."""
    kept = _frequent_enough(task)
    pair, setting = kept.pair, kept.setting
    parts = {
        f"peer {number + 1}": part
        for number, part in enumerate(simulated_peers(pair.train, setting.peers))
    }
    plan = _plan(kept, list(parts.values()), kind, key_bits)
    progress(f"{task.name}: training, sealed")
    start = cpu_seconds()
    outcome = _train(plan, parts)
    seconds = cpu_seconds() - start
    progress(f"{task.name}: asking for {len(pair.test)} labels")
    sealed = outcome.classify("peer 1", pair.test).classes
    progress(f"{task.name}: in plaintext, together and alone")
    everything, key = list(parts.values()), outcome.models["peer 1"].key
    plain = PlainText.learn(plan, everything, key=key).predict(pair.test)
    alone = [PlainText.learn(plan, [part]).accuracy(pair.test) for part in everything]
    found, twin = accuracy(plan, pair.test, sealed), accuracy(plan, pair.test, plain)
    left_out = len(task.pair.train) + len(task.pair.test) - len(pair.train) - len(pair.test)
    return {
        "set": task.name,
        "engine": str(outcome.study.engine),
        "train": len(pair.train),
        "test": len(pair.test),
        "left_out": left_out,
        "classes": len(plan.labels.names),
        "features": plan.features,
        "agreement": float(np.mean([one == two for one, two in zip(sealed, plain, strict=True)])),
        "accuracy": found,
        "plain_accuracy": twin,
        "points": 100 * (found - twin),
        "best_alone": max(alone),
        "pooled_logistic": pooled_accuracy(pair),
        "seconds": seconds,
    }


def _plan(
    task: Task, parts: Sequence[Sequence[Document]], kind: type[StudyPlan], key_bits: int
) -> StudyPlan:
    """The study's plan, with as many features as survive if they are fewer than asked for."""
    setting = task.setting
    labels = Labels.found(_label(document) for document in task.pair.train)
    plan = kind(
        f"bench sealed {task.name}",
        labels,
        features=setting.features,
        reading=Reading(ngrams=NGrams(setting.ngrams)),
        alpha=setting.alpha,
        engine=task.engine,
        min_documents=setting.min_documents,
        key_bits=key_bits,
        held_out=0.0,
        query_budget=100 * len(task.pair.test) + 1000,
    )
    counts = reduce(add, (count(part, plan.count_plan, key=KEY) for part in parts))
    survive = chosen(counts, plan.selection, exclusive=True).size
    # Another key lets other words fall together: a hundredth of room.
    return plan if survive == plan.features else replace(plan, features=survive * 99 // 100)


def _train(plan: StudyPlan, parts: dict[str, list[Document]]) -> StudyOutcome:
    entropy = SystemEntropy()
    # Engine paillier has no dealer for the solve, but verdicts are the same with one.
    roster, identities = draw_roster(tuple(parts), entropy=entropy)
    return run_study(Study(plan, roster), parts, identities=identities, entropy=entropy)


def _frequent_enough(task: Task) -> Task:
    """Without the documents of classes with which no study starts."""
    names = Counter(label_name(_label(document)) for document in task.pair.train)
    fewest = task.setting.min_documents * task.setting.peers
    kept = {name for name, number in names.items() if number >= fewest}
    if len(kept) < 2:
        raise InputError(
            f"{task.name}: expected at least 2 classes of {fewest} documents, found {len(kept)}"
        )
    sides = (
        [document for document in side if label_name(_label(document)) in kept]
        for side in (task.pair.train, task.pair.test)
    )
    return replace(task, pair=Pair(*sides))


def _label(document: Document) -> str | int | float | bool:
    label = document.label
    if label is None or isinstance(label, tuple):
        found = "none" if label is None else str(len(label))
        raise InputError(f"{document.origin}: expected one label a document, found {found}")
    return label
