"""Whoever leaves, refuses, fails or is cancelled: the others go on, or everybody hears why not."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.network import Network, network, read_toy
from sottovoce.errors import InputError, MisuseError, StoppedError, WithdrawnError
from sottovoce.ledger import What, read_ledger
from sottovoce.protocols.messages import Enough
from sottovoce.protocols.seat import Packet
from sottovoce.roles.relay import Letter, Relay
from sottovoce.service.api import ConsentQuestion, Joined
from sottovoce.service.approval import Request
from sottovoce.service.coordinator import cancel_study, close_study, study_status
from sottovoce.service.events import Event, StageBegan, StageEnded, StudyStopped
from sottovoce.service.leaving import withdraw
from sottovoce.service.seat_status import status
from sottovoce.wire import Codec

SITES = ("north", "harbour", "valley")
HELPERS = '[helpers]\ntrust = "Trust"\nlender = "Lender"\n'


def four(root: Path, **changes: str) -> Network:
    """Four peers, of whom three are enough, and an evaluator and a dealer that are no peers."""
    roles = {"evaluator": "trust", "dealer": 'dealer = "lender"', "helpers": HELPERS}
    return network(root, sites=4, documents=320, **{"features": "8", **roles, **changes})


async def say_no(question: ConsentQuestion) -> bool:
    return False


async def results(net: Network, *seats: str, **changes: dict[str, Any]) -> dict[str, Any]:
    """What comes of joining, by seat: a result or an error."""
    tasks = [net.join(one, **changes.get(one, {})) for one in seats]
    found = await asyncio.gather(*tasks, return_exceptions=True)
    return dict(zip(seats, found, strict=True))


def everybody(net: Network, **changes: dict[str, Any]) -> dict[str, Any]:
    """All sites join while the coordinator serves."""

    async def story() -> dict[str, Any]:
        async with net.serving():
            return await results(net, *net.documents, "evaluator", "dealer", **changes)

    return asyncio.run(story())


def models(found: dict[str, Any]) -> set[str]:
    return {name for name, one in found.items() if isinstance(one, Joined) and one.model}


def test_a_peer_that_declines_is_left_behind(tmp_path: Path) -> None:
    net = four(tmp_path)
    found = everybody(net, valley={"consent": say_no})
    assert isinstance(found["valley"], WithdrawnError)
    assert models(found) == set(net.documents) - {"valley"}


def test_a_data_error_at_a_peer_tells_nobody_what_was_in_the_data(tmp_path: Path) -> None:
    net = four(tmp_path)
    secret = "aneurysm of the famous patient"

    def unreadable() -> list[Any]:
        raise InputError(f"notes.csv, line 7: expected a label, found {secret!r}")

    async def story() -> dict[str, Any]:
        async with net.serving():
            others = [one for one in net.documents if one != "valley"]
            bad = asyncio.create_task(net.join("valley", source=unreadable))
            found = await results(net, *others, "evaluator", "dealer")
            with pytest.raises(InputError, match="aneurysm"):
                await bad
            return found

    found = asyncio.run(story())
    assert models(found) == set(net.documents) - {"valley"}
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"aneurysm" not in path.read_bytes(), path


def test_too_few_peers_stop_the_study_with_its_reason_everywhere(tmp_path: Path) -> None:
    net = network(tmp_path)

    async def story() -> dict[str, Any]:
        async with net.serving():
            return await results(net, *SITES, valley={"consent": say_no})

    found = asyncio.run(story())
    assert isinstance(found["valley"], WithdrawnError)
    for name in ("north", "harbour"):
        with pytest.raises(StoppedError, match="expected at least 3 peers, found 2"):
            raise found[name]
    assert study_status(net.office, net.study, read=read_toy).phase == "stopped"
    assert {one.phase for one in status(net.membership("north"))} == {"stopped"}
    stopped = [one for one in net.events if isinstance(one, StudyStopped)]
    assert {one.seat for one in stopped} >= {"coordinator", "north", "evaluator", "harbour"}


def test_a_violation_stops_the_study_and_names_the_party(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, packed = network(tmp_path), Relay.pack

    def other_words(self: Relay, packet: Packet, **options: Any) -> Letter:
        if self.desk.name == "valley" and b"dealt-shares" in packet.body[:20]:
            head = (packet.session, packet.sender, packet.recipient, packet.number)
            packet = Packet(*head, Codec().encode(Enough()))
        return packed(self, packet, **options)

    monkeypatch.setattr(Relay, "pack", other_words)

    async def story() -> dict[str, Any]:
        async with net.serving():
            return await results(net, *SITES)

    for error in asyncio.run(story()).values():
        assert isinstance(error, StoppedError)
        assert error.party == "valley"
        assert "was not as agreed" in error.message


def when(net: Network, wanted: Callable[[Event], bool]) -> asyncio.Event:
    """Set once an event of this kind was told."""
    happened = asyncio.Event()

    class Told(list[Event]):
        def append(self, event: Event) -> None:
            super().append(event)
            if wanted(event):
                happened.set()

    net.events = Told(net.events)
    return happened


def test_a_peer_that_never_returns_is_left_behind_after_the_deadline(tmp_path: Path) -> None:
    net = four(tmp_path, stage="4 seconds")
    began = when(
        net,
        lambda one: (
            isinstance(one, StageBegan)
            and one.seat == "valley"
            and one.attempt == 1
            and one.stage == "dictionary"
        ),
    )

    async def story() -> dict[str, Any]:
        async with net.serving():
            others = [one for one in net.documents if one != "valley"]
            dying = asyncio.create_task(net.join("valley"))
            rest = asyncio.create_task(results(net, *others, "evaluator", "dealer"))
            await began.wait()
            dying.cancel()
            return await rest

    found = asyncio.run(story())
    assert models(found) == set(net.documents) - {"valley"}


@pytest.mark.parametrize("stage", ["dictionary", "training"])
def test_who_withdraws_early_is_in_no_sum_and_sends_nothing_more(
    tmp_path: Path, stage: str
) -> None:
    net = four(tmp_path)
    began = when(
        net, lambda one: isinstance(one, StageBegan) and one.seat == "valley" and one.stage == stage
    )

    async def story() -> dict[str, Any]:
        async with net.serving():
            others = [one for one in net.documents if one != "valley"]
            leaving = asyncio.create_task(net.join("valley"))
            rest = asyncio.create_task(results(net, *others, "evaluator", "dealer"))
            await began.wait()
            far = await withdraw(net.membership("valley"), options=net.options())
            with pytest.raises(WithdrawnError, match="withdrew"):
                await leaving
            found = await rest
            with pytest.raises(WithdrawnError, match="withdrew"):
                await net.join("valley")
            return {**found, "far": far}

    found = asyncio.run(story())
    far = found.pop("far")
    lines = [
        one.entry for one in read_ledger(net.membership("valley").folder / "valley/ledger.jsonl")
    ]
    end = next(at for at, one in enumerate(lines) if one.what is What.WITHDRAWAL)
    after = [one for one in lines[end:] if one.what is What.SENT]
    assert {one.stage for one in after} == {"control"}
    assert after[-1].kind == "leaving"
    if not far.in_sum:
        assert models(found) == set(net.documents) - {"valley"}
        began_with = [
            one.peers
            for one in net.events
            if isinstance(one, StageBegan) and one.stage == "training"
        ]
        assert "valley" not in began_with[-1]


def test_who_withdraws_after_the_training_is_told_that_its_part_stays_in_the_sum(
    tmp_path: Path,
) -> None:
    net = network(tmp_path, features="16")

    async def story() -> None:
        async with net.serving():
            await net.join_all(*SITES)
            membership = net.membership("valley")
            model = membership.folder / "valley" / "model"
            assert model.exists()
            far = await withdraw(membership, options=net.options())
            assert far.in_sum
            assert "cannot be taken out" in far.says
            assert not model.exists()
            with pytest.raises(InputError, match="expected the sealed model"):
                await net.classify("valley", net.documents["valley"][:2])

    asyncio.run(story())


def test_a_cancelled_study_stops_everywhere_and_a_closed_one_answers_nothing(
    tmp_path: Path,
) -> None:
    net = network(tmp_path, features="16")
    began = when(net, lambda one: isinstance(one, StageEnded) and one.stage == "agreement")

    async def cancelled() -> None:
        async with net.serving():
            joining = asyncio.create_task(results(net, *SITES))
            await began.wait()
            cancel_study(net.office, net.study, reason="the committee asked us to")
            for error in (await joining).values():
                assert isinstance(error, StoppedError)
                assert "the committee asked us to" in error.message

    asyncio.run(cancelled())
    other = network(tmp_path / "other", features="16")

    async def closed() -> None:
        async with other.serving():
            await other.join_all(*SITES)
            close_study(other.office, other.study)
            while (  # noqa: ASYNC110 - another process would look at this file, too
                study_status(other.office, other.study, read=read_toy).phase != "closed"
            ):
                await asyncio.sleep(0.1)
            with pytest.raises(MisuseError, match="the study is closed"):
                await other.classify("valley", other.documents["valley"][:2])

    asyncio.run(closed())
    assert not list((other.office.folder / "studies").rglob("coordinator/key"))


def test_a_gate_that_refuses_a_letter_takes_the_site_out(tmp_path: Path) -> None:
    net = four(tmp_path)

    class NoCounts:
        def ask(self, request: Request) -> bool:
            return request.kind != "masked-parts"

    found = everybody(net, valley={"gate": NoCounts()})
    assert isinstance(found["valley"], WithdrawnError)
    assert "masked-parts" in str(found["valley"])
    assert models(found) == set(net.documents) - {"valley"}
    path = net.membership("valley").folder / "valley/ledger.jsonl"
    kinds = [one.entry.kind for one in read_ledger(path) if one.entry.what is What.SENT]
    assert "masked-parts" not in kinds
    assert kinds[-1] == "leaving"
