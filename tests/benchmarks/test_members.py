"""`bench members` runs a study of three processes, and measures each."""

import json

import pytest
from typer.testing import CliRunner

from benchmarks.commands import app
from benchmarks.studies import members as bench
from benchmarks.studies.members import SITES, MemberTrial, measure


@pytest.mark.soak
def test_every_process_has_a_row() -> None:
    facts, rows = measure(MemberTrial(features=256, documents=3000, labels=30), print)
    assert [row["process"] for row in rows] == [*SITES, "coordinator"]
    assert all(row["training peak MB"] <= row["peak MB"] for row in rows[:-1])
    # A tenth of the labels is not made wrong here: only few can be missed.
    assert facts["right"] >= 25


def test_sites_have_all_documents_and_nobody_has_those_that_are_asked_about() -> None:
    trial = MemberTrial(documents=30, labels=4)
    parts = [trial.documents_of(site) for site in SITES]
    assert [len(part) for part in parts] == [10, 10, 10]
    texts = {document.text for part in parts for document in part}
    assert len(texts) == 30
    assert len(texts | {document.text for document in trial.asked()}) == 34
    assert all({document.label for document in part} == {"even", "odd"} for part in parts)


def test_the_command_measures_what_it_is_told(monkeypatch) -> None:
    seen = []

    def measured(trial, progress):
        seen.append(trial)
        return {"wall s": 1.0}, [{"process": "north"}]

    monkeypatch.setattr(bench, "measure", measured)
    arguments = ["--features", "300", "--documents", "600", "--labels", "7", "--json"]
    done = CliRunner().invoke(app, ["members", *arguments])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["rows"] == [{"process": "north"}]
    assert seen == [MemberTrial(300, 600, 7)]
