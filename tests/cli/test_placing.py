"""A command that a message proposes can be typed as it stands, also by who gave `--home`."""

import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

from sottovoce import cli
from sottovoce.cli import program, shell_words
from sottovoce.cli.consent import asked
from sottovoce.errors import InputError


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    shell_words.propose_commands_of(program.whole_program)
    yield
    shell_words.note_home(None)


def test_without_the_option_nothing_is_added() -> None:
    shell_words.note_home(None)
    assert shell_words.placed("sottovoce status") == "sottovoce status"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("sottovoce status", "sottovoce status --home 'my site'"),
        (
            "`sottovoce join --study a1` continues",
            "`sottovoce join --home 'my site' --study a1` continues",
        ),
        ("sottovoce study invite NAME", "sottovoce study invite --home 'my site' NAME"),
        ("sottovoce join, until it is over", "sottovoce join --home 'my site', until it is over"),
        ("sottovoce join again", "sottovoce join --home 'my site' again"),
        ("sottovoce serve --home other", "sottovoce serve --home other"),
        ("sottovoce data inspect FILE", "sottovoce data inspect FILE"),
        ("sottovoce is quiet", "sottovoce is quiet"),
    ],
)
def test_commands_name_the_folder_that_was_given(said: str, shown: str) -> None:
    shell_words.note_home(Path("my site"))
    assert shell_words.placed(said) == shown


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
