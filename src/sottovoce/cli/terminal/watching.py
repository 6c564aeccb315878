"""Shows the events of a running service: a bar on a terminal, plain lines or JSON elsewhere."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec
from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

from sottovoce.cli.terminal import screen
from sottovoce.cli.terminal.log_file import LogFile, stamped
from sottovoce.cli.terminal.screen import moment, names, waiting
from sottovoce.course import news
from sottovoce.course.stage_progress import StageProgress
from sottovoce.node import events
from sottovoce.wire.printable import escaped
from sottovoce.wire.tags import kebab

if TYPE_CHECKING:
    from sottovoce.node.events import Event

_ENROLMENT = ("", "waits until everybody has joined")
"""The bar that all seats of a site share before the first stage."""
_QUIET_SECONDS = 10.0
"""Seconds between two progress lines of a plain log."""
_DRAWN_A_SECOND = 2
"""Rich draws ten times a second, which costs 4 % of a core for as long as a study waits."""


@dataclass
class Watch:
    """Shows events as they come; `expected` is the number of bytes of a stage, if known.

    With `study_name` every line says which study it is about. A `quiet` one shows nothing: a
    script waits for the result alone. Without `ends` it leaves
    it to the command to say that a study stopped, once for all its seats.
    """

    as_json: bool = False
    quiet: bool = False
    ends: bool = True
    study_name: Callable[[str], str] | None = None
    expected: Mapping[tuple[str, str], int] = field(default_factory=dict)
    console: Console = field(default_factory=lambda: screen.console(err=True))
    clock: Callable[[], float] = time.monotonic
    log: LogFile | None = None
    _tasks: dict[tuple[str, str], TaskID] = field(default_factory=dict)
    _progresses: dict[tuple[str, str], StageProgress] = field(default_factory=dict)
    _told: dict[tuple[str, str], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=14),
            Amount(),
            TimeLeft(),
        )
        self._bars = Progress(
            *columns,
            console=self.console,
            transient=True,
            refresh_per_second=_DRAWN_A_SECOND,
            get_time=self.clock,
        )
        self._drawn = self.console.is_terminal and not (self.as_json or self.quiet)

    def __enter__(self) -> Self:
        if self._drawn:
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            self._bars.stop()

    def paused(self) -> None:
        """Hide the bars while a person is asked something."""
        if self._drawn:
            self._bars.stop()

    def resumed(self) -> None:
        """Show them again."""
        if self._drawn:
            self._bars.start()

    def on_event(self, event: "Event") -> None:
        """Show one event."""
        words = in_words(event)
        if self.study_name is not None and isinstance(event, news.SeatEvent) and words:
            words = f"{self.study_name(event.study)}: {words}"
        if self.log is not None and words:
            self.log.line(words)
        if self.quiet:
            return
        if self.as_json:
            screen.say_json_text(as_line(event))
            return
        if isinstance(event, events.Moved):
            self._moved(event)
            return
        if self._drawn:
            self._open_or_close(event)
        if words and (self.ends or not isinstance(event, news.StudyStopped)):
            self._line(words)

    def say(self, words: str) -> None:
        """Show a line that is no event, for people only."""
        if not (self.quiet or self.as_json):
            self._line(words)

    def _line(self, words: str) -> None:
        """Print an event as one line, with its time in a log; names may hold brackets."""
        console = self.console
        shown = screen.folded(escaped(words), console.width)
        line = shown if console.is_terminal else stamped(words)
        console.print(line, markup=False, soft_wrap=True)

    def _moved(self, event: events.Moved) -> None:
        place, now = (event.seat, event.stage), self.clock()
        if self._drawn:
            task = self._bar(*place)
            progress = self._progresses[place]
            progress.note(event, now)
            share = progress.share
            self._bars.update(task, completed=share or 0, total=1 if share is not None else None)
        elif now >= self._told.setdefault(place, now + _QUIET_SECONDS):
            self._told[place] = now + _QUIET_SECONDS
            moved = f"{event.letters:,} letters, {decimal(event.bytes)}"
            self._line(f"{event.seat}: {event.stage}, {moved}")

    def _open_or_close(self, event: "Event") -> None:
        """Keep a bar for every running stage, and one for the wait before the first."""
        match event:
            case events.Enrolled() if not self.ends:
                self._bar(*_ENROLMENT)
            case news.StageBegan():
                self._done(_ENROLMENT)
                self._bar(event.seat, event.stage)
            case news.StageEnded() | events.SeatPartEnded():
                self._done((event.seat, event.stage))
            case news.StudyStopped() | news.StudyFinished() | events.SeatWithdrawn():
                for place in [task for task in self._tasks if task[0] in {event.seat, ""}]:
                    self._done(place)

    def _bar(self, seat: str, stage: str) -> TaskID:
        place = (seat, stage)
        if place not in self._tasks:
            title = f"{seat}: {stage}" if seat else stage
            progress = StageProgress(self.clock(), self.expected.get(place, 0))
            self._progresses[place] = progress
            self._tasks[place] = self._bars.add_task(title, total=None, progress=progress)
        return self._tasks[place]

    def _done(self, place: tuple[str, str]) -> None:
        task = self._tasks.pop(place, None)
        if task is not None:
            self._bars.remove_task(task)


def in_words(event: "Event") -> str:
    """An event as a line for people; empty where people need none."""
    maker = _WORDS.get(type(event))
    return maker(event) if maker else ""


def as_line(event: "Event") -> str:
    """An event as one JSON object."""
    content = {"event": kebab(type(event).__name__), "at": round(time.time(), 3), **asdict(event)}
    return msgspec.json.encode(content, enc_hook=_plain).decode()


def _plain(value: Any) -> str:
    if isinstance(value, Path):
        return str(value)
    raise TypeError


def _waiting(event: news.SeatWaiting) -> str:
    return f"{event.seat}: {waiting(event.what, event.whom, event.until)}"


def _enrolled(event: events.Enrolled) -> str:
    limit = f"; others may join until {moment(event.until)}" if event.until else ""
    return f"{event.seat}: enrolled{limit}"


def _began(event: news.StageBegan) -> str:
    again = f", attempt {event.attempt}" if event.attempt > 1 else ""
    return f"{event.seat}: {event.stage} begins{again} ({names(event.peers)})"


def _failed(event: news.AttemptFailed) -> str:
    return (
        f"{event.seat}: {event.stage}, attempt {event.attempt} failed: {event.reason}; "
        f"another follows without {names(event.missing)}"
    )


def _stopped(event: news.StudyStopped) -> str:
    because = f" (because of {event.party})" if event.party not in {"", event.seat} else ""
    return f"{event.seat}: the study stopped: {event.reason}{because}"


def _listening(event: events.Listening) -> str:
    count = len(event.studies)
    return f"serving at {event.address}: {count} {'study' if count == 1 else 'studies'}"


def _totals(event: events.TotalsPublished) -> str:
    chosen = f"{event.words:,} words chosen, of at most {event.most:,}; " if event.most else ""
    said = f"{event.seat}: {chosen}up to {event.rows:,} rows to train with at all sites"
    rare = event.by_class.count(0)
    if not rare:
        return said
    becomes = "joined" if event.joined else "left out"
    classes = "1 class with too few is" if rare == 1 else f"{rare} classes with too few are"
    return f"{said}; {classes} {becomes} (`sottovoce study show` says which)"


def _given_up(event: news.QueryGivenUp) -> str:
    return (
        f"{event.seat}: query {event.number}, of {event.documents:,} other rows, was interrupted "
        f"and is given up; it is charged only if its labels were already sent"
    )


def _priced(event: news.QueryPriced) -> str:
    return (
        f"{event.seat}: {event.rows:,} rows count as {event.counted:,} (whole batches) of the "
        f"{event.left:,} labels left"
    )


def _held(event: events.EvaluationHeld) -> str:
    return (
        f"{event.seat}: accuracy {event.accuracy:.1%} on held-out documents of {names(event.peers)}"
    )


def _goes_on(event: news.QueryGoesOn) -> str:
    return f"{event.seat}: query {event.number} continues after an interruption, charged once"


def _without(event: news.QueryWithoutDealer) -> str:
    return (
        f"{event.seat}: {event.dealer} does not answer: query {event.number} computes the labels "
        f"without a dealer, which takes longer; they are charged once"
    )


_WORDS: Mapping[type[Any], Callable[[Any], str]] = {
    events.Listening: _listening,
    events.StandingBy: lambda event: (
        f"{event.folder} is served by another process: this one takes over when that ends"
    ),
    events.Enrolled: _enrolled,
    news.SeatWaiting: _waiting,
    news.StageBegan: _began,
    news.StageEnded: lambda event: f"{event.seat}: {event.stage} done in {event.seconds:.1f} s",
    events.TotalsPublished: _totals,
    news.AttemptFailed: _failed,
    events.ModelStored: lambda event: f"{event.seat}: the sealed model is at {event.path}",
    events.JournalDeleted: lambda event: f"{event.seat}: shares, masks and journals deleted",
    news.StudyFinished: lambda event: f"{event.seat}: the training is finished",
    news.StudyStopped: _stopped,
    news.StudyClosed: lambda event: f"{event.seat}: the study was closed, and queries are over",
    events.SeatLost: lambda event: f"{event.seat}: takes no further part: {event.reason}",
    events.SeatWithdrawn: lambda event: f"{event.seat}: takes no further part",
    news.QueryServed: lambda event: (
        f"{event.seat}: query {event.number + 1} of {event.asker} served"
    ),
    news.Refused: lambda event: f"{event.seat}: refused ({event.party}): {event.reason}",
    news.QueryPriced: _priced,
    news.QueryGoesOn: _goes_on,
    news.QueryGivenUp: _given_up,
    news.QueryWithoutDealer: _without,
    events.EvaluationHeld: _held,
    events.LineLost: lambda event: f"{event.seat}: no connection ({event.reason}), trying again",
    events.LineBack: lambda event: f"{event.seat}: the connection is back",
}


class Amount(ProgressColumn):
    """Say the step, or the bytes moved and their total; else the number of letters."""

    def render(self, task: Task) -> Text:
        """In the unit that fits."""
        progress: StageProgress = task.fields["progress"]
        if progress.steps:
            step = progress.steps - progress.steps_left + 1
            return Text(f"step {min(step, progress.steps):,} of {progress.steps:,}", no_wrap=True)
        moved = decimal(progress.moved)
        if progress.share is not None:
            return Text(f"{moved} of {decimal(progress.expected)}", no_wrap=True)
        letters = progress.letters
        many = f", {letters:,} letter{'s' if letters != 1 else ''}"
        return Text(f"{moved}{many}" if letters else "", no_wrap=True)


class TimeLeft(ProgressColumn):
    """The time left if it can be estimated, otherwise the time so far."""

    def render(self, task: Task) -> Text:
        """Time left, or time spent."""
        left = task.fields["progress"].seconds_left(task.get_time())
        said = f"for {_clock(task.elapsed or 0.0)}" if left is None else f"{_clock(left)} left"
        return Text(said, no_wrap=True)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
