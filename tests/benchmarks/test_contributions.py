"""`bench contributions` compares studies of sampled rados with exact moments and plaintext."""

import json
from functools import partial

import pytest
from typer.testing import CliRunner

from benchmarks.accuracy.accuracy import AccuracySetting
from benchmarks.commands import app
from benchmarks.studies import contributions as bench
from benchmarks.studies.contributions import known_or_named, measure, notes_task
from benchmarks.studies.steps import StepCounter, Steps, StepsCase
from sottovoce.course.training.memory import run_study
from sottovoce.entropy import SystemEntropy
from sottovoce.errors import InputError
from sottovoce.sources import SourceOptions
from sottovoce.study import InsecureToyPlan, Study
from sottovoce.study.choices import Engine
from sottovoce.study.in_memory import Setting as StudySetting
from sottovoce.study.roster import draw_roster
from sottovoce.study.stages.solving import SolveNumbers

COLUMNS = {
    *("set", "features", "documents", "contribution", "rados", "accuracy", "seconds", "steps"),
    *("plain_accuracy", "plain_seconds", "ratio"),
}


@pytest.mark.soak
def test_a_row_for_exact_moments_and_one_for_every_number_of_rados() -> None:
    task = notes_task(AccuracySetting(features=48, peers=3), seeds=1, notes=500)
    exact, few = measure(task, [8], kind=InsecureToyPlan, key_bits=768)
    assert set(exact) == set(few) == COLUMNS
    assert (exact["contribution"], exact["rados"]) == ("exact", None)
    assert (few["contribution"], few["rados"]) == ("rados", 8)
    assert exact["documents"] == few["documents"] == 400
    assert exact["accuracy"] == pytest.approx(exact["plain_accuracy"], abs=0.05)
    # A sample as small as this is about a tenth worse, and once in many times it is lucky.
    assert few["accuracy"] < exact["accuracy"] + 0.05
    assert few["plain_accuracy"] == exact["plain_accuracy"]
    assert exact["steps"] > 10
    assert few["steps"] > 10
    for row in (exact, few):
        assert row["ratio"] == pytest.approx(row["seconds"] / row["plain_seconds"])


def test_made_up_notes_are_other_ones_for_every_seed() -> None:
    first, two = notes_task(AccuracySetting(), seeds=2, notes=30).pairs
    assert (len(first.train), len(first.test)) == (24, 6)
    assert {document.text for document in first.train}.isdisjoint(two.train + first.test)
    assert first != two


def test_a_set_with_its_own_split_keeps_it_for_every_seed(tmp_path) -> None:
    with (tmp_path / "mts_dialog.jsonl").open("w") as file:
        for number in range(8):
            split = "train" if number < 6 else "test"
            record = {"text": f"text {number}", "label": f"label {number % 2}", "split": split}
            file.write(json.dumps(record) + "\n")
    (known,) = known_or_named(tmp_path, SourceOptions(), AccuracySetting(), seeds=3)
    assert known.name == "MTS"
    assert known.engine is Engine.SHARES
    assert [(len(pair.train), len(pair.test)) for pair in known.pairs] == [(6, 2)] * 3
    other = tmp_path / "other.jsonl"
    other.write_text("".join(f'{{"text": "note {n}", "label": "{n % 2}"}}\n' for n in range(20)))
    (named,) = known_or_named(other, SourceOptions(), AccuracySetting(), seeds=2)
    assert len(named.pairs) == 2
    assert named.pairs[0] != named.pairs[1]


def test_steps_are_those_that_the_dealer_works_out() -> None:
    task = notes_task(AccuracySetting(features=16, peers=3), seeds=1, notes=150)
    contest = bench.ContributionContest.of(task, kind=InsecureToyPlan, key_bits=768)
    entropy, counter = SystemEntropy(), StepCounter()
    roster, identities = draw_roster(tuple(contest.parts), entropy=entropy)
    study = Study(contest.plan, roster)
    assert counter.of(study) == 0
    outcome = run_study(
        study,
        contest.parts,
        identities=identities,
        entropy=entropy,
        setting=StudySetting(meddler=counter),
    )
    received = outcome.views[study.trio.dealer].received
    (numbers_sent,) = (item.message for item in received if isinstance(item.message, SolveNumbers))
    assert counter._told == numbers_sent
    assert 5 < counter.of(study) < 200
    result = Steps.of(contest.plan, list(contest.parts.values()))
    # Under another key of the dictionary other words may fall together: 58 to 63 steps were seen.
    assert abs(result.mean - counter.of(study)) <= 0.15 * result.mean
    assert result.unmoved > 5


@pytest.mark.soak
def test_steps_are_counted_for_made_up_documents_and_known_sets(tmp_path) -> None:
    command = ["steps", "--json", "--features", "8"]
    done = CliRunner().invoke(app, [*command, "--documents", "200"])
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["set"], row["features"], row["documents"], row["peers"]) == ("made up", 8, 200, 4)
    assert row["ratio"] == pytest.approx(row["steps"] / row["unmoved_steps"])
    case = StepsCase.of(notes_task(AccuracySetting(features=16), seeds=1, notes=150))
    assert (case.name, case.plan.features, sum(map(len, case.parts))) == ("notes", 16, 120)
    done = CliRunner().invoke(app, [*command, "--data", str(tmp_path)])
    assert isinstance(done.exception, InputError)
    assert "expected sms_spam.csv or mts_dialog.jsonl, found neither" in str(done.exception)


def test_the_command_takes_notes_or_a_source(monkeypatch, tmp_path) -> None:
    seen = []

    def measured(task, rados, *, progress):
        seen.append((task.name, task.setting.features, tuple(rados), len(task.pairs)))
        return [{"set": task.name}]

    monkeypatch.setattr(bench, "measure", measured)
    monkeypatch.setattr(bench, "notes_task", partial(notes_task, notes=30))
    command = ["contributions", "--seeds", "2", "--json"]
    done = CliRunner().invoke(app, [*command, "--rados", "16,32", "--features", "8"])
    parsed = json.loads(done.stdout)
    assert parsed["rows"] == [{"set": "notes"}]
    assert (parsed["peers"], parsed["seeds"], parsed["bits"]) == (4, 2, 3072)
    source = tmp_path / "mine.jsonl"
    source.write_text("".join(f'{{"note": "note {n}", "code": "{n % 2}"}}\n' for n in range(20)))
    named = ["--data", str(source), "--text", "note", "--label", "code"]
    done = CliRunner().invoke(app, [*command, *named])
    assert json.loads(done.stdout)["rows"] == [{"set": "mine.jsonl"}]
    assert seen == [
        ("notes", 8, (16, 32), 2),
        ("mine.jsonl", 256, (64, 256, 1024, 4096), 2),
    ]


def test_rados_are_whole_numbers_and_sources_exist(tmp_path) -> None:
    done = CliRunner().invoke(app, ["contributions", "--rados", "many"])
    assert isinstance(done.exception, InputError)
    assert "--rados: expected whole numbers with commas, found 'many'" in str(done.exception)
    done = CliRunner().invoke(app, ["contributions", "--data", str(tmp_path / "none")])
    assert isinstance(done.exception, InputError)
    assert "none" in str(done.exception)
