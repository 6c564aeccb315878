"""The growth benchmark: exponents, pictures and the command."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.studies import growth
from benchmarks.studies.growth import AXES, GrowthAxis, PointCost, draw, exponent, notes, rows_of

POINTS = {size: PointCost(0.5 * size, size**2.0, 3.0) for size in (10, 100, 1000)}
AXIS = GrowthAxis("things", tuple(POINTS), lambda _: None, 2.0, 0.0, "squares")


def test_an_exponent_is_the_slope_in_logarithms() -> None:
    assert exponent({size: took.cpu for size, took in POINTS.items()}) == pytest.approx(2)
    assert exponent({10: 3.0, 1000: 3.0}) == pytest.approx(0)
    assert exponent({10: 1.0}) is None


def test_rows_hold_every_point_and_the_exponents_beside_the_expected_ones() -> None:
    *points, last = rows_of(AXIS, POINTS)
    assert [row["size"] for row in points] == [10, 100, 1000]
    assert (last["cpu s"], last["more MB"]) == ("2.00, 2", "0.00, 0")


def test_a_picture_is_drawn_along_its_diagonal_where_growth_is_as_expected() -> None:
    svg = draw(AXIS, POINTS)
    assert svg.startswith("<svg")
    assert svg.endswith("</svg>")
    matches = re.findall(r'cx="([0-9.]+)" cy="([0-9.]+)"', svg)
    places = [(float(x), float(y)) for x, y in matches]
    steps = [(right - x, y - up) for (x, y), (right, up) in pairwise(places)]
    assert steps == [(150, 150), (150, 150)]
    assert 'class="chance"' in svg
    assert re.findall(r">([0-9.]+)</text>", svg)[:5] == ["1", "1.5", "2", "2.5", "3"]


def test_made_up_documents_are_the_same_in_every_pass() -> None:
    with notes(50, classes=5) as documents:
        assert list(documents) == list(documents)
        assert {document.label for document in documents} == {"0", "1", "2", "3", "4"}


@pytest.mark.soak
def test_a_large_site_is_read_in_parts_and_trained_with_two_small_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from benchmarks.studies import site
    from sottovoce.sources.parting import stretches

    monkeypatch.setattr(stretches, "SMALLEST_BYTES", 10_000)
    monkeypatch.setattr(site, "_FEW", 300)
    facts, rows = site.measure(site.LargeSite(500, 16, 1), lambda _: None)
    assert [row["step"] for row in rows] == ["list", "rehearse", "train", "all"]
    assert facts["labels_right_of_200"] > 150


@pytest.mark.parametrize("axis", AXES, ids=lambda axis: axis.name)
def test_the_work_of_every_axis_runs(axis: GrowthAxis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "SMALL", 300)
    axis.work(min(*axis.sizes, 3) if axis.name in {"peers", "workers", "classes"} else 300)


@pytest.mark.soak
def test_the_command_measures_in_processes_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks.growth_command import growth as command

    monkeypatch.setattr(growth, "AXES", (AXES[3].upto(10),))
    command(None, 10**4, 512, 10, tmp_path, as_json=True)
    parsed = json.loads(capsys.readouterr().out)
    assert [row["size"] for row in parsed["rows"][:-1]] == [3, 10]
    assert (tmp_path / "growth-peers.svg").read_text(encoding="utf-8").startswith("<svg")
