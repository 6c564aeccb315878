"""Every option can stand in sottovoce.toml and in the environment, but for those named here."""

from copy import copy
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from sottovoce import cli
from sottovoce.cli.home import ELSEWHERE, setting_of

Called = dict[str, Any]


def leaves(command: Any, *path: str) -> list[tuple[tuple[str, ...], Any]]:
    below = getattr(command, "commands", {})
    if not below:
        return [(path, command)]
    return [leaf for name, inner in below.items() for leaf in leaves(inner, *path, name)]


TREE: Any = get_command(cli.app)
LEAVES = leaves(TREE)
OPTIONS = [
    (path, option)
    for path, command in LEAVES
    for option in command.params
    if option.param_type_name == "option"
]


def other_value(option: Any) -> Any:
    """A value that the option may have, and has not unless told."""
    default = option.default
    if isinstance(default, bool):
        return not default
    if isinstance(default, Enum):
        return next(member.value for member in type(default) if member is not default)
    if isinstance(default, int | float):
        return default + 1
    one_or_many = (["one thing", "another"], [9, 8]) if option.multiple else ("said elsewhere", 9)
    return next(shown for shown in (*one_or_many, "rados") if takes(option, shown))


def takes(option: Any, value: Any) -> bool:
    alone = copy(option)
    alone.callback = None
    try:
        alone.process_value(TREE.make_context("sottovoce", ["status"]), value)
    except typer.BadParameter:
        return False
    return True


def written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return str(value) if isinstance(value, int | float) else f'"{value}"'


def exported(value: Any) -> str:
    return " ".join(f"'{item}'" for item in value) if isinstance(value, list) else str(value)


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """What a command is called with, without its required words."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("SOTTOVOCE_HOME", str(home))

    def call(path: tuple[str, ...], command: Any) -> Called:
        seen: Called = {}
        monkeypatch.setattr(command, "callback", lambda **given: seen.update(given))
        for param in command.params:
            # What a command needs is not the question here.
            monkeypatch.setattr(param, "required", False)
        TREE.main(list(path), prog_name="sottovoce", standalone_mode=False)
        return seen

    return call


def plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    value = getattr(value, "value", value)
    return str(value) if isinstance(value, Path) else value


def test_every_option_can_stand_in_the_settings(called: Any, tmp_path: Path) -> None:
    settings = tmp_path / "home" / "sottovoce.toml"
    for path, command in LEAVES:
        options = [
            parameter
            for where, parameter in OPTIONS
            if where == path and parameter.name not in ELSEWHERE
        ]
        lines = [f"{setting_of(option)} = {written(other_value(option))}" for option in options]
        settings.write_text(f"[{'.'.join(path)}]\n" + "\n".join(lines), encoding="utf-8")
        seen = called(path, command)
        for option in options:
            assert plain(seen[option.name]) == other_value(option), (path, option.opts)


def test_every_option_can_stand_in_the_environment(
    called: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, command in LEAVES:
        options = [
            parameter
            for where, parameter in OPTIONS
            if where == path and parameter.name not in ELSEWHERE
        ]
        for option in options:
            name = "_".join(("SOTTOVOCE", *path, setting_of(option))).upper().replace("-", "_")
            monkeypatch.setenv(name, exported(other_value(option)))
        seen = called(path, command)
        for parameter in options:
            assert plain(seen[parameter.name]) == other_value(parameter), (path, parameter.opts)


def test_what_cannot_be_set_is_a_secret_or_no_setting() -> None:
    options = (
        {parameter.name for _, parameter in OPTIONS}
        | {param.name for param in TREE.params}
        | {"help", "_"}
    )
    options = (options - {"_"}) | {"version"}
    assert set(ELSEWHERE) <= options
    assert all(ELSEWHERE.values())
    assert {name for name in options if "passphrase" in name} <= set(ELSEWHERE)


def test_the_environment_stands_above_the_settings_also_without_a_site(
    called: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = "[demo]\ndocuments = 400\nfeatures = 99\n"
    (tmp_path / "home" / "sottovoce.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("SOTTOVOCE_DEMO_FEATURES", "77")
    seen = called(("demo",), TREE.commands["demo"])
    assert (seen["documents"], seen["features"]) == (400, 77)


def test_every_command_answers_scripts() -> None:
    """None speaks to people alone."""
    options = {
        path: {setting_of(parameter) for where, parameter in OPTIONS if where == path}
        for path, _ in LEAVES
    }
    assert [path for path, held in options.items() if "json" not in held] == []
