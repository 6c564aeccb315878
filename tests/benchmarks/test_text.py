"""The benchmark of reading answers in the shape that scripts read, and measures what it says."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.commands import app
from benchmarks.studies import text as bench
from benchmarks.studies.text import (
    TextTrial,
    hash_with_sklearn,
    joint_dictionary,
    memory,
    read,
    synthetic_documents,
    throughput,
)


@pytest.mark.soak
def test_documents_are_made_up_the_same_every_time_and_as_many_as_asked_for() -> None:
    first, second = (list(synthetic_documents(700)) for _ in range(2))
    assert first == second
    assert len(first) == 700
    assert {document.label for document in first} == {"even", "odd"}
    assert all(len(document.text.split()) == 100 for document in first)


def test_both_readers_give_second_moments_of_unit_rows() -> None:
    documents = list(synthetic_documents(200))
    dictionary = joint_dictionary(iter(documents), 256)
    ours = read(documents, dictionary)
    theirs = hash_with_sklearn([document.text for document in documents], 256)
    assert np.trace(ours.second[:256, :256]) == pytest.approx(200)
    assert theirs.diagonal().sum() == pytest.approx(200)


@pytest.mark.soak
def test_rates_are_compared_with_the_partner_s_by_the_same_clock() -> None:
    rows = throughput(TextTrial(documents=400, features=128, workers=2, rounds=1))
    assert [row["clock"] for row in rows] == ["CPU"] * 3 + ["wall"] * 3
    assert rows[0]["reader"] == rows[3]["reader"] == "sklearn hashing + X.T @ X"
    assert rows[-1]["reader"] == "ours, joint, 2 cores"
    for partner, *ours in (rows[:3], rows[3:]):
        assert partner["times"] == 1
        for row in ours:
            assert row["times"] == pytest.approx(row["documents_s"] / partner["documents_s"], 0.01)
    assert all(row["documents_s"] > 0 and row["MB_s"] > 0 for row in rows)


@pytest.mark.soak
def test_peak_memory_is_a_child_s_own() -> None:
    (row,) = memory((100,))
    assert 30 < row["peak_MB"] < 1000
    assert row["growth"] == 1


def test_it_prints_one_json_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "throughput", lambda trial: [{"reader": trial.workers}])
    monkeypatch.setattr(bench, "memory", lambda: [{"documents": 1}])
    done = CliRunner().invoke(app, ["text", "--workers", "3", "--json"])
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["rows"] == [{"reader": 3}]
    assert answer["memory"] == [{"documents": 1}]


def test_people_see_two_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "throughput", lambda trial: [{"reader": "ours"}])
    monkeypatch.setattr(bench, "memory", lambda: [{"documents": 10_000}])
    done = CliRunner().invoke(app, ["text"])
    assert done.output.count("┏") == 2
    assert "10,000" in done.output
