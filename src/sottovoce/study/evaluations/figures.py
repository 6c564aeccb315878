"""The results of an evaluation: tables without small cells, and figures that follow from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import InputError, MisuseError
from sottovoce.numbers.ring import Words, from_ring
from sottovoce.pictures.quality import (
    confusion_html,
    evaluation_html,
    figures_text,
    reliability_html,
    reliability_text,
    roc_html,
)
from sottovoce.pictures.shown import Shown, notebook_html
from sottovoce.study.evaluations.calibration import Calibration
from sottovoce.study.evaluations.quorum_roc import HeldOutRows
from sottovoce.study.evaluations.roc import Roc, RocSide, counted, shown_points
from sottovoce.study.plan import StudyPlan
from sottovoce.study.queries.classification import Answer
from sottovoce.study.queries.thresholds import scored_names
from sottovoce.text.documents import Document, Fragment
from sottovoce.text.labels import Classes, Labels

Numbers = NDArray[np.int64]
Marks = NDArray[np.bool_]


@dataclass(frozen=True, repr=False)
class Tested:
    """A site's own evaluation: its table, and its share of the ROC's counts.

    Without the coordinator's share the `counted` words reveal nothing, unless scores are released.
    In engine quorum the members count instead, from the rows that are `held_out`.
    """

    documents: int
    table: Numbers
    counted: Words | None = None
    held_out: HeldOutRows | None = None


@dataclass(frozen=True, repr=False)
class HeldOut:
    """A site's own held-out documents, and the true classes of all their rows."""

    plan: StudyPlan
    documents: int
    true: tuple[Classes, ...]

    @classmethod
    def of(
        cls, plan: StudyPlan, documents: Sequence[Document], places: Sequence[Sequence[Fragment]]
    ) -> Self:
        """Return them from the documents, and the places of each document's rows."""
        pairs = zip(documents, places, strict=True)
        true = tuple(classes for each in pairs for classes in plan.labelled.classes(*each))
        return cls(plan, len(documents), true)

    @property
    def truth(self) -> Marks:
        """Return for every score which rows belong to its class."""
        return truth_of(self.plan.labels, self.true)

    def tested(self, answer: Answer) -> Tested:
        """Tabulate the answer to the site's own query; released scores are counted here."""
        above, plan = answer.counted, self.plan
        if answer.scores is not None and plan.draws_roc:
            above = counted(answer.scores, self.truth, plan.thresholds)
        return Tested(self.documents, confusion(plan.labels, self.true, answer.classes), above)


@dataclass(frozen=True, repr=False)
class Evaluation:
    """A confusion table (true × found if classes exclude each other), and figures computed from it.

    If classes overlap, there is one table of 2 × 2 for each class. `left_out` marks cells that hold
    at least 1 and fewer than `fewest`. They are 0 in the table and count as half of that minimum in
    accuracy and F1, so these figures reveal no more than the table. If classes overlap, the largest
    cell of a table with such a cell absorbs the difference. `roc` has the points of every class
    that may be shown; it is empty if none were counted.
    """

    labels: Labels
    counts: Numbers
    left_out: Marks
    fewest: int
    peers: tuple[str, ...]
    roc: Mapping[str, Roc] = field(default_factory=dict)

    @classmethod
    def of(cls, labels: Labels, counts: Numbers, peers: tuple[str, ...], *, fewest: int) -> Self:
        """Return the part of a whole table that may be shown."""
        left_out = (counts > 0) & (counts < fewest)
        shown = np.where(left_out, 0, counts)
        if not labels.exclusive:
            # All tables add up to the same number, so the difference would reveal what is left out.
            for table, whole, small in zip(shown, counts, left_out, strict=True):
                difference = int(whole[small].sum()) - small.sum() * (fewest // 2)
                table.flat[table.argmax()] += difference
        return cls(labels, shown, left_out, fewest, peers)

    @property
    def filled(self) -> Numbers:
        """Return the table with half the minimum in every cell that is left out."""
        return np.where(self.left_out, self.fewest // 2, self.counts)

    @property
    def accuracy(self) -> float:
        """The share of rows (if classes overlap, of pairs of row and class) that were right."""
        right = np.trace(self.filled, axis1=-2, axis2=-1).sum()
        return float(round(right / max(int(self.filled.sum()), 1), 3))

    @cached_property
    def f1(self) -> dict[str, float]:
        """The harmonic mean of precision and recall, by class."""
        scores = [round(score, 3) for score in _f1(self.labels, self.filled).tolist()]
        return dict(zip(self.labels.names, scores, strict=True))

    def sides(self, number: int) -> tuple[RocSide, RocSide] | None:
        """Return the rows of a score's class, and all others; None if no point may be shown."""
        if not self.labels.exclusive:
            if self.left_out[number].any():
                return None
            rows = (self._side(np.s_[number, 1]), self._side(np.s_[number, 0]))
        else:
            mine = np.zeros(len(self.labels.names), np.bool_)
            mine[-1 if self.labels.width == 1 else number] = True
            rows = (self._side(mine), self._side(~mine))
        return rows

    def _side(self, part: Any) -> RocSide:
        """Some rows of the table."""
        chosen = (self.filled[part], self.counts[part], self.left_out[part])
        return RocSide(float(chosen[0].sum()), int(chosen[1].sum()), not chosen[2].any())

    def with_roc(self, thresholds: Sequence[float], above: Numbers, shown: Marks) -> Self:
        """Return the same figures with those points of the thresholds that may be shown."""
        roc = {}
        for number, name in enumerate(scored_names(self.labels)):
            sides = self.sides(number)
            if sides is not None:
                kept = np.flatnonzero(shown[number])[::-1].tolist()
                roc[name] = Roc.of(thresholds, above[number], sides, kept)
        return type(self)(self.labels, self.counts, self.left_out, self.fewest, self.peers, roc)

    @cached_property
    def calibration(self) -> dict[str, Calibration]:
        """The calibration of each class, computed from its ROC; empty without a ROC."""
        calibrations = {}
        for number, name in enumerate(scored_names(self.labels)):
            sides = self.sides(number)
            if sides is not None and name in self.roc and self.roc[name].thresholds:
                calibrations[name] = Calibration.of(self.roc[name], sides)
        return calibrations

    def points(self, above: Numbers) -> Marks:
        """Return for every score which thresholds may be shown."""
        shown = np.zeros((above.shape[0], above.shape[2]), np.bool_)
        for number, counts in enumerate(above):
            sides = self.sides(number)
            if sides is not None:
                shown[number, shown_points(counts, sides, fewest=self.fewest)] = True
        return shown

    def plot_roc(self) -> Shown:
        """Return the ROC curves that may be shown, as a picture for a notebook."""
        areas = (f"{name}: {_area(curve)}" for name, curve in self.roc.items())
        return Shown(roc_html(self, "ROC"), "\n".join(areas) or "no ROC may be shown")

    def plot_reliability(self) -> Shown:
        """Return the share of right answers by bin of the score, as a picture for a notebook."""
        return Shown(reliability_html(self, "Reliability"), reliability_text(self))

    def plot_confusion(self) -> Shown:
        """Return the confusion table, as a picture for a notebook."""
        return Shown(confusion_html(self, "Confusion"), str(self.counts))

    def report(self) -> Shown:
        """Return precision, recall, F1 and rows of every class, with pictures in a notebook."""
        return Shown(evaluation_html(self, "Evaluation"), figures_text(self))

    def __repr__(self) -> str:
        """Return the most important figures."""
        worst = min(self.f1, key=self.f1.__getitem__)
        return (
            f"Evaluation(accuracy={self.accuracy:.3f}, worst F1 {self.f1[worst]:.3f} ({worst}), "
            f"over {', '.join(self.peers)})"
        )

    def _repr_html_(self) -> str:
        return notebook_html(evaluation_html(self, "Evaluation"))

    def operating_point(self, rule: str | float) -> tuple[float, ...]:
        """Return a threshold for every score: by "youden", or for a wanted sensitivity."""
        missing = [name for name in scored_names(self.labels) if name not in self.roc]
        if missing:
            raise MisuseError(f"operating point: expected a ROC of {missing[0]!r}, found none")
        return tuple(
            threshold.youden() if rule == "youden" else threshold.reaching(_sensitivity(rule))
            for threshold in self.roc.values()
        )


def _sensitivity(rule: str | float) -> float:
    if isinstance(rule, str):
        raise InputError(
            f"operating point: expected 'youden' or a sensitivity such as 0.95, found {rule!r}"
        )
    return rule


def _f1(labels: Labels, counts: Numbers) -> NDArray[np.float64]:
    if labels.exclusive:
        hits, right, true = np.diagonal(counts), counts.sum(axis=0), counts.sum(axis=1)
    else:
        hits, right, true = counts[:, 1, 1], counts[:, :, 1].sum(axis=1), counts[:, 1].sum(axis=1)
    return np.asarray(2 * hits / np.maximum(right + true, 1))


def confusion(labels: Labels, true: Sequence[Classes], predicted: Sequence[Classes]) -> Numbers:
    """Return one site's own table."""
    are, were = (
        labels.membership(true).astype(np.int64),
        labels.membership(predicted).astype(np.int64),
    )
    if labels.exclusive:
        return are.T @ were
    sides = ((1 - are, are), (1 - were, were))
    cells = [[(a * w).sum(axis=0) for w in sides[1]] for a in sides[0]]
    return np.moveaxis(np.array(cells), 2, 0)


def truth_of(labels: Labels, true: Sequence[Classes]) -> Marks:
    """Return for every score which rows belong to its class."""
    membership = labels.membership(true)
    return membership[:, -1:] if labels.width == 1 else membership


def own_view(plan: StudyPlan, tested: Tested, peer: str) -> Evaluation:
    """Return the whole table of a site's own documents, for that site alone.

    It includes the ROC if scores are released; else the site has only a share of the counts.
    """
    whole = Evaluation.of(plan.labels, tested.table, (peer,), fewest=0)
    if tested.counted is None or plan.counts_sealed:
        return whole
    above = from_ring(tested.counted)
    return whole.with_roc(plan.thresholds, above, whole.points(above))


def _area(curve: Roc) -> str:
    return f"AUC {curve.area}" if curve.thresholds else curve.area
