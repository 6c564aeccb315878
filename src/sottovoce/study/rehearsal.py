"""Checks whether a peer's documents can go into a study, before it takes a seat or sends a byte.

It finds what would later stop the peer or the study: documents of a single class, a class with
fewer documents than the agreed minimum, nothing left after suppression. Later the seat would be
used up, and the others would have waited.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from sottovoce.errors import InputError
from sottovoce.study.automatic_features import LONG_TEXT
from sottovoce.study.choices import DictionaryKind, Engine
from sottovoce.study.plan import FEWEST_EVALUATED, StudyPlan
from sottovoce.study.rare_classes import (
    census_of,
    rare_classes,
    rare_sentences,
    without_rare,
)
from sottovoce.study.stages.contributions import scales_of
from sottovoce.study.stages.holdings import EntityTable, block_sizes
from sottovoce.study.stages.preparation import check_classes, naming, own_counts
from sottovoce.study.study import Study
from sottovoce.text.blocks import WORDS_ALONE
from sottovoce.text.dictionary.counts import Counts
from sottovoce.text.dictionary.hashing import PUBLIC
from sottovoce.text.documents import Document
from sottovoce.text.passes import count, count_classes
from sottovoce.text.reading import Level
from sottovoce.text.splits import Side

# The number of documents that are read first: usually a word is in enough of them.
_FIRST = 64


@dataclass(frozen=True)
class Rehearsed:
    """The numbers of a peer's training documents, of their words, and of features in enough.

    In partition `features`, `small` are the sizes of the blocks that are too small to be sent.
    """

    documents: int
    words: float
    features: int
    rare: Mapping[str, int]
    absent: tuple[str, ...] = ()
    small: tuple[int, ...] = ()

    def sentences(self, plan: StudyPlan) -> Iterator[str]:
        """Yield the numbers as sentences."""
        if plan.has_text:
            length = f", of {self.words:,.0f} words on average"
            yield f"{self.documents:,} documents to train with{length}"
        else:
            yield f"{self.documents:,} rows to train with"
        yield from self._lengths(plan)
        yield from rare_sentences(plan, self.rare)
        if self.absent:
            names = ", ".join(map(repr, self.absent))
            yield f"no row here has {names}: other sites must bring such rows"
        if self.small:
            yield (
                f"{sum(self.small):,} of them are left out: they stand in {len(self.small):,} "
                f"blocks of fewer than {plan.min_documents} rows with the same shared values "
                "and the same label"
            )
        if plan.dictionary is DictionaryKind.JOINT:
            kinds = "words and stretches of characters" if plan.reading.has_parts else "words"
            yield (
                f"{self.features:,} {kinds} are in at least "
                f"{plan.min_documents} of them; the joint dictionary takes at most "
                f"{plan.features:,}"
            )

    def _lengths(self, plan: StudyPlan) -> Iterator[str]:
        """Advice, where a row with a tail is not what the rules make for documents this long."""
        if not plan.beside.tail or plan.level is not Level.DOCUMENT:
            return
        of_long, is_long = plan.beside.tail_of == WORDS_ALONE, self.words >= LONG_TEXT
        if of_long != is_long:
            yield (
                f"the plan reads {'long' if of_long else 'short'} texts: with features "
                f'= "auto", words_per_document = {self.words:.0f} in study.toml suits these better'
            )


def check_documents(study: Study, name: str, documents: Sequence[Document]) -> Rehearsed:
    """Refuse documents with which peer `name` would stop the study for itself, or for all.

    Words are hashed without a key here, and only three numbers are kept.
    """
    training, rare = _to_train_with(study, name, documents)
    counts = own_counts(study, name, training, PUBLIC)
    _check_minimum(study, name, counts)
    by_class = zip(study.plan.labels.names, counts.rows_by_class.tolist(), strict=True)
    absent = tuple(label for label, rows in by_class if not rows and label not in rare)
    features = int(np.count_nonzero(counts.total))
    small = _small_blocks(study, name, training)
    words = census_of(study.plan, training).mean_words
    return Rehearsed(len(training), words, features, rare, absent, small)


def refuse_unfit(study: Study, name: str, documents: Sequence[Document]) -> None:
    """Refuse what `check_documents` refuses; words are read only until enough documents share one.

    The labels of all documents are read. This is enough for a caller that will read all words for
    the study itself.
    """
    training, _ = _to_train_with(study, name, documents)
    _small_blocks(study, name, training)
    if study.plan.level is Level.DOCUMENT and _has_features(study, training):
        with naming(name):
            counts = count_classes(training, study.plan.labelled)
        check_classes(study, name, counts)
    else:
        counts = own_counts(study, name, training, PUBLIC)
    _check_minimum(study, name, counts)


def _to_train_with(
    study: Study, name: str, documents: Sequence[Document]
) -> tuple[Sequence[Document], Mapping[str, int]]:
    """Return a peer's training documents, if enough, and the classes of which it has too few."""
    plan = study.plan
    training = plan.split.part(documents, Side.TRAIN)
    _check_held_back(plan, name, training)
    rare = rare_classes(plan, training)
    training = without_rare(plan, training)
    if len(training) < plan.min_documents:
        held = sum(plan.split.side(document) is not Side.TRAIN for document in documents)
        without = f", without {held} that are held out" if held else ""
        raise InputError(
            f"{name}: expected at least {plan.min_documents} documents to train with, "
            f"found {len(training)}{without}",
            hints=("bring more documents",),
        )
    if plan.level is Level.DOCUMENT and study.engine is not Engine.PAILLIER:
        with naming(name):
            scales_of(plan, len(training))
    if name in plan.arrangement.answerers:
        EntityTable.of(name, documents)
    return training, rare


def _check_held_back(plan: StudyPlan, name: str, training: Sequence[Document]) -> None:
    """Refuse too few documents to choose one of several models with.

    In partition `documents` those of all peers count; here only a peer without any can be named.
    """
    if len(plan.candidates) == 1:
        return
    fewest = FEWEST_EVALUATED if plan.arrangement.by_features else 1
    back = len(plan.choice_split.part(training, Side.VALIDATION))
    if back < fewest:
        raise InputError(
            f"{name}: expected at least {fewest} held back to choose one of "
            f"{len(plan.candidates)} models with, found {back} of {len(training)} rows",
            hints=("agree on one model in a new study, or on a larger held_back",),
        )


def _has_features(study: Study, training: Sequence[Document]) -> bool:
    """Return whether a feature is in enough of the first documents; then no more are read."""
    try:
        counts = count(list(islice(training, _FIRST)), study.plan.count_plan, key=PUBLIC)
    except InputError:
        return False
    return bool(counts.total.any())


def _small_blocks(study: Study, name: str, training: Sequence[Document]) -> tuple[int, ...]:
    """Return the sizes of a peer's blocks below the minimum; refuse rows without any other."""
    plan = study.plan
    if not plan.arrangement.by_features:
        return ()
    with naming(name):
        sizes = block_sizes(study, name, training)
    if sizes.max(initial=0) < plan.min_documents:
        raise InputError(
            f"{name}: expected at least one block of {plan.min_documents} rows with the same "
            f"shared values and the same label, found {np.count_nonzero(sizes)} block(s), the "
            f"largest of {sizes.max(initial=0)} row(s)",
            hints=("share fewer or coarser columns in a new study, so that blocks grow",),
        )
    return tuple(sizes[(sizes > 0) & (sizes < plan.min_documents)].tolist())


def _check_minimum(study: Study, name: str, counts: Counts) -> None:
    """Check that every class of a peer reaches the minimum.

    With overlapping labels a rare class costs no document, and the joint totals decide.
    """
    plan = study.plan
    if not plan.labels.exclusive:
        return
    for label, rows in zip(plan.labels.names, counts.rows_by_class.tolist(), strict=True):
        missing = plan.min_documents - rows
        if rows > 0 and missing > 0:
            raise InputError(
                f"{name}: class {label!r}: expected at least {plan.min_documents} rows to train "
                f"with, or none, found {rows}",
                hints=(
                    f"bring {missing} more of class {label!r}, or leave these out",
                    "or agree on a lower min_documents in a new study",
                ),
            )
