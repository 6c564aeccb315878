"""The benchmark of the ring answers in the shape that scripts read."""

import json

import pytest
from typer.testing import CliRunner

from benchmarks.arithmetic.ring import measure
from benchmarks.commands import app
from sottovoce.errors import InputError


def test_it_prints_one_json_object() -> None:
    result = CliRunner().invoke(app, ["ring", "--features", "64", "--rounds", "1", "--json"])
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["features"] == 64
    operations = [(row["operation"], row["partner"]) for row in answer["rows"]]
    assert operations == [
        ("matvec1", "numpy"),
        ("matvec12", "numpy"),
        ("matvec20", "numpy"),
        ("matvec1", "one read of the matrix"),
        ("matmul512", "numpy"),
    ]
    for row in answer["rows"]:
        assert row["ratio"] == pytest.approx(row["ours"] / row["theirs"])


def test_nothing_to_measure_is_refused() -> None:
    with pytest.raises(InputError, match="bench ring: expected at least 1 feature and 1 round"):
        measure(features=0, rounds=1)
