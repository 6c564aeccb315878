"""Probabilities of classes, from scores, their bins or labels, and what an evaluation counted."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import MisuseError
from sottovoce.study.evaluations.calibration import MARGINS, Calibration
from sottovoce.study.evaluations.figures import Evaluation
from sottovoce.study.queries.thresholds import scored_names
from sottovoce.text.labels import Classes

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
# A class that nobody counted has this share of what a label leaves to the others.
_LEAST = 1e-9
Above = Callable[[Numbers, Floats], NDArray[np.bool_]]
"""Marks those of some texts, by number, whose score or margin is at least a threshold each."""


def held(evaluation: Evaluation | None) -> Evaluation:
    """The joint evaluation, or an error where there was none."""
    if evaluation is None:
        raise MisuseError(
            "predict_proba: there is no joint evaluation yet to calibrate with",
            hints=("evaluate() first",),
        )
    return evaluation


def calibrations(evaluation: Evaluation) -> Sequence[Calibration]:
    """Return the calibration of every score, or raise an error that says how to get one."""
    by_class: Mapping[str, Calibration] = evaluation.calibration
    missing = [name for name in scored_names(evaluation.labels) if name not in by_class]
    if missing:
        raise MisuseError(
            f"predict_proba: no point of the joint ROC of {missing[0]!r} may be shown",
            hints=("hold out more documents: held_out=0.3",),
        )
    return tuple(by_class[name] for name in scored_names(evaluation.labels))


def from_scores(scores: Floats, means: Sequence[Calibration], *, exclusive: bool) -> Floats:
    """Rows × classes, from scores; of classes that exclude each other they add up to 1."""
    probabilities = np.column_stack(
        [each.probabilities(column) for each, column in zip(means, scores.T, strict=True)]
    )
    if not exclusive:
        return probabilities
    return (
        _two_sided(probabilities)
        if probabilities.shape[1] == 1
        else probabilities / probabilities.sum(axis=1, keepdims=True)
    )


def from_bins(count: int, mean: Calibration, above: Above) -> Floats:
    """The same of two classes whose scores are sealed: three questions find one of eight bins."""
    numbers = bin_numbers(count, mean.edges, above)
    return _two_sided(np.array(mean.shares)[numbers][:, np.newaxis])


def bin_numbers(count: int, edges: Sequence[float], above: Above) -> Numbers:
    """The bin of each text, by bisection: all texts that are still open share a query."""
    low, high = np.zeros(count, np.int64), np.full(count, len(edges))
    while (low < high).any():
        asked = np.flatnonzero(low < high)
        middle = (low[asked] + high[asked]) // 2
        reached = above(asked, np.array(edges)[middle])
        low[asked[reached]] = middle[reached] + 1
        high[asked[~reached]] = middle[~reached]
    return low


def from_margins(
    predicted: Sequence[Classes], numbers: Numbers, mean: Calibration, evaluation: Evaluation
) -> Floats:
    """The same of more classes, from labels and the bins of the margins by which these won.

    The bin says how likely the label is, and the joint confusion table what else it may be.
    """
    labels = (np.arange(len(predicted)), _places(predicted, evaluation))
    others = from_labels(predicted, evaluation) + _LEAST
    others[labels] = 0.0
    # Where a bin begins it lies in the one that it was joined into.
    likely = mean.probabilities(np.array([0.0, *MARGINS])[numbers])
    probabilities = others / others.sum(axis=1, keepdims=True) * (1.0 - likely)[:, np.newaxis]
    probabilities[labels] = likely
    return np.asarray(probabilities)


def from_labels(predicted: Sequence[Classes], evaluation: Evaluation) -> Floats:
    """The same from labels alone: how often a document with this label was of which class.

    It follows from the joint confusion table. Where that is thin, the label itself and the share
    of each class count a little: together as much as one document.
    """
    table = evaluation.filled.astype(np.float64)
    shares = table.sum(axis=1) / max(float(table.sum()), 1.0)
    places = _places(predicted, evaluation)
    table_rows = table[:, places].T + shares / 2
    table_rows[np.arange(len(places)), places] += 0.5
    return np.asarray(table_rows / table_rows.sum(axis=1, keepdims=True))


def _places(predicted: Sequence[Classes], evaluation: Evaluation) -> list[int]:
    return [evaluation.labels.names.index(name) for (name,) in predicted]


def _two_sided(second: Floats) -> Floats:
    """Both classes, from the probability of the second."""
    return np.hstack([1.0 - second, second])
