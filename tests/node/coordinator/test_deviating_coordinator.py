"""What a seat refuses of a coordinator once sums were opened, and a coordinator of a seat."""

import asyncio
import json
from pathlib import Path

import pytest

from harness.entropy import SeededEntropy
from harness.network import Network, network
from sottovoce.course.control import (
    COORDINATOR,
    AskedQuery,
    Begin,
    Closed,
    Leaving,
    Rejoined,
    Seating,
    control_session,
)
from sottovoce.course.training.actions import Action, RunAttempt
from sottovoce.course.training.inputs import Heard
from sottovoce.errors import ViolationError
from sottovoce.node.coordinator.training_coordinator import TrainingCoordinator
from sottovoce.node.seat.deciders import Effect, Waits
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.storage.journal import Journal
from sottovoce.storage.sealed_files import SealedFiles
from sottovoce.storage.seat_keys import SeatKeys
from sottovoce.study.attempts import Attempt, Stage
from sottovoce.study.relay import Letter
from sottovoce.study.stages.agreement import SignedConsent
from sottovoce.transport.client import CoordinatorLine
from sottovoce.wire import Codec


def test_a_second_table_after_the_dictionary_is_refused_by_every_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(tmp_path, features="16")
    perform = TrainingCoordinator.perform

    async def deviating(self: TrainingCoordinator, action: Action) -> None:
        if not isinstance(action, RunAttempt) or action.attempt.stage is not Stage.TRAINING:
            await perform(self, action)
            return
        old, peers = self.state.record.seating[0], self.state.study.roster.peers
        seating = Seating(old.number + 1, old.seats)
        announced = (
            seating,
            Begin.of(seating.number, self.state.record.attempts[0]),
            Begin.of(seating.number, Attempt(Stage.DICTIONARY, 2, peers)),
        )
        names = [name for name in self.state.study.roster.names if name != COORDINATOR]
        await self.agent.commit(Effect({}, [(name, each) for name in names for each in announced]))

    monkeypatch.setattr(TrainingCoordinator, "perform", deviating)

    async def story() -> None:
        async with net.serving():
            joining = [
                asyncio.create_task(net.join(site)) for site in ("north", "harbour", "valley")
            ]
            for error in await asyncio.gather(*joining, return_exceptions=True):
                assert isinstance(error, ViolationError)
                assert error.party == COORDINATOR
                assert "a new roster came after sums were opened" in error.message

    asyncio.run(asyncio.wait_for(story(), 400))


def test_an_attempt_that_a_later_decision_ended_never_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begun after a crash, it could agree on a sum with a peer whom the next attempt leaves out."""
    net, perform, begun = network(tmp_path, features="16"), TrainingCoordinator.perform, []

    async def overtaken(self: TrainingCoordinator, action: Action) -> None:
        first = isinstance(action, RunAttempt) and not begun
        if not first or action.attempt.stage is not Stage.DICTIONARY:
            await perform(self, action)
            return
        await self.take(Heard("valley", Leaving()))
        await perform(self, action)
        session = action.attempt.session(self.state.study)
        begun.append(self.agent.journal.has_begun(session))

    monkeypatch.setattr(TrainingCoordinator, "perform", overtaken)

    async def story() -> None:
        async with net.serving():
            joining = (net.join(site) for site in ("north", "harbour", "valley"))
            await asyncio.gather(*joining, return_exceptions=True)

    asyncio.run(asyncio.wait_for(story(), 400))
    assert begun == [False]


class _Silent:
    asks = False

    async def leaving(self, *_):
        pass

    def left_unasked(self, *_):
        pass

    def left(self, *_):
        pass

    def came(self, *_):
        pass

    def note(self, *_):
        pass

    def flush(self):
        pass


class _Ears:
    def __init__(self, seat) -> None:
        self.seat = seat
        self.heard_of: list[str] = []

    async def hear(self, sender, message, notes):
        self.heard_of.append(sender)
        await self.seat.commit_notes(notes)


def test_letters_of_another_seat_take_the_place_of_none_of_the_coordinator_s(
    tmp_path: Path,
) -> None:
    async def story() -> list[str]:
        session = control_session("study", bytes(32))
        seat = SeatRuntime(
            "north",
            "study",
            journal=Journal(tmp_path / "journal.db", key=bytes(32)),
            post=None,
            audit=_Silent(),
            control=lambda _: session,
            waits=Waits(9, 9),
        )
        seat.decider = ears = _Ears(seat)
        closed = Codec().encode(Closed())
        for position, (sender, number) in enumerate(
            [(COORDINATOR, 0), ("harbour", 0), ("harbour", 1), (COORDINATOR, 1)], 1
        ):
            await seat._take(position, Letter(session, sender, "north", number, closed))
        await seat.close()
        return ears.heard_of

    assert asyncio.run(story()) == [COORDINATOR, COORDINATOR]


def test_a_wish_that_cannot_be_granted_ends_neither_the_server_nor_a_restarted_one(
    trained: Network,
) -> None:
    net = trained
    wishes = (
        AskedQuery(2**64 - 1),
        Rejoined(SignedConsent("valley", bytes(32), bytes(32), bytes(64))),
    )

    async def story() -> None:
        async with net.serving():
            """Its address is known now."""
        membership = net.membership("valley")
        files = SealedFiles(membership.folder, membership.at_rest)
        keys = SeatKeys.open(files, "valley", entropy=SeededEntropy(1))
        session = control_session(net.study, keys.identity.public)
        path = membership.folder / "valley" / "journal.db"
        with Journal(path, key=files.key_for("journal valley")) as journal:
            number = int.from_bytes(journal.note(f"told/{session.hex()}") or b"")
        for _ in range(2):
            line = CoordinatorLine(
                net.address,
                fingerprint=net.fingerprint,
                study=net.study,
                identity=keys.identity,
                retry_seconds=60,
            )
            async with net.serving(), line:
                for wish in wishes:
                    body = Codec().encode(wish)
                    await line.post(Letter(session, "valley", COORDINATOR, number, body))
                    number += 1
                await asyncio.sleep(0.5)
                assert json.loads(await line.status())["phase"] == "finished"

    asyncio.run(asyncio.wait_for(story(), 400))
