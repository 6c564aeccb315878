"""One way to show measurements."""

import io
import json

import pytest
from rich.console import Console

from benchmarks.timing import cpu_seconds, interleaved
from sottovoce.cli.terminal.measurements import figure, show, tables


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


ROWS = [
    {"seen": f"{kind} signatures", "word_for_word": 200, "precision": 1.0, "recall": 0.9}
    for kind in ("known", "unknown")
]


@pytest.mark.parametrize(("width", "count"), [(120, 1), (50, 1), (45, 1), (40, 1), (30, 2)])
def test_no_word_is_broken_however_narrow_the_terminal(width: int, count: int) -> None:
    console = Console(width=width, file=io.StringIO(), record=True)
    drawn = tables(ROWS, width=width)
    for table in drawn:
        console.print(table)
    printed = console.export_text()
    assert len(drawn) == count
    assert max(map(len, printed.splitlines())) <= width
    words = printed.replace("│", " ").replace("┃", " ").split()
    assert {"signatures", "unknown", "precision", "recall", "word", "0.9", "200"} <= {*words}


def test_headings_are_broken_before_the_rows_are() -> None:
    console = Console(width=52, file=io.StringIO(), record=True)
    console.print(*tables(ROWS, width=52))
    assert "unknown signatures" in console.export_text()


def test_a_figure_that_is_no_number_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    facts = {"ratio": float("inf"), "parts": [float("nan"), 1.0]}
    show(facts, [{"error": float("nan")}], title="", as_json=True)
    assert json.loads(capsys.readouterr().out) == {
        "ratio": None,
        "parts": [None, 1.0],
        "rows": [{"error": None}],
    }


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
