"""Trials: words are counted as a study reads them, and masks are what the control attacks."""

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from sottovoce.attacks.trial import masked, word_counts
from sottovoce.errors import InputError


def test_words_are_counted_a_row_a_document() -> None:
    rows = word_counts(["Pain, pain and fever", "", "fever 12.5mg"])
    assert rows.toarray().sum(axis=1).tolist()[1] == 0
    assert rows.shape[0] == 3
    assert sorted(rows.toarray()[0].tolist(), reverse=True)[:3] == [2, 1, 1]
    shared = (rows.toarray()[0] > 0) & (rows.toarray()[2] > 0)
    assert shared.sum() == 1


def test_texts_without_words_are_named() -> None:
    with pytest.raises(InputError, match="the texts have no words"):
        word_counts(["", " "])


def test_a_mask_comes_off_exactly() -> None:
    values = np.array([[1.5, -2.25], [0.0, 3.0]])
    words = masked(values, SeededEntropy(1)) - SeededEntropy(1).words(2, 2)
    np.testing.assert_array_equal(words.view(np.int64) / 2**20, values)
