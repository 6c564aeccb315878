"""The plaintext twin of a sealed study: same reading, features and closed form, in one place."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import add

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.numbers.rounding import rounded_up
from sottovoce.rados import Moments, solve, solve_rows
from sottovoce.rados.rows import Floats
from sottovoce.study import StudyPlan
from sottovoce.study.choices import DictionaryKind
from sottovoce.study.queries.score_shares import decided
from sottovoce.study.rare_classes import without_rare
from sottovoce.study.stages.contributions import penalties_of
from sottovoce.study.stages.own_models import learn_own_scores
from sottovoce.study.stages.preparation import agreed_dictionary
from sottovoce.study.totals import Totals, row_weight
from sottovoce.text.dictionary.counts import Counts
from sottovoce.text.dictionary.dictionaries import Dictionary
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.dictionary.selection import chosen
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureReader, FeatureSpace
from sottovoce.text.labels import Classes
from sottovoce.text.occurrences import PieceMemory
from sottovoce.text.own_scores import OwnScores
from sottovoce.text.passes import Examples, rounded_count, training_examples
from sottovoce.text.splits import Side

# Nothing leaves the process here, so this key hides nothing.
NO_SECRET = DictionaryKey(b"sottovoce plain twin, no secrets")


@dataclass(frozen=True)
class PlainText:
    """The plaintext model that a holder of all the text would learn, by the plan of a study."""

    plan: StudyPlan
    space: FeatureSpace
    key: DictionaryKey = field(repr=False)
    theta: Floats = field(repr=False)
    owns: tuple[OwnScores, ...] = field(default=(), repr=False)
    """Each part's own model, if rows have its scores; without one these columns are zero."""

    @classmethod
    def learn(
        cls,
        plan: StudyPlan,
        parts: Sequence[Sequence[Document]],
        *,
        key: DictionaryKey = NO_SECRET,
    ) -> "PlainText":
        """Learn from the training side of every part; a part is what one peer holds.

        Of several models to choose from it is the first. With the key of a sealed study the words
        fall into the same buckets, so that the two can be compared label by label.
        """
        plan = plan.settled(plan.candidates[0])
        training = [without_rare(plan, on_side(plan, part, Side.TRAIN)) for part in parts]
        memory = PieceMemory(plan.reading, key)
        tallies = (
            rounded_count(part, plan.count_plan, key=key, memory=memory) for part in training
        )
        counts = reduce(add, tallies)
        words = _dictionary(plan, counts)
        space = FeatureSpace(words, plan.reading, plan.weighting, plan.columns, plan.beside)
        owns: tuple[OwnScores, ...] = ()
        if plan.beside.own_scores:
            learnt = partial(learn_own_scores, plan, space, key=key, memory=memory)
            owns = tuple(learnt(part) for part in training)
        spaces = [replace(space, own=own) for own in owns] or [space] * len(training)
        fewest = plan.min_documents
        blocks = (
            block
            for part, its in zip(training, spaces, strict=True)
            for block in training_examples(
                part, its, plan.labelled, fewest=fewest, key=key, memory=memory
            )
        )
        return cls(plan, space, key, _learnt(plan, counts, blocks, width=space.width), owns)

    def at(self, number: int) -> "PlainText":
        """Return the model as one part asks it, with the scores of that part's own model."""
        if not self.owns:
            return self
        return replace(self, space=replace(self.space, own=self.owns[number]))

    def predict(
        self, documents: Sequence[Document], thresholds: Floats | None = None
    ) -> list[Classes]:
        """The classes of every row of the documents, at the plan's operating point.

        `thresholds` are a site's own, beside it.
        """
        point, scores = self.plan.operating_point, self.scores(documents)
        return decided(self.plan.labels, scores, point, thresholds)

    def scores(self, documents: Sequence[Document]) -> Floats:
        """The scores of every row of the documents, a column per class."""
        rows = FeatureReader(self.space, self.key).read(documents).unit()
        return np.asarray(rows @ self.theta)

    def margin(self, document: Document) -> float:
        """By how much the class of a document wins (document level)."""
        (scores,) = self.scores([document])
        if len(scores) == 1:
            return float(abs(scores[0]))
        second, best = np.sort(scores)[-2:]
        return float(best - second)

    def accuracy(self, documents: Sequence[Document], thresholds: Floats | None = None) -> float:
        """The share of documents whose class is found."""
        return accuracy(self.plan, documents, self.predict(documents, thresholds))


def _learnt(plan: StudyPlan, counts: Counts, blocks: Iterable[Examples], *, width: int) -> Floats:
    """θ, from moments, or from the rows themselves where these are fewer than columns."""
    by_class = None if plan.class_weight is None else _weights(counts, plan.class_weight)

    def heavy(targets: NDArray[np.int8]) -> Floats | None:
        return None if by_class is None else by_class[_numbers(targets)]

    penalty = penalties_of(plan, width, plan.candidates[0]) / row_weight(rounded_up(counts.rows))
    if counts.rows < width:
        few = list(blocks)
        rows = sparse.vstack([piece.rows for piece in few], format="csr")
        targets = np.vstack([piece.targets for piece in few])
        return solve_rows(rows, targets, weights=heavy(targets), penalty=penalty)
    moments = Moments(width, plan.labels.width)
    for block in blocks:
        moments.add(block.rows, block.targets, weights=heavy(block.targets))
    return solve(moments.second, moments.products, penalty=penalty)


def _dictionary(plan: StudyPlan, counts: Counts) -> Dictionary:
    if plan.dictionary is not DictionaryKind.JOINT:
        return agreed_dictionary(plan)
    return chosen(counts, plan.selection, exclusive=plan.labels.exclusive)


def _weights(counts: Counts, class_weight: str) -> Floats:
    """The weights of the classes, from totals as a study publishes them."""
    by_class = tuple(rounded_up(count) for count in counts.rows_by_class.tolist())
    return Totals(rounded_up(counts.rows), by_class, ()).weights(class_weight)


def _numbers(targets: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return the number of each row's class; of two classes the second has the target 1."""
    classes = targets[:, 0] > 0 if targets.shape[1] == 1 else targets.argmax(axis=1)
    return classes.astype(np.int64)


def accuracy(plan: StudyPlan, documents: Sequence[Document], predicted: Sequence[Classes]) -> float:
    """The share of documents that were given their own class."""
    true = [plan.labels.classes(document) for document in documents]
    return float(np.mean([label == other for label, other in zip(true, predicted, strict=True)]))


def on_side(plan: StudyPlan, documents: Sequence[Document], side: Side) -> Sequence[Document]:
    """The documents on one side of the plan's split."""
    return plan.split.part(documents, side)
