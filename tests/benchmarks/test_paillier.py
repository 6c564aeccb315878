"""The benchmark of Paillier answers in the shape that scripts read, and checks every answer."""

import json
from collections.abc import Sequence
from importlib import util
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks.arithmetic import paillier, schemes
from benchmarks.commands import app
from harness.keys import toy_key
from sottovoce.errors import InputError

OPERATIONS = [
    "encrypt",
    "decrypt",
    "add",
    "times20",
    "times64",
    "encrypt_packed",
    "decrypt_packed",
    "matvec256",
    "classify1000",
]


def without(monkeypatch: pytest.MonkeyPatch, *missing: str) -> None:
    def find(name: str) -> Any:
        return None if name in missing else util.find_spec(name)

    monkeypatch.setattr(schemes, "find_spec", find)


@pytest.mark.soak
def test_every_operation_has_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "heu")
    said: list[str] = []
    rows = paillier.measure_key(toy_key(), rounds=1, progress=said.append)
    assert [(row["operation"], row["partner"]) for row in rows] == [
        (operation, "phe") for operation in OPERATIONS
    ]
    assert said == OPERATIONS
    for row in rows:
        assert set(row) == {"operation", "partner", "ours", "theirs", "ratio"}
        ours, theirs, ratio = (row[name] for name in ("ours", "theirs", "ratio"))
        assert isinstance(ours, float)
        assert isinstance(theirs, float)
        assert ratio == pytest.approx(ours / theirs)


def test_a_wrong_answer_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "heu")

    def add(_: schemes.Ours, left: Any, right: Any) -> Any:
        del right
        return left

    monkeypatch.setattr(schemes.Ours, "add", add)
    with pytest.raises(AssertionError, match="ours: wrong answer to add"):
        paillier.measure_key(toy_key(), rounds=1, progress=lambda _: None)


def test_without_phe_there_is_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "heu", "phe")
    with pytest.raises(InputError, match="phe is not installed") as caught:
        schemes.partners(toy_key())
    assert caught.value.hints == ("pip install 'sottovoce[bench]'",)


@pytest.mark.parametrize("bits", ["1024", "3000"])
def test_weak_keys_are_not_even_measured(bits: str) -> None:
    result = CliRunner().invoke(app, ["paillier", "--bits", bits])
    assert isinstance(result.exception, InputError)
    assert f"found {bits}" in str(result.exception)


def test_the_command_prints_one_json_object(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"operation": "add", "partner": "phe", "ours": 2.0, "theirs": 1.0, "ratio": 2.0}

    def measure(**asked: Any) -> Sequence[Any]:
        asked["progress"]("add")
        return [row] * (asked["bits"] == 2048)

    monkeypatch.setattr(paillier, "measure", measure)
    result = CliRunner().invoke(app, ["paillier", "--bits", "2048", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"bits": 2048, "rows": [row]}
