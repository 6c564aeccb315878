"""`bench arrangements`: what each arrangement costs, beside the usual study."""

import json

import pytest
from typer.testing import CliRunner

from benchmarks.commands import app
from benchmarks.studies import arrangements as bench
from benchmarks.studies.arranged import ARRANGEMENTS, EXPORTED, PARTNERS
from benchmarks.studies.arrangements import measure, spent, spent_on_export
from harness.network import QuickPlan
from sottovoce.study.stages.encrypted import descent_numbers

NAMES = [each.name for each in (*PARTNERS.values(), *ARRANGEMENTS, EXPORTED)]


@pytest.mark.parametrize("engine", PARTNERS)
def test_the_usual_studies_have_their_rows(engine: str) -> None:
    usual = PARTNERS[engine]
    measured = spent(usual, bench.USUAL_ROWS, kind=QuickPlan, key_bits=768)
    row = measured.row(usual, None)
    assert row["trips"] > 10
    assert row["ratio"] == 1
    assert row["label seconds"] > 0


def test_exported_rados_have_their_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descent_numbers, "STEPS", 2)
    measured = spent_on_export(60, kind=QuickPlan, key_bits=768)
    row = measured.row(EXPORTED, measured)
    assert row["trips"] > 1
    assert row["label seconds"] is None


def test_rows_come_one_after_the_other_beside_their_partner(monkeypatch) -> None:
    kept = []

    def quick(arrangement, rows, *, kind, key_bits):
        kept.append((arrangement.name, rows, key_bits, kind.__name__))
        return bench.Spent(1, 1000, 2.0 + len(kept), 10, 1.0)

    monkeypatch.setattr(bench, "spent", quick)
    monkeypatch.setattr(bench, "spent_on_export", lambda rows, **_: bench.Spent(1, 9, 9.0))
    rows = list(measure(60, make=lambda bits, **_: bits, key_bits=768))
    assert [row["arrangement"] for row in rows] == NAMES
    assert {(rows, bits, kind) for _, rows, bits, kind in kept} == {(60, 768, "KeptKeys")}
    seconds = {row["arrangement"]: row["seconds"] for row in rows}
    for row in rows:
        engine = "shares" if row["arrangement"].endswith("shares") else "paillier"
        assert row["ratio"] == pytest.approx(row["seconds"] / seconds[f"rows, {engine}"])

    some = [row["arrangement"] for row in measure(60, make=lambda *_, **__: 0, only="ring")]
    assert some == [*(each.name for each in PARTNERS.values()), "ring", "descent, ring"]


def test_the_command_prints_one_json_object(monkeypatch) -> None:
    def quick(rows, *, only, key_bits, progress):
        progress(only)
        return [{"arrangement": only, "rows": rows, "seconds": key_bits}]

    monkeypatch.setattr(bench, "measure", quick)
    words = ["arrangements", "--rows", "60", "--only", "ring", "--bits", "2048", "--json"]
    done = CliRunner().invoke(app, words)
    row = {"arrangement": "ring", "rows": 60, "seconds": 2048}
    assert json.loads(done.stdout) == {"bits": 2048, "peers": 3, "rows": [row]}
