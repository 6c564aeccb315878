"""The waiting times of people and machines."""

import re
from dataclasses import dataclass
from datetime import timedelta

from sottovoce.errors import InputError

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_WRITTEN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(second|minute|hour|day|week)s?\s*")
LONGEST = timedelta(days=366)
# Waits in units of a stage's time. Gathering from many takes one.
# A seat that is kept waiting says so before the coordinator, waiting for that seat, decides.
COMPLAINT_STAGES = 2
DECISION_STAGES = 3
# For one that asks, and for a line that broke: longer than all decisions take.
LINE_STAGES = 6


@dataclass(frozen=True)
class Deadlines:
    """The time for people to join and to compare words, and for machines in a stage."""

    enrolment: timedelta = timedelta(days=7)
    stage: timedelta = timedelta(minutes=10)

    def __post_init__(self) -> None:
        for name in ("enrolment", "stage"):
            span = getattr(self, name)
            if not timedelta() < span <= LONGEST:
                raise InputError(
                    f"deadline {name}: expected more than nothing and at most a year, "
                    f"found {in_words(span)}"
                )


def waits_in_words(enrolment: timedelta, stage: timedelta) -> tuple[tuple[str, str], ...]:
    """Say for the card how long every party waits for whom, as the programs do."""
    return (
        ("People may join for, and then compare the words for", in_words(enrolment)),
        (
            "A stage gathers messages, then continues without latecomers or stops, after",
            in_words(stage),
        ),
        (
            "A stage gives up a single awaited party after",
            in_words(DECISION_STAGES * stage),
        ),
        (
            "A site whose line to the coordinator broke tries again for",
            in_words(LINE_STAGES * stage),
        ),
    )


def duration(words: str) -> timedelta:
    """The seconds of a duration such as "10 minutes"."""
    written = _WRITTEN.fullmatch(words.lower())
    if written is None:
        raise InputError(
            f"expected a time such as '10 minutes' or '7 days', found {words!r}",
            hints=("seconds, minutes, hours, days or weeks",),
        )
    return timedelta(seconds=float(written[1]) * _UNITS[written[2]])


def in_words(time: timedelta) -> str:
    """A time in the largest unit that it fills."""
    seconds = time.total_seconds()
    unit, size = next(
        ((name, size) for name, size in reversed(_UNITS.items()) if seconds >= size),
        ("second", 1),
    )
    count = seconds / size
    return f"{count:g} {unit}{'' if count == 1 else 's'}"
