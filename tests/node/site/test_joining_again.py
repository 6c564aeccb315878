"""Whoever joins again what is over hears what ended it, at once, and nothing is done twice."""

import asyncio
from pathlib import Path

import pytest

from harness.network import network
from sottovoce.course.phases import Phase
from sottovoce.errors import StoppedError, UnansweredError, WithdrawnError
from sottovoce.ledger import LineKind, read_ledger
from sottovoce.node.api import ConsentQuestion
from sottovoce.node.coordinator.serving import cancel_study
from sottovoce.node.events import Enrolled, RosterKnown
from sottovoce.node.memberships import SeatStatus
from sottovoce.node.site.joining import _until
from sottovoce.node.site.seat_status import status
from sottovoce.transport.answers import CODEC as ANSWERS
from sottovoce.transport.answers import Admitted


async def say_no(question: ConsentQuestion) -> bool:
    return False


def test_after_a_study_was_stopped_or_refused(tmp_path: Path) -> None:
    net = network(tmp_path, features="8")
    sites = ("north", "harbour", "valley")

    async def story() -> None:
        async with net.serving():
            settings = {"valley": {"consent": say_no}}
            joining = (net.join(site, **settings.get(site, {})) for site in sites)
            north, _, valley = await asyncio.gather(*joining, return_exceptions=True)
            assert isinstance(north, StoppedError)
            assert "expected at least 3" in north.message
            assert isinstance(valley, WithdrawnError)
            heard = len(net.events)
            with pytest.raises(StoppedError, match="expected at least 3") as again:
                await net.join("north")
            assert (again.value.message, again.value.party) == (north.message, north.party)
            with pytest.raises(WithdrawnError, match="withdrew from it"):
                await net.join("valley")
            assert not any(isinstance(event, RosterKnown) for event in net.events[heard:])

    asyncio.run(story())
    assert {seat.phase for seat in status(net.membership("valley"))} == {Phase.WITHDRAWN}
    for seat in status(net.membership("north")):
        assert seat.phase is Phase.STOPPED
        assert "expected at least 3" in seat.reason
        ledger = read_ledger(net.membership("north").folder / seat.seat / "ledger.jsonl")
        assert [line.entry.what for line in ledger].count(LineKind.END) == 1


@pytest.mark.parametrize(
    ("answer", "until"),
    [
        (ANSWERS.encode(Admitted(1_800_000_000)), 1_800_000_000.0),
        (ANSWERS.encode(Admitted(2**60)), 0.0),
        (ANSWERS.encode(Admitted(-1)), 0.0),
        (b"[study]\nname = 'of an older release'\n", 0.0),
        (b"", 0.0),
    ],
)
def test_until_when_others_may_join_is_said_or_not_known(answer: bytes, until: float) -> None:
    assert _until(answer) == until


async def say_nothing(question: ConsentQuestion) -> bool:
    raise UnansweredError("nobody is here to answer")


def test_a_question_that_nobody_answered_is_asked_again_and_stops_no_study(tmp_path: Path) -> None:
    """As of a command without a terminal: it ends, the others wait, and the next one goes on."""
    net = network(tmp_path, features="8")

    async def story() -> None:
        async with net.serving():
            others = [asyncio.create_task(net.join(site)) for site in ("north", "harbour")]
            with pytest.raises(UnansweredError):
                await net.join("valley", consent=say_nothing)
            assert status(net.membership("valley"))[0].phase is Phase.CONSENT
            assert (await net.join("valley")).model is not None
            assert all(joined.model is not None for joined in await asyncio.gather(*others))

    asyncio.run(asyncio.wait_for(story(), 400))


def test_after_the_coordinator_cancelled_it(tmp_path: Path) -> None:
    net = network(tmp_path, features="8")
    enrolled = net.when(lambda event: isinstance(event, Enrolled) and event.seat == "evaluator")

    async def story() -> None:
        async with net.serving():
            joining = asyncio.create_task(net.join("north"))
            await enrolled.wait()
            cancel_study(net.place, net.study, reason="approval was withdrawn")
            for joined in (joining, net.join("north")):
                says = r"^coordinator: stopped the study: approval was withdrawn$"
                with pytest.raises(StoppedError, match=says):
                    await joined

    asyncio.run(story())
    seats = status(net.membership("north"))
    assert [seat.seat for seat in seats] == ["north", "evaluator"]
    assert all(isinstance(seat, SeatStatus) and seat.phase is Phase.STOPPED for seat in seats)
