"""A line that breaks: whoever watches hears of it, and the seat tries on until its time is up."""

import asyncio

import pytest

from sottovoce.errors import AbsenceError
from sottovoce.node.events import Event, LineBack, LineLost
from sottovoce.node.seat.retrying_line import RetryingLine


class BrokenLine:
    """Answers after some tries, if ever."""

    seat = "north"

    def __init__(self, tries: int) -> None:
        self.left = tries

    async def acknowledge(self, position: int) -> None:
        await asyncio.sleep(0.01)
        if self.left:
            self.left -= 1
            raise AbsenceError("no answer within 10 s (refused)", party="coordinator")


def patient(line: BrokenLine, events: list[Event], retry_seconds: float) -> RetryingLine:
    return RetryingLine(line, study="s", retry_seconds=retry_seconds, on_event=events.append)  # type: ignore[arg-type]


def test_a_line_that_comes_back_is_told_once_each_way() -> None:
    events: list[Event] = []
    asyncio.run(patient(BrokenLine(3), events, 60.0).acknowledge(1))
    assert events == [
        LineLost("s", "north", "no answer within 10 s (refused)"),
        LineBack("s", "north"),
    ]


def test_the_error_at_the_end_repeats_how_long_it_was_tried() -> None:
    events: list[Event] = []
    with pytest.raises(AbsenceError, match=r"refused\); tried for 0 s") as error:
        asyncio.run(patient(BrokenLine(10**6), events, 0.2).acknowledge(1))
    assert error.value.party == "coordinator"
    assert len(events) == 1
