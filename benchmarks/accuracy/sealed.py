"""Sealed equals plain: a whole study on real text beside the same learner in plaintext.

The plaintext twin has the same dictionary (under the study's own key) and all peers' rows. A
study does not start with a class that has too few documents: such classes are left out of
training and test alike, and counted. Where entities are looked for, rows are tokens.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain
from operator import add
from pathlib import Path

from benchmarks.accuracy.accuracy import (
    KEY,
    AccuracySetting,
    SplitPair,
    pooled_accuracy,
    simulated_peers,
    split_pairs,
)
from benchmarks.accuracy.corpora import ENTITIES, mts_pair
from benchmarks.studies.rosters import roster_for
from benchmarks.timing import cpu_seconds
from sottovoce.cli.terminal.measurements import Row
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.course.training.memory import run_study
from sottovoce.entropy import SystemEntropy
from sottovoce.errors import InputError
from sottovoce.estimators.plain_text import PlainText
from sottovoce.sources import SourceOptions, open_source
from sottovoce.study import Study, StudyPlan
from sottovoce.study.choices import Engine
from sottovoce.text.blocks import Blocks
from sottovoce.text.dictionary.selection import chosen
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureReader
from sottovoce.text.labelling import Labelling, Scheme
from sottovoce.text.labels import Classes, Labels, label_name
from sottovoce.text.passes import rounded_count
from sottovoce.text.reading import Level, NGrams, Reading

Progress = Callable[[str], None]


@dataclass(frozen=True)
class SealedTask:
    """Splits of documents to learn from and to be judged by, and how they are read."""

    name: str
    pairs: tuple[SplitPair, ...]
    setting: AccuracySetting
    engine: Engine = Engine.AUTO
    beside: Blocks = field(default_factory=Blocks)
    entities: tuple[str, ...] = ()
    """Types of entities: then every token is a row, inside of one or not."""

    def labelling(self, train: Sequence[Document]) -> Labelling:
        """Where labels of rows come from."""
        if self.entities:
            return Labelling.by_entity(Scheme.INSIDE, self.entities)
        return Labelling(Labels.distinct(_label(document) for document in train))


def known_tasks(place: Path, setting: AccuracySetting, *, splits: int) -> Iterator[SealedTask]:
    """The sets known by name: the one at this place, or those that lie in the folder."""
    within = sorted(place.iterdir()) if place.is_dir() else []
    files = {path.name: path for path in (place, *within)}
    if "sms_spam.csv" in files:
        documents = list(open_source(files["sms_spam.csv"]))
        yield SealedTask("SMS", tuple(split_pairs(documents, splits=splits)), setting)
    if "mts_dialog.jsonl" in files:
        pair = mts_pair(files["mts_dialog.jsonl"])
        yield SealedTask("MTS", (pair,), replace(setting, ngrams=(1, 1)))
    if "maccrobat_brat" in files:
        pairs = tuple(split_pairs(list(open_source(files["maccrobat_brat"])), splits=splits))
        words = replace(setting, ngrams=(1, 1))
        yield SealedTask("MACCROBAT", pairs, words, entities=ENTITIES)


def source_task(
    place: Path, options: SourceOptions, setting: AccuracySetting, *, splits: int
) -> SealedTask:
    """Any labelled source, split by content."""
    pairs = split_pairs(list(open_source(place, options)), splits=splits)
    return SealedTask(place.name, tuple(pairs), setting)


@dataclass(frozen=True)
class SplitResult:
    """One split: how many documents to train with, and how many of the rows to test are right."""

    study: Study
    train: int
    test: int
    left_out: int
    equal: int
    right: int
    plain_right: int
    alone_right: tuple[int, ...]
    logistic_right: int | None
    seconds: float


def measure(
    task: SealedTask,
    *,
    kind: type[StudyPlan] = StudyPlan,
    key_bits: int = 3072,
    progress: Progress = lambda _: None,
) -> Row:
    """One row: how often sealed and plain agree, and how accurate both and each peer alone are.

    Over all splits together: each is a study of its own.
    """
    splits = []
    for number, pair in enumerate(task.pairs):
        name = task.name if len(task.pairs) == 1 else f"{task.name}, split {number + 1}"
        split = replace(task, name=name, pairs=(pair,))
        splits.append(_found(split, kind=kind, key_bits=key_bits, progress=progress))
    study, test = splits[-1].study, sum(split.test for split in splits)
    accuracies = [sum(split.right for split in splits) / test]
    accuracies += [sum(split.plain_right for split in splits) / test]
    alone = zip(*(split.alone_right for split in splits), strict=True)
    pooled = [split.logistic_right for split in splits if split.logistic_right is not None]
    return {
        "set": task.name,
        "engine": str(study.engine),
        "labels": "shares" if study.engine is Engine.QUORUM else str(study.labels_on),
        "splits": len(splits),
        "train": sum(split.train for split in splits),
        "test": test,
        "left_out": sum(split.left_out for split in splits),
        "classes": len(study.plan.labels.names),
        "features": study.plan.features,
        "columns": study.plan.width,
        "agreement": sum(split.equal for split in splits) / test,
        "accuracy": accuracies[0],
        "plain_accuracy": accuracies[1],
        "points": 100 * (accuracies[0] - accuracies[1]),
        "best_alone": max(sum(right) for right in alone) / test,
        "pooled_logistic": sum(pooled) / test if pooled else None,
        "seconds": sum(split.seconds for split in splits),
    }


def _found(
    task: SealedTask, *, kind: type[StudyPlan], key_bits: int, progress: Progress
) -> SplitResult:
    """One split, sealed and in plaintext."""
    kept = frequent_enough(task)
    (pair,), setting = kept.pairs, kept.setting
    parts = {
        f"peer {number + 1}": part
        for number, part in enumerate(simulated_peers(pair.train, setting.peers))
    }
    plan = study_plan(kept, list(parts.values()), kind=kind, key_bits=key_bits)
    progress(f"{task.name}: training, sealed")
    start = cpu_seconds()
    outcome = _train(plan, parts)
    seconds = cpu_seconds() - start
    progress(f"{task.name}: asking for the labels of {len(pair.test)} documents")
    sealed = outcome.classify("peer 1", pair.test).classes
    progress(f"{task.name}: in plaintext, together and alone")
    everything, key = list(parts.values()), outcome.models["peer 1"].key
    together = PlainText.learn(plan, everything, key=key)
    plain, true = together.predict(pair.test), _truth(plan, together, pair.test)
    # Alone, a peer has the features that its own documents have.
    alone = (PlainText.learn(plan, [part]).predict(pair.test) for part in everything)

    def right(labels: Sequence[Classes]) -> int:
        return sum(label == of_row for label, of_row in zip(labels, true, strict=True))

    pooled = None if task.entities else round(pooled_accuracy(pair) * len(true))
    return SplitResult(
        outcome.study,
        len(pair.train),
        len(true),
        sum(map(len, (task.pairs[0].train, task.pairs[0].test))) - len(pair.train) - len(pair.test),
        sum(label == plain_label for label, plain_label in zip(sealed, plain, strict=True)),
        right(sealed),
        right(plain),
        tuple(right(labels) for labels in alone),
        pooled,
        seconds,
    )


def _truth(plan: StudyPlan, model: PlainText, documents: Sequence[Document]) -> list[Classes]:
    """The classes of every row of the documents."""
    places = FeatureReader(model.space, model.key).read(documents).places
    return list(chain.from_iterable(map(plan.labelled.classes, documents, places)))


def study_plan(
    task: SealedTask, parts: Sequence[Sequence[Document]], *, kind: type[StudyPlan], key_bits: int
) -> StudyPlan:
    """The study's plan, with as many features as survive if they are fewer than asked for."""
    setting = task.setting
    (pair,) = task.pairs
    labelling = task.labelling(pair.train)
    level = Level.TOKEN if task.entities else Level.DOCUMENT
    plan = kind(
        f"bench {task.name}",
        labelling.labels,
        labelling=labelling,
        features=setting.features,
        reading=Reading(level, NGrams(setting.ngrams)),
        beside=task.beside,
        alpha=setting.alpha,
        engine=task.engine,
        min_documents=setting.min_documents,
        key_bits=key_bits,
        held_out=0.0,
        query_budget=(10_000 if task.entities else 100) * len(pair.test) + 1000,
    )
    counts = reduce(add, (rounded_count(part, plan.count_plan, key=KEY) for part in parts))
    survive = chosen(counts, plan.selection, exclusive=True).size
    # Another key lets other words fall together: a hundredth of room.
    return plan if survive == plan.features else replace(plan, features=survive * 99 // 100)


def _train(plan: StudyPlan, parts: dict[str, list[Document]]) -> StudyOutcome:
    entropy = SystemEntropy()
    roster, identities = roster_for(plan.engine, parts, entropy=entropy)
    return run_study(Study(plan, roster), parts, identities=identities, entropy=entropy)


def frequent_enough(task: SealedTask) -> SealedTask:
    """Without the documents of classes with which no study starts."""
    if task.entities:
        return task
    (pair,) = task.pairs
    names = Counter(label_name(_label(document)) for document in pair.train)
    fewest = task.setting.min_documents * task.setting.peers
    kept = {name for name, number in names.items() if number >= fewest}
    if len(kept) < 2:
        raise InputError(
            f"{task.name}: expected at least 2 classes of {fewest} documents, found {len(kept)}"
        )
    sides = (
        [document for document in side if label_name(_label(document)) in kept]
        for side in (pair.train, pair.test)
    )
    return replace(task, pairs=(SplitPair(*sides),))


def _label(document: Document) -> str | int | float | bool:
    label = document.label
    if label is None or isinstance(label, tuple):
        count = "none" if label is None else str(len(label))
        raise InputError(f"{document.origin}: expected one label a document, found {count}")
    return label
