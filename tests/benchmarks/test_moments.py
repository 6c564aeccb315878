"""`bench moments` measures what it says: the same sums, by us and by scipy."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.arithmetic.moments import MadeUpCorpus
from benchmarks.commands import app
from sottovoce.errors import InputError


def test_documents_have_their_number_of_distinct_words() -> None:
    X = MadeUpCorpus(documents=50, features=40, words=7).rows(np.random.default_rng(0))
    assert X.shape == (50, 40)
    assert X.has_canonical_format
    assert (np.diff(X.indptr) == 7).all()
    np.testing.assert_allclose(np.sqrt((X * X).sum(axis=1)), 1)


def test_the_command_compares_equal_results() -> None:
    arguments = ["--documents", "300", "--features", "64", "--words", "4", "--rounds", "1"]
    result = CliRunner().invoke(app, ["moments", "--json", *arguments])
    assert result.exit_code == 0
    facts = json.loads(result.stdout)
    assert (facts["documents"], facts["features"], facts["words"]) == (300, 64, 4)
    assert [(row["cores"], row["clock"]) for row in facts["rows"]] == [(1, "cpu"), (2, "wall")]
    assert all(row["largest_difference"] < 1e-12 for row in facts["rows"])
    assert all(row["ratio"] > 0 for row in facts["rows"])


def test_more_words_than_features_are_refused() -> None:
    with pytest.raises(InputError, match=r"at most as many as features \(8\), found 9"):
        MadeUpCorpus(documents=1, features=8, words=9)
