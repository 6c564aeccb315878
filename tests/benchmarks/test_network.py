"""`bench network` runs one study twice: in memory, and over TLS on loopback."""

import json

import pytest
from typer.testing import CliRunner

from benchmarks.commands import app
from benchmarks.studies import networked as bench
from benchmarks.studies.networked import NetworkTrial, measure
from sottovoce.study import InsecureToyPlan
from sottovoce.study.choices import Engine


@pytest.mark.soak
@pytest.mark.parametrize("engine", [Engine.SHARES, Engine.QUORUM])
def test_a_row_holds_what_both_took(engine: Engine) -> None:
    trial = NetworkTrial(engine, features=16, documents=120, labels=8)
    (row,) = measure([trial], kind=InsecureToyPlan, key_bits=768)
    assert (row["engine"], row["features"], row["documents"]) == (engine, 16, 120)
    assert row["ratio"] == row["network_seconds"] / row["memory_seconds"]
    assert row["network_labels_per_s"] > 0
    # Every message of the study is a letter, and machines write a few more to begin and to end.
    # One request carries several, and acknowledges others: there are fewer requests than letters.
    assert row["letters"] > row["messages"] > 100
    assert 100 < row["requests"] < row["letters"]
    assert row["megabytes"] > 0
    assert 0 < row["rehearsal_seconds"] < row["network_seconds"]


def test_the_command_measures_the_sizes_that_it_is_told(monkeypatch) -> None:
    seen = []

    def measured(wanted, *, key_bits, progress):
        seen.extend((trial.features, trial.documents, trial.labels, key_bits) for trial in wanted)
        yield {"ratio": 2.0}

    monkeypatch.setattr(bench, "measure", measured)
    arguments = ["--features", "8", "--documents", "100", "--labels", "7", "--bits", "2048"]
    done = CliRunner().invoke(app, ["network", *arguments, "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["rows"] == [{"ratio": 2.0}]
    assert seen == [(8, 100, 7, 2048)]
