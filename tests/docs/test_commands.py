"""The page about commands says what the code does: events, errors, exit codes, words."""

import json
import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from harness.commands import call
from sottovoce.cli.terminal import event_text
from sottovoce.config.study_file import example
from sottovoce.course.phases import Phase
from sottovoce.errors import InputError
from sottovoce.node import events
from sottovoce.study.card.sizes import Size
from sottovoce.wire.tags import kebab

PAGE = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")


def rows(title: str) -> list[list[str]]:
    """The table below a heading."""
    part = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    lines = [line.strip("| ") for line in part.splitlines() if line.startswith("|")]
    return [re.split(r"\s*\|\s*", line) for line in lines[2:]]


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def test_every_event_stands_on_the_page_with_its_fields() -> None:
    said = {quoted(name)[0]: quoted(held) for name, held, _ in rows("Events")}
    real = {
        kebab(arg.__name__): [field.name for field in fields(arg)] for arg in get_args(events.Event)
    }
    assert said == real


def test_exit_codes_and_errors_stand_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    codes = {int(code) for code, _ in rows("How a command ends")}
    known = {
        event_text.OURS,
        event_text.USAGE,
        event_text.THEIRS,
        event_text.REFUSED,
        event_text.INTERRUPTED,
    }
    assert codes == {0, *known}
    event_text.note_json(asked=True)
    event_text.tell(InputError("x"))
    event_text.note_json(asked=False)
    real = json.loads(capsys.readouterr().err)
    (said,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert json.loads(said)["error"].keys() == real["error"].keys()


def test_phases_and_sizes_stand_on_the_page() -> None:
    words = PAGE.partition("`phase` is the same word everywhere:")[2].partition("\n\n")[0]
    assert quoted(words) == list(Phase)
    size = PAGE.partition("A size has")[2].partition("\n\n")[0]
    assert quoted(size) == [*(field.name for field in fields(Size)), "total"]


def test_results_are_those_of_the_page(tmp_path: Path) -> None:
    said = {name: quoted(held) for names, held in rows("Results") for name in quoted(names)}
    study, home = tmp_path / "study.toml", tmp_path / "home"
    study.write_text(example().replace("2048", "64"), encoding="utf-8")
    made = json.loads(call("study", "create", study, "--home", home, "--json"))
    assert list(made) == said["study create"][:4]
    made = json.loads(call("study", "invite", "north", "--home", home, "--out", tmp_path, "--json"))
    assert list(made) == said["study invite"][:4]
    held = set(made["invitations"]["north"])
    assert held == {"organisation", "seats", "expires", "invitation", "file"}
    assert held <= set(said["study invite"])
    (row,) = json.loads(call("study", "list", "--home", home, "--json"))
    assert list(row) == said["study list"]
    shown = json.loads(call("study", "show", "--home", home, "--json"))
    assert list(shown) == said["study show"]
    brought = {"study", "seats", "documents", "left_out"}
    assert set(said["join --dry-run"]) == {*brought, *shown} - {"evaluation", "sums", "chosen"}
    facts = json.loads(call("status", "--home", home, "--json"))
    assert list(facts) == said["status"]
    ordered = json.loads(call("study", "cancel", "--home", home, "--yes", "--json"))
    assert list(ordered) == said["study cancel"]


def test_the_settings_of_the_page_are_settings(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert tomllib.loads(text)["join"] == {"text": ["note"], "label": ["urgency"]}
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "sottovoce.toml").write_text(text, encoding="utf-8")
    assert "no study here" in call("study", "list", "--home", home)
