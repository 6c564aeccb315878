"""What the page about the paper says of studies between machines: written, drawn, and true."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from sottovoce.cli.program import app
from sottovoce.config.study_file import parse_study
from sottovoce.errors import InputError

ROOT = Path(__file__).parents[2]


def made() -> Any:
    spec = importlib.util.spec_from_file_location("make_paper", ROOT / "docs" / "make_paper.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAPER = made()


def test_the_page_is_what_the_script_writes() -> None:
    page = PAPER.PAGE.read_text(encoding="utf-8")
    assert PAPER.written(page) == page
    assert "memory only" not in PAPER.table()


@pytest.mark.parametrize("figure", PAPER.FIGURES, ids=lambda figure: figure.name)
def test_the_figures_are_what_the_script_draws(figure: Any) -> None:
    held = (PAPER.HERE / f"{figure.name}.svg").read_text(encoding="utf-8")
    assert held == figure.drawn()
    assert f"({figure.name}.svg)" in PAPER.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("row", PAPER.ROWS, ids=lambda row: row.element)
def test_a_small_study_with_the_setting_is_what_the_row_says(row: Any) -> None:
    assert row.holds(parse_study(row.text).rehearsed())


@pytest.mark.parametrize("row", PAPER.ROWS, ids=lambda row: row.element)
def test_a_row_speaks_of_settings_and_commands_that_exist(row: Any) -> None:
    for setting in re.findall(r"`([a-z_]+) = ", row.setting):
        assert f"{setting} = " in row.text, setting
    for command in re.findall(r"`sottovoce ([a-z]+)", row.setting):
        assert command in command_names(), command


def command_names() -> set[str]:
    import typer

    return set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def test_what_the_settings_turn_on_is_off_without_them() -> None:
    """No row is true of any study whatever."""
    plain = parse_study(PAPER.ROWS[0].text).rehearsed()

    def true_of(row: Any) -> bool:
        try:
            return bool(row.holds(plain))
        except InputError:
            return False

    always = {"Protocol 3 without a remote part", PAPER.ROWS[0].element, "SM.Add"}
    assert {row.element for row in PAPER.ROWS if true_of(row)} <= always
