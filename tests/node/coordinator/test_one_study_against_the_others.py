"""One seat, or one study, must not take down the other studies of a coordinator."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.entropy import SeededEntropy
from harness.network import Network, network, read_toy
from harness.ports import served_mailbox
from sottovoce.course.control import CONTROL, COORDINATOR, control_session
from sottovoce.course.news import StudyStopped
from sottovoce.errors import AbsenceError, InputError, MisuseError, TheirError, ViolationError
from sottovoce.node.coordinator.serving import create_study
from sottovoce.node.coordinator.study_runner import StudyRunner
from sottovoce.node.coordinator.study_statuses import studies
from sottovoce.node.events import RosterKnown
from sottovoce.protocols.identities import Identity
from sottovoce.study.relay import Letter, largest_letter
from sottovoce.study.study import largest_message
from sottovoce.transport.client import CoordinatorLine
from sottovoce.transport.server.limits import PART

SITES = ("north", "harbour", "valley")


def beside(net: Network) -> Network:
    """Another study of the same coordinator."""
    tokens = create_study(net.place, net.text.replace("urgency of", "other"), read=read_toy)
    return replace(net, tokens=tokens, events=[])


@asynccontextmanager
async def taken(
    net: Network, seat: str, *, retry_seconds: float = 20.0
) -> AsyncIterator[CoordinatorLine]:
    """A line of whoever holds the invitation of this seat."""
    line = CoordinatorLine(
        net.address,
        fingerprint=net.fingerprint,
        study=net.study,
        identity=Identity.draw(seat, SeededEntropy(99)),
        retry_seconds=retry_seconds,
    )
    async with line:
        await line.enrol(net.membership(seat).token)
        yield line


async def goes_on(net: Network, other: Network) -> None:
    """The other study takes seats at the same port."""
    other.address, other.fingerprint = net.address, net.fingerprint
    async with taken(other, "valley") as honest:
        assert b"enrolment" in await honest.status()


async def hears_stop(net: Network, server: "asyncio.Task[None]") -> None:
    """Until the study has stopped; a server that ends with it fails the test at once."""
    while net.study not in stopped(net):
        await asyncio.wait([server], timeout=0.02)
        assert not server.done(), server.exception()


def stopped(net: Network) -> list[str]:
    return [event.study for event in net.events if isinstance(event, StudyStopped)]


def test_a_mailbox_that_was_moved_away_ends_its_own_study_and_no_server(tmp_path: Path) -> None:
    net = network(tmp_path)
    other = beside(net)

    async def story() -> None:
        seated = net.when(lambda event: isinstance(event, RosterKnown))
        async with net.serving():
            joining = [asyncio.create_task(net.join(site)) for site in SITES]
            await seated.wait()
            for task in joining:
                task.cancel()
            await asyncio.gather(*joining, return_exceptions=True)
        folder = net.place.folder / "studies" / net.study
        for path in folder.glob("mailbox.db*"):
            path.rename(path.with_name(f"moved-{path.name}"))
        for _ in range(2):
            net.events.clear()
            async with net.serving() as server:
                await hears_stop(net, server)
                await goes_on(net, other)
                assert not server.done()
            assert stopped(net) == [net.study]

    asyncio.run(asyncio.wait_for(story(), 400))


@pytest.mark.parametrize("damaged", ["study.toml", "seats/north", "coordinator/journal.db"])
def test_a_damaged_file_of_one_study_hides_no_other(tmp_path: Path, damaged: str) -> None:
    net = network(tmp_path, enrolment="1 hour")
    other = beside(net)

    async def story() -> None:
        async with net.serving(), taken(net, "north"):
            """Every file is there now."""
        path = net.place.folder / "studies" / net.study / damaged
        assert path.exists()
        path.write_bytes(b"\xff" * 64)
        net.events.clear()
        async with net.serving():
            await goes_on(net, other)
        assert stopped(net) == [net.study]
        by_name = {study.study: study.phase for study in studies(net.place, read=read_toy)}
        assert by_name.keys() == {net.study, other.study}
        assert by_name[other.study] == "enrolment"
        create_study(net.place, net.text, read=read_toy)

    asyncio.run(asyncio.wait_for(story(), 400))


def test_a_study_without_a_readable_text_is_listed_beside_the_others(tmp_path: Path) -> None:
    net = network(tmp_path)
    other = beside(net)
    folder = net.place.folder / "studies" / net.study
    (folder / "status.json").unlink()
    (folder / "study.toml").write_bytes(b"\xff" * 64)
    by_name = {study.study: study for study in studies(net.place, read=read_toy)}
    assert by_name[other.study].phase == "enrolment"
    assert by_name[net.study].phase == "stopped"
    assert "it cannot be read" in by_name[net.study].reason


def test_a_study_that_fails_while_it_runs_ends_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(tmp_path, enrolment="1 hour")
    other = beside(net)
    run = StudyRunner.run

    async def fails(runner: StudyRunner) -> None:
        if runner.registry.id == net.study:
            raise MisuseError("a mistake of ours")
        await run(runner)

    monkeypatch.setattr(StudyRunner, "run", fails)

    async def story() -> None:
        async with net.serving() as server:
            await hears_stop(net, server)
            await goes_on(net, other)
            assert not server.done()
        assert stopped(net) == [net.study]

    asyncio.run(asyncio.wait_for(story(), 400))


def test_a_status_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    """As on a full disk: the file only tells people how far things are."""
    net = network(tmp_path, features="8")

    async def story() -> None:
        async with net.serving():
            places = [net.place.folder / "studies" / net.study, net.membership("north").folder]
            for path in (places[0] / "status.json", places[1] / "north" / "status.json"):
                path.unlink(missing_ok=True)
                (path / "in the way").mkdir(parents=True)
            result = await net.join_all(*SITES)
            assert all(joined.model is not None for joined in result)

    asyncio.run(asyncio.wait_for(story(), 400))


def test_a_seat_that_fills_the_disk_leaves_room_for_the_other_studies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes to itself, in a session that nobody knows, until it is refused."""
    net = network(tmp_path, enrolment="1 hour")
    other = beside(net)
    total = 4 * 2**20
    body = bytes(min(2**16, largest_letter(read_toy(net.text).plan)))
    sent: list[int] = []

    def usage(_: Path) -> SimpleNamespace:
        return SimpleNamespace(total=total, free=total - sum(sent))

    monkeypatch.setattr("sottovoce.transport.mailbox.mailbox_tables.shutil.disk_usage", usage)

    async def fill(line: CoordinatorLine) -> None:
        for number in range(2 * total // len(body)):
            await line.post(Letter(b"made up".ljust(32), "valley", "valley", number, body))
            sent.append(len(body))

    async def story() -> None:
        async with net.serving() as server:
            async with taken(net, "valley", retry_seconds=0.2) as mallory:
                with pytest.raises(AbsenceError, match="a quarter of the coordinator's free disk"):
                    await fill(mallory)
            assert 0 < sum(sent) <= total // 4
            await goes_on(net, other)
            assert not server.done()

    asyncio.run(asyncio.wait_for(story(), 400))


def test_letters_are_bounded_by_their_kind(tmp_path: Path) -> None:
    net = network(tmp_path, enrolment="1 hour")
    plan = read_toy(net.text).plan

    async def story() -> None:
        async with net.serving(), taken(net, "valley") as mallory:
            public = Identity.draw("valley", SeededEntropy(99)).public
            control = control_session(net.study, public)
            for session, limit in ((control, CONTROL.limit), (b"s" * 32, largest_letter(plan))):
                letter = Letter(session, "valley", COORDINATOR, 0, bytes(limit + 1))
                with pytest.raises((InputError, TheirError), match=f"at most {limit} bytes"):
                    await mallory.post(letter)

    asyncio.run(story())
    # What a seat of the study can write is never larger.
    assert largest_message(plan) < largest_letter(plan) < 2 * largest_message(plan)


def test_a_letter_that_no_seat_could_have_written_is_not_read(tmp_path: Path) -> None:
    """A coordinator, or another seat through it, fills no memory of a site."""

    async def story() -> None:
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob", largest=PART)
            await alice.post(Letter(b"s" * 32, "alice", "bob", 0, bytes(3 * PART)))
            with pytest.raises(ViolationError, match=f"at most {PART} bytes"):
                await bob.fetch()

    asyncio.run(story())
