"""`bench verdict` judges documents and checks every label."""

import json

from typer.testing import CliRunner

from benchmarks.commands import app


def test_the_command_prints_one_json_object() -> None:
    arguments = ["--documents", "50", "--classes", "2", "--classes", "4", "--rounds", "1"]
    result = CliRunner().invoke(app, ["verdict", "--json", *arguments])
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["rows"]
    assert [(row["classes"], row["score_bits"]) for row in rows] == [
        (2, 61),
        (2, 36),
        (4, 61),
        (4, 36),
    ]
    assert all(row["documents_per_s"] > 0 for row in rows)
    assert [row["key_bytes"] for row in rows] == [1472, 872, 1496, 896]
