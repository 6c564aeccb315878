"""A command that a message proposes can be typed as it stands, also by who gave `--home`."""

import ast
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

import sottovoce
from harness.processes.parsing import commands_in
from sottovoce import cli
from sottovoce.cli import program, shell_words
from sottovoce.cli.consent import asked
from sottovoce.errors import InputError
from sottovoce.hints import Hint, ShellCommand


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    shell_words.propose_commands_of(program.whole_program)
    yield
    shell_words.note_home(None)


def test_without_the_option_nothing_is_added() -> None:
    shell_words.note_home(None)
    assert shell_words.placed(ShellCommand("sottovoce status")) == "sottovoce status"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (ShellCommand("sottovoce status"), "sottovoce status --home 'my site'"),
        (
            Hint("`", ShellCommand("sottovoce join --study a1"), "` continues"),
            "`sottovoce join --home 'my site' --study a1` continues",
        ),
        (
            ShellCommand("sottovoce study invite NAME"),
            "sottovoce study invite --home 'my site' NAME",
        ),
        (ShellCommand("sottovoce serve --home other"), "sottovoce serve --home other"),
        (ShellCommand("sottovoce data inspect FILE"), "sottovoce data inspect FILE"),
        ("sottovoce status is quiet", "sottovoce status is quiet"),
    ],
)
def test_commands_name_the_folder_that_was_given(said: str, shown: str) -> None:
    shell_words.note_home(Path("my site"))
    assert shell_words.placed(said) == shown


def test_every_command_in_a_hint_is_one_as_data() -> None:
    """No hint is searched for commands, so one that is plain words would lack --home."""
    plain = []
    for path in sorted(Path(sottovoce.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "hints":
                plain += [(path.name, text) for text in _words_in(node.value) if commands_in(text)]
    assert plain == []


def _words_in(node: ast.AST) -> Iterator[str]:
    """Every text below a node that is no command as data."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "ShellCommand":
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for child in ast.iter_child_nodes(node):
        yield from _words_in(child)


def test_a_hint_works_where_it_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "north"
    monkeypatch.setattr("sys.argv", ["sottovoce", "status", "--study", "a1", "--home", str(home)])
    assert cli.run(cli.app, name="sottovoce") == 1
    assert f"hint: sottovoce join --home {home} INVITATION" in capsys.readouterr().err


def test_what_is_typed_at_the_coordinator_gets_no_home_of_this_site() -> None:
    """Such a command stands in a hint without `sottovoce`, so that no --home is put into it."""
    root = Path(shell_words.__file__).parents[1]
    said = re.compile(r'"(ask the coordinator[^"]*)"')
    hints = [hint for path in root.rglob("*.py") for hint in said.findall(path.read_text("utf-8"))]
    assert any("`study invite NAME` there" in hint for hint in hints)
    assert [hint for hint in hints if "sottovoce " in hint] == []


def test_a_command_without_yes_does_not_propose_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", StringIO(""))
    with pytest.raises(InputError, match="nobody is here to answer") as caught:
        asked("Does valley read the same words to you?", yes=None)
    assert "--yes" not in caught.value.hints[0]
