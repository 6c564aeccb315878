"""What people and scripts see while a study runs, and how a person lets messages go."""

import io
import json
import re
import stat
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from rich.console import Console
from rich.progress import Progress

from sottovoce.cli import approval_prompt
from sottovoce.cli.approval_prompt import PersonGate, gate_of
from sottovoce.cli.consent import asked
from sottovoce.cli.terminal.watching import Amount, TimeLeft, Watch, as_line, in_words
from sottovoce.course import news
from sottovoce.course.stage_progress import StageProgress
from sottovoce.errors import InputError
from sottovoce.node import events
from sottovoce.node.approval import LetterQuestion, OpenGate, Request, ScriptGate

MOVED = events.Moved("s-1", "north", "training", 3, 2_000_000)
EVENTS = [
    events.Listening("https://a:1", b"\1", ("s-1",)),
    events.StandingBy("coordinator"),
    events.Enrolled("s-1", "north"),
    news.SeatWaiting("s-1", "north", "enrolment", ("harbour",), 60.0),
    events.RosterKnown("s-1", "north", ("north",), ("aardvark",)),
    news.StageBegan("s-1", "north", "training", 2, ("north", "harbour")),
    MOVED,
    news.StageEnded("s-1", "north", "training", 2, 1.25),
    events.SeatPartEnded("s-1", "north", "query"),
    news.AttemptFailed("s-1", "north", "training", 1, "silence", ("harbour",)),
    events.ModelStored("s-1", "north", Path("model")),
    events.JournalDeleted("s-1", "north"),
    news.StudyFinished("s-1", "north"),
    news.StudyStopped("s-1", "north", "too few", "harbour"),
    news.StudyClosed("s-1", "north"),
    events.SeatLost("s-1", "member-north", "its disk was lost"),
    events.SeatWithdrawn("s-1", "north"),
    news.QueryServed("s-1", "dealer", "north", 4),
    news.Refused("s-1", "evaluator", "asked again", "coordinator"),
    news.QueryPriced("s-1", "north", 3, 48, 400),
    news.QueryGoesOn("s-1", "north", 4),
    news.QueryGivenUp("s-1", "north", 4, 12),
    news.QueryWithoutDealer("s-1", "north", 5, "dealer"),
    events.EvaluationHeld("s-1", "north", ("north", "harbour"), 0.9, "{}"),
    events.LineLost("s-1", "north", "refused"),
    events.LineBack("s-1", "north"),
    events.TotalsPublished("s-1", "north", 1_610, 2_048, 960, (960, 0), ("north",)),
]


def test_every_event_has_words_or_a_reason_for_none() -> None:
    assert {type(event) for event in EVENTS} == set(get_args(events.Event))
    # The bar, its end, and the words that consent shows.
    silent = (events.Moved, events.SeatPartEnded, events.RosterKnown)
    for event in EVENTS:
        assert bool(in_words(event)) != isinstance(event, silent), event
    waits = "north: waits for harbour (to join) until 1970-01-01 00:01:00 UTC"
    assert in_words(EVENTS[3]) == waits
    endless = replace(EVENTS[3], until=0.0)
    assert in_words(endless) == "north: waits for harbour (to join) for as long as it takes"
    assert "attempt 2" in in_words(EVENTS[5])
    assert "because of harbour" in in_words(EVENTS[13])


def test_who_watches_hears_how_many_words_were_chosen_and_how_many_classes_are_rare() -> None:
    event = EVENTS[-1]
    rows = "up to 960 rows to train with at all sites"
    words = f"north: 1,610 words chosen, of at most 2,048; {rows}"
    rare = "1 class with too few is left out (`sottovoce study show` says which)"
    assert in_words(event) == f"{words}; {rare}"
    joined = in_words(replace(event, by_class=(960, 0, 0), joined=True))
    assert "; 2 classes with too few are joined (" in joined
    assert in_words(replace(event, by_class=(900, 60))) == words
    assert in_words(replace(event, words=0, most=0, by_class=(900, 60))) == f"north: {rows}"


def test_every_event_is_a_json_line() -> None:
    for event in EVENTS:
        parsed = json.loads(as_line(event))
        assert parsed["event"] == as_kebab(type(event).__name__)
        assert parsed["at"] > 0


def as_kebab(name: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip(
        "-"
    )


def watch(*, terminal: bool, **settings: object) -> tuple[Watch, io.StringIO]:
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=terminal, width=100, highlight=False)
    return Watch(console=console, **settings), shown


def test_plain_lines_without_a_terminal() -> None:
    now = [0.0]
    watching, shown = watch(terminal=False, clock=lambda: now[0])
    with watching:
        for moment in (0.0, 5.0, 11.0, 12.0, 25.0):
            now[0] = moment
            watching.on_event(MOVED)
        watching.on_event(events.Enrolled("s", "[north]"))
    stamp, lines = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ "), shown.getvalue().splitlines()
    assert all(stamp.match(line) for line in lines), "a log says when"
    assert [stamp.sub("", line) for line in lines] == [
        "north: training, 3 letters, 2.0 MB",
        "north: training, 3 letters, 2.0 MB",
        "[north]: enrolled",
    ]


def test_a_bar_at_a_terminal() -> None:
    watching, shown = watch(terminal=True, expected={("north", "training"): 4_000_000})
    with watching:
        watching.on_event(MOVED)
        watching.on_event(events.Moved("s-1", "north", "training", 4, 9_000_000))
        watching.paused()
        watching.resumed()
        watching.on_event(EVENTS[7])
    assert "north: training" in shown.getvalue()
    assert "training done in 1.2 s" in shown.getvalue()


def test_a_bar_says_how_much_and_how_long() -> None:
    def beside(
        moved: int, expected: int, *, after: float, steps: tuple[int, ...] = ()
    ) -> list[str]:
        now = [0.0]
        bars, progress = Progress(get_time=lambda: now[0]), StageProgress(0.0, expected)
        bars.add_task("training", total=None, progress=progress)
        if moved:
            progress.note(events.Moved("s", "north", "training", 2, moved), 0.0)
        for left in steps:
            progress.note(events.Moved("s", "north", "training", 2, moved, left), now[0])
            now[0] = after
        now[0] = after
        return [column.render(bars.tasks[0]).plain for column in (Amount(), TimeLeft())]

    assert beside(0, 0, after=7.0) == ["", "for 0:07"]
    assert beside(1_500, 0, after=70.0) == ["1.5 kB, 2 letters", "for 1:10"]
    assert beside(1_000, 4_000_000, after=5.0) == ["1.0 kB of 4.0 MB", "for 0:05"]
    assert beside(1_000_000, 4_000_000, after=5.0) == ["1.0 MB of 4.0 MB", "0:15 left"]
    assert beside(1_000_000, 4_000_000, after=3600.0)[1] == "3:00:00 left"
    assert beside(4_000_000, 4_000_000, after=5.0) == ["4.0 MB, 2 letters", "for 0:05"]
    # Once steps are counted, they say more than bytes do.
    assert beside(9, 1_000, after=4.0, steps=(80, 60)) == ["step 21 of 80", "0:12 left"]


def test_the_bar_of_a_query_ends_with_it() -> None:
    watching, _ = watch(terminal=True)
    with watching:
        watching.on_event(events.Moved("s", "member-north", "query", 3, 2_000))
        assert watching._tasks
        watching.on_event(events.SeatPartEnded("s", "member-north", "query"))
        assert watching._tasks == {}


def test_the_bars_of_a_site_fit_in_eighty_columns() -> None:
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=80, highlight=False)
    watching = Watch(console=console, ends=False, expected={("stanmore", "dictionary"): 4_200_000})
    with watching:
        watching.on_event(events.Enrolled("s", "stanmore"))
        watching.on_event(events.Enrolled("s", "evaluator"))
        watching._bars.refresh()
        for seat in ("stanmore", "evaluator"):
            watching.on_event(news.StageBegan("s", seat, "dictionary", 1, ("north",)))
            watching.on_event(events.Moved("s", seat, "dictionary", 1_276, 2_345_678))
        longest = ("member-stanmore", "contributions")
        watching.on_event(news.StageBegan("s", *longest, 1, ("north",)))
        watching.on_event(events.Moved("s", *longest, 1_276, 412_345_678))
        watching._bars.refresh()
        watching.on_event(news.StudyStopped("s", "stanmore", "too few", ""))
        watching.on_event(news.StudyStopped("s", "evaluator", "too few", ""))
        watching.on_event(news.StudyStopped("s", "member-stanmore", "too few", ""))
        assert watching._tasks == {}
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue()).replace("\r", "\n").split("\n")
    assert sum(line.startswith("waits until everybody has joined") for line in lines) >= 1
    assert not any(line.startswith("evaluator: waits") for line in lines)
    assert any(re.match("stanmore: dictionary .* 2.3 MB of 4.2 MB .* left", line) for line in lines)
    assert any(re.match("evaluator: dictionary .* 2.3 MB, 1,276 letters", line) for line in lines)
    assert any(re.match("member-stanmore: contributions .* 1,276 letters", line) for line in lines)
    assert max(map(len, map(str.rstrip, lines))) <= 80


def test_scripts_get_lines_or_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    for settings, count in (({"as_json": True}, 2), ({"quiet": True}, 0)):
        watching, shown = watch(terminal=True, **settings)
        with watching:
            watching.on_event(MOVED)
            watching.on_event(EVENTS[2])
        assert shown.getvalue() == ""
        assert len(capsys.readouterr().out.splitlines()) == count


def test_a_study_that_stops_is_told_once_by_the_command() -> None:
    for ends, count in ((True, 1), (False, 0)):
        watching, shown = watch(terminal=False, ends=ends)
        watching.on_event(EVENTS[13])
        assert shown.getvalue().count("the study stopped: too few") == count


def test_a_question_takes_yes_no_and_no_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for typed, answer in (("y\n", True), ("Yes\n", True), ("\n", False), ("what\nno\n", False)):
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        assert asked("Take part?", yes=False) is answer
    assert "expected y or n" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert asked("Take part?", yes=True)
    with pytest.raises(InputError, match="'Take part\\?': nobody is here to answer") as caught:
        asked("Take part?", yes=False)
    assert "--yes" in caught.value.hints[0]


REQUEST = Request("s-1", "training", "masked-parts", "coordinator", 8, "ab" * 32, "C", "noise", "x")


def test_a_person_sees_what_wants_to_leave(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n\n"))
    watching, _ = watch(terminal=False)
    assert [PersonGate(watching).ask(LetterQuestion(REQUEST)) for _ in range(2)] == [True, False]
    output = capsys.readouterr().err
    for words in ("masked-parts to coordinator", "8 bytes", "seen by: C", "reveals: noise"):
        assert words in output


def test_who_lets_messages_go(tmp_path: Path) -> None:
    watching, _ = watch(terminal=False)
    assert isinstance(gate_of(None, watching), OpenGate)
    assert isinstance(gate_of("each", watching), approval_prompt.PersonGate)
    with pytest.raises(InputError, match="--approve: expected `each` or a program"):
        gate_of(str(tmp_path / "none"), watching)
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\ngrep -q masked-parts\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"expected a program, found .*which cannot be run"):
        gate_of(str(script), watching)
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    gate = gate_of(str(script), watching)
    assert isinstance(gate, ScriptGate)
    assert gate.ask(LetterQuestion(REQUEST))
