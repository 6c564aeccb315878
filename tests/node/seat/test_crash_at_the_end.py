"""A process that dies while it deletes what must not stay goes on when it is started again."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.network import Network, network
from sottovoce.ledger import LineKind, read_ledger
from sottovoce.node.seat.letter_audit import LetterAudit
from sottovoce.node.site.leaving import withdraw
from sottovoce.storage.journal import Journal

SITES = ("north", "harbour", "valley")


class Killed(BaseException):
    """The process is gone."""


def dying_once(method: Callable[..., Any], wanted: Callable[..., bool]) -> Callable[..., Any]:
    """The method, after whose first wanted call the process is gone."""
    left = [1]

    def called(self: Any, *arguments: Any, **options: Any) -> Any:
        result = method(self, *arguments, **options)
        if left and wanted(self, *arguments):
            left.clear()
            raise Killed
        return result

    return called


def is_north(journal: Journal, *_: Any) -> bool:
    return journal.path.parent.name == "north"


def says_deleted_at_north(audit: LetterAudit, what: LineKind, *_: Any) -> bool:
    return what is LineKind.DELETION and audit.ledger.path.parent.name == "north"


def test_a_crash_while_deleting_and_one_while_saying_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(tmp_path)
    monkeypatch.setattr(Journal, "forget", dying_once(Journal.forget, is_north))
    monkeypatch.setattr(LetterAudit, "note", dying_once(LetterAudit.note, says_deleted_at_north))

    async def story() -> None:
        async with net.serving():
            results = await asyncio.gather(
                *(net.join(site) for site in SITES), return_exceptions=True
            )
            assert [isinstance(result, Killed) for result in results] == [True, False, False]
            with pytest.raises(Killed):
                await net.join("north")
            (again,) = await net.join_all("north")
        assert again.model is not None
        assert again.model.exists()

    asyncio.run(story())
    lines = list(read_ledger(net.membership("north").folder / "north" / "ledger.jsonl"))
    assert any(line.what == LineKind.DELETION for line in lines)


def test_a_crash_while_withdrawing_is_finished_by_withdrawing_again(
    trained: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = trained
    folder = net.membership("valley").folder / "valley"

    def is_valley(journal: Journal, *_: Any) -> bool:
        return journal.path.parent.name == "valley"

    async def story() -> None:
        async with net.serving():
            membership, model = net.membership("valley"), folder / "model"
            dying = dying_once(Journal.close_outbox, is_valley)
            monkeypatch.setattr(Journal, "close_outbox", dying)
            with pytest.raises(Killed):
                await withdraw(membership, options=net.options())
            assert model.exists()
            for _ in range(2):
                assert (await withdraw(membership, options=net.options())).in_sum
            assert not model.exists()

    asyncio.run(story())
    lines = list(read_ledger(folder / "ledger.jsonl"))
    assert [line.kind for line in lines if line.what == LineKind.SENT][-1] == "leaving"
    assert sum(line.what == LineKind.WITHDRAWAL for line in lines) == 1
