"""`bench arrangements`: what each arrangement costs, beside the usual study."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.commands import app
from benchmarks.studies import arrangements as bench
from benchmarks.studies.arranged import ARRANGEMENTS, EXPORTED, FEWEST, PARTNERS
from benchmarks.studies.arrangements import (
    described,
    measure,
    spent,
    spent_on_export,
    two_keys,
    with_kept_keys,
)
from harness.network import QuickPlan
from sottovoce.paillier import generate, generate_insecure_for_tests
from sottovoce.study import StudyPlan
from sottovoce.study.stages.encrypted import descent_numbers

NAMES = [each.name for each in (*PARTNERS.values(), *ARRANGEMENTS, EXPORTED)]


@pytest.mark.parametrize("arrangement", ARRANGEMENTS, ids=lambda each: each.name)
def test_there_is_room_for_every_word(arrangement) -> None:
    """Of words that tell as much, a study's key would choose some: labels would depend on it."""
    plan = described(arrangement, QuickPlan, key_bits=768).plan
    sites = Counter(
        word
        for documents in arrangement.parts(FEWEST).values()
        for word in {
            word for document in documents for word in re.findall(r"\w+|\S", document.text)
        }
    )
    # A word of one site alone, such as north1, is never chosen.
    assert len([word for word, count in sites.items() if count > 1]) <= plan.features
    assert plan.features == 1 or plan.reading.ngrams.words == (1, 1)


PAGE = json.loads(
    (Path(__file__).parents[2] / "docs" / "arrangement_costs.json").read_text(encoding="utf-8")
)
PRINTED = {row["arrangement"]: row for row in PAGE["rows"]}


def test_the_page_has_a_row_for_every_arrangement() -> None:
    assert [*PRINTED] == NAMES


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::sottovoce.protocols.blind_sum.rounds.TwoPeersWarning")
@pytest.mark.parametrize(
    "arrangement", [*PARTNERS.values(), *ARRANGEMENTS], ids=lambda each: each.name
)
def test_trips_and_bytes_are_those_of_the_page(arrangement) -> None:
    kind = with_kept_keys(StudyPlan, two_keys(generate, PAGE["bits"]))
    measured = spent(arrangement, bench.USUAL_ROWS, kind=kind, key_bits=PAGE["bits"])
    row, printed = measured.row(arrangement, None), PRINTED[arrangement.name]
    for column in ("trips", "megabytes", "label kilobytes"):
        assert row[column] == printed[column], column


@pytest.mark.soak
def test_trips_and_bytes_of_exported_rados_are_those_of_the_page() -> None:
    kind = with_kept_keys(StudyPlan, two_keys(generate, PAGE["bits"]))
    measured = spent_on_export(bench.USUAL_ROWS, kind=kind, key_bits=PAGE["bits"])
    row, printed = measured.row(EXPORTED, None), PRINTED[EXPORTED.name]
    assert (row["trips"], row["megabytes"]) == (printed["trips"], printed["megabytes"])


def test_trips_that_depend_on_what_is_sampled_are_the_same_each_time() -> None:
    """Between studies they differ: which rados are drawn decides where the spectrum ends."""
    (sampled,) = (each for each in ARRANGEMENTS if each.name == "intermediary, sampled rados")

    def trips_and_bytes() -> tuple[int, int]:
        kind = with_kept_keys(QuickPlan, two_keys(generate_insecure_for_tests, 768))
        measured = spent(sampled, bench.USUAL_ROWS, kind=kind, key_bits=768)
        return measured.trips, measured.bytes

    assert trips_and_bytes() == trips_and_bytes()


@pytest.mark.parametrize("engine", PARTNERS)
def test_the_usual_studies_have_their_rows(engine: str) -> None:
    usual = PARTNERS[engine]
    measured = spent(usual, bench.USUAL_ROWS, kind=QuickPlan, key_bits=768)
    row = measured.row(usual, None)
    # Trips follow from the plan, whatever the key.
    assert row["trips"] == PRINTED[usual.name]["trips"]
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
