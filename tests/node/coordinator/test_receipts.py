"""The coordinator remembers how long every ledger was: cutting one off together with its head."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from harness.entropy import SeededEntropy
from harness.network import Network
from sottovoce.course.control import LedgerHead, LedgerReceipt
from sottovoce.errors import LedgerError
from sottovoce.ledger import (
    Entry,
    Head,
    LedgerSeat,
    LineKind,
    Receipt,
    SiteLedger,
    receipt_path,
    verify,
)
from sottovoce.ledger.chain import LedgerEnd, read_signed
from sottovoce.ledger.verification import head_path
from sottovoce.node.coordinator.receipts import kept_receipt, take_head
from sottovoce.node.site.ledgers import SeatLedger
from sottovoce.protocols.identities import Identity
from sottovoce.storage.journal import Journal
from sottovoce.storage.sealed_files import SealedFiles
from sottovoce.storage.seat_keys import SeatKeys

SITES = ("north", "harbour", "valley")
NORTH = Identity.draw("north", SeededEntropy(1))
INSTITUTE = Identity.draw("coordinator", SeededEntropy(2))


def ledger_of(net: Network, seat: str) -> SeatLedger:
    membership = net.membership(seat)
    files = SealedFiles(membership.folder, membership.at_rest)
    keys = SeatKeys.open(files, seat, entropy=SeededEntropy(1))
    return SeatLedger(seat, membership.folder / seat / "ledger.jsonl", keys.identity, membership)


def cut_off(ledger: SeatLedger, lines: int) -> None:
    """What somebody does who has the disk and the key: fewer lines, and a head that fits."""
    kept = ledger.path.read_bytes().splitlines(keepends=True)[:-lines]
    end = LedgerEnd.none(ledger.seat, ledger.identity.public)
    for line in kept:
        end = end.after(line)
    ledger.path.write_bytes(b"".join(kept))
    head_path(ledger.path).write_bytes(Head.of(end, ledger.identity).encoded())


def test_every_seat_has_a_receipt_of_all_that_it_did_in_the_study(trained: Network) -> None:
    for seat in (*SITES, "evaluator", "dealer"):
        ledger = ledger_of(trained, seat)
        verified = verify(ledger.path, ledger.whose, noted=ledger.kept_receipt())
        receipt = ledger.kept_receipt()[0]
        assert "the coordinator's receipt of" in verified.against[0]
        # After it there stand only the head that was told, and its receipt.
        assert verified.lines - receipt.count <= 4


def test_a_ledger_that_was_cut_off_with_its_head_is_caught_by_the_receipts(
    trained: Network, tmp_path: Path
) -> None:
    ledger = ledger_of(trained, "valley")
    apart = tmp_path / "valley.receipt"
    apart.write_bytes(receipt_path(ledger.path).read_bytes())
    cut_off(ledger, 8)
    verify(ledger.path, ledger.whose)
    with pytest.raises(
        LedgerError, match=r"lines are missing at the end: the coordinator's receipt of \S+"
    ):
        verify(ledger.path, ledger.whose, noted=ledger.kept_receipt())
    receipt_path(ledger.path).unlink()
    assert ledger.kept_receipt() == ()
    with pytest.raises(LedgerError, match="lines are missing at the end"):
        verify(ledger.path, ledger.whose, noted=ledger.kept_receipt(apart))

    async def online() -> None:
        async with trained.serving():
            # The harness' port is another after a restart.
            receipt = await ledger_of(trained, "valley").asked_receipt()
        with pytest.raises(LedgerError, match="lines are missing at the end"):
            verify(ledger.path, ledger.whose, noted=receipt)

    asyncio.run(online())


def test_a_seat_does_not_go_on_with_a_ledger_that_was_cut_off(trained: Network) -> None:
    cut_off(ledger_of(trained, "valley"), 12)

    async def story() -> None:
        async with trained.serving(), trained.staying("north", "harbour"):
            with pytest.raises(
                LedgerError, match="lines are missing at the end: the coordinator's receipt"
            ):
                await trained.classify("valley", trained.documents["valley"][:2])

    asyncio.run(asyncio.wait_for(story(), 400))


def head_of(identity: Identity, count: int, text: str) -> LedgerHead:
    head = Head.of(LedgerEnd(count, text * 32), identity)
    return LedgerHead(count, bytes.fromhex(head.hash), bytes.fromhex(head.signature))


def test_the_longest_head_is_kept_and_nobody_else_s_word_counts(tmp_path: Path) -> None:
    mallory = Identity.draw("north", SeededEntropy(3))
    heads = [
        (head_of(NORTH, 7, "aa"), 7),
        (head_of(mallory, 9, "bb"), None),
        (head_of(NORTH, 3, "cc"), 7),
        (head_of(NORTH, 7, "dd"), 7),
        (head_of(NORTH, 8, "ee"), 8),
    ]
    with Journal(tmp_path / "journal.db", key=bytes(32)) as journal:
        for head, expected in heads:
            effect = take_head(
                journal, INSTITUTE, head, seat=LedgerSeat("north", NORTH.public), study="study"
            )
            journal.commit(notes=effect.notes)
            if expected is None:
                assert effect.letters == ()
                continue
            ((seat, answer),) = effect.letters
            assert isinstance(answer, LedgerReceipt)
            receipt = read_signed(Receipt, answer.receipt)
            assert receipt is not None
            assert receipt.is_whole
            assert (seat, receipt.seat, receipt.count) == ("north", "north", expected)
        kept = kept_receipt(journal, NORTH.public)
        assert kept is not None
        assert kept.hash == "ee" * 32


def test_a_receipt_that_was_changed_or_is_another_s_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with SiteLedger(path, NORTH) as opened:
        opened.append(Entry("study", LineKind.END))
        receipt = Receipt.of(
            opened.head(), INSTITUTE, study="study", public=NORTH.public, when="today"
        )
    ledger = SeatLedger("north", path, NORTH)
    made_up = msgspec.structs.replace(receipt, count=9).signed(INSTITUTE, "ledger/receipt/v1")
    other = tmp_path / "receipt"
    for data, says in (
        (receipt.encoded().replace(b'"count":1', b'"count":0'), "was changed"),
        (receipt.encoded().replace(b'"by":"', b'"by":"zz'), "was changed"),
        (receipt.encoded().replace(b'"north"', b'"south"'), "expected a receipt of 'north'"),
        (made_up.encoded(), "expected a head signed by 'north'"),
        (receipt.encoded()[:-9], "it is no coordinator's receipt"),
        (b"x" * 10**6, "it is no coordinator's receipt"),
    ):
        other.write_bytes(data)
        with pytest.raises(LedgerError, match=says):
            ledger.kept_receipt(other)
    other.write_bytes(receipt.encoded())
    assert verify(path, ledger.whose, noted=ledger.kept_receipt(other)).lines == 1
    with pytest.raises(LedgerError, match="cannot be read"):
        ledger.kept_receipt(tmp_path / "nothing")
