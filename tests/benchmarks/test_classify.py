"""`bench classify` asks whole queries, checks every label, and scores the same with phe."""

import json

import pytest
from typer.testing import CliRunner

from benchmarks.commands import app
from benchmarks.studies import classify as bench
from benchmarks.studies.classify import ClassifyTrial, QueryDocuments, measure
from sottovoce.errors import InputError
from sottovoce.study import InsecureToyPlan

COLUMNS = [
    *("bits", "words", "features", "engine", "members", "threshold", "labels", "verdict"),
    *(
        "documents_per_s",
        "score_documents_per_s",
        "check_ms_per_query",
        "phe_documents_per_s",
        "ratio",
        "bytes_per_document",
    ),
]


@pytest.mark.soak
def test_a_row_holds_rates_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_CHECK_ROUNDS", 1)
    rows = list(measure([ClassifyTrial(8, 10, 32, 1)], bits=768, kind=InsecureToyPlan))
    results = [(row["labels"], row["verdict"], row["members"], row["threshold"]) for row in rows]
    assert results == [
        *(("shares", "fss", None, None), ("paillier", "fss", None, None)),
        ("paillier", "dgk", None, None),
        *(("shares", verdict, 3, 1) for verdict in ("shared bits", "fss")),
        *(("shares", verdict, 5, 2) for verdict in ("shared bits", "fss")),
    ]
    for row in rows:
        assert list(row) == COLUMNS
        assert (row["bits"], row["words"], row["features"]) == (768, 10, 32)
        assert row["ratio"] == pytest.approx(row["documents_per_s"] / row["phe_documents_per_s"])
        assert row["engine"] == "quorum" or row["score_documents_per_s"] > 0
        assert row["bytes_per_document"] > 0
        assert (row["check_ms_per_query"] is None) == (row["verdict"] != "shared bits")


def test_documents_have_their_words_and_the_bias() -> None:
    documents = QueryDocuments.of(5, words=3, features=20)
    for columns, counts in documents.lines():
        assert len(columns) == 4
        assert columns[-1] == 20
        assert counts[:3].tolist() == [1, 1, 1]
        # An idf of 4 each: the norm, in sixteenths.
        assert counts[3] == round(16 * 4 * 3**0.5)


def test_a_wrong_label_is_no_figure(monkeypatch) -> None:
    true = bench.Parties.truth
    monkeypatch.setattr(bench.Parties, "truth", lambda *args: [-label for label in true(*args)])
    with pytest.raises(AssertionError, match="wrong label"):
        list(measure([ClassifyTrial(40, 10, 64, 1)], bits=768, kind=InsecureToyPlan))


def test_more_words_than_features_are_refused() -> None:
    done = CliRunner().invoke(app, ["classify", "--words", "9", "--features", "8"])
    assert isinstance(done.exception, InputError)
    assert "at most 8 words a document" in str(done.exception)


def test_the_command_measures_the_sizes_that_it_is_told(monkeypatch) -> None:
    seen = []

    def measured(wanted, *, bits, progress):
        seen.extend((trial.words, trial.features) for trial in wanted)
        yield {"bits": bits, "ratio": 8.0}

    monkeypatch.setattr(bench, "measure", measured)
    arguments = ["--words", "5,6", "--features", "64", "--bits", "2048", "--json"]
    done = CliRunner().invoke(app, ["classify", *arguments])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["rows"] == [{"bits": 2048, "ratio": 8.0}]
    assert seen == [(5, 64), (6, 64)]
