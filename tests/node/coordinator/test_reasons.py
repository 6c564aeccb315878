"""What everybody hears about a stop holds kinds, stages, names and numbers, and no other word."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from harness.network import network
from sottovoce.course.control import COORDINATOR, Failed
from sottovoce.course.reasons import known_kind, refused
from sottovoce.course.seat_course import SeatCourse
from sottovoce.errors import (
    AbsenceError,
    BoundError,
    InputError,
    MalformedError,
    SottovoceError,
    StoppedError,
    ViolationError,
)
from sottovoce.node.seat.deciders import Effect
from sottovoce.node.seat.training_participant import TrainingParticipant
from sottovoce.study.attempts import Attempt, Stage

SITES = ("north", "harbour", "valley")
TOKEN = "hunter2-of-mrs-jones"


def outcome(root: Path) -> list[StoppedError]:
    """All sites join a study that stops; what each of them hears."""
    net = network(root, documents=120, features="8")

    async def story() -> list[Any]:
        async with net.serving():
            return await asyncio.gather(*(net.join(site) for site in SITES), return_exceptions=True)

    result = asyncio.run(story())
    assert all(isinstance(error, StoppedError) for error in result), result
    for path in root.rglob("*"):
        if path.is_file():
            assert TOKEN.encode() not in path.read_bytes(), path
    assert not any(TOKEN in repr(item) for item in (*result, *net.events))
    return result


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ViolationError(TOKEN, party="valley"), "the coordinator refused what valley sent"),
        (MalformedError(TOKEN), "the coordinator ended with an error (malformed)"),
        (InputError(f"line 7: {TOKEN}"), "the coordinator ended with an error (input)"),
        pytest.param(
            BoundError(TOKEN),
            "the coordinator ended with an error (bound)",
            marks=pytest.mark.soak,
        ),
        (AbsenceError(TOKEN, party="valley"), "expected at least 3, found 2; missing valley"),
    ],
    ids=lambda case: type(case).__name__ if isinstance(case, SottovoceError) else "",
)
def test_an_error_s_own_words_stay_where_it_was_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: SottovoceError, says: str
) -> None:
    first = SeatCourse.program

    def program(self: SeatCourse, attempt: Attempt, **given: Any) -> Any:
        if self.party.name == COORDINATOR and attempt.stage is Stage.DICTIONARY:
            return failing()
        return first(self, attempt, **given)

    def failing() -> Any:
        raise error
        yield

    monkeypatch.setattr(SeatCourse, "program", program)
    for heard in outcome(tmp_path):
        assert heard.party == (getattr(error, "party", "") or COORDINATOR)
        assert says in heard.message


def test_a_seat_cannot_have_words_of_its_own_told_to_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = TrainingParticipant._run

    async def run(self: TrainingParticipant, attempt: Attempt) -> None:
        if self.agent.name == "evaluator" and attempt.stage is Stage.DICTIONARY:
            assert self.study is not None
            failed = Failed(attempt.session(self.study), TOKEN, TOKEN)
            await self.agent.commit(Effect({}, [(COORDINATOR, failed)]))
        else:
            await first(self, attempt)

    monkeypatch.setattr(TrainingParticipant, "_run", run)
    net = network(tmp_path, documents=120, features="8")

    async def story() -> list[Any]:
        async with net.serving():
            return await asyncio.gather(*(net.join(site) for site in SITES), return_exceptions=True)

    for error in asyncio.run(story()):
        assert isinstance(error, StoppedError)
        assert error.party == "evaluator"
        assert TOKEN not in str(error)
        assert "the study cannot go on without evaluator" in error.message


def test_kinds_are_those_of_the_tree() -> None:
    assert known_kind("InputError") == "InputError"
    for other in ("Self", "__name__", "errors", "no error", "", TOKEN):
        assert known_kind(other) == "SottovoceError"


def test_a_seat_that_says_another_broke_the_rules_is_named_beside_it() -> None:
    """One's word about a letter that nobody else can read stops a study, in no other's name."""
    reason = refused("ViolationError", seat="north", party="valley")
    assert reason.party == "valley or north"
    assert reason.reason == "north refused what valley sent"
    assert refused("MalformedError", seat="north", party="north").party == "north"
    assert refused("ViolationError", seat="north", party="").party == "north"
