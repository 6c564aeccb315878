"""What a coordinator's disk says of a study: who was seen when, and how long everybody waits."""

import asyncio
import time
from datetime import timedelta
from pathlib import Path

import pytest

from harness.entropy import SeededEntropy
from harness.network import described, network, read_toy
from sottovoce.config.deadlines import LINE_STAGES, in_words
from sottovoce.config.study_file import parse_study
from sottovoce.course.news import SeatWaiting, StageBegan, StudyClosed, StudyFinished
from sottovoce.course.phases import Phase
from sottovoce.node.awaited import _WORDS, awaited
from sottovoce.node.coordinator.serving import registry_of, study_status
from sottovoce.node.coordinator.study_runner import StudyRunner
from sottovoce.node.coordinator.study_statuses import studies
from sottovoce.node.events import Moved, unheard
from sottovoce.node.memberships import Membership, StudyStatus
from sottovoce.node.seat.deciders import Waits
from sottovoce.node.site.seat_status import status
from sottovoce.node.site.shown_card import card_of
from sottovoce.node.site.status_file import StatusFile
from sottovoce.protocols.identities import Identity
from sottovoce.transport.client import CoordinatorLine


def test_the_last_request_of_a_seat_is_when_it_was_seen_last(tmp_path: Path) -> None:
    net = network(tmp_path, enrolment="1 hour")

    def seen() -> float:
        return dict(study_status(net.place, net.study, read=read_toy).seen).get("valley", 0.0)

    async def until_after(moment: float) -> None:
        while seen() < moment:  # noqa: ASYNC110 - a file says so
            await asyncio.sleep(0.05)

    async def story() -> None:
        async with net.serving():
            line = CoordinatorLine(
                net.address,
                fingerprint=net.fingerprint,
                study=net.study,
                identity=Identity.draw("valley", SeededEntropy(9)),
                retry_seconds=5,
            )
            async with line:
                await line.enrol(net.membership("valley").token)
                for _ in range(2):
                    asked = time.time()
                    await line.status()
                    # Clocks that run on and clocks that are set differ by less than this.
                    await until_after(asked - 0.05)
                    assert seen() <= time.time() + 0.05
        last = seen()
        async with net.serving():
            # Nobody asked since: a restart forgets nothing.
            assert abs(seen() - last) < 0.001

    asyncio.run(asyncio.wait_for(story(), 400))


def test_the_status_says_who_is_waited_for_and_until_when(tmp_path: Path) -> None:
    net = network(tmp_path, enrolment="1 hour")
    seats = {"north", "evaluator", "harbour", "dealer", "valley"}

    async def story() -> None:
        began = time.time()
        async with net.serving():
            joining = asyncio.create_task(net.join("valley"))
            while (now := study_status(net.place, net.study, read=read_toy)).waits_for != tuple(  # noqa: ASYNC110 - a file says so
                name for name in now.expected if name != "valley"
            ):
                await asyncio.sleep(0.05)
            while not (mine := status(net.membership("valley"))[0]).waits_for:  # noqa: ASYNC110 - a file says so
                await asyncio.sleep(0.05)
            joining.cancel()
            await asyncio.gather(joining, return_exceptions=True)
        assert set(now.waits_for) == seats - {"valley"}
        assert now.waits_what == "enrolment"
        assert 3500 < now.waits_until - began < 3700
        # The site that waits for them was told the same moment.
        assert (mine.waits_for, mine.waits_what) == (("everybody else",), "enrolment")
        assert mine.waits_until == int(now.waits_until)

    asyncio.run(asyncio.wait_for(story(), 400))


@pytest.mark.parametrize("damage", ["{", "[]", "{}", '{"name": "n", "phase": "asleep"}', "\0"])
def test_a_damaged_status_of_a_study_is_said_and_stops_nothing(tmp_path: Path, damage: str) -> None:
    net = network(tmp_path)
    (net.place.folder / "studies" / net.study / "status.json").write_text(damage)
    (listed,) = studies(net.place, read=read_toy)
    assert (listed.name, listed.phase) == ("urgency of notes", Phase.ENROLMENT)
    assert "cannot be read; the server will write it again" in listed.reason


def test_a_seat_s_status_says_for_whom_it_waits(tmp_path: Path) -> None:
    membership = Membership(tmp_path, "", b"", "s-1", ("north",), b"", bytes(32))
    (tmp_path / "north").mkdir()
    status_file = StatusFile(tmp_path / "north", "s-1", "north", unheard)
    status_file(StageBegan("s-1", "north", "training", 1, ("north",)))
    status_file(SeatWaiting("s-1", "north", "training: noise", ("evaluator",), 99.0))
    (shown,) = status(membership)
    assert (shown.waits_for, shown.waits_what, shown.waits_until) == (
        ("evaluator",),
        "training: noise",
        99.0,
    )
    status_file(Moved("s-1", "north", "training", 3, 100))
    (shown,) = status(membership)
    assert (shown.waits_for, shown.waits_until, shown.letters) == ((), 0.0, 3)


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("enrolment", "to join"),
        ("agreement: agreed-study", "the consent of every site"),
        ("consent", "to consent"),
        ("training: masked-parts", "the next message, training"),
        ("masked-parts or refused-sum", "the next message"),
        ("to evaluate, too", "to evaluate, too"),
        ("another process of this site to end", "another process of this site to end"),
    ],
)
def test_what_is_waited_for_is_said_without_kinds_of_messages(what: str, words: str) -> None:
    assert awaited(what) == words


def test_every_kind_that_has_words_is_sent_by_somebody() -> None:
    page = (Path(__file__).parents[3] / "docs" / "messages.md").read_text(encoding="utf-8")
    kinds = [kind for kind in _WORDS if "-" in kind]
    assert len(kinds) > 4
    assert all(f"`{kind}`" in page for kind in kinds)


def test_a_query_of_a_trained_study_leaves_the_seat_finished(tmp_path: Path) -> None:
    membership = Membership(tmp_path, "", b"", "s-1", ("north",), b"", bytes(32))
    (tmp_path / "north").mkdir()
    StatusFile(tmp_path / "north", "s-1", "north", unheard)(StudyFinished("s-1", "north"))
    asking = StatusFile(tmp_path / "north", "s-1", "north", unheard)
    asking(SeatWaiting("s-1", "north", "query: labels", ("coordinator",), 99.0))
    (during,) = status(membership)
    asking(Moved("s-1", "north", "query", 3, 100))
    (after,) = status(membership)
    assert (during.phase, during.waits_for) == (Phase.FINISHED, ("coordinator",))
    assert (after.phase, after.waits_for, after.letters) == (Phase.FINISHED, (), 3)


def test_the_card_tells_the_times_that_the_programs_wait(tmp_path: Path) -> None:
    net = network(tmp_path, stage="20 seconds")
    registry = registry_of(net.place, net.study)
    study = described(net.text)

    async def waits() -> Waits:
        runner = StudyRunner(
            registry, study, at_rest=bytes(32), entropy=SeededEntropy(1), on_event=unheard
        )
        await runner.close()
        return runner.agent.waits

    result = asyncio.run(waits())
    card = card_of(parse_study(net.text, plan_type=type(study.plan))).markdown()
    for seconds in (60.0, result.gather, result.receive, LINE_STAGES * result.gather):
        assert in_words(timedelta(seconds=seconds)) in card
    assert (result.gather, result.receive) == (20.0, 60.0)


def test_people_may_take_longer_than_a_stage_to_compare_words(tmp_path: Path) -> None:
    net = network(tmp_path, enrolment="1 hour")
    answer = asyncio.Event()

    async def thinks(_: object) -> bool:
        return await answer.wait()

    def waits() -> StudyStatus:
        return study_status(net.place, net.study, read=read_toy)

    async def until(whom: set[str]) -> StudyStatus:
        while (now := waits()).phase is not Phase.AGREEMENT or set(now.waits_for) != whom:  # noqa: ASYNC110 - a file says so
            await asyncio.sleep(0.05)
        return now

    async def story() -> None:
        began = time.time()
        async with net.serving():
            slow = [net.join(seat, consent=thinks) for seat in ("north", "valley")]
            sites = [asyncio.create_task(joining) for joining in (*slow, net.join("harbour"))]
            now = await until({"north", "evaluator", "valley"})
            mine = status(net.membership("valley"))[0]
            for site in sites:
                site.cancel()
            await asyncio.gather(*sites, return_exceptions=True)
        # The deadline is that of people, an hour, and not that of a stage, 20 seconds.
        assert now.waits_what == "consent"
        assert 3500 < now.waits_until - began < 3800
        assert (mine.phase, mine.waits_for) == (Phase.CONSENT, ("a person at this site",))
        assert 3500 < mine.waits_until - began < 3800

    asyncio.run(asyncio.wait_for(story(), 400))


def test_only_the_agreement_waits_for_people() -> None:
    waits = Waits(10, 30, people=3600)
    assert waits.longest("agreement", gathers=True) == 3600
    assert waits.longest("dictionary", gathers=True) == 10
    assert waits.longest("training", gathers=False) == 30
    assert Waits(10, 30).longest("agreement", gathers=False) == 30


def test_what_one_seat_heard_of_the_end_holds_for_the_others(tmp_path: Path) -> None:
    membership = Membership(tmp_path, "", b"", "s-1", ("north", "member-north"), b"", bytes(32))
    for seat, last in (("north", StudyFinished), ("member-north", StudyClosed)):
        (tmp_path / seat).mkdir()
        StatusFile(tmp_path / seat, "s-1", seat, unheard)(last("s-1", seat))
    assert [seat.phase for seat in status(membership)] == [Phase.CLOSED, Phase.CLOSED]
