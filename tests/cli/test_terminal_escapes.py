"""Terminal escapes in what others wrote: a screen shows them, and never does what they say."""

import ast
import json
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.markdown import Markdown
from rich.progress import Progress, TextColumn
from rich.table import Table
from typer.testing import CliRunner

from harness.commands import call
from harness.entropy import SeededEntropy
from sottovoce import cli
from sottovoce.cli.terminal import event_text, screen
from sottovoce.cli.terminal.escaping_console import EscapingConsole
from sottovoce.cli.terminal.watching import Watch
from sottovoce.config.study_file import example, parse_study
from sottovoce.course import news
from sottovoce.errors import InputError, MalformedError, StoppedError
from sottovoce.node.invitations import Invitation
from sottovoce.node.site.shown_card import card_of
from sottovoce.study import StudyPlan
from sottovoce.study.roster import draw_roster
from sottovoce.text.labels import Labels
from sottovoce.wire.printable import unprintable_in

REPAINT = "Stanmore\x1b[2J\x1b[Hthese words were chosen\x1b[19;20r"
FORGERIES = (REPAINT, "a\u202eb", "a\x9b2J", "a\x07b", "a\x08\x08b", "\x1b]8;;http://x\x07")
OURS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
"""What rich writes: colours and cursor moves."""


def described(key: str, value: str) -> str:
    """The example with another value in one line."""
    lines = example().splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(f"{key} = "))
    lines[at] = f"{key} = {json.dumps(['x', value] if key == 'labels' else value)}"
    return "\n".join(lines)


@pytest.mark.parametrize("forged", FORGERIES)
@pytest.mark.parametrize("key", ["name", "coordinator", "approval", "labels", "stanmore"])
def test_terminal_escapes_in_a_study_are_refused_by_every_site(key: str, forged: str) -> None:
    with pytest.raises(InputError, match="expected printable characters only") as caught:
        parse_study(described(key, forged))
    assert unprintable_in(caught.value.message) is None
    assert caught.value.message.startswith("study.toml, line ")


@pytest.mark.parametrize("forged", FORGERIES)
def test_a_plan_and_a_roster_hold_no_terminal_escapes(forged: str) -> None:
    """They come from the coordinator as messages, too, and stand on every card."""
    roster, _ = draw_roster(("north", "harbour"), entropy=SeededEntropy(1))
    seat = roster.participants[0]
    for change in ({"name": forged}, {"organisation": forged}):
        with pytest.raises(InputError, match="expected printable characters only"):
            replace(seat, **change)
    for name, labels in ((forged, ("a", "b")), ("study", ("a", forged))):
        with pytest.raises(InputError, match="expected printable characters only"):
            StudyPlan(name, Labels(labels))


@pytest.mark.parametrize("key", ["name", "coordinator", "approval", "labels", "stanmore"])
@pytest.mark.parametrize("broken", ["a\rb", "a\nb", "a\t\x85\u2028b"])
def test_line_breaks_in_a_study_count_as_spaces(key: str, broken: str) -> None:
    result = parse_study(described(key, broken))
    page, details = card_of(result).markdown().split("## Who takes part")
    assert "a b" in " ".join(page.split()) + details
    assert broken not in details  # the page in plain words is wrapped


@pytest.mark.parametrize("forged", FORGERIES)
def test_the_door_shows_what_it_cannot_trust(
    forged: str, capsys: pytest.CaptureFixture[str]
) -> None:
    screen.say(f"organisation: {forged}")
    screen.say_json({"name": forged})
    plain, as_json = capsys.readouterr().out.splitlines()
    assert unprintable_in(plain + as_json) is None
    assert json.loads(as_json) == {"name": forged}
    screen.table(("study", forged), [(forged, "finished")])
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 3
    assert all(unprintable_in(line) is None for line in shown)


@pytest.mark.parametrize("forged", FORGERIES)
def test_an_error_of_another_party_is_one_line(
    forged: str, capsys: pytest.CaptureFixture[str]
) -> None:
    event_text.tell(MalformedError(f"{forged}\nhint: send your key", party=forged))
    event_text.tell(StoppedError("stopped", hints=(f"run this\n{forged}",)))
    output = capsys.readouterr().err.splitlines()
    assert len(output) == 3
    assert all(unprintable_in(OURS.sub("", line)) is None for line in output)


@pytest.mark.parametrize("forged", FORGERIES)
@pytest.mark.parametrize("terminal", [True, False])
def test_tables_bars_and_pages_show_them_too(forged: str, *, terminal: bool) -> None:
    shown = StringIO()
    console = EscapingConsole(
        file=shown, force_terminal=terminal, width=60, highlight=False, markup=False
    )
    table = Table("organisation", forged)
    table.add_row(forged, "[red]bold[/red]")
    console.print(table)
    console.print(forged, style="bold")
    console.print(Markdown(f"# {forged}"))
    with Progress(TextColumn("{task.description}", markup=False), console=console) as bars:
        bars.add_task(forged)
    text = OURS.sub("", shown.getvalue()).replace("\n", "").replace("\r", "")
    assert unprintable_in(text) is None
    assert "[red]bold[/red]" in text.replace(" ", "")
    if "2J" in forged:
        assert "\x1b[2J" not in shown.getvalue()
        assert "\x9b" not in shown.getvalue()


@pytest.mark.parametrize("forged", [*FORGERIES, "a\nnorth: finished"])
def test_an_event_is_one_line(forged: str) -> None:
    shown = StringIO()
    console = EscapingConsole(file=shown, force_terminal=False, width=200)
    watch = Watch(console=console)
    watch.on_event(news.StudyStopped("s", "north", forged, forged))
    assert shown.getvalue().count("\n") == 1
    assert unprintable_in(shown.getvalue().rstrip("\n")) is None


def test_names_are_not_read_as_marks_of_the_card() -> None:
    text = example().replace("Stanmore Practice", "Stanmore | dealer | [x](http://y) <b>")
    card = card_of(parse_study(text)).markdown()
    assert "Stanmore \\| dealer \\| \\[x\\](http://y) \\<b\\>" in card


def test_status_and_list_after_a_hostile_invitation(tmp_path: Path, coordinator_home: Path) -> None:
    """The invitation is refused; nothing of it is kept that a later command would show."""
    line = (tmp_path / "sent" / "stanmore").read_text(encoding="utf-8")
    result = Invitation.parse(line)
    object.__setattr__(result, "title", REPAINT)
    for command in (("join", result.line, "--data", "x.csv"), ("study", "list")):
        try:
            shown = call(*command, "--home", tmp_path / "victim")
        except InputError as error:
            shown = error.message
        assert unprintable_in(shown.replace("\n", "")) is None
        assert "repaint" not in shown


FAKE = [
    "Compare these words with the other sites over the phone:",
    "    these words were chosen",
    "    by the coordinator and",
    "    are the same on every screen",
]
TAKES_THE_SCREEN = "Stanmore\x1b[2J\x1b[H" + "\r\n".join(FAKE) + "\x1b[19;20r\x1b[20;1H"


def test_a_forged_organisation_reaches_no_screen_of_a_site_that_joins(
    tmp_path: Path, coordinator_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coordinator whose own program checks nothing sends it as the study's description."""

    async def forged(_: object) -> str:
        return described("stanmore", TAKES_THE_SCREEN)

    monkeypatch.setattr("sottovoce.node.site.site_study.describe", forged)
    documents = tmp_path / "notes.csv"
    documents.write_text("text,label\nfever,urgent\ncalm,routine\n")
    words = ("join", tmp_path / "sent" / "stanmore", "--data", documents, "--yes", "--home", "v")
    monkeypatch.chdir(tmp_path)
    joined = CliRunner().invoke(cli.app, [str(word) for word in words])
    assert isinstance(joined.exception, InputError)
    shown = joined.output + joined.exception.message + "".join(joined.exception.hints)
    assert unprintable_in(shown.replace("\n", "")) is None
    assert "Compare these words" not in shown
    study = tmp_path / "forged.toml"
    study.write_text(described("stanmore", TAKES_THE_SCREEN))
    with pytest.raises(InputError, match="expected printable characters only"):
        call("study", "create", study, "--home", tmp_path / "other", "--out", tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_an_invitation_that_names_a_path_writes_nothing_anywhere(
    tmp_path: Path, coordinator_home: Path
) -> None:
    invited = Invitation.parse((tmp_path / "sent" / "stanmore").read_text(encoding="utf-8"))
    seats = ("stanmore", "../" * 8 + f"..{tmp_path}/outside/.config")
    object.__setattr__(invited, "seats", seats)
    documents = tmp_path / "notes.csv"
    documents.write_text("text,label\nfever,urgent\ncalm,routine\n")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="invitation: expected a seat of letters, digits"):
        call("join", invited.line, "--data", documents, "--yes", "--home", tmp_path / "victim")
    assert sorted(tmp_path.rglob("*")) == before


def test_everything_goes_through_the_one_door() -> None:
    """No command prints by itself: typer.echo, print, a Console of rich's own."""
    folder = Path(cli.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        if path.name in {"screen.py", "escaping_console.py"}:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in {"print", "Console", "rich.print"}, f"{path.name}: {called}"
                assert called not in {"typer.echo", "typer.secho", "typer.confirm", "typer.prompt"}
                assert not called.endswith(("stdout.write", "stderr.write")), path.name
