"""`bench arrangements` trains once in every arrangement, with keys that were made before."""

import json

import pytest
from typer.testing import CliRunner

from benchmarks.commands import app
from benchmarks.studies import arrangements as bench
from benchmarks.studies.arrangements import EntityTableMade, measure
from sottovoce.study import InsecureToyPlan
from sottovoce.study.stages.encrypted import descent_numbers


def test_every_arrangement_has_its_row(monkeypatch) -> None:
    monkeypatch.setitem(bench.DESCENT, "rados", 32)
    monkeypatch.setattr(descent_numbers, "STEPS", 2)
    rows = list(measure(60, kind=InsecureToyPlan, key_bits=768))
    assert [(row["arrangement"], row["engine"]) for row in rows] == [
        *(("rows", "shares"), ("features", "shares")),
        *(("rows", "paillier"), ("features", "paillier")),
        *(("intermediaries", "paillier"), ("outsourced", "paillier")),
        *(("ring of four", "paillier"), ("descent", "paillier")),
        *(("descent, intermediaries", "paillier"), ("descent, outsourced", "paillier")),
    ]
    plain = {row["engine"]: row["seconds"] for row in rows if row["arrangement"] == "rows"}
    for row in rows:
        assert (row["rows"], row["columns"]) == (60, 7)
        assert row["trips"] > 1
        assert row["megabytes"] > 0
        assert row["ratio"] == pytest.approx(row["seconds"] / plain[row["engine"]])


def test_the_table_is_the_same_every_time_and_both_classes_are_in_it() -> None:
    one, two = EntityTableMade.of(60), EntityTableMade.of(60)
    assert one.frame.equals(two.frame)
    assert set(one.labels) == {"sick", "well"}
    assert set(one.frame["ward"]) == {"eye", "heart"}


def test_the_command_prints_one_json_object(monkeypatch) -> None:
    monkeypatch.setattr(bench, "measure", lambda rows, *, progress: [{"rows": rows}])
    done = CliRunner().invoke(app, ["arrangements", "--rows", "60", "--json"])
    assert json.loads(done.stdout) == {"bits": 3072, "peers": 3, "rows": [{"rows": 60}]}
