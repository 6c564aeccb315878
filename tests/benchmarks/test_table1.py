"""The paper's table: the bars that our plaintext rows must reach, and the form of the output."""

import json

import pytest
from typer.testing import CliRunner

from sottovoce.cli import app
from sottovoce.paper.table1 import PLAIN, TableEntry, TableTrial, TrialResult, measure

KEYS = [
    "learner",
    "peers",
    "rados",
    "theta",
    "n_rados",
    "steps",
    "bits",
    "misclassification",
    "misclassification_sd",
    "seconds",
    "paper_misclassification",
    "paper_seconds",
]


@pytest.mark.soak
def test_twenty_seeds_reach_every_bar() -> None:
    by_name = {(row.learner, row.peers): row for row in measure(PLAIN, seeds=20)}
    assert by_name["radoLearn", 4].misclassification <= 0.105
    assert by_name["radoLearn, 100 rados", 4].misclassification <= 0.12
    assert by_name["radoLearn, adaptive steps", 4].misclassification <= 0.105
    assert by_name["radoBoost", 1].misclassification <= 0.12
    assert by_name["M-loss", 4].misclassification <= 0.092
    assert by_name["exact moments", 4].misclassification <= 0.093
    assert by_name["logistic", 1].misclassification == pytest.approx(0.113, abs=0.01)
    assert all(row.n_rados in {None, 100, 1000} for row in by_name.values())
    assert all(row.sealed is None and row.ratio is None for row in by_name.values())


def test_one_seed_draws_the_same_rados_for_every_entry() -> None:
    first, again, other = TableTrial(3), TableTrial(3), TableTrial(4)
    assert again.single.shape == (1000, 35)  # asked for in another order
    assert (first.united == again.united).all()
    assert (first.united != other.united).any()


def test_an_entry_may_need_fewer_seeds_than_asked() -> None:
    seen = []

    def run(trial: TableTrial) -> TrialResult:
        seen.append(trial.seed)
        return TrialResult(0.1 * trial.seed, steps=7)

    (row,) = measure([TableEntry("x", 1, run, rados="encrypted", bits=2048, seeds=2)], seeds=5)
    assert seen == [0, 1]
    assert (row.misclassification, row.steps, row.bits) == (0.05, 7, 2048)
    assert row.misclassification_sd == pytest.approx(0.0707, abs=1e-4)


def test_the_command_prints_json_with_these_keys() -> None:
    result = CliRunner().invoke(app, ["table1", "--rows", "plain", "--seeds", "1", "--json"])
    assert result.exit_code == 0
    facts = json.loads(result.stdout)
    assert list(facts) == ["rows"]
    assert all(list(row) == KEYS for row in facts["rows"])
    assert {(row["rados"], row["theta"]) for row in facts["rows"]} == {("plain", "plain")}


def test_the_command_prints_a_table_with_the_papers_figures() -> None:
    result = CliRunner().invoke(app, ["table1", "--rows", "plain", "--seeds", "1"])
    assert result.exit_code == 0
    assert "radoBoost" in result.stdout
    assert "0.089" in result.stdout
    assert "seeds 1" in result.stdout


def test_no_seeds_are_refused() -> None:
    assert CliRunner().invoke(app, ["table1", "--seeds", "0"]).exit_code == 2
