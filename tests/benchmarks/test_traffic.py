"""A day's letters at one coordinator, in small; a longer stretch of it as a soak."""

import json

import pytest
from typer.testing import CliRunner

from benchmarks.commands import app
from benchmarks.port.traffic import LetterTraffic, measure
from sottovoce.errors import InputError


@pytest.mark.soak
def test_every_letter_comes_and_memory_is_looked_at() -> None:
    result = CliRunner().invoke(app, ["traffic", "--seats", "2", "--letters", "40", "--json"])
    assert result.exit_code == 0, result.output
    parsed = json.loads(result.stdout.splitlines()[-1])
    assert (parsed["seats"], parsed["letters"], parsed["lost"]) == (2, 40, 0)
    assert len(parsed["rows"]) == 10
    assert all(row["coordinator_mb"] > 10 and row["letters_per_s"] > 0 for row in parsed["rows"])


def test_traffic_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="expected at least 2 seats and 10 letters of each"):
        LetterTraffic(seats=3, letters=20)


@pytest.mark.soak
def test_memory_does_not_grow_with_what_went_through() -> None:
    facts, _ = measure(LetterTraffic(seats=10, letters=20_000))
    assert facts["lost"] == 0
    assert facts["grown"] < 1.5
