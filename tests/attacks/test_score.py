"""The score counts what an attack really learnt, and not what chance would give."""

import numpy as np
import pytest

from harness.examples.exposed_notes import victim
from sottovoce.attacks.recovered import Recovered, score


def as_recovered(row: np.ndarray, label: int | None = 1) -> Recovered:
    return Recovered.from_row(row, label)


def test_the_truth_itself_scores_one() -> None:
    notes = victim(30)
    recovered = [
        as_recovered(row, int(label))
        for row, label in zip(notes.counts.toarray(), notes.labels, strict=True)
    ]
    result = score(recovered, notes.counts, notes.labels)
    assert (result.documents, result.recovered, result.matched) == (30, 30, 30)
    assert result.word_for_word == result.labels_right == 30
    assert result.precision == result.recall == 1


def test_nothing_scores_nothing() -> None:
    notes = victim(30)
    result = score([], notes.counts, notes.labels)
    assert (result.recovered, result.matched, result.precision, result.recall) == (0, 0, 0, 0)


def test_random_words_and_frequent_words_do_not_count() -> None:
    notes = victim(100)
    rng = np.random.default_rng(0)
    having = np.asarray((notes.counts > 0).sum(axis=0)).ravel()
    frequent = np.argsort(-having)[:8]
    recovered = [Recovered(np.sort(frequent), np.ones(8), 1)]
    for _ in range(50):
        words = np.sort(rng.choice(len(having), size=40, replace=False))
        recovered.append(Recovered(words, np.ones(40), 1))
    result = score(recovered, notes.counts, notes.labels)
    assert result.recovered == 51
    assert result.matched == 0
    assert result.precision == result.recall == 0


def test_a_true_document_counts_once_and_scale_does_not_matter() -> None:
    notes = victim(30)
    row = notes.counts.toarray()[0]
    result = score([as_recovered(row), as_recovered(7 * row)], notes.counts, notes.labels)
    assert result.matched == result.word_for_word == 1
    assert result.precision == pytest.approx(0.5)


def test_half_a_document_is_matched_but_not_word_for_word() -> None:
    notes = victim(30)
    row = notes.counts.toarray()[3]
    row[np.flatnonzero(row)[::2]] = 0
    result = score([as_recovered(row, None)], notes.counts, notes.labels)
    assert result.matched == 1
    assert result.word_for_word == result.labels_right == 0
    assert result.precision == 1
    assert 0 < result.recall < 1 / 30


def test_other_counts_of_the_same_words_are_not_word_for_word() -> None:
    notes = victim(30)
    row = notes.counts.toarray()[5]
    row[np.flatnonzero(row)[0]] += 5
    result = score([as_recovered(row)], notes.counts, notes.labels)
    assert result.matched == 1
    assert result.word_for_word == 0


def test_features_that_no_document_has_are_no_match() -> None:
    notes = victim(30)
    beyond = np.arange(5) + notes.counts.shape[1]
    result = score([Recovered(beyond, np.ones(5), 1)], notes.counts, notes.labels)
    assert result.recovered == 1
    assert result.matched == 0
