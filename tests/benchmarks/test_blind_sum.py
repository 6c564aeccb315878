"""The benchmark of blind sums answers in the shape that scripts read."""

import json

import pytest
from typer.testing import CliRunner

from benchmarks.arithmetic.blind_sum import measure
from benchmarks.commands import app
from sottovoce.errors import InputError


def test_it_prints_one_json_object() -> None:
    result = CliRunner().invoke(
        app,
        ["blind-sum", "--peers", "4", "--words", "5000", "--rounds", "1", "--json"],
    )
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert (answer["peers"], answer["words"]) == (4, 5000)
    operations = [(row["operation"], row["partner"]) for row in answer["rows"]]
    assert operations == [
        ("one peer's masks", "numpy's PCG64"),
        ("a whole round", "plain addition"),
    ]
    for row in answer["rows"]:
        assert row["ratio"] == pytest.approx(row["ours"] / row["theirs"])


def test_nothing_to_measure_is_refused() -> None:
    with pytest.raises(InputError, match="bench blind-sum: expected at least 3 peers"):
        measure(peers=2, words=1, rounds=1)
