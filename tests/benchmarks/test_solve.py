"""`bench solve` measures a solve that is right, beside numpy's."""

import json

from typer.testing import CliRunner

from benchmarks.commands import app


def test_the_command_prints_one_json_object() -> None:
    arguments = ["--features", "32", "--features", "48", "--classes", "3", "--rounds", "1"]
    result = CliRunner().invoke(app, ["solve", "--json", *arguments])
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["rows"]
    assert [(row["features"], row["classes"]) for row in rows] == [(32, 3), (48, 3)]
    for row in rows:
        assert row["error"] < 1e-4
        assert row["ratio"] > 0
        assert row["steps"] > 10
        assert row["bytes_sent"] > 8 * row["features"] * row["steps"]
