"""A site's additions to the joint model's answers: its class frequencies and its own model.

Classes that are frequent at a site are likelier there, so it asks for labels at thresholds of its
own. Where a model of its own documents alone is still clearly better on the documents held out,
which neither learnt from, that model answers. Both stay at the site; the others learn nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import MisuseError
from sottovoce.estimators.plain_text import PlainText, on_side
from sottovoce.study import StudyPlan
from sottovoce.study.queries.thresholds import LARGEST_THRESHOLD
from sottovoce.text.documents import Document
from sottovoce.text.reading import Level
from sottovoce.text.splits import Side

Floats = NDArray[np.float64]

# A site's frequencies count as if it had so many documents more for every class, of the joint ones.
_JOINT_DOCUMENTS = 5
# Beyond these accuracies a slope would follow from a few documents.
_LEAST_RIGHT, _MOST_RIGHT = 0.5, 0.995


def own_thresholds(plan: StudyPlan, joint: Floats, own: Floats, *, accuracy: float) -> Floats:
    """The thresholds of a site, a score each, from rows by class: all sites' and its own.

    A class that is more frequent here than elsewhere gets a lower one, by the logarithm of the
    ratio. `accuracy` is that of the joint model: the better it is, the less do frequencies matter.
    Labels that overlap, and classes that nobody has, get 0; so do all where rows have scores of the
    site's own model, which knows these frequencies.
    """
    labels = plan.labels
    if plan.beside.has_own_scores or not labels.exclusive or not own.sum() or not joint.sum():
        return np.zeros(labels.width)
    shares, more = joint / joint.sum(), _JOINT_DOCUMENTS * len(joint)
    mine = (own + more * shares) / (own.sum() + more)
    known = shares > 0
    ratios = np.log(np.where(known, mine, 1.0) / np.where(known, shares, 1.0))
    if labels.width == 1:
        ratios = ratios[1:] - ratios[:1]
    moved = -_score_of_odds(accuracy) * ratios
    return np.asarray(np.clip(moved, -LARGEST_THRESHOLD, LARGEST_THRESHOLD))


def _score_of_odds(accuracy: float) -> float:
    """By how much a score moves where the odds of two classes grow by a factor e.

    Scores of ±1 targets that lie normally around the two means of equally frequent classes, at a
    distance of d standard deviations: the distance of the means is 2d²/(4 + d²), and the
    logarithm of the odds rises by d² over that distance. d follows from the accuracy.
    """
    distance = 2 * NormalDist().inv_cdf(min(max(accuracy, _LEAST_RIGHT), _MOST_RIGHT))
    return 2 / (4 + distance * distance)


def rows_by_class(plan: StudyPlan, documents: Sequence[Document]) -> Floats:
    """The number of a site's documents of each class."""
    labelled = (document for document in documents if document.label is not None)
    true = [plan.labels.classes(document) for document in labelled]
    return np.asarray(plan.labels.membership(true).sum(axis=0), np.float64)


@dataclass(frozen=True)
class OwnModel:
    """A site's own model, and how often it and the joint model were right on its documents.

    `joint` is the joint model at the site's own thresholds.
    """

    model: PlainText = field(repr=False)
    alone: float
    joint: float
    documents: int
    thresholds: Floats = field(repr=False)

    @classmethod
    def learn(
        cls, plan: StudyPlan, documents: Sequence[Document], *, joint: float, thresholds: Floats
    ) -> "OwnModel":
        """From one site's documents, and the joint model's accuracy on those held out."""
        model = learn_alone(plan, documents)
        if model is None:
            raise MisuseError(
                "own model: expected documents that are rows of the plan, some of them held out",
                hints=("held_out=0.2 at level document, partition documents",),
            )
        held_out = on_side(plan, documents, Side.VALIDATION)
        return cls(model, model.accuracy(held_out), joint, len(held_out), thresholds)

    @property
    def is_preferred(self) -> bool:
        """Whether the site is better off with its own model."""
        return clearly_better(self.alone, self.joint, documents=self.documents)


def clearly_better(alone: float, joint: float, *, documents: int) -> bool:
    """Whether one accuracy on so many documents is above another by more than a standard error.

    The error of the difference is at its largest where no document is wrong in both.
    """
    wrong_in_one = (2 - alone - joint) * documents
    return alone > joint and (alone - joint) * documents > sqrt(wrong_in_one)


def learn_alone(plan: StudyPlan, documents: Sequence[Document]) -> PlainText | None:
    """A model of one site's documents; None where these are no rows of the plan, or all learnt.

    In partition `features` the columns of one peer are not whole rows of the plan.
    """
    if plan.level is not Level.DOCUMENT or plan.arrangement.by_features:
        return None
    if not on_side(plan, documents, Side.VALIDATION):
        return None
    return PlainText.learn(plan, [documents])
