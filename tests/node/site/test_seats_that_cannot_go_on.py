"""Whoever cannot go on says so at once, and everybody hears at once that a study stopped.

The study waits half an hour for whoever is silent: none of these tests could wait for that.
"""

import asyncio
import errno
import os
from contextlib import suppress
from pathlib import Path

import pytest

from harness.network import network
from harness.processes.copies import Copying
from harness.processes.lives import KilledError
from sottovoce.course.news import StageBegan
from sottovoce.errors import DamagedJournalError, LedgerError, StoppedError, ViolationError
from sottovoce.node.coordinator.serving import cancel_study
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.study.relay import Letter

SITES = ("north", "harbour", "valley")
WAIT_SECONDS = 240


def _damaged(journal: Path) -> None:
    """Its first page is not what SQLite wrote there."""
    for beside in (journal.with_name(f"{journal.name}-wal"), journal.with_name("journal.db-shm")):
        beside.unlink(missing_ok=True)
    with journal.open("r+b") as file:
        file.write(b"no database at all" * 300)


def test_a_seat_with_a_damaged_journal_tells_the_others_at_once(tmp_path: Path) -> None:
    """The evaluator's site and the dealer's hear of it, at both their seats."""
    net = network(tmp_path, documents=120, features="8", stage="30 minutes")

    async def story() -> None:
        async with net.serving():
            folder = net.membership("valley").folder
            copying = Copying("valley", "training", folder, tmp_path / "unused")
            others = [asyncio.create_task(net.join(site)) for site in SITES[:2]]
            with copying.watched(), suppress(KilledError):
                await net.join("valley")
            assert copying.dead
            _damaged(folder / "valley" / "journal.db")
            with pytest.raises(DamagedJournalError, match="damaged"):
                await net.join("valley")
            for error in await asyncio.gather(*others, return_exceptions=True):
                assert isinstance(error, StoppedError)
                assert "valley" in error.message

    asyncio.run(asyncio.wait_for(story(), WAIT_SECONDS))


def test_a_stopped_study_is_heard_by_a_dealer_at_once(tmp_path: Path) -> None:
    net = network(tmp_path, documents=120, features="8", stage="30 minutes")

    async def story() -> None:
        async with net.serving():
            joining = [asyncio.create_task(net.join(site)) for site in SITES[:2]]
            # Without the third the dealer waits, for numbers that do not come.
            copying = Copying("valley", "training", net.membership("valley").folder, tmp_path / "_")
            with copying.watched(), suppress(KilledError):
                await net.join("valley")
            assert any(
                isinstance(event, StageBegan) and event.seat == "dealer" for event in net.events
            )
            cancel_study(net.place, net.study, reason="enough")
            for error in await asyncio.gather(*joining, return_exceptions=True):
                assert isinstance(error, StoppedError)

    asyncio.run(asyncio.wait_for(story(), WAIT_SECONDS))


def test_a_site_whose_ledger_finds_no_room_is_told_the_way_on_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(tmp_path, documents=120, features="8", stage="30 minutes")
    ledger = net.membership("valley").folder / "valley" / "ledger.jsonl"
    full, write = asyncio.Event(), os.pwrite

    def into_a_full_disk(file: int, data: bytes, offset: int) -> int:
        if not full.is_set() and offset > 4000 and os.path.samestat(os.fstat(file), ledger.stat()):
            # Of a line that does not fit, the disk takes what it has room for.
            if len(data) > 100:
                return write(file, data[:100], offset)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, data, offset)

    async def story() -> None:
        async with net.serving():
            others = [asyncio.create_task(net.join(site)) for site in SITES[:2]]
            with pytest.raises(LedgerError, match="no space left on device") as failure:
                await net.join("valley")
            assert failure.value.hints == ("free some space, and start again: the study continues",)
            full.set()
            await net.join("valley")
            await asyncio.gather(*others)

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", into_a_full_disk)
        asyncio.run(asyncio.wait_for(story(), WAIT_SECONDS))


def test_a_seat_that_fails_while_the_study_goes_on_ends_its_site_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else hears of it, and the site's other seat would wait for half an hour."""
    net = network(tmp_path, documents=120, features="8", stage="30 minutes")
    take = SeatRuntime._take

    async def failing(self: SeatRuntime, position: int, letter: Letter) -> None:
        if self.name == "evaluator" and self.running:
            raise ViolationError("a letter that cannot be", party="coordinator")
        await take(self, position, letter)

    async def story() -> None:
        async with net.serving():
            others = [asyncio.create_task(net.join(site)) for site in SITES[1:]]
            with pytest.raises(ViolationError, match="a letter that cannot be"):
                await net.join("north")
            for other in others:
                other.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    monkeypatch.setattr(SeatRuntime, "_take", failing)
    asyncio.run(asyncio.wait_for(story(), 60))
