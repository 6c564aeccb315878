"""The table's penalties are those that five folds of the training rows choose; others are told."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.accuracy import table_settings
from benchmarks.accuracy.table_settings import (
    FOLDS,
    SCHEDULES,
    SETTINGS,
    Fold,
    TableSetting,
    chosen,
    measure,
)
from benchmarks.commands import app
from sottovoce.datasets import load_ionosphere
from sottovoce.errors import BoundError
from sottovoce.study.stages.encrypted import descent_numbers


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.learner)
def test_the_table_has_what_the_folds_choose(setting: TableSetting) -> None:
    assert chosen(setting)[0] == setting.taken


@pytest.mark.soak
def test_the_page_says_what_the_folds_choose_of_schedules() -> None:
    """docs/figures.md has these figures."""
    united, few, study = measure(SCHEDULES, seeds=20)
    assert united["chosen"] == united["in the table"]
    assert few["chosen"] == "10 steps, rate 1/2, penalty 1/16"
    shown = [round(few[name], 3) for name in ("error on test rows", "sd", "of the table's")]
    assert shown == [0.112, 0.016, 0.111]
    assert study["chosen"] == "8 documents a rado, 24 steps"
    shown = [round(study[name], 3) for name in ("error on test rows", "sd", "of the table's")]
    assert shown == [0.097, 0.01, 0.111]


def test_a_descent_beyond_the_range_of_exponents_is_refused(monkeypatch) -> None:
    study = SCHEDULES[-1]
    monkeypatch.setattr(descent_numbers, "BOUND", 0.5)
    with pytest.raises(BoundError, match="leave their range"):
        study.learn(Fold(0, 0), study.taken)


def test_folds_are_disjoint_parts_of_the_training_rows() -> None:
    folds = [Fold(3, number) for number in range(FOLDS)]
    tested = np.concatenate([fold.test.rows for fold in folds])
    training = load_ionosphere().train.X
    assert len(tested) == len(training)
    assert sorted(map(tuple, tested[:, :-1])) == sorted(map(tuple, training))
    assert {len(fold.train.labels) for fold in folds} == {160}


def test_what_leaves_its_range_is_no_candidate() -> None:
    def learn(trial, penalty):
        if penalty > 1 and not isinstance(trial, Fold):
            raise BoundError("beyond the range")
        return np.zeros(35) if penalty < 1 else trial.train.rows.T @ trial.train.labels

    setting = TableSetting("x", learn, 1.0, (0.5, 1.0, 2.0), seeds=1, draws=1)
    assert chosen(setting)[0] == 1.0


def test_the_command_prints_both_errors(monkeypatch) -> None:
    quick = TableSetting(
        "x", lambda trial, _: trial.train.rows.T @ trial.train.labels, 1.0, (1.0,), 1
    )
    monkeypatch.setattr(table_settings, "SETTINGS", (quick,))
    monkeypatch.setattr(table_settings, "SCHEDULES", ())
    done = CliRunner().invoke(app, ["table-settings", "--seeds", "2", "--json"])
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["chosen"], row["in the table"]) == ("1", "1")
    assert row["of the table's"] == row["error on test rows"]
    assert 0 < row["error in folds"] < 0.5
    assert 0 < row["error on test rows"] < 0.5
