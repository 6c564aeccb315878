"""A process that dies while it deletes what must not stay goes on when it is started again."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.network import network
from sottovoce.ledger import What, read_ledger
from sottovoce.service.journal import Journal
from sottovoce.service.witness import LedgerWitness

SITES = ("north", "harbour", "valley")


class Killed(BaseException):
    """The process is gone."""


def dying_once(method: Callable[..., Any], wanted: Callable[..., bool]) -> Callable[..., Any]:
    """The method, after whose first wanted call the process is gone."""
    left = [1]

    def called(self: Any, *arguments: Any, **options: Any) -> Any:
        found = method(self, *arguments, **options)
        if left and wanted(self, *arguments):
            left.clear()
            raise Killed
        return found

    return called


def is_north(journal: Journal, *_: Any) -> bool:
    return journal.path.parent.name == "north"


def says_deleted_at_north(witness: LedgerWitness, what: What, *_: Any) -> bool:
    return what is What.DELETION and witness.ledger.path.parent.name == "north"


@pytest.mark.parametrize(
    ("owner", "name", "wanted"),
    [(Journal, "forget", is_north), (LedgerWitness, "note", says_deleted_at_north)],
    ids=["while it deletes", "while it says so"],
)
def test_a_crash_while_deleting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: type, name: str, wanted: Any
) -> None:
    net = network(tmp_path)
    monkeypatch.setattr(owner, name, dying_once(getattr(owner, name), wanted))

    async def story() -> None:
        async with net.serving():
            found = await asyncio.gather(*(net.join(one) for one in SITES), return_exceptions=True)
            assert [isinstance(one, Killed) for one in found] == [True, False, False]
            (again,) = await net.join_all("north")
        assert again.model is not None
        assert again.model.exists()

    asyncio.run(story())
    lines = list(read_ledger(net.membership("north").folder / "north" / "ledger.jsonl"))
    assert any(one.what == What.DELETION for one in lines)
