"""What a terminal of 80 columns shows: lines break between words, and a long card can be read."""

import io
import os
import re
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from sottovoce.cli import consent
from sottovoce.cli.commands import serve
from sottovoce.cli.commands.status import _show_run, _show_seats
from sottovoce.cli.terminal import screen
from sottovoce.cli.terminal.evaluation_table import show_evaluation
from sottovoce.cli.terminal.screen import folded
from sottovoce.cli.terminal.watching import Watch
from sottovoce.node.events import Enrolled
from sottovoce.node.memberships import SeatStatus, StudyStatus
from sottovoce.study.evaluations.figures import Evaluation
from sottovoce.study.evaluations.roc import Roc
from sottovoce.text.labels import Labels

WAITS = (
    "r6m6zevlhqwj3hyz: coordinator: waits for north, member-north, harbour, member-harbour, "
    "stanmore, member-stanmore (enrolment) until 2026-11-24 22:21:06 UTC"
)


def test_long_lines_break_between_words() -> None:
    lines = folded(f"{WAITS}\n\n    {WAITS}", 80).splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(" ".join(lines).split()) == f"{WAITS} {WAITS}"
    assert {line[:4] for line in lines[-3:]} == {"    "}


def test_a_command_stays_on_one_line() -> None:
    hint = f"hint: sottovoce join --data {'folder/' * 20}notes.csv --label urgency"
    assert folded(hint, 80) == hint
    command = "`sottovoce join --study r6m6zevlhqwj3hyz --home elsewhere`"
    said = folded(f"the study begins when everybody has come, and {command} continues", 80)
    assert command in said
    assert "\n" in said


def test_a_question_keeps_its_place_for_the_answer() -> None:
    assert folded("word " * 30 + "[y/N]: ", 80).endswith("[y/N]: ")


@pytest.mark.parametrize(
    ("environment", "installed", "shown"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"LESS": "-FRX"}, True, True),
        ({"LESS": "-i"}, True, False),
        ({"PAGER": "more"}, True, False),
    ],
)
def test_styles_go_to_a_pager_that_draws_them(
    environment: dict[str, str], *, installed: bool, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LESS", "PAGER", "MANPAGER"):
        # Set first, so that what the function sets is taken away afterwards.
        monkeypatch.setenv(name, "")
        del os.environ[name]
    os.environ.update(environment)
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/less" if installed else None)
    assert consent._pager_shows_styles() is shown


@pytest.mark.parametrize(
    ("addresses", "host"),
    [
        ([], "0.0.0.0"),  # noqa: S104
        (["https://127.0.0.1:8443"], "127.0.0.1"),
        (["https://127.0.0.1:8443", "https://cate.example:8443"], "0.0.0.0"),  # noqa: S104
    ],
)
def test_serve_listens_where_the_invitations_say(
    addresses: list[str], host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Named:
        def __init__(self, address: str) -> None:
            self.address = address

    results = [Named(address) for address in addresses]
    monkeypatch.setattr("sottovoce.node.coordinator.serving.registries", lambda _: results)
    assert serve._host(None) == host  # type: ignore[arg-type]


def test_a_moment_stays_on_one_line() -> None:
    lines = folded(f"{WAITS} and more", 80).splitlines()
    assert any("2026-11-24 22:21:06 UTC" in line for line in lines)


@pytest.mark.parametrize("pages", [True, False])
def test_who_answered_beforehand_waits_for_no_pager(
    pages: bool,  # noqa: FBT001 - a parameter of the test
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Card:
        def markdown(self) -> str:
            return "line\n\n" * 100

    class Paging(Console):
        def pager(self, **_: object) -> nullcontext[None]:  # type: ignore[override]
            paged.append(True)
            return nullcontext()

    paged: list[bool] = []
    console = Paging(file=io.StringIO(), force_terminal=True, width=80, height=24)
    monkeypatch.setattr("sottovoce.cli.terminal.screen.console", lambda: console)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    consent.show_card(Card(), pages=pages)  # type: ignore[arg-type]
    assert bool(paged) is pages


def shown_table(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    name = "urgency of clinical notes in three hospitals of the north and one of the harbour"
    screen.table(("study", "name", "as"), [("ogw5zqjidpyhcmw2", name, "north, member-north")])
    return capsys.readouterr().out.splitlines()


def test_a_table_breaks_between_words_where_the_terminal_is_narrow(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown_table(80, monkeypatch, capsys)
    assert max(map(len, lines)) <= 80
    assert len(lines) > 3
    words = {word for line in lines for word in line.split()}
    assert {"ogw5zqjidpyhcmw2", "hospitals", "harbour", "member-north"} <= words
    assert len(shown_table(200, monkeypatch, capsys)) == 3


def test_a_word_is_never_broken_however_narrow_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {word for line in shown_table(20, monkeypatch, capsys) for word in line.split()}
    assert {"ogw5zqjidpyhcmw2", "hospitals", "harbour", "member-north"} <= words


def test_lines_of_a_server_name_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    def status(study: str, name: str) -> StudyStatus:
        return StudyStatus(study, name, "enrolment", 0, (), (), "", ())

    known = [status("s-1", "spam"), status("s-2", "urgency"), status("s-3", "urgency")]
    monkeypatch.setattr("sottovoce.node.coordinator.study_statuses.studies", lambda _: known)
    named = serve.StudyNames(None)  # type: ignore[arg-type]
    assert [named("s-1"), named("s-2"), named("s-4")] == ["spam", "urgency (s-2)", "s-4"]
    shown = io.StringIO()
    console = Console(file=shown, width=80)
    Watch(console=console, study_name=named).on_event(Enrolled("s-1", "north"))
    assert shown.getvalue().endswith("Z spam: north: enrolled\n")


@pytest.mark.parametrize(("phase", "goes_on"), [("finished", True), ("closed", False)])
def test_status_offers_no_words_and_no_budget_of_a_study_that_is_over(
    phase: str, capsys: pytest.CaptureFixture[str], *, goes_on: bool
) -> None:
    words = ("scotland", "revival", "flagpole", "insincere")
    _show_run(StudyStatus("s-1", "spam", phase, 0, (), (), "", (), words=words))
    _show_seats([SeatStatus("s-1", "north", phase, 0, 12, labels_left=500)], {"s-1": "spam"})
    shown = capsys.readouterr().out
    assert ("scotland revival" in shown) is goes_on
    assert ("500 labels left" in shown) is goes_on


@pytest.mark.parametrize("count", [3, 8, 20])
def test_an_evaluation_of_many_classes_fits_in_eighty_columns(count: int) -> None:
    names = tuple(f"disease of the organ number {place}" for place in range(count))
    counts = np.diag(np.full(count, 40)) + np.eye(count, k=1, dtype=np.int64) * 1234
    counts[-1, 0] = 2
    evaluation = Evaluation.of(Labels(names), counts, ("north", "harbour", "valley"), fewest=3)
    curve = Roc((0.0,), (0.0, 0.5, 1.0), (0.0, 1.0, 1.0))
    evaluation = replace(evaluation, roc=dict.fromkeys(names[1:], curve))
    file = io.StringIO()
    show_evaluation("all sites", evaluation, Console(file=file, width=80))
    lines = file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(re.sub("[│┃]", " ", line) for line in lines).split())
    assert "accuracy" in text
    assert {"0.50", "to", "1.00"} <= set(text.split()), "the area under the curve"
    assert "under 3" in text
    assert ("mistakes under 3 are hidden" in text) == (count > 3)
    # A name may go over two lines of its cell; no word of it is broken, and no two look alike.
    words = set(text.split())
    assert {"disease", "organ", "number", *map(str, range(count))} <= words


def test_a_class_of_which_no_point_may_be_shown_has_no_area() -> None:
    """Of a ROC without a point the area would be .5 whatever the model does."""
    evaluation = Evaluation.of(Labels(("ham", "spam")), np.diag([96, 4]), ("a", "b", "c"), fewest=3)
    evaluation = replace(evaluation, roc={"spam": Roc((), (0.0, 1.0), (0.0, 1.0))})
    file = io.StringIO()
    show_evaluation("all sites", evaluation, Console(file=file, width=80))
    assert "–" in file.getvalue()
    assert "0.500" not in file.getvalue()
