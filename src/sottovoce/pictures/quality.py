"""A model's quality as HTML: figures by class, confusion table, ROC curves, comparisons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sottovoce.pictures.charts import DIAGONAL, Axis, Bar, bars, confusion, line, roc
from sottovoce.pictures.html import Html, joined, table, tag
from sottovoce.pictures.page import folded

_SIDE_BY_SIDE = 2
"""More diagrams of one kind than these are folded."""


class LabelsLike(Protocol):
    """Classes by name, which exclude each other or not."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every class."""

    @property
    def exclusive(self) -> bool:
        """Whether a row has exactly one of them."""


class Curve(Protocol):
    """The points of a ROC that are shown."""

    @property
    def thresholds(self) -> Sequence[float]:
        """Of the points between the first and the last, the strictest first."""

    @property
    def false_positive_rate(self) -> Sequence[float]:
        """From 0 to 1."""

    @property
    def true_positive_rate(self) -> Sequence[float]:
        """From 0 to 1."""

    @property
    def area(self) -> str:
        """The area below, in words."""


class EvaluationLike(Protocol):
    """An evaluation, as `study` has it."""

    @property
    def labels(self) -> LabelsLike:
        """The classes."""

    @property
    def filled(self) -> NDArray[np.int64]:
        """The table, with half the minimum in every cell that is left out."""

    @property
    def left_out(self) -> NDArray[np.bool_]:
        """The cells that are not shown."""

    @property
    def fewest(self) -> int:
        """Below what they are not shown."""

    @property
    def peers(self) -> tuple[str, ...]:
        """The owners of the documents."""

    @property
    def accuracy(self) -> float:
        """The share that was right."""

    @property
    def f1(self) -> Mapping[str, float]:
        """By class."""

    @property
    def roc(self) -> Mapping[str, Any]:
        """A `Curve` by class."""

    @property
    def calibration(self) -> Mapping[str, Any]:
        """Bins (`BinLike`) of scores by class."""


class BinLike(Protocol):
    """Scores between two edges, and what rows with them are."""

    @property
    def low(self) -> float:
        """The score at which it begins."""

    @property
    def high(self) -> float:
        """Below where it ends."""

    @property
    def rows(self) -> float:
        """The number of its rows."""

    @property
    def share(self) -> float:
        """The share of its rows that are of the class."""


@dataclass(frozen=True)
class ClassFigures:
    """Precision, recall, F1 and how many rows are of a class."""

    name: str
    precision: float
    recall: float
    f1: float
    rows: int


def by_class(evaluation: EvaluationLike) -> tuple[ClassFigures, ...]:
    """Figures of every class, from what is shown of the table and nothing more."""
    counts = evaluation.filled
    if evaluation.labels.exclusive:
        hits, predicted, true = np.diagonal(counts), counts.sum(axis=0), counts.sum(axis=1)
    else:
        hits, predicted, true = (
            counts[:, 1, 1],
            counts[:, :, 1].sum(axis=1),
            counts[:, 1].sum(axis=1),
        )
    return tuple(
        ClassFigures(
            name,
            round(float(hit / max(said, 1)), 3),
            round(float(hit / max(are, 1)), 3),
            evaluation.f1[name],
            int(are),
        )
        for name, hit, said, are in zip(evaluation.labels.names, hits, predicted, true, strict=True)
    )


def evaluation_html(evaluation: EvaluationLike, title: str) -> Html:
    """One evaluation: table, confusion and ROC."""
    rows: list[tuple[object, ...]] = [
        (
            figures.name,
            f"{figures.precision:.3f}",
            f"{figures.recall:.3f}",
            f"{figures.f1:.3f}",
            figures.rows,
        )
        for figures in by_class(evaluation)
    ]
    head = ("class", "precision", "recall", "F1", "rows")
    parts = [
        tag("h3", title),
        tag("p", f"Accuracy {evaluation.accuracy:.1%} over {', '.join(evaluation.peers)}."),
        table(head, rows),
        tag(
            "div",
            confusion_html(evaluation, f"Confusion, {title}"),
            roc_html(evaluation, f"ROC, {title}"),
            reliability_html(evaluation, f"Reliability, {title}"),
            class_="figures",
        ),
    ]
    if evaluation.left_out.any():
        few = f"Cells under {evaluation.fewest} are not shown; they count as half of that."
        parts.append(tag("p", few, class_="soft"))
    return joined(*parts)


def confusion_html(evaluation: EvaluationLike, title: str) -> Html:
    """The confusion table as HTML; where classes overlap, one small table a class."""
    if evaluation.labels.exclusive:
        return confusion(title, evaluation.labels.names, _cells(evaluation, ()))
    return joined(
        *(
            confusion(f"{title}: {name}", ("not this class", name), _cells(evaluation, (place,)))
            for place, name in enumerate(evaluation.labels.names)
        )
    )


def _cells(evaluation: EvaluationLike, place: tuple[int, ...]) -> list[list[tuple[float, str]]]:
    counts, hidden = evaluation.filled[place], evaluation.left_out[place]
    return [
        [
            (float(count), f"<{evaluation.fewest}" if small else f"{count:,}")
            for count, small in zip(row, marks, strict=True)
        ]
        for row, marks in zip(counts.tolist(), hidden.tolist(), strict=True)
    ]


def roc_html(evaluation: EvaluationLike, title: str) -> Html:
    """The curves that may be shown."""
    if not evaluation.roc:
        why = "No ROC and no reliability diagram: no point of it was opened, or none may be shown."
        return tag("p", why, class_="soft")
    curves = {
        name: (curve.false_positive_rate, curve.true_positive_rate, curve.area)
        for name, curve in evaluation.roc.items()
        if curve.thresholds
    }
    hidden = [name for name in evaluation.roc if name not in curves]
    said = f"No point may be shown of {', '.join(hidden)}: too few documents." if hidden else ""
    return joined(roc(title, curves) if curves else "", tag("p", said, class_="soft"))


def reliability_html(evaluation: EvaluationLike, title: str) -> Html:
    """The share of right scores between two points of the ROC, as far as points are shown.

    Nothing else is opened for it: two neighbouring points of the ROC give the rows of a class and
    the other rows between them. A score of 0 should be right half the time, one of 1 always.
    """
    drawn = []
    classes = {figures.name: figures for figures in by_class(evaluation)}
    whole = sum(figures.rows for figures in classes.values())
    for name, curve in evaluation.roc.items():
        points = _reliability(curve, classes[name].rows, whole - classes[name].rows)
        if len(points) > 1:
            axes = (Axis(f"score for {name}", -1, 1), Axis("share that is right", 0, 1))
            drawn.append(line(f"{title}: {name}", points, axes, DIAGONAL))
    missing = "No reliability diagram: too few points of the ROC may be shown."
    if len(drawn) > _SIDE_BY_SIDE:
        name = "reliability-" + "-".join(title.lower().split())
        return folded(f"{title}: {len(drawn)} classes", *drawn, name=name)
    if drawn or not evaluation.roc:
        return joined(*drawn)
    return tag("p", missing, class_="soft")


def _reliability(curve: Curve, rows: int, others: int) -> list[tuple[float, float]]:
    """(score, share of the class) between each two points that are shown, lowest score first."""
    ends = (1.0, *curve.thresholds, -1.0)
    shares = []
    for place in range(len(ends) - 1):
        right = (curve.true_positive_rate[place + 1] - curve.true_positive_rate[place]) * rows
        wrong = (curve.false_positive_rate[place + 1] - curve.false_positive_rate[place]) * others
        if right + wrong > 0.5:
            middle = (ends[place] + ends[place + 1]) / 2
            shares.append((round(middle, 3), round(right / (right + wrong), 3)))
    return shares[::-1]


def growth_html(accuracies: Mapping[int, float]) -> Html:
    """A learning curve over sites: what one, two and more of them reach together."""
    sites = Axis("sites", min(accuracies), max(accuracies), ticks=tuple(accuracies))
    return line(
        "Learning curve over sites", list(accuracies.items()), (sites, Axis("accuracy", 0, 1))
    )


def reliability_text(evaluation: EvaluationLike) -> str:
    """For each class the share of its rows by the bin of its score, for terminals."""
    lines = [
        f"{name}, score {_between(part)}: {part.share:.0%} of {part.rows:.0f} rows"
        for name, calibration in evaluation.calibration.items()
        for part in calibration.bins
    ]
    return "\n".join(lines) or "no ROC may be shown, so no reliability"


def _between(part: BinLike) -> str:
    if np.isinf(part.low) and np.isinf(part.high):
        return "any"
    if np.isinf(part.low):
        return f"below {part.high:g}"
    return f"from {part.low:g}" if np.isinf(part.high) else f"{part.low:g} to {part.high:g}"


def compared_html(accuracies: Mapping[str, float]) -> Html:
    """Accuracies side by side: alone, joint, pooled."""
    rows = [Bar(name, value, f"{value:.1%}") for name, value in accuracies.items()]
    return bars("Accuracy on documents held out", rows, top=1.0)


def figures_text(evaluation: EvaluationLike) -> str:
    """Accuracy, and a line a class: for terminals."""
    longest = max(len(name) for name in evaluation.labels.names)
    head = f"{'':<{longest}}  precision  recall     F1    rows"
    lines = [
        f"{figures.name:<{longest}}  {figures.precision:>9.3f}  {figures.recall:>6.3f}  "
        f"{figures.f1:>5.3f}  {figures.rows:>6,}"
        for figures in by_class(evaluation)
    ]
    over = ", ".join(evaluation.peers)
    return "\n".join([f"accuracy {evaluation.accuracy:.1%} over {over}", head, *lines])
