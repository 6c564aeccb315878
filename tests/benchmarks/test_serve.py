"""Many peers at one coordinator, in small."""

import json

import pytest
from typer.testing import CliRunner

from benchmarks.commands import app
from benchmarks.port.load import Load, measure
from benchmarks.port.traffic import LetterTraffic
from sottovoce.errors import InputError


@pytest.mark.soak
def test_every_contribution_arrives_and_everything_is_measured() -> None:
    steps: list[str] = []
    soak = LetterTraffic(seats=2, letters=40)
    facts, rows = measure(Load(peers=6, features=40, trips=10), soak, progress=steps.append)
    assert (facts["letters"], facts["lost"], facts["bytes_each"]) == (24, 0, 6560)
    assert (facts["soak_letters"], facts["soak_lost"]) == (40, 0)
    assert 0.5 < facts["soak_grown"] < 2
    assert len(steps) == 13
    by_name = {row["what"]: row for row in rows}
    assert {
        "letters a second",
        "MB a second",
        "trip alone, median ms",
        "trip alone, p99 ms",
        "trip beside, p99 ms",
        "soak, letters a second",
    } <= set(by_name)
    assert all(isinstance(row["ours"], float) and row["ours"] > 0 for row in rows)
    assert by_name["MB a second"]["partner"] == "aiohttp echo"
    assert isinstance(facts["coordinator_peak_mb"], float)
    assert 20 < facts["coordinator_peak_mb"] < 1000


@pytest.mark.soak
def test_the_command_prints_one_json_object() -> None:
    command = ["serve", "--peers", "3", "--features", "8", "--trips", "10", "--json"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    parsed = json.loads(result.stdout.splitlines()[-1])
    assert (parsed["peers"], parsed["lost"]) == (3, 0)


def test_a_load_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="expected at least 1 peer, 1 feature and 10 trips"):
        Load(peers=0)
