"""What learning together costs in accuracy: our closed form beside pooled logistic regression.

Ours sees the documents as a study would: split among simulated peers, a joint
dictionary of suppressed counts, moments added up, ridge regression. The partner
has all text in one place: `TfidfVectorizer(sublinear_tf=True, min_df=2)` and
`LogisticRegression(C=10)`. Both are in plain text; encryption changes neither.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from statistics import mean

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import InputError
from sottovoce.rados import Moments, joined, solve
from sottovoce.text.dictionary.counts import Suppression
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.dictionary.selection import Selection, chosen
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureSpace
from sottovoce.text.labelling import Labelling
from sottovoce.text.labels import Classes, Labels
from sottovoce.text.passes import CountPlan, examples, rounded_count, training_examples
from sottovoce.text.reading import NGrams, Reading
from sottovoce.text.splits import Side, Split, position

# Public text under a fixed key: the figures can be repeated.
KEY = DictionaryKey(b"sottovoce bench accuracy, public")
SPLITS = 3


@dataclass(frozen=True, slots=True)
class AccuracySetting:
    """What is compared: the size of the dictionary, the simulated peers, the penalty."""

    features: int = 2048
    peers: int = 4
    min_documents: int = 3
    ngrams: tuple[int, int] = (1, 2)
    alpha: float = 1.0


@dataclass(frozen=True, slots=True)
class SplitPair:
    """One split: the documents to learn from, and those to be judged by."""

    train: list[Document]
    test: list[Document]


@dataclass(frozen=True, slots=True)
class AccuracyComparison:
    """Ours and the partner's figures over some splits, and how much less ours may be."""

    name: str
    measure: str
    ours: tuple[float, ...]
    partner: tuple[float, ...]
    allowed: float
    sizes: tuple[int, int, int]

    @property
    def met(self) -> bool:
        """Whether ours is at least the partner's minus what is allowed."""
        return mean(self.ours) >= mean(self.partner) - self.allowed

    @property
    def points(self) -> float:
        """By how many points ours is better."""
        return 100 * (mean(self.ours) - mean(self.partner))

    def row(self) -> dict[str, object]:
        """One line of the table for people."""
        return {
            "set": f"{self.name} {self.measure}",
            "documents": self.sizes[0] + self.sizes[1],
            "features": self.sizes[2],
            "ours": round(mean(self.ours), 3),
            "pooled": round(mean(self.partner), 3),
            "points": f"{self.points:+.2f}",
            "least": f"{-100 * self.allowed:+.1f}",
            "met": "yes" if self.met else "no",
        }

    def figures(self) -> dict[str, object]:
        """All figures, for scripts."""
        train, test, features = self.sizes
        return {
            "set": self.name,
            "measure": self.measure,
            "train": train,
            "test": test,
            "features": features,
            "ours": list(self.ours),
            "pooled": list(self.partner),
            "points": self.points,
            "least": -100 * self.allowed,
            "met": self.met,
        }


def compare_documents(
    name: str, pairs: Sequence[SplitPair], setting: AccuracySetting, *, allowed: float
) -> AccuracyComparison:
    """Accuracy of both on each split, at document level."""
    ours, partner, features = [], [], 0
    for pair in pairs:
        accuracy, features = joint_accuracy(pair, setting)
        ours.append(accuracy)
        partner.append(pooled_accuracy(pair))
    sizes = (len(pairs[-1].train), len(pairs[-1].test), features)
    return AccuracyComparison(name, "accuracy", tuple(ours), tuple(partner), allowed, sizes)


def simulated_peers(documents: Sequence[Document], peers: int) -> list[list[Document]]:
    """The documents dealt to peers by what they say: copies stay together."""
    parts: list[list[Document]] = [[] for _ in range(peers)]
    for document in documents:
        parts[int(peers * position(document, purpose="simulated peers"))].append(document)
    return [part for part in parts if part]


def joint_space(
    parts: Sequence[Sequence[Document]],
    reading: Reading,
    labelling: Labelling,
    setting: AccuracySetting,
) -> FeatureSpace:
    """The features that the peers choose together, from counts that each suppressed."""
    plan = CountPlan(labelling, reading, Suppression(setting.min_documents))
    counts = reduce(add, (rounded_count(part, plan, key=KEY) for part in parts))
    exclusive = labelling.labels.exclusive
    return FeatureSpace(chosen(counts, Selection(setting.features), exclusive=exclusive), reading)


def joint_accuracy(pair: SplitPair, setting: AccuracySetting) -> tuple[float, int]:
    """The test accuracy of the joint model, and how many features it has."""
    labelling = Labelling(Labels.distinct(map(label_of, pair.train + pair.test)))
    parts = simulated_peers(pair.train, setting.peers)
    space = joint_space(parts, Reading(ngrams=NGrams(setting.ngrams)), labelling, setting)
    fewest = setting.min_documents
    sums = joined(_moments(part, space, labelling, fewest=fewest) for part in parts)
    theta = solve(sums.second, sums.products, penalty=setting.alpha)
    decided = _decided(pair.test, space, labelling, theta)
    truth = map(labelling.labels.classes, pair.test)
    right = [said == true for said, true in zip(decided, truth, strict=True)]
    return mean(right), space.width - 1


def _moments(
    documents: Sequence[Document], space: FeatureSpace, labelling: Labelling, *, fewest: int
) -> Moments:
    sums = Moments(space.width, labelling.labels.width)
    for block in training_examples(documents, space, labelling, fewest=fewest, key=KEY):
        sums.add(block.rows, block.targets)
    return sums


def _decided(
    documents: Sequence[Document],
    space: FeatureSpace,
    labelling: Labelling,
    theta: NDArray[np.float64],
) -> Iterator[Classes]:
    for block in examples(documents, space, labelling, key=KEY):
        yield from labelling.labels.decide(block.rows @ theta)


def pooled_accuracy(pair: SplitPair) -> float:
    """The test accuracy of the partner, which has all text in one place."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    vectors = TfidfVectorizer(sublinear_tf=True, min_df=2)
    rows = vectors.fit_transform([document.text for document in pair.train])
    model = LogisticRegression(C=10, max_iter=1000).fit(rows, [label_of(d) for d in pair.train])
    said = model.predict(vectors.transform([document.text for document in pair.test]))
    return float(np.mean(said == np.array([label_of(document) for document in pair.test])))


def label_of(document: Document) -> str | int | float | bool:
    """The one label of a document."""
    if isinstance(document.label, tuple):
        labels = len(document.label)
        raise InputError(f"{document.origin}: expected one label a document, found {labels}")
    if document.label is None:
        raise InputError(
            f"{document.origin}: expected one label a document, found none",
            hints=("name its column: --label diagnosis", "or entity types: --types Disease"),
        )
    return document.label


def split_pairs(documents: Sequence[Document], *, splits: int = SPLITS) -> list[SplitPair]:
    """Several splits by content, about a fifth for judging; copies are on one side."""
    return [split_pair(documents, Split(0.2, f"accuracy {number}")) for number in range(splits)]


def split_pair(documents: Sequence[Document], split: Split) -> SplitPair:
    """The two sides of one split."""
    sides: dict[Side, list[Document]] = {side: [] for side in Side}
    for document in documents:
        sides[split.side(document)].append(document)
    return SplitPair(sides[Side.TRAIN], sides[Side.VALIDATION])
