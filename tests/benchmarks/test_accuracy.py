"""Learning together beside learning in one place, on small files of the tests' own."""

import csv
import json
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from benchmarks.accuracy.accuracy import (
    AccuracyComparison,
    AccuracySetting,
    simulated_peers,
    split_pairs,
)
from benchmarks.accuracy.corpora import compare_known, compare_source, known_sets
from benchmarks.commands import app
from sottovoce.errors import InputError
from sottovoce.sources import SourceOptions
from sottovoce.text.documents import Document

SMALL = AccuracySetting(features=64, peers=2, min_documents=2)
TOPICS = {"ham": "lunch dinner home movie sleep walk", "spam": "prize winner cash free claim text"}


def message(rng: Random, label: str) -> str:
    words = TOPICS[label].split() * 2 + ["the", "a", "to", "you", "me", "now"]
    return " ".join(rng.choices(words, k=8))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = Random(1)
    place = tmp_path_factory.mktemp("sets")
    rows = [(message(rng, label), label) for _ in range(100) for label in TOPICS]
    with (place / "sms_spam.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    with (place / "mts_dialog.jsonl").open("w", encoding="utf-8") as file:
        for number, (text, label) in enumerate(rows):
            split = "train" if number % 4 else "test"
            file.write(json.dumps({"text": text, "label": label, "split": split}) + "\n")
    (place / "maccrobat_brat").mkdir()
    for number in range(30):
        before, after = message(rng, "ham"), message(rng, "ham")
        text = f"{before} had severe pneumonia {after} with fever."
        marked = [("Disease_disorder", "severe pneumonia"), ("Sign_symptom", "fever")]
        lines = [
            f"T{n}\t{kind} {text.index(words)} {text.index(words) + len(words)}\t{words}"
            for n, (kind, words) in enumerate(marked, 1)
        ]
        stem = place / "maccrobat_brat" / f"{number}"
        stem.with_suffix(".txt").write_text(text, encoding="utf-8")
        stem.with_suffix(".ann").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return place


def test_the_sets_known_by_name_are_compared(folder: Path) -> None:
    result = list(compare_known(folder, SMALL))
    assert known_sets(folder) == ["sms_spam.csv", "mts_dialog.jsonl", "maccrobat_brat"]
    assert [comparison.name for comparison in result] == [
        "SMS",
        "MTS",
        "MACCROBAT",
        "MACCROBAT weighted",
    ]
    assert [len(comparison.ours) for comparison in result] == [3, 1, 3, 3]
    for comparison in result:
        assert min(comparison.ours) > 0.9
        assert min(comparison.partner) > 0.9
    assert result[1].sizes[:2] == (150, 50)


def test_any_labelled_source_is_compared_and_scripts_get_all_figures(folder: Path) -> None:
    source = str(folder / "sms_spam.csv")
    words = ["accuracy", "--data", source, "--features", "32", "--peers", "2", "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    (row,) = answer["rows"]
    assert answer["features"] == row["features"] == 32
    assert row["train"] + row["test"] == 200
    assert len(row["ours"]) == len(row["pooled"]) == 3
    assert row["met"] is (row["points"] >= row["least"])


def test_the_folder_can_come_from_the_environment(folder: Path) -> None:
    only = folder / "maccrobat_brat"
    words = ["accuracy", "--types", "Sign_symptom", "--features", "64"]
    done = CliRunner().invoke(app, words, env={"SOTTOVOCE_DATA": str(only), "COLUMNS": "120"})
    assert done.exit_code == 0, done.output
    assert "maccrobat_brat F1" in done.output


def test_without_data_the_error_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOTTOVOCE_DATA", raising=False)
    with pytest.raises(InputError, match=r"found neither --data nor \$SOTTOVOCE_DATA") as caught:
        CliRunner().invoke(app, ["accuracy"], catch_exceptions=False)
    assert "--data notes.csv" in caught.value.hints[0]


def test_too_few_documents_for_a_split_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text("text,label\nx,a\ny,b\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"two\.csv: expected enough documents for a split"):
        compare_source(path, SourceOptions(), SMALL)


def test_several_labels_a_document_are_refused() -> None:
    from benchmarks.accuracy.accuracy import SplitPair, joint_accuracy

    both = [Document("x", ("a", "b")), Document("y", ("a",))]
    with pytest.raises(InputError, match="expected one label a document, found 2"):
        joint_accuracy(SplitPair(both, both), SMALL)


def test_copies_stay_with_one_peer_and_on_one_side() -> None:
    documents = [Document(f"text {n % 20}") for n in range(60)]
    parts = simulated_peers(documents, 4)
    assert sum(map(len, parts)) == 60
    assert sum(len({document.text for document in part}) for part in parts) == 20
    for pair in split_pairs(documents):
        assert not {document.text for document in pair.train} & {
            document.text for document in pair.test
        }


def test_a_bar_is_met_or_not_by_the_mean() -> None:
    near = AccuracyComparison("x", "accuracy", (0.90, 0.92), (0.92, 0.92), 0.01, (1, 1, 1))
    far = AccuracyComparison("x", "accuracy", (0.90, 0.90), (0.92, 0.92), 0.01, (1, 1, 1))
    assert near.row()["points"] == "-1.00"
    assert (near.met, far.met) == (True, False)


def test_defaults_stand_beside_one_place_and_sites_beside_themselves(tmp_path) -> None:
    path = tmp_path / "notes.csv"
    rows = [
        f"{word} case {number},{label}\n"
        for number in range(60)
        for word, label in (("fever", "urgent"), ("checkup", "routine"), ("fever knee", "bone"))
    ]
    path.write_text("text,label\n" + "".join(rows), encoding="utf-8")
    command = ["accuracy", "--data", str(path), "--defaults", "--peers", "3", "--json"]
    done = CliRunner().invoke(app, command)
    whole, by_topic = json.loads(done.stdout)["rows"]
    assert (whole["sites"], by_topic["sites"]) == ("iid", "by topic")
    assert whole["joint"] == whole["LR"] == "100.0/100.0"
    done = CliRunner().invoke(app, [*command, "--askers"])
    whole, by_topic = json.loads(done.stdout)["rows"]
    assert whole["joint"] == whole["own or joint"] == "100.0"
    assert float(by_topic["own or joint, worst site"]) >= float(by_topic["joint, worst site"])
    done = CliRunner().invoke(app, [*command, "--askers", "--own-scores"])
    whole, _ = json.loads(done.stdout)["rows"]
    assert whole["own scores 0.25"] == whole["own scores 1"] == "100.0"
