"""A study's progress, at the top of its page: badge, sentence, steps and time left."""

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from sottovoce.config.study_file import StudyDescription
from sottovoce.course.phases import Phase
from sottovoce.course.stage_progress import time_left
from sottovoce.pictures.html import Html, tag
from sottovoce.study.attempts import Stage

_BADGES = {
    Phase.FINISHED: "good",
    Phase.CLOSED: "",
    Phase.STOPPED: "bad",
    Phase.LEFT: "bad",
    Phase.WITHDRAWN: "",
}
SENTENCES = {
    Phase.INVITED: "Read the card, look at your data, then take part.",
    Phase.ENROLMENT: "The study begins when everybody has come.",
    Phase.CONSENT: "Everybody has come: people compare words, and consent.",
    Phase.AGREEMENT: "Everybody has come: people compare words, and consent.",
    Phase.DICTIONARY: "The sites agree on the words that count.",
    Phase.CONTRIBUTIONS: "The sites' numbers are added up, hidden from everybody.",
    Phase.TRAINING: "The model is being computed.",
    Phase.FINISHED: "The model is there: sites label files, and evaluate it.",
    Phase.STOPPED: "The study ended without a model.",
    Phase.CLOSED: "What labels need is deleted. Ledgers, figures and this page stay.",
    Phase.LEFT: "This site takes no further part.",
    Phase.WITHDRAWN: "This site withdrew.",
}


def badge(phase: str) -> Html:
    """A phase as a small coloured word."""
    return tag("span", phase, class_=f"badge {_BADGES.get(Phase(phase), 'busy')}".strip())


def lead(phase: str, *, reason: str = "", attempt: int = 0) -> Html:
    """The first line of a study's page."""
    again = f" This is attempt {attempt}." if attempt > 1 else ""
    why = f" The reason: {reason}." if reason else ""
    return tag("p", badge(phase), f"{SENTENCES.get(Phase(phase), '')}{again}{why}", class_="lead")


def steps(described: StudyDescription, phase: str) -> Html:
    """The way from enrolment to the model, and where the study is on it."""
    stages: Sequence[str] = [str(stage) for stage in Stage.of(described.rehearsed())]
    named = [str(Phase.ENROLMENT), *stages, str(Phase.FINISHED)]
    here = str(Phase.AGREEMENT) if phase == Phase.CONSENT else phase
    if here not in named:
        return Html("")
    place = named.index(here) + (here == Phase.FINISHED)
    return tag("ol", *_items(named, place), class_="steps", aria_label="The steps of this study")


def _items(named: Sequence[str], place: int) -> Iterator[Html]:
    for number, name in enumerate(named):
        here = "step" if number == place else None
        yield tag("li", name, class_="done" if number < place else None, aria_current=here)


def bar(name: str, share: float, seconds: float | None) -> Iterator[Html]:
    """A stage's progress bar, with the time left where it is known."""
    left = f", {time_left(seconds)}" if seconds is not None else ""
    yield tag("p", f"{name}: {share:.0%} done{left}")
    yield tag("progress", value=f"{share:.3f}", max=1, aria_label=name)


def moment(seconds: float) -> str:
    """A moment in UTC, to the minute."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


def until(seconds: float) -> str:
    """Until when somebody waits, and how long that still is; 0 where nobody gives up."""
    if not seconds:
        return "for as long as it takes"
    left = seconds - time.time()
    return f"until {moment(seconds)}" + (f", {_spell(left)} from now" if left > 0 else "")


def ago(seconds: float) -> str:
    """Say how long ago something was."""
    spent = time.time() - seconds
    return "just now" if spent < 10 else f"{_spell(spent)} ago"


def _spell(seconds: float) -> str:
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} seconds"
