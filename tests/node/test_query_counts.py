"""Queries are counted once, whatever else is asked while one of them ends."""

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from sottovoce.course.control import AskedQuery
from sottovoce.node.coordinator import query_coordinator
from sottovoce.node.coordinator.query_coordinator import QueryConditions, QueryCoordinator, _Query
from sottovoce.node.seat.after_training import AskerRecord
from sottovoce.node.seat.deciders import Effect
from sottovoce.study.plan import Verdict
from sottovoce.study.queries.budget import QueryBook

SESSION = b"a query of north"


class Party:
    """Does what it is told in that order, as one thread does, and tells after a while."""

    def __init__(self, notes: dict[str, bytes]) -> None:
        self.study = "study"
        self.notes = notes
        self.journal = SimpleNamespace(note=self.notes.get, forget=lambda _: None)
        self.tell_watcher = lambda _: None

    async def do(self, action: Any, *arguments: Any) -> Any:
        found = action(*arguments)
        await asyncio.sleep(0)
        return found

    async def commit(self, effect: Effect) -> None:
        await self.do(self.notes.update, effect.notes)

    async def drop(self, session: bytes) -> None:
        await asyncio.sleep(0)


def query_coordinator_at(party: Party, monkeypatch: pytest.MonkeyPatch) -> QueryCoordinator:
    """A query coordinator of a study without people: it only counts here."""
    monkeypatch.setattr(query_coordinator, "Seating", SimpleNamespace(of=lambda *_: None))
    study = SimpleNamespace(
        verdict_for=lambda *_: Verdict.DGK,
        query_parties=lambda *_: ("coordinator", "north"),
        roster=None,
    )
    standing, trained = SimpleNamespace(study=study), SimpleNamespace(peers=("north",))
    around = QueryConditions(dict, lambda _: set(), 1.0)
    return QueryCoordinator(party, standing, trained, around)  # type: ignore[arg-type]


async def asks(counting: QueryCoordinator, party: Party, number: int) -> None:
    """As the agent does: what came of a letter goes to the disk."""
    await party.commit(await counting.heard("north", AskedQuery(number)))


def test_a_query_that_ends_while_the_next_is_asked_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> AskerRecord:
        party = Party(AskerRecord(1, 0, 0, (0,)).notes("north"))
        counting = query_coordinator_at(party, monkeypatch)
        book = QueryBook(4000, 1, Counter(north=48))
        counting._queries[SESSION] = _Query("north", 0, book)
        ended = SimpleNamespace(
            sitting=SimpleNamespace(session=SESSION),
            stage="query",
            seat=SimpleNamespace(finished=True, failure=None, result=None),
        )
        await asyncio.gather(counting._after(ended), asks(counting, party, 1))  # type: ignore[arg-type]
        return AskerRecord.read(party.journal, "north")  # type: ignore[arg-type]

    assert asyncio.run(story()) == AskerRecord(2, 48, 0, (1,))
