"""Probabilities from joint counts in at most eight bins of scores."""

import numpy as np
import pytest

from sottovoce.errors import MisuseError
from sottovoce.estimators.probabilities import calibrations, from_bins, from_scores, held
from sottovoce.study.evaluations.calibration import MOST_BINS, Calibration
from sottovoce.study.evaluations.figures import Evaluation
from sottovoce.study.evaluations.roc import counted
from sottovoce.study.queries.thresholds import ROC_THRESHOLDS
from sottovoce.text.labels import Labels

LABELS = Labels(("ham", "spam"))


def drawn(rows: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, how probable the second class is at each, and which rows are of it."""
    source = np.random.default_rng(seed)
    scores = np.clip(source.normal(-0.2, 0.5, rows), -1.2, 1.2)
    probable = 1 / (1 + np.exp(-5 * scores))
    return scores, probable, source.random(rows) < probable


def evaluated(scores: np.ndarray, truth: np.ndarray, *, fewest: int = 3) -> Evaluation:
    result = (scores >= 0).astype(int)
    table = np.zeros((2, 2), np.int64)
    np.add.at(table, (truth.astype(int), result), 1)
    evaluation = Evaluation.of(LABELS, table, ("a", "b", "c"), fewest=fewest)
    above = counted(scores[:, np.newaxis], truth[:, np.newaxis], ROC_THRESHOLDS).astype(np.int64)
    return evaluation.with_roc(ROC_THRESHOLDS, above, evaluation.points(above))


def loss(probable: np.ndarray, truth: np.ndarray) -> float:
    return float(-np.mean(np.log(np.where(truth, probable, 1 - probable))))


def test_eight_bins_come_near_to_the_true_probabilities() -> None:
    scores, _, truth = drawn(4000)
    (mean,) = calibrations(evaluated(scores, truth))
    fresh, probable, is_second = drawn(4000, seed=1)
    result = from_scores(fresh[:, np.newaxis], [mean], exclusive=True)
    assert np.allclose(result.sum(axis=1), 1)
    assert loss(result[:, 1], is_second) < loss(probable, is_second) + 0.02
    assert np.abs(result[:, 1] - probable).mean() < 0.05


def test_there_are_at_most_eight_bins_and_their_shares_rise() -> None:
    for seed in range(5):
        scores, _, truth = drawn(500, seed=seed)
        (mean,) = calibrations(evaluated(scores, truth))
        assert 2 <= len(mean.bins) <= MOST_BINS
        assert len(mean.edges) == len(mean.bins) - 1
        assert list(mean.shares) == sorted(mean.shares)
        assert sum(part.rows for part in mean.bins) == pytest.approx(500, abs=6)


def test_bins_of_sealed_scores_are_found_by_three_questions_a_row() -> None:
    scores, _, truth = drawn(600)
    (mean,) = calibrations(evaluated(scores, truth))
    asked = np.zeros(len(scores), np.int64)

    def above(numbers: np.ndarray, threshold: float) -> np.ndarray:
        asked[numbers] += 1
        return scores[numbers] >= threshold

    sealed = from_bins(len(scores), mean, above)
    assert np.array_equal(sealed, from_scores(scores[:, np.newaxis], [mean], exclusive=True))
    assert asked.max() <= 3


def test_reliability_is_told_in_words_and_in_pictures() -> None:
    scores, _, truth = drawn(600)
    shown = evaluated(scores, truth).plot_reliability()
    assert "spam, score below" in str(shown)
    assert "of" in repr(shown)


def test_without_a_roc_there_are_no_probabilities() -> None:
    with pytest.raises(MisuseError, match="there is no joint evaluation yet"):
        held(None)
    empty = Evaluation.of(LABELS, np.array([[9, 1], [1, 9]]), ("a", "b", "c"), fewest=3)
    assert "no reliability" in str(empty.plot_reliability())
    with pytest.raises(MisuseError, match="no point of the joint ROC of 'spam' may be shown"):
        calibrations(empty)


def test_bins_that_fall_are_joined() -> None:
    scores = np.array([-0.9] * 50 + [-0.4] * 50 + [0.4] * 50 + [0.9] * 50)
    truth = np.array([False] * 45 + [True] * 5 + ([False] * 20 + [True] * 30))
    truth = np.concatenate([truth, [False] * 30 + [True] * 20, [True] * 45 + [False] * 5])
    (mean,) = calibrations(evaluated(scores, truth))
    assert [round(share, 1) for share in mean.shares] == [0.1, 0.5, 0.9]
    assert isinstance(mean, Calibration)
