"""A seat that writes nonsense ends its own study by name: not the server, nor another's process."""

import asyncio
import json
import sqlite3
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from harness.entropy import SeededEntropy
from harness.network import Network, network, read_toy
from sottovoce.course.control import COORDINATOR, AskedQuery, Stopped, control_session
from sottovoce.course.training.participant_record import SEAT, ParticipantRecord
from sottovoce.errors import InputError, StoppedError
from sottovoce.ledger import read_ledger
from sottovoce.node.coordinator import serving
from sottovoce.node.coordinator.serving import create_study, registry_of
from sottovoce.node.seat import early_letters
from sottovoce.protocols.identities import Identity
from sottovoce.storage.journal import Journal
from sottovoce.storage.sealed_files import SealedFiles
from sottovoce.storage.seat_keys import SeatKeys
from sottovoce.study.relay import Letter
from sottovoce.transport.client import CoordinatorLine
from sottovoce.wire import Codec

STOPPED = Codec().encode(Stopped("training", 1, "AbsenceError", "north", "made up by a peer"))


def mallory_at(seat):
    return Identity.draw(seat, SeededEntropy(99))


@asynccontextmanager
async def seated(net, seat):
    """The line of somebody who holds an invitation and means harm."""
    membership = net.membership(seat)
    line = CoordinatorLine(
        net.address,
        fingerprint=net.fingerprint,
        study=net.study,
        identity=mallory_at(seat),
        retry_seconds=60,
    )
    async with line:
        await line.enrol(membership.token)
        yield line


async def nonsense(net, line):
    control = control_session(net.study, mallory_at(line.seat).public)
    await line.post(Letter(control, line.seat, "coordinator", 0, b"nonsense"))


async def many_sessions(net, line):
    for number in range(6):
        session = b"session %d" % number
        await line.post(Letter(session, line.seat, "coordinator", 0, b"for a session to come"))


@pytest.mark.parametrize("attack", [nonsense, many_sessions])
def test_nonsense_for_the_coordinator_ends_the_study_by_name_and_not_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attack
) -> None:
    monkeypatch.setattr(early_letters, "MOST_LETTERS", 5)
    net = network(tmp_path, enrolment="1 hour")
    others = create_study(net.place, net.text.replace("urgency of", "other"), read=read_toy)

    async def story() -> None:
        async with net.serving(), seated(net, "valley") as mallory:
            await attack(net, mallory)
            joining = [asyncio.create_task(net.join(site)) for site in ("north", "harbour")]
            for error in await asyncio.gather(*joining, return_exceptions=True):
                assert isinstance(error, StoppedError)
                assert error.party == "valley"
                assert "valley sent what cannot be followed" in error.message
            while json.loads(await mallory.status())["phase"] != "stopped":  # noqa: ASYNC110 - over the line
                await asyncio.sleep(0.05)
            # What was sent to the coordinator is gone from its disk, free pages included.
            database = sqlite3.connect(net.place.folder / "studies" / net.study / "mailbox.db")
            for_us = "recipient = 'coordinator' AND taken = 0 AND length(body) > 1000"
            # Acknowledgements do not wait for the disk.
            while database.execute(f"SELECT 1 FROM letters WHERE {for_us}").fetchall():  # noqa: S608, ASYNC110 - constant
                await asyncio.sleep(0.05)
            assert database.execute("PRAGMA freelist_count").fetchone() == (0,)
            database.close()
            # Another study at the same port goes on.
            other = replace(net, tokens=others, events=[])
            async with seated(other, "valley") as honest:
                assert b"enrolment" in await honest.status()
        # Nor does the letter end the server that reads it again after a restart.
        async with net.serving():
            await asyncio.sleep(0.2)

    asyncio.run(story())


def test_directions_of_others_than_the_coordinator_lead_nowhere(tmp_path: Path) -> None:
    net = network(tmp_path, enrolment="1 hour")

    async def story() -> None:
        async with net.serving(), seated(net, "valley") as mallory:
            joining = asyncio.create_task(net.join("harbour"))
            while "harbour" not in json.loads(await mallory.status())["enrolled"]:  # noqa: ASYNC110 - over the line
                await asyncio.sleep(0.05)
            # The roster will tell everybody's keys; here the coordinator's disk does.
            public = registry_of(net.place, net.study).seats()["harbour"].public
            control = control_session(net.study, public)
            for number, body in enumerate((STOPPED, b"nonsense")):
                await mallory.post(Letter(control, "valley", "harbour", number, body))
            await asyncio.sleep(0.5)
            assert not joining.done()
            joining.cancel()
            await asyncio.gather(joining, return_exceptions=True)

    asyncio.run(story())


def test_the_number_of_open_studies_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "MOST_STUDIES", 2)
    net = network(tmp_path)
    create_study(net.place, net.text, read=read_toy)
    with pytest.raises(InputError, match="expected fewer than 2 open studies") as refused:
        create_study(net.place, net.text, read=read_toy)
    assert "sottovoce study close STUDY" in refused.value.hints


def test_however_many_queries_a_peer_asks_for_one_is_dealt_for(trained: Network) -> None:
    """Else each would leave a session at the dealer, and a line in a note that it writes anew."""
    net, many = trained, 40

    async def story() -> None:
        async with net.serving():
            """Its address is known now."""
        membership = net.membership("valley")
        files = SealedFiles(membership.folder, membership.at_rest)
        keys = SeatKeys.open(files, "valley", entropy=SeededEntropy(1))
        session = control_session(net.study, keys.identity.public)
        path = membership.folder / "valley" / "journal.db"
        with Journal(path, key=files.key_for("journal valley")) as journal:
            first = int.from_bytes(journal.note(f"told/{session.hex()}") or b"")
        line = CoordinatorLine(
            net.address,
            fingerprint=net.fingerprint,
            study=net.study,
            identity=keys.identity,
            retry_seconds=30,
        )
        async with net.serving(), net.staying("north", "harbour"), line:
            for number in range(many):
                body = Codec().encode(AskedQuery(number))
                await line.post(Letter(session, "valley", COORDINATOR, first + number, body))
            while came(coordinator, "asked-query") < before + many:  # noqa: ASYNC110 - another's file
                await asyncio.sleep(0.1)
            # What is asked while another query is being stopped takes its place unopened.
            while came(dealer, "opened-query") < 1:  # noqa: ASYNC110 - another task's file
                await asyncio.sleep(0.1)

    def came(ledger: Path, kind: str) -> int:
        return sum(line.entry.kind == kind for line in read_ledger(ledger))

    dealer = net.membership("harbour").folder / "dealer" / "ledger.jsonl"
    coordinator = next((net.root / "coordinator-home").glob("**/coordinator/ledger.jsonl"))
    before = came(coordinator, "asked-query")

    asyncio.run(asyncio.wait_for(story(), 400))
    membership = net.membership("harbour")
    key = SealedFiles(membership.folder, membership.at_rest).key_for("journal dealer")
    with Journal(membership.folder / "dealer" / "journal.db", key=key) as journal:
        assert len(Codec().decode(journal.note(SEAT), ParticipantRecord).helping) <= 1
        assert len(journal.remembered()) <= 2
