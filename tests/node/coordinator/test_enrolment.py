"""Who may enrol: with which invitation, when, with which key; and several studies at one port."""

import asyncio
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from harness.network import network, read_toy
from sottovoce.course.phases import Phase
from sottovoce.course.training.inputs import Tick
from sottovoce.errors import InputError, StoppedError, TheirError
from sottovoce.node.coordinator.registry import Ticket
from sottovoce.node.coordinator.serving import create_study, invite_again
from sottovoce.node.coordinator.study_runner import StudyRunner
from sottovoce.node.coordinator.study_statuses import studies
from sottovoce.node.site.joining import join
from sottovoce.node.site.site_study import describe

SITES = ("north", "harbour", "valley")


def test_an_invitation_is_for_one_house_one_study_and_one_set_of_keys(tmp_path: Path) -> None:
    net = network(tmp_path, enrolment="1 hour")
    documents = partial(net.documents.__getitem__, "valley")

    async def refused(match: str, **changes: object) -> None:
        membership = replace(net.membership("valley"), folder=tmp_path / str(len(changes)))
        membership = replace(membership, **changes)
        membership.folder.mkdir(mode=0o700, exist_ok=True)
        with pytest.raises((InputError, TheirError), match=match):
            await join(membership, documents, options=net.options())

    async def story() -> None:
        async with net.serving():
            membership = net.membership("valley")
            assert await describe(membership) == net.text
            await refused("belongs to no open invitation", token=b"x" * 32)
            await refused("no study", study="another")
            await refused("expected a seat of it", seats=("north",))
            await refused("another certificate|certificate", fingerprint=b"\x09" * 32)
            joining = asyncio.create_task(net.join("valley"))
            while not (membership.folder / "valley" / "status.json").exists():  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            # A thief with the same invitation has other keys.
            thief = replace(membership, folder=tmp_path / "thief")
            thief.folder.mkdir(mode=0o700)
            with pytest.raises((InputError, TheirError), match="already used with another key"):
                await join(thief, documents, options=net.options())
            joining.cancel()
            await asyncio.gather(joining, return_exceptions=True)
            # A newer invitation makes the older one void.
            invite_again(net.place, net.study, "Northfield Hospital", read=read_toy)
            with pytest.raises((InputError, TheirError), match="belongs to no open invitation"):
                await net.join("north")

    asyncio.run(story())


def test_an_expired_invitation_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(tmp_path, enrolment="1 hour")
    now = time.time()

    async def story() -> None:
        async with net.serving():
            monkeypatch.setattr(
                "sottovoce.node.coordinator.enrolment.time.time", lambda: now + 7200
            )
            with pytest.raises((InputError, TheirError), match="expired"):
                await net.join("valley")

    asyncio.run(story())


def ends_with(monkeypatch: pytest.MonkeyPatch, *seats: str) -> None:
    """The time for enrolment is up as soon as these seats are taken."""

    enrolled = StudyRunner.enrol

    async def enrol(self: StudyRunner, seat: str, public: bytes, ticket: Ticket) -> None:
        await enrolled(self, seat, public, ticket)
        if set(seats) <= set(self.publics) and self.training.state.phase is Phase.ENROLMENT:
            clock = self.training.now
            self.training.now = lambda: clock() + 61
            self.training.tell(Tick())

    monkeypatch.setattr(StudyRunner, "enrol", enrol)


def test_enrolment_that_ends_with_too_few_stops_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(tmp_path)
    ends_with(monkeypatch, "north", "evaluator", "harbour", "dealer")

    async def story() -> None:
        async with net.serving():
            joining = (net.join(site) for site in ("north", "harbour"))
            results = await asyncio.gather(*joining, return_exceptions=True)
            for error in results:
                assert isinstance(error, StoppedError)
                assert "expected at least 3 peers, found 2" in error.message

    asyncio.run(story())


def test_enrolment_that_ends_with_enough_goes_on_and_takes_nobody_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helpers = '[helpers]\ntrust = "Trust"\nlender = "Lender"\n'
    roles = {"evaluator": "trust", "dealer": 'dealer = "lender"', "helpers": helpers}
    net = network(tmp_path, sites=4, documents=160, features="8", **roles)
    here = [peer for peer in net.documents if peer != "valley"]
    ends_with(monkeypatch, *here, "evaluator", "dealer")

    async def story() -> None:
        async with net.serving():
            results = await asyncio.gather(
                *(net.join(seat) for seat in (*here, "evaluator", "dealer"))
            )
            assert results[0].study.roster.peers == tuple(here)
            late = invite_again(net.place, net.study, "Valley Practice", read=read_toy)
            net.tokens = (*(token for token in net.tokens if "valley" not in token.seats), late)
            with pytest.raises((InputError, TheirError), match="cannot enrol any more"):
                await net.join("valley")

    asyncio.run(story())


# By default test_one_study_against_the_others.py.
@pytest.mark.soak
def test_several_studies_share_one_port(tmp_path: Path) -> None:
    net = network(tmp_path, features="8")
    tokens = create_study(net.place, net.text.replace("urgency of", "second"), read=read_toy)
    second = replace(net, root=tmp_path, tokens=tokens, events=[])

    def elsewhere(seat: str) -> object:
        own = type(net).membership(second, seat)
        folder = own.folder.with_name(own.folder.name + "-2")
        folder.mkdir(mode=0o700, exist_ok=True)
        return replace(own, folder=folder)

    def ended() -> bool:
        return {study.phase for study in studies(net.place, read=read_toy)} == {Phase.FINISHED}

    async def story() -> None:
        async with net.serving():
            second.address, second.fingerprint = net.address, net.fingerprint
            second.membership = elsewhere  # type: ignore[method-assign,assignment]
            both = await asyncio.gather(net.join_all(*SITES), second.join_all(*SITES))
            assert {seat.study.plan.name for each in both for seat in each} == {
                "urgency of notes",
                "second notes",
            }
            # The coordinator writes the end down after the sites have heard of it.
            async with asyncio.timeout(60):
                while not ended():  # noqa: ASYNC110 - a file says so
                    await asyncio.sleep(0.05)

    asyncio.run(story())
    for token in (*net.tokens, *tokens):
        for path in (net.place.folder).rglob("*"):
            assert not path.is_file() or token.secret not in path.read_bytes()
