"""A site that lost its disk: new keys, compared words, and the model again from another peer."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.network import Network, lost, network
from harness.processes.carried import letters_carried
from sottovoce.course.control import Rejoining
from sottovoce.errors import (
    AbsenceError,
    DamagedJournalError,
    InputError,
    MisuseError,
    TheirError,
    WithdrawnError,
)
from sottovoce.keyfiles.models import read_model
from sottovoce.ledger import LineKind, read_ledger
from sottovoce.node.api import ConsentQuestion
from sottovoce.node.events import SeatLost
from sottovoce.node.seat.query_client import QueryClient
from sottovoce.node.site.asking import hand_model
from sottovoce.study.queries.model import PeerModel


def sent(net: Network, seat: str) -> list[str]:
    """The kinds of what a seat sent, as its ledger says."""
    lines = read_ledger(net.membership(seat).folder / seat / "ledger.jsonl")
    return [line.entry.kind for line in lines if line.entry.what is LineKind.SENT]


def test_a_site_that_lost_its_disk_gets_the_model_again_from_a_peer(
    trained: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = trained
    heard: dict[str, tuple[str, ...]] = {}
    carried = letters_carried(monkeypatch)

    def comparing(site: str, *, answer: bool = True) -> Any:
        async def consent(question: ConsentQuestion) -> bool:
            heard[site] = question.words
            return answer

        return consent

    async def story() -> None:
        async with net.serving():
            first = await net.join("north")
        assert first.model is not None
        model = read_model(first.model, first.study)[1]
        # Labels are found on shares: a peer's part is the key that hashes words, and no weights.
        assert isinstance(model, PeerModel)
        assert model.weights is None
        assert model.key.secret in first.model.read_bytes()
        mine = net.documents["valley"][:10]
        async with net.serving(), net.staying("north", "harbour"):
            expected = (await net.classify("valley", mine)).classes
            lost(net, "valley")
            with pytest.raises(InputError, match="there is no sealed model"):
                await net.classify("valley", mine)
            again = asyncio.create_task(net.join("valley", consent=comparing("valley")))
            refusing = net.options(consent=comparing("north", answer=False))
            with pytest.raises(WithdrawnError, match="words were not confirmed"):
                await hand_model(net.membership("north"), "valley", options=refusing)
            assert not again.done()
            agreeing = net.options(consent=comparing("north"))
            await hand_model(net.membership("north"), "valley", options=agreeing)
            joined = await again
            assert joined.model is not None
            assert heard["valley"] == heard["north"]
            assert (await net.classify("valley", mine)).classes == expected
            with pytest.raises(MisuseError, match="already has the model"):
                await hand_model(net.membership("north"), "valley", options=agreeing)
            # The coordinator, who could hash words with it, never had it in its hands.
            everything = b"".join(letter.body for letter in carried)
            assert model.key.secret not in everything
        # The old keys are void, and the new ones good in a fresh process.
        async with net.serving(), net.staying("north", "harbour"):
            assert (await net.classify("valley", mine)).classes == expected
            with pytest.raises(MisuseError, match="takes no part in evaluations"):
                await net.evaluate("valley")
        assert "asked-evaluation" not in sent(net, "valley")

    asyncio.run(story())


def test_keys_are_replaced_by_a_new_invitation_alone(
    trained: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, waiting = trained, QueryClient.rejoining

    async def impatient(self: QueryClient, seat: str, *, seconds: float) -> Rejoining:
        return await waiting(self, seat, seconds=seconds / 100)

    monkeypatch.setattr(QueryClient, "rejoining", impatient)

    async def story() -> None:
        async with net.serving():
            used = net.membership("valley")
            shutil.rmtree(used.folder)
            with pytest.raises((InputError, TheirError), match="already used with another key"):
                await net.join("valley")
            with pytest.raises(AbsenceError, match="valley: has not enrolled again"):
                await hand_model(net.membership("north"), "valley", options=net.options())

    asyncio.run(story())


WORDS = 'dictionary = "given"\nwords = ["pain", "fever", "urgent", "stable", "today", "review"]\n'


def test_a_site_of_a_quorum_comes_back_without_its_member_and_askers_are_told_at_once(
    tmp_path: Path,
) -> None:
    """Three members of whom all are needed: nobody gets labels any more, and nobody waits."""
    net = network(tmp_path, engine="quorum", features="6", more=WORDS, stage="30 minutes")

    async def story() -> None:
        async with net.serving():
            await net.join_all("north", "harbour", "valley")
        async with net.serving(), net.staying("north", "harbour"):
            mine = net.documents["north"][:3]
            journal = net.membership("valley").folder / "member-valley" / "journal.db"
            journal.with_name("journal.db-wal").unlink(missing_ok=True)
            journal.write_bytes(b"no database at all" * 300)
            with pytest.raises(DamagedJournalError):
                await net.join("valley")
            with pytest.raises(MisuseError, match="member-valley cannot go on"):
                await net.classify("north", mine)
            lost(net, "valley")
            again = asyncio.create_task(net.join("valley"))
            await hand_model(net.membership("north"), "valley", options=net.options())
            joined = await again
            assert joined.model is not None
            gone = [event.seat for event in net.events if isinstance(event, SeatLost)]
            # At the coordinator twice, and at the site.
            assert gone == ["member-valley"] * 3
            with pytest.raises(MisuseError, match="member-valley cannot go on"):
                await net.classify("north", mine)

    asyncio.run(asyncio.wait_for(story(), 120))
