"""What stands beside a bar: how much moved, how fast, and how long it may still take."""

from rich.filesize import decimal
from rich.progress import ProgressColumn, Task
from rich.text import Text

_EARLY = 0.05
"""Before this share of a stage moved, nobody can say how long it takes."""


class Amount(ProgressColumn):
    """What moved, and of how much; where that is not known, in how many letters."""

    def render(self, task: Task) -> Text:
        """In the unit that fits."""
        moved = decimal(int(task.completed))
        letters = task.fields.get("letters", 0)
        known = task.fields.get("expected")
        if known and task.completed < known:
            return Text(f"{moved} of {decimal(int(known))}")
        many = f", {letters:,} letter{'s' if letters != 1 else ''}"
        return Text(f"{moved}{many}" if letters else "")


class Rate(ProgressColumn):
    """How fast it moves now; nothing where nothing moves."""

    def render(self, task: Task) -> Text:
        """Bytes a second."""
        speed = task.finished_speed or task.speed
        return Text(f"{decimal(int(speed))}/s" if speed and speed >= 1 else "")


class TimeLeft(ProgressColumn):
    """The time left, where it can be estimated; else the time so far."""

    def render(self, task: Task) -> Text:
        """Time left, or time spent."""
        known, spent = task.fields.get("expected") or 0, task.elapsed or 0.0
        if not _EARLY * known <= task.completed < known:
            return Text(f"for {_clock(spent)}")
        # By the whole stage so far: letters come in bursts, and waits are part of it.
        return Text(f"{_clock(spent * (known / task.completed - 1))} left")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
