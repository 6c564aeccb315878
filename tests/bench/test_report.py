"""One way to show measurements."""

import json

import pytest

from sottovoce.bench.report import figure, show
from sottovoce.bench.timing import cpu_seconds, interleaved


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (1234.5, "1,234"),
        (0.012345, "0.0123"),
        (3, "3"),
        (12345, "12,345"),
        (None, ""),
        ("phe", "phe"),
        (True, "True"),
        (-250.4, "-250"),
    ],
)
def test_figures_are_short(value: object, shown: str) -> None:
    assert figure(value) == shown


def test_json_is_one_object_with_the_facts_and_the_rows(capsys: pytest.CaptureFixture[str]) -> None:
    show({"bits": 3072}, [{"operation": "add", "ratio": 1.5}], title="paillier", as_json=True)
    assert json.loads(capsys.readouterr().out) == {
        "bits": 3072,
        "rows": [{"operation": "add", "ratio": 1.5}],
    }


def test_a_table_shows_every_column_of_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    show({"bits": 3072}, [{"a_b": 1.0}, {"a_b": 2.0, "c": "x"}], title="t", as_json=False)
    printed = capsys.readouterr().out
    for word in ("a b", "c", "x", "bits 3,072"):
        assert word in printed


def test_rivals_take_turns_and_the_median_counts() -> None:
    order: list[str] = []
    ticks = iter([0, 1, 0, 10, 0, 9, 0, 20, 0, 2, 0, 30])
    spent = interleaved(
        {"ours": lambda: order.append("ours"), "theirs": lambda: order.append("theirs")},
        rounds=3,
        clock=lambda: float(next(ticks)),
    )
    assert order == ["ours", "theirs"] * 3
    assert spent == {"ours": 2.0, "theirs": 20.0}


def test_cpu_time_does_not_run_backwards() -> None:
    start = cpu_seconds()
    sum(range(200_000))
    assert cpu_seconds() >= start > 0
