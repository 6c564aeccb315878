"""Two ledgers side by side: what was received stands in the sender's ledger, or is named."""

from pathlib import Path

import pytest

from harness.entropy import SeededEntropy
from sottovoce.cli.commands.ledger import _compared as compared
from sottovoce.errors import LedgerError
from sottovoce.ledger import Entry, LedgerLine, LineKind, SiteLedger, compare, letter_sums
from sottovoce.protocols.identities import Identity
from sottovoce.study.relay import Letter


def letter(sender: str, recipient: str, number: int, body: bytes = b"body") -> Letter:
    return Letter(b"session", sender, recipient, number, body)


def ledger(folder: Path, seat: str, *entries: tuple[LineKind, Letter]) -> list[LedgerLine]:
    path = folder / f"{seat}-{len(list(folder.iterdir()))}"
    with SiteLedger(path, Identity.draw(seat, SeededEntropy(1))) as opened:
        for what, entry in entries:
            opened.append(
                Entry.of_letter(what, entry, study="s", stage="agreement", kind="consent")
            )
        return list(opened.entries())


def test_two_that_agree(tmp_path: Path) -> None:
    letters = [letter("north", "coordinator", number) for number in range(4)]
    answer = letter("coordinator", "north", 0)
    north = ledger(
        tmp_path,
        "north",
        *((LineKind.SENT, letter) for letter in letters),
        (LineKind.RECEIVED, answer),
    )
    other = ledger(
        tmp_path,
        "coordinator",
        *((LineKind.RECEIVED, letter) for letter in letters[:3]),
        (LineKind.SENT, answer),
    )
    result = compare(north, other)
    assert (result.alike, result.differences) == (4, ())


def test_a_ledger_that_was_cut_together_with_its_head(tmp_path: Path) -> None:
    letters = [letter("north", "coordinator", number) for number in range(4)]
    cut = ledger(tmp_path, "north", *((LineKind.SENT, letter) for letter in letters[:2]))
    other = ledger(tmp_path, "coordinator", *((LineKind.RECEIVED, letter) for letter in letters))
    result = compare(cut, other)
    assert result.alike == 2
    assert [difference.number for difference in result.differences] == [2, 3]
    assert str(result.differences[0]) == (
        "letter 2 of session 73657373696f6e from north to coordinator: "
        "received, and not in the sender's ledger"
    )
    assert compare(other, cut).differences == result.differences


def test_a_ledger_in_short_counts_every_kind_of_letter(tmp_path: Path) -> None:
    sent = [letter("north", "coordinator", number) for number in range(3)]
    answer = letter("coordinator", "north", 0, b"a longer body")
    lines = ledger(
        tmp_path,
        "north",
        *((LineKind.SENT, letter) for letter in sent),
        (LineKind.RECEIVED, answer),
    )
    first, second = letter_sums(lines)
    assert (first.letters.what, first.letters.party, first.times) == ("sent", "coordinator", 3)
    assert (second.letters.what, second.letters.kind, second.times) == ("received", "consent", 1)
    assert [first.bytes, second.bytes] == [
        sum(line.bytes for line in lines if line.what == what)
        for what in (LineKind.SENT, LineKind.RECEIVED)
    ]


def test_other_bytes_than_were_sent(tmp_path: Path) -> None:
    north = ledger(tmp_path, "north", (LineKind.SENT, letter("north", "coordinator", 0)))
    changed = letter("north", "coordinator", 0, b"changed")
    other = ledger(tmp_path, "coordinator", (LineKind.RECEIVED, changed))
    (difference,) = compare(north, other).differences
    assert difference.says == "received with other bytes than were sent"


def test_third_parties_and_empty_ledgers_make_no_difference(tmp_path: Path) -> None:
    north = ledger(tmp_path, "north", (LineKind.SENT, letter("north", "evaluator", 0)))
    other = ledger(tmp_path, "coordinator", (LineKind.RECEIVED, letter("valley", "coordinator", 0)))
    assert compare(north, other).alike == 0
    assert compare(north, other).differences == ()
    assert compare([], other).differences == ()


def test_the_command_names_the_first_letter_and_counts_the_others(tmp_path: Path) -> None:
    letters = [letter("north", "coordinator", number) for number in range(4)]
    ledger(tmp_path, "north", *((LineKind.SENT, letter) for letter in letters[:2]))
    ledger(tmp_path, "coordinator", *((LineKind.RECEIVED, letter) for letter in letters))
    north, other = (next(tmp_path.glob(f"{name}-?")) for name in ("north", "coordinator"))
    with pytest.raises(LedgerError, match=r"letter 2 .* not in the sender's ledger, and 1 others"):
        compared(north, other)
    assert compared(north, north) == 0


def test_what_a_site_exports_holds_the_lines_of_all_its_seats(tmp_path: Path) -> None:
    answers = {seat: letter("coordinator", seat, 0) for seat in ("north", "member-north")}
    site = [
        line
        for seat, answer in answers.items()
        for line in ledger(tmp_path, seat, (LineKind.RECEIVED, answer))
    ]
    other = ledger(
        tmp_path, "coordinator", *((LineKind.SENT, answer) for answer in answers.values())
    )
    for comparison in (compare(other, site), compare(site, other)):
        assert (comparison.alike, comparison.differences) == (2, ())
    cut = ledger(tmp_path, "coordinator", (LineKind.SENT, answers["north"]))
    assert [difference.recipient for difference in compare(cut, site).differences] == [
        "member-north"
    ]
