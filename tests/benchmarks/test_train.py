"""`bench train` measures whole studies, sealed and in plaintext, and says what each took."""

import json

import pytest
from typer.testing import CliRunner

from benchmarks.commands import app
from benchmarks.studies import train as bench
from benchmarks.studies.train import LabelledText, PeersAndTest, TrainTrial, measure, trials
from sottovoce.errors import InputError
from sottovoce.sources import SourceOptions, open_source
from sottovoce.study import InsecureToyPlan
from sottovoce.study.choices import Engine

COLUMNS = {
    *("engine", "features", "documents", "peers", "classes", "seconds", "solve_seconds"),
    *("handover_seconds", "plain_seconds", "ratio", "accuracy", "plain_accuracy", "bytes_sent"),
    *("peak_mb", "members", "threshold", "labels", "member_ratio", "bytes_per_document"),
    *("sklearn_seconds", "largest_mb"),
}


@pytest.mark.soak
def test_a_row_holds_what_a_whole_training_took() -> None:
    (trial,) = trials(Engine.SHARES, features=[64], documents=[600])
    toy = trial.plan(InsecureToyPlan, key_bits=768)
    (row,) = measure([trial], plan=toy)
    assert set(row) == COLUMNS
    assert (row["engine"], row["features"], row["documents"]) == ("shares", 64, 600)
    assert 0 < row["solve_seconds"] < row["seconds"]
    assert row["handover_seconds"] == 0, "labels are on shares: nothing is handed over"
    assert row["ratio"] == pytest.approx(row["seconds"] / row["plain_seconds"])
    assert row["sklearn_seconds"] > 0
    assert abs(row["accuracy"] - row["plain_accuracy"]) <= 0.02
    assert row["bytes_sent"] > 65 * 65 * 8
    kinds = dict(part.split() for part in row["largest_mb"].split(", "))
    assert 0 < sum(map(float, kinds.values())) <= row["bytes_sent"] / 1e6 + 0.2
    assert "masked-parts" in kinds
    assert 20 < row["peak_mb"] < 4_000
    assert (row["members"], row["threshold"], row["labels"]) == (None, None, "shares")


@pytest.mark.soak
def test_every_peer_of_a_quorum_is_a_member() -> None:
    (trial,) = trials(Engine.QUORUM, features=[32], documents=[300], peers=[3])
    toy = trial.plan(InsecureToyPlan, key_bits=768)
    (row,) = measure([trial], plan=toy)
    assert set(row) == COLUMNS
    assert (row["members"], row["threshold"], row["labels"]) == (3, 1, "shares")
    assert row["member_ratio"] == pytest.approx(row["ratio"] / 3)
    assert row["bytes_per_document"] == row["bytes_sent"] / 300
    assert 0 < row["solve_seconds"] < row["seconds"]


def test_every_peer_has_its_share_of_both_classes() -> None:
    corpus = PeersAndTest.of(TrainTrial(Engine.SHARES, 64, 100))
    assert [len(part) for part in corpus.parts.values()] == [30, 30, 20, 20]
    assert len(corpus.pooled) == 100
    assert all(
        {"even", "odd"} == {document.label for document in part} for part in corpus.parts.values()
    )


def test_documents_of_a_source_are_dealt_once_each(tmp_path) -> None:
    place = tmp_path / "notes.csv"
    lines = [f"note {number} is long,{'yes' if number % 3 else 'no'}" for number in range(1_100)]
    place.write_text("\n".join(["text,label", *lines, lines[0]]) + "\n")
    source = LabelledText.read(place, SourceOptions(text="text", label="label"))
    assert (len(source.documents), source.labels.names) == (1_100, ("no", "yes"))
    corpus = PeersAndTest.of(TrainTrial(Engine.SHARES, 64, 100, source=source))
    dealt = [document.text for document in [*corpus.pooled, *corpus.test]]
    assert len(dealt) == len(set(dealt)) == 1_100
    assert dealt != [document.text for document in open_source(place)][:1_100]


def test_a_source_with_too_few_documents_is_named(tmp_path) -> None:
    place = tmp_path / "notes.csv"
    lines = [f"note {number} is long,{number % 2}" for number in range(1_030)]
    place.write_text("\n".join(["text,label", *lines]) + "\n")
    source = LabelledText.read(place, SourceOptions(text="text", label="label"))
    with pytest.raises(InputError, match="at least 1,100 different documents, found 1,030") as said:
        PeersAndTest.of(TrainTrial(Engine.SHARES, 64, 100, source=source))
    assert [str(hint) for hint in said.value.hints] == ["--documents 30"]


def test_the_command_measures_the_sizes_that_it_is_told(monkeypatch) -> None:
    seen = []

    def measured(wanted, *, progress):
        seen.extend(
            (trial.engine, trial.features, trial.documents, trial.peers) for trial in wanted
        )
        yield {"engine": "shares", "features": 8, "documents": 10, "ratio": 2.0}

    monkeypatch.setattr(bench, "measure", measured)
    arguments = ["--features", "8,16", "--paillier", "4", "--documents", "20,10", "--json"]
    arguments += ["--quorum", "6", "--members", "3,5"]
    done = CliRunner().invoke(app, ["train", *arguments])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["rows"][0]["ratio"] == 2.0
    assert seen == [
        *(("shares", 8, 20, 4), ("shares", 16, 20, 4), ("shares", 8, 10, 4), ("shares", 16, 10, 4)),
        *(("quorum", 6, 10, 3), ("quorum", 6, 10, 5), ("paillier", 4, 10, 4)),
    ]


def test_sizes_that_are_none_are_named() -> None:
    done = CliRunner().invoke(app, ["train", "--features", "many"])
    assert isinstance(done.exception, InputError)
    assert "expected whole numbers with commas, found 'many'" in str(done.exception)


def test_single_rows_are_named_by_their_engine(monkeypatch) -> None:
    seen = []
    monkeypatch.setattr(bench, "measure", lambda wanted, *, progress: seen.extend(wanted) or [])
    for engine, widths in (("shares", [512, 1024, 2048, 4096]), ("paillier", [32, 64])):
        seen.clear()
        arguments = ["--documents", "10000", "--rows", engine, "--json"]
        done = CliRunner().invoke(app, ["train", *arguments])
        assert done.exit_code == 0, done.output
        assert [(study.engine, study.features) for study in seen] == [
            (engine, width) for width in widths
        ]
    done = CliRunner().invoke(app, ["train", "--rows", "fast"])
    assert "--rows: expected auto, quorum, shares, paillier, found 'fast'" in str(done.exception)
