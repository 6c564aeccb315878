"""The encrypted rows of the paper's table: as their twins, counted, and printed."""

import json
from functools import cached_property

import numpy as np
import pytest
from typer.testing import CliRunner

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from sottovoce.cli import app
from sottovoce.cli.commands import table1 as command
from sottovoce.entropy import SystemEntropy
from sottovoce.numbers.modular import GMP, INT
from sottovoce.paillier import Plain, decrypt, encrypt, generate
from sottovoce.paper import table1_encrypted
from sottovoce.paper.operations import KINDS, Counting
from sottovoce.paper.rado_learn.contribution import written
from sottovoce.paper.table1 import (
    FEW_PENALTY,
    FEW_SCHEDULE,
    TableTrial,
    cost_for_people,
    for_scripts,
    measure,
    operations_for_people,
)
from sottovoce.protocols.rado_descent.twin import plain_descent
from sottovoce.rados import Part, descend_on_schedule

KEY = toy_key(bits=768)


class SmallTrial(TableTrial):
    """The same rows with six columns, and eight rados."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        columns = [0, 2, 4, 6, 8, -1]
        self.train = Part.of(self.train.rows[:, columns], self.train.labels)
        self.test = Part.of(self.test.rows[:, columns], self.test.labels)

    @cached_property
    def few(self):
        return TableTrial.few.func(self)[::13]


@pytest.fixture(scope="module")
def rows():
    setting = table1_encrypted.EncryptionSetting(KEY, SeededEntropy(1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sottovoce.paper.table1.TableTrial", SmallTrial)
        return list(measure(table1_encrypted.entries(setting), seeds=3))


@pytest.mark.soak
def test_each_row_equals_its_twin(rows) -> None:
    assert [(row.learner, row.rados, row.theta, row.bits) for row in rows] == [
        ("radoLearn", "encrypted", "plain", 768),
        ("radoLearn", "encrypted", "encrypted", 768),
        ("sealed closed form", "encrypted", "encrypted", 768),
    ]
    for row, limit in zip(rows, (2.0**-12, 2.0**-12, 1e-3), strict=True):
        assert row.sealed.theta_apart <= limit
        assert row.sealed.predictions_equal
        assert row.sealed.kappa == 40
        assert row.misclassification_sd == 0  # one seed is enough: its twin has twenty
    assert rows[0].sealed.exp_apart == rows[1].sealed.exp_apart
    assert 0 < rows[0].sealed.exp_apart < 0.1
    assert rows[0].misclassification == rows[1].misclassification


def test_seconds_trips_bytes_and_operations_are_counted(rows) -> None:
    for row in rows:
        sealed = row.sealed
        assert row.seconds >= 0.9 * sealed.cpu_seconds > 0
        assert row.ratio == row.seconds / sealed.twin_seconds > 1
        assert tuple(sealed.operations) == KINDS
        assert min(sealed.trips, sealed.bytes_sent, *list(sealed.operations.values())[:3]) > 0
    plain, both, _ = (row.sealed for row in rows)
    assert both.trips > plain.trips
    assert both.operations["decryptions"] > plain.operations["decryptions"]


def test_scripts_get_more_columns_and_people_two_more_tables(rows) -> None:
    result = for_scripts(rows[1])
    assert list(result)[:3] == ["learner", "peers", "rados"]
    assert {"kappa", "bits", "ratio", "trips", "bytes_sent", "operations"} <= set(result)
    assert json.loads(json.dumps(result)) == result
    assert cost_for_people(rows[0])["labels"] == "equal"
    shown = operations_for_people(rows[1])
    assert {kind: shown[kind] for kind in KINDS} == result["operations"]


@pytest.mark.soak
def test_the_command_prints_bits_kappa_ratio_and_operations(monkeypatch) -> None:
    monkeypatch.setattr("sottovoce.paper.table1.TableTrial", SmallTrial)
    setting = table1_encrypted.EncryptionSetting(KEY, SeededEntropy(1))
    monkeypatch.setattr(command, "_entries", lambda *_: table1_encrypted.entries(setting))
    result = CliRunner(env={"COLUMNS": "160"}).invoke(app, ["table1", "--rows", "encrypted"])
    assert result.exit_code == 0, result.output
    for words in ("bits 768", "κ 40", "ratio", "decryptions", "sealed closed form", "0.085, 87 s"):
        assert words in result.stdout


def test_the_command_knows_two_sizes_of_keys() -> None:
    assert CliRunner().invoke(app, ["table1", "--bits", "1024"]).exit_code == 2
    assert CliRunner().invoke(app, ["table1", "--rows", "none"]).exit_code == 2


@pytest.mark.parametrize("seed", range(3))
def test_the_twin_in_fixed_point_is_the_twin_in_floating_point(seed) -> None:
    """On the real table: the same rados, polynomial and steps, and all ranges hold."""
    trial = TableTrial(seed)
    plan = table1_encrypted.descent_plan(trial)
    fixed = plain_descent(written(trial.few, plan), plan).floats()
    floating = descend_on_schedule(trial.few, penalty=FEW_PENALTY, schedule=FEW_SCHEDULE)
    assert np.abs(fixed - floating.theta).max() < 2.0**-12
    assert np.array_equal(trial.test.rows @ fixed > 0, trial.test.rows @ floating.theta > 0)
    assert floating.largest_exponent < FEW_SCHEDULE.bound


@pytest.mark.parametrize("arithmetic", [INT, GMP])
def test_counting_changes_no_result(arithmetic) -> None:
    counting = Counting(arithmetic, bits=KEY.bits)
    key = KEY.with_arithmetic(counting)
    plain = Plain(np.arange(5), table1_encrypted.descent_plan(TableTrial(0)).rado_scale)
    sealed = encrypt(key.public, plain, entropy=SeededEntropy(2))
    owned = encrypt(key, plain, entropy=SeededEntropy(2))
    double = sealed + owned
    tripled = sealed * 3
    decrypted = decrypt(key, double - tripled)
    assert decrypted.integers.tolist() == (-np.arange(5)).tolist()
    assert counting.tally == {
        "encryptions": 5 + 5,
        "decryptions": 5,
        "products": 5 + 5 + 5 + 5,  # two encryptions, a sum, a difference
        "powers": 5 + 1,  # and the base of the randomisers, once
        "terms": 0,
        "inverses": 5,
    }
    assert repr(counting) == "COUNTING"


@pytest.mark.soak
def test_the_whole_table_at_2048_bits_keeps_its_promises() -> None:
    entropy = SystemEntropy()
    setting = table1_encrypted.EncryptionSetting(generate(2048, entropy=entropy), entropy)
    plain, both, closed = measure(table1_encrypted.entries(setting), seeds=1)
    for row, seconds, apart in ((plain, 20, 2**-12), (both, 30, 2**-12), (closed, 10, 1e-3)):
        assert row.misclassification <= 0.12
        assert row.sealed.predictions_equal
        assert row.sealed.theta_apart <= apart
        assert row.sealed.cpu_seconds <= seconds
