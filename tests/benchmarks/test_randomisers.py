"""The benchmark of randomisers measures every kind on one key."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks.arithmetic import randomisers
from benchmarks.commands import app
from harness.keys import toy_key


def test_every_kind_is_measured() -> None:
    rows = randomisers.measure_key(toy_key(bits=256).public, rounds=1)
    assert [row["operation"] for row in rows] == ["uniform r^N", "product of uniform powers"]
    for row in rows:
        ours, theirs = row["ours"], row["theirs"]
        assert isinstance(ours, float)
        assert isinstance(theirs, float)
        assert row["ratio"] == pytest.approx(ours / theirs)


def test_the_command_prints_one_json_object(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(**asked: Any) -> Any:
        return [asked]

    monkeypatch.setattr(randomisers, "measure", measure)
    result = CliRunner().invoke(app, ["randomisers", "--bits", "2048", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"bits": 2048, "rows": [{"bits": 2048, "rounds": 9}]}
