"""The coordinator carries everything and holds the Paillier key: what it can read, and what not."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from harness.entropy import SeededEntropy
from harness.network import network
from sottovoce.errors import TheirError, ViolationError
from sottovoce.keyfiles.models import read_model
from sottovoce.protocols.messages import kind_of
from sottovoce.protocols.sealing import OVERHEAD, Address, unseal
from sottovoce.roles.relay import Letter, padded_size
from sottovoce.roles.roster import Roster
from sottovoce.service.agent import Agent
from sottovoce.service.api import ConsentQuestion
from sottovoce.service.chairs import Effect
from sottovoce.service.control import Seating, SeatRecord
from sottovoce.service.journal import Journal
from sottovoce.service.sealed_files import SealedFiles
from sottovoce.service.seat_keys import SeatKeys
from sottovoce.service.standing import kept_agreement
from sottovoce.transport.mailbox import Mailbox
from sottovoce.wire.codec import tag_of

SITES = ("north", "harbour", "valley")


@pytest.fixture
def carried(monkeypatch: pytest.MonkeyPatch) -> list[Letter]:
    """Every letter that the server stores."""
    seen: list[Letter] = []
    put = Mailbox.put

    async def noting(self: Mailbox, letter: Any, body: bytes) -> int:
        seen.append(Letter(*letter.place.row, body))
        return await put(self, letter, body)

    monkeypatch.setattr(Mailbox, "put", noting)
    return seen


def test_what_the_coordinator_carries_between_others_tells_it_nothing(
    tmp_path: Path, carried: list[Letter]
) -> None:
    net = network(tmp_path, features="8", engine="paillier")

    async def story() -> list[Any]:
        async with net.serving():
            return await net.join_all(*SITES)

    joined = asyncio.run(story())
    study = joined[0].study
    between = [one for one in carried if "coordinator" not in {one.sender, one.recipient}]
    assert {one.recipient for one in between} >= {"evaluator", *SITES}

    # It tries every key that it has or ever saw, as the key of either end.
    files = SealedFiles(net.office.folder / "studies" / net.study, net.office.at_rest)
    mine = SeatKeys.open(files, "coordinator", entropy=SeededEntropy(1))
    key = files.key_for("journal coordinator")
    with Journal(files.root / "coordinator" / "journal.db", key=key) as journal:
        agreement = kept_agreement(journal, study)
    assert agreement is not None
    assert agreement.boxes["coordinator"] == mine.box.public
    for one in between:
        with pytest.raises(TheirError):
            kind_of(tag_of(one.body))
        for box in agreement.boxes.values():
            for recipient in (mine.box.public, agreement.boxes[one.recipient]):
                address = Address(box, recipient, info=study.digest, label=b"")
                with pytest.raises(TheirError):
                    unseal(one.body, address, key=mine.box)
        # Sizes come in steps, so that they say little.
        assert padded_size(len(one.body) - OVERHEAD) == len(one.body) - OVERHEAD

    # The encrypted model, which its Paillier key would open, passed by: it is in no letter.
    path = joined[0].model
    weights = read_model(path, study)[1].weights.to_bytes()
    pieces = [weights[start : start + 48] for start in range(64, len(weights) - 48, 48)]
    assert pieces
    everything = b"".join(one.body for one in carried)
    assert not any(piece in everything for piece in pieces)


def swapped(seating: Seating, seat: str) -> Seating:
    """The roster with a key that is not the seat's."""
    seats = tuple(
        SeatRecord(one.name, one.organisation, one.role, b"\x07" * 32) if one.name == seat else one
        for one in seating.seats
    )
    return Seating(seating.number, seats)


def test_a_relay_that_swaps_a_key_is_caught_by_whose_key_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, of = network(tmp_path), Seating.of

    def lying(number: int, roster: Roster) -> Seating:
        return swapped(of(number, roster), "valley")

    monkeypatch.setattr(Seating, "of", lying)

    async def story() -> list[Any]:
        async with net.serving():
            joining = (net.join(one) for one in SITES)
            return list(await asyncio.gather(*joining, return_exceptions=True))

    caught = asyncio.run(story())[2]
    assert isinstance(caught, ViolationError)
    assert caught.party == "coordinator"
    assert "our own key at the seat 'valley'" in caught.message


def test_a_relay_that_shows_one_site_another_roster_is_heard_in_the_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Valley is shown another key of the evaluator; who compares hears it, who does not is safe."""
    net, commit = network(tmp_path, stage="1 second"), Agent.commit
    words: dict[str, tuple[str, ...]] = {}

    async def lying(self: Agent, effect: Effect) -> None:
        letters = [
            (
                name,
                swapped(one, "evaluator") if isinstance(one, Seating) and name == "valley" else one,
            )
            for name, one in effect.letters
        ]
        await commit(self, Effect(effect.notes, letters))

    monkeypatch.setattr(Agent, "commit", lying)

    def noting(site: str) -> Any:
        async def consent(question: ConsentQuestion) -> bool:
            words[site] = question.words
            return True

        return consent

    async def story() -> list[Any]:
        async with net.serving():
            joining = (net.join(site, consent=noting(site)) for site in SITES)
            return list(await asyncio.gather(*joining, return_exceptions=True))

    found = asyncio.run(story())
    assert words["north"] == words["harbour"] != words["valley"]
    assert all(isinstance(one, TheirError) for one in found)
    assert not list(tmp_path.rglob("model"))
