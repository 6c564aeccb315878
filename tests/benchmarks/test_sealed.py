"""`bench sealed` runs whole studies on labelled text, and compares them with plaintext."""

import csv
import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from benchmarks.accuracy import sealed as bench
from benchmarks.accuracy.accuracy import AccuracySetting, SplitPair
from benchmarks.accuracy.sealed import SealedTask, known_tasks, measure, source_task
from benchmarks.commands import app
from sottovoce.datasets import clinical_notes
from sottovoce.errors import InputError
from sottovoce.sources import SourceOptions
from sottovoce.study import InsecureToyPlan
from sottovoce.study.choices import Engine
from sottovoce.text.documents import Document, Fragment, Span


def notes(count=400):
    return [note.document("urgency") for note in clinical_notes(count, random_state=4)]


@pytest.mark.soak
def test_sealed_equals_plain_and_beats_every_peer_alone() -> None:
    documents = notes()
    rare = [Document("something unheard of", "rare")] * 2
    task = SealedTask(
        "notes", (SplitPair(documents[:300] + rare, documents[300:]),), AccuracySetting(features=64)
    )
    row = measure(task, kind=InsecureToyPlan, key_bits=768)
    assert (row["train"], row["test"], row["left_out"], row["classes"]) == (300, 100, 2, 2)
    assert row["agreement"] >= 0.99
    assert abs(row["points"]) <= 1
    assert row["accuracy"] > 0.6
    assert row["features"] == 64


@pytest.mark.soak
def test_members_find_the_labels_of_plaintext() -> None:
    documents = notes(200)
    setting = AccuracySetting(features=32, peers=3)
    task = SealedTask("notes", (SplitPair(documents[:160], documents[160:]),), setting)
    row = measure(replace(task, engine=Engine.QUORUM), kind=InsecureToyPlan, key_bits=768)
    assert (row["engine"], row["labels"]) == ("quorum", "shares")
    assert row["agreement"] >= 0.95


@pytest.mark.soak
def test_where_entities_are_looked_for_every_token_is_a_row() -> None:
    def marked(number: int) -> Document:
        drug, seen = ("aspirin", "heparin", "codeine")[number % 3], ("well", "ill")[number % 2]
        text = f"Started {drug} on day {number % 7}, seen {seen}."
        return Document(text, group=str(number), spans=(Span("Drug", (Fragment(8, 15),)),))

    documents = [marked(number) for number in range(150)]
    setting = AccuracySetting(features=20, peers=3, ngrams=(1, 1))
    pairs = (SplitPair(documents[:120], documents[120:]),)
    task = SealedTask("drugs", pairs, setting, Engine.SHARES, entities=("Drug",))
    row = measure(task, kind=InsecureToyPlan, key_bits=768)
    assert (row["train"], row["test"], row["classes"]) == (120, 30 * 7, 2)
    assert row["agreement"] >= 0.99
    assert row["accuracy"] > 0.95
    assert row["pooled_logistic"] is None


@pytest.mark.soak
def test_fewer_features_than_asked_for_are_enough() -> None:
    documents = notes(200)
    task = SealedTask(
        "notes", (SplitPair(documents[:150], documents[150:]),), AccuracySetting(features=100_000)
    )
    row = measure(task, kind=InsecureToyPlan, key_bits=768)
    assert 50 < row["features"] < 5_000


def test_classes_that_are_all_rare_are_no_task() -> None:
    few = [Document(f"text {number}", f"class {number}") for number in range(30)]
    with pytest.raises(InputError, match="at least 2 classes of 12 documents, found 0"):
        measure(SealedTask("few", (SplitPair(few, few),), AccuracySetting()))
    with pytest.raises(InputError, match="expected one label a document, found none"):
        measure(SealedTask("none", (SplitPair([Document("text")], []),), AccuracySetting()))


def test_sets_are_known_by_name_and_any_source_will_do(tmp_path) -> None:
    assert list(known_tasks(tmp_path, AccuracySetting(), splits=1)) == []
    for name in ("sms_spam.csv", "notes.csv"):
        with (tmp_path / name).open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["label", "text"])
            rows.writerows([note.label, note.text] for note in notes(40))
    with (tmp_path / "mts_dialog.jsonl").open("w") as file:
        for number, document in enumerate(notes(40)):
            split = "train" if number < 30 else "test"
            file.write(
                json.dumps({"text": document.text, "label": document.label, "split": split}) + "\n"
            )
    sms, mts = known_tasks(tmp_path, AccuracySetting(), splits=2)
    assert (sms.name, mts.name) == ("SMS", "MTS")
    assert len(sms.pairs) == 2
    assert [(len(pair.train), len(pair.test)) for pair in mts.pairs] == [(30, 10)]
    (alone,) = known_tasks(tmp_path / "mts_dialog.jsonl", AccuracySetting(), splits=2)
    assert alone == mts
    assert mts.setting.ngrams == (1, 1)
    other = source_task(tmp_path / "notes.csv", SourceOptions(), AccuracySetting(), splits=3)
    assert [len(pair.train) + len(pair.test) for pair in other.pairs] == [40, 40, 40]


def test_the_command_says_what_is_missing_and_prints_one_json_object(monkeypatch, tmp_path) -> None:
    monkeypatch.delenv("SOTTOVOCE_DATA", raising=False)
    done = CliRunner().invoke(app, ["sealed"])
    assert isinstance(done.exception, InputError)
    assert "bench sealed: expected labelled text" in str(done.exception)
    monkeypatch.setattr(
        bench,
        "known_tasks",
        lambda place, setting, *, splits: [SealedTask(place.name, (), setting)],
    )
    monkeypatch.setattr(
        bench, "measure", lambda task, *, progress: {"set": task.name, "engine": task.engine}
    )
    command = ["sealed", "--data", str(tmp_path), "--json"]
    for engine, options in (("auto", []), ("paillier", ["--engine", "paillier"])):
        done = CliRunner().invoke(app, [*command, *options])
        assert json.loads(done.stdout)["rows"] == [{"set": tmp_path.name, "engine": engine}]
    done = CliRunner().invoke(app, [*command, "--engine", "steam"])
    assert "--engine: expected auto, quorum, shares, paillier, found 'steam'" in str(done.exception)


@pytest.mark.soak
def test_the_engine_of_a_task_is_the_one_of_its_study() -> None:
    documents = notes(200)
    task = SealedTask(
        "notes", (SplitPair(documents[:150], documents[150:]),), AccuracySetting(features=8)
    )
    row = measure(replace(task, engine="paillier"), kind=InsecureToyPlan, key_bits=768)
    assert row["engine"] == "paillier"
    assert row["agreement"] >= 0.99


@pytest.mark.soak
def test_several_splits_are_one_row_over_all_their_documents() -> None:
    documents = notes(200)
    pairs = (SplitPair(documents[:150], documents[150:]), SplitPair(documents[70:], documents[:70]))
    row = measure(
        SealedTask("notes", pairs, AccuracySetting(features=8)), kind=InsecureToyPlan, key_bits=768
    )
    assert (row["splits"], row["train"], row["test"]) == (2, 280, 120)
    assert row["agreement"] >= 0.99
    assert 0.5 < row["best_alone"] <= 1
